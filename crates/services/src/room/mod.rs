//! Rooms that outlast the server, and who was in which room.
//!
//! A durable room is a row that says what it is, the newest state of its game, the journal of what was committed since, and
//! the players who have a place in it. One server holds it at a time: taking it raises its epoch, every write names the
//! epoch and renews the lease, and a write under an old epoch changes nothing. Servers are known by the id of their data
//! folder, so that one that starts again after a crash has its own rooms back at once, and others wait for the lease to
//! end. The database's clock alone says when that is.

mod list;
mod open;
mod visit;
mod write;

pub use list::{CheckpointInfo, ROOMS_LISTED_MAX, Summary};
pub use open::{LEASE_HELD, NewRoom, OpenedRoom, RoomChoice};
pub use visit::{PastVisit, VISITS_LISTED_MAX, Visit};
pub use write::{Batch, Checkpoint, LEASE_LOST, StoredMember};

use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::session::tokens::Role;
use aether_store::{Dialect, SqlRow, Store, StoreError, Transaction, values};
use std::sync::Arc;
use uuid::Uuid;
use visit::Visits;

/// How long a server that is not heard from keeps its rooms.
pub const LEASE_MS: i64 = 10_000;

/// Durable rooms, and the history of visits.
pub struct Rooms {
    store: Store,
    clock: Arc<dyn WallClock>,
    visits: Visits,
}

/// A room that this server holds: without the epoch nothing of it can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomLease {
    /// The room's id.
    pub room: String,
    /// Which identity this is, counted from the first.
    pub epoch: i64,
}

/// A player who has a place in a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberIdentity {
    /// The number in the room.
    pub player: u32,
    /// The account.
    pub user: Uuid,
    /// The session.
    pub session: Uuid,
    /// The name to show.
    pub name: String,
    /// The role.
    pub role: Role,
    /// When the access token was issued by which they came, in seconds since 1970.
    pub issued_at: u64,
}

/// Where a resume token leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeTarget {
    /// The room.
    pub room: String,
    /// Its type.
    pub room_type: String,
    /// Whose token it is.
    pub identity: MemberIdentity,
    /// Whether it was used, and whoever used it was heard from since.
    pub is_spent: bool,
}

impl Rooms {
    /// Rooms over a store.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>) -> Rooms {
        Rooms { store, clock, visits: Visits::default() }
    }

    /// Says that a server lives, so that its rooms stay its own. To be called every few seconds.
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

    /// Whose token has this hash, and where it leads.
    pub async fn find_by_token_hash(&self, hash: [u8; 32]) -> Result<Option<ResumeTarget>, ServiceError> {
        let select = "SELECT p.player, p.user_id, p.session, p.name, p.role, p.issued_at,
                p.room, r.room_type, p.heard AND p.hash <> ?1
            FROM room_players p JOIN rooms r ON r.id = p.room WHERE p.hash = ?1 OR p.previous_hash = ?1";
        let operation = move |transaction: &mut Transaction<'_>| {
            let found = transaction.row(select, values![&hash[..]], |row| {
                let identity = MemberIdentity::from_row(row)?;
                Ok(ResumeTarget { identity, room: row.get(6)?, room_type: row.get(7)?, is_spent: row.get(8)? })
            })?;
            Ok(found)
        };
        self.store.read(operation).await
    }

    /// Takes the place of a player away, so that no token leads there any more.
    pub async fn remove_member(&self, room: &str, player: u32) -> Result<(), ServiceError> {
        let room = room.to_owned();
        let delete = "DELETE FROM room_players WHERE room = ?1 AND player = ?2";
        let operation = move |transaction: &mut Transaction<'_>| {
            transaction.execute(delete, values![&room, player])?;
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Forgets rooms in which nothing was stored since a time, members in rooms whose server is gone for so long that nobody
    /// comes back, and visits from before a time. Returns how many rooms.
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
    /// From the first six columns of a row.
    fn from_row(row: &SqlRow<'_>) -> Result<MemberIdentity, StoreError> {
        let role = row.get::<String>(4)?;
        Ok(MemberIdentity {
            player: u32::try_from(row.get::<i64>(0)?).map_err(|_| out_of_range("player"))?,
            user: row.get(1)?,
            session: row.get(2)?,
            name: row.get(3)?,
            role: role.parse().map_err(|_| out_of_range("role"))?,
            issued_at: u64::try_from(row.get::<i64>(5)?).map_err(|_| out_of_range("issued_at"))?,
        })
    }
}

/// The time in milliseconds since 1970 as the database has it, for a statement.
fn now(transaction: &Transaction<'_>) -> &'static str {
    match transaction.dialect() {
        Dialect::Sqlite => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
        Dialect::Postgres => "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
    }
}

fn out_of_range(column: &str) -> StoreError {
    StoreError::Failed(format!("the column {column} of a room holds what cannot be"))
}
