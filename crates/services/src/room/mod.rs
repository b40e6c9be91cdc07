//! Stored state of durable rooms, and the history of room visits.
//!
//! A durable room is a row that describes it, the latest checkpoint of its game, the journal entries committed since,
//! and its members. One server holds its lease at a time: taking the lease raises the epoch, every write names the
//! epoch and renews the lease, and a write with an old epoch changes nothing. Servers are identified by the id of their
//! data folder, so a server that restarts after a crash gets its own rooms back at once, while others wait for the
//! lease to expire. Only the database's clock decides when that is.

mod list;
mod open;
mod visit;
mod write;

pub use list::{CheckpointInfo, ROOMS_LISTED_MAX, StoredRoom, StoredState, Summary};
pub use open::{LEASE_HELD, NewRoom, OpenedRoom, ROOMS_STORED_MAX_REACHED, RoomChoice, RoomCreator};
pub use visit::{VISITS_LISTED_MAX, Visit, VisitRecord};
pub use write::{Batch, Checkpoint, LEASE_LOST, StoredMember};

use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::session::tokens::Role;
use aether_store::{Dialect, SqlRow, Store, StoreError, Transaction, values};
use aether_wire::JoinMetadata;
use std::sync::Arc;
use uuid::Uuid;
use visit::Visits;

/// Time for which a lease lasts without renewal.
pub const LEASE_MS: i64 = 10_000;

/// Durable rooms and the history of visits.
pub struct Rooms {
    store: Store,
    clock: Arc<dyn WallClock>,
    visits: Visits,
}

/// Lease of a room. Writes to the room need its epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomLease {
    /// Id of the room.
    pub room: String,
    /// Number of the lease, counted from the first.
    pub epoch: i64,
}

/// Identity of a member of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberIdentity {
    /// Player id in the room.
    pub player: u32,
    /// Account.
    pub user: Uuid,
    /// Session.
    pub session: Uuid,
    /// Display name.
    pub name: String,
    /// Role.
    pub role: Role,
    /// Issue time of the member's access token, in seconds since 1970.
    pub issued_at: u64,
    /// Metadata that the member joined with.
    pub metadata: JoinMetadata,
}

/// Room and member that a resume token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeTarget {
    /// Id of the room.
    pub room: String,
    /// Room type.
    pub room_type: String,
    /// Member that owns the token.
    pub identity: MemberIdentity,
    /// True if the token was replaced and the player confirmed the new one.
    pub is_spent: bool,
}

impl Rooms {
    /// Creates the service over a store.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>) -> Rooms {
        Rooms { store, clock, visits: Visits::default() }
    }

    /// Renews the leases of a running server. Call it every few seconds.
    pub async fn renew(&self, node: &str) -> Result<(), ServiceError> {
        let node = node.to_owned();
        let operation = move |transaction: &mut Transaction<'_>| {
            let now = now(transaction);
            let update = format!("UPDATE rooms SET lease_until = {now} + ?2 WHERE node = ?1 AND lease_until > {now}");
            transaction.execute(&update, values![&node, LEASE_MS])?;
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Finds the member and room of a resume token by its hash.
    pub async fn find_by_token_hash(&self, hash: [u8; 32]) -> Result<Option<ResumeTarget>, ServiceError> {
        let select = "SELECT p.player, p.user_id, p.session, p.name, p.role, p.issued_at, p.metadata,
                p.room, r.room_type, p.heard AND p.hash <> ?1
            FROM room_players p JOIN rooms r ON r.id = p.room WHERE p.hash = ?1 OR p.previous_hash = ?1";
        let operation = move |transaction: &mut Transaction<'_>| {
            let found = transaction.row(select, values![&hash[..]], |row| {
                let identity = MemberIdentity::from_row(row)?;
                Ok(ResumeTarget { identity, room: row.get(7)?, room_type: row.get(8)?, is_spent: row.get(9)? })
            })?;
            Ok(found)
        };
        self.store.read(operation).await
    }

    /// Removes a member, and with it the resume token.
    pub async fn remove_member(&self, room: &str, player: u32) -> Result<(), ServiceError> {
        let room = room.to_owned();
        let delete = "DELETE FROM room_players WHERE room = ?1 AND player = ?2";
        let operation = move |transaction: &mut Transaction<'_>| {
            transaction.execute(delete, values![&room, player])?;
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Deletes rooms without writes since a time, members of rooms whose lease expired so long ago that nobody can
    /// resume, and visits before a time. Returns the number of deleted rooms.
    pub async fn prune(&self, unused_since: i64, away_ms_max: i64, visits_before: i64) -> Result<u64, ServiceError> {
        let operation = move |transaction: &mut Transaction<'_>| {
            let now = now(transaction);
            let rooms = format!("DELETE FROM rooms WHERE updated_at < ?1 AND lease_until < {now}");
            let players =
                format!("DELETE FROM room_players WHERE room IN (SELECT id FROM rooms WHERE lease_until < {now} - ?1)");
            transaction.execute(&players, values![away_ms_max])?;
            transaction.execute("DELETE FROM room_visits WHERE joined_at < ?1", values![visits_before])?;
            Ok(transaction.execute(&rooms, values![unused_since])?)
        };
        self.store.write(operation).await
    }
}

impl MemberIdentity {
    /// Reads the first seven columns of a row.
    fn from_row(row: &SqlRow<'_>) -> Result<MemberIdentity, StoreError> {
        let role = row.get::<String>(4)?;
        Ok(MemberIdentity {
            player: u32::try_from(row.get::<i64>(0)?).map_err(|_| out_of_range("player"))?,
            user: row.get(1)?,
            session: row.get(2)?,
            name: row.get(3)?,
            role: role.parse().map_err(|_| out_of_range("role"))?,
            issued_at: u64::try_from(row.get::<i64>(5)?).map_err(|_| out_of_range("issued_at"))?,
            metadata: serde_json::from_str(&row.get::<String>(6)?).map_err(|_| out_of_range("metadata"))?,
        })
    }
}

/// Returns the SQL expression of the current time in milliseconds since 1970.
fn now(transaction: &Transaction<'_>) -> &'static str {
    match transaction.dialect() {
        Dialect::Sqlite => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
        Dialect::Postgres => "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
    }
}

fn out_of_range(column: &str) -> StoreError {
    StoreError::Failed(format!("column {column} of a room holds an invalid value"))
}
