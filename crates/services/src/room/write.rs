//! Writes to a room whose lease this server holds.

use super::{LEASE_MS, MemberIdentity, RoomLease, Rooms, now};
use crate::error::{GrpcCode, ServiceError};
use aether_store::{StoreError, Transaction, values};
use std::sync::Arc;

/// Error for a write with an old epoch: nothing was written, and no later write with this lease will succeed.
pub const LEASE_LOST: ServiceError =
    ServiceError::new(GrpcCode::Aborted, "Another server holds the lease of the room.");

/// Checkpoint of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Tick of the state.
    pub tick: u32,
    /// State of the game.
    pub bytes: Arc<Vec<u8>>,
    /// Number of the last journal entry that the state includes.
    pub applied: u64,
    /// Highest player id so far.
    pub last_player: u32,
    /// Label of the room.
    pub label: String,
    /// Number of players.
    pub players: u32,
    /// Number of entities.
    pub entities: u32,
}

/// Member of a room with its resume token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMember {
    /// Identity of the member.
    pub identity: MemberIdentity,
    /// Hash of the resume token.
    pub hash: [u8; 32],
    /// Hash of the previous token, if one was used for this resume.
    pub previous_hash: Option<[u8; 32]>,
}

/// Changes that are written in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Current tick of the room. Ticks continue after it when the room is rebuilt.
    pub tick: u32,
    /// Journal entries by number.
    pub entries: Vec<(u64, Vec<u8>)>,
    /// Journal entries that were abandoned, although they may have been stored.
    pub voided: Vec<u64>,
    /// Members that are new or have a new token.
    pub members: Vec<StoredMember>,
    /// Players who sent something since they got their resume token.
    pub confirmed: Vec<u32>,
    /// Players who left.
    pub left: Vec<u32>,
    /// Latest checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// Number of earlier checkpoints to retain. `Some` also archives this one.
    pub checkpoints_max: Option<u32>,
}

impl Batch {
    /// Returns true if there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Batch { tick: self.tick, ..Batch::default() }
    }
}

impl Rooms {
    /// Writes a batch. Fails with [`LEASE_LOST`] if another server holds the lease.
    pub async fn write_batch(&self, lease: &RoomLease, batch: Arc<Batch>) -> Result<(), ServiceError> {
        let (lease, at) = (lease.clone(), self.clock.now_ms());
        self.store.write(move |transaction| write(transaction, &lease, &batch, at)).await
    }

    /// Releases a lease, so that other servers may take it at once.
    pub async fn release(&self, lease: &RoomLease) -> Result<(), ServiceError> {
        let lease = lease.clone();
        let operation = move |transaction: &mut Transaction<'_>| {
            let update = format!("UPDATE rooms SET lease_until = {} WHERE id = ?1 AND epoch = ?2", now(transaction));
            transaction.execute(&update, values![&lease.room, lease.epoch])?;
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Releases the lease of a room that has ended at a tick.
    pub async fn release_at(&self, lease: &RoomLease, tick: u32) -> Result<(), ServiceError> {
        let lease = lease.clone();
        let operation = move |transaction: &mut Transaction<'_>| {
            let now = now(transaction);
            let update = format!(
                "UPDATE rooms SET lease_until = {now}, tick = ?3, tick_at = {now} WHERE id = ?1 AND epoch = ?2"
            );
            transaction.execute(&update, values![&lease.room, lease.epoch, tick])?;
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Deletes an ended room with everything stored about it.
    pub async fn remove(&self, lease: &RoomLease) -> Result<(), ServiceError> {
        let lease = lease.clone();
        let operation = move |transaction: &mut Transaction<'_>| {
            let delete = "DELETE FROM rooms WHERE id = ?1 AND epoch = ?2";
            transaction.execute(delete, values![&lease.room, lease.epoch])?;
            Ok(())
        };
        self.store.write(operation).await
    }
}

fn write(transaction: &mut Transaction<'_>, lease: &RoomLease, batch: &Batch, at: i64) -> Result<(), ServiceError> {
    // First, because it locks the room: a server that takes the lease waits for this commit, or this write waits for
    // the other commit and then fails.
    let now = now(transaction);
    let fence = format!(
        "UPDATE rooms SET updated_at = ?3, lease_until = {now} + ?4, tick = ?5, tick_at = {now}
         WHERE id = ?1 AND epoch = ?2"
    );
    if transaction.execute(&fence, values![&lease.room, lease.epoch, at, LEASE_MS, batch.tick])? == 0 {
        return Err(LEASE_LOST);
    }
    for number in &batch.voided {
        let delete = "DELETE FROM room_journal WHERE room = ?1 AND number = ?2";
        transaction.execute(delete, values![&lease.room, signed(*number)])?;
    }
    for (number, entry) in &batch.entries {
        let insert = "INSERT INTO room_journal (room, number, entry) VALUES (?1, ?2, ?3)
            ON CONFLICT (room, number) DO UPDATE SET entry = excluded.entry";
        transaction.execute(insert, values![&lease.room, signed(*number), entry])?;
    }
    for member in &batch.members {
        write_member(transaction, &lease.room, member)?;
    }
    let last_player = batch.members.iter().map(|member| member.identity.player).max().unwrap_or(0);
    let last_player = last_player.max(batch.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.last_player));
    if last_player > 0 {
        let update = "UPDATE rooms SET last_player = ?2 WHERE id = ?1 AND last_player < ?2";
        transaction.execute(update, values![&lease.room, last_player])?;
    }
    for player in &batch.confirmed {
        let update = "UPDATE room_players SET heard = ?3 WHERE room = ?1 AND player = ?2";
        transaction.execute(update, values![&lease.room, *player, true])?;
    }
    for player in &batch.left {
        transaction
            .execute("DELETE FROM room_players WHERE room = ?1 AND player = ?2", values![&lease.room, *player])?;
    }
    if let Some(checkpoint) = &batch.checkpoint {
        write_checkpoint(transaction, &lease.room, checkpoint, at)?;
        if let Some(checkpoints_max) = batch.checkpoints_max {
            archive_checkpoint(transaction, &lease.room, checkpoints_max)?;
        }
    }
    Ok(())
}

fn write_member(transaction: &mut Transaction<'_>, room: &str, member: &StoredMember) -> Result<(), StoreError> {
    let StoredMember { identity, hash, previous_hash } = member;
    let metadata = serde_json::to_string(&identity.metadata).unwrap_or_else(|_| "{}".to_owned());
    let insert = "INSERT INTO room_players
            (room, player, user_id, session, name, role, issued_at, hash, previous_hash, heard, metadata)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
        ON CONFLICT (room, player) DO UPDATE SET session = excluded.session, issued_at = excluded.issued_at,
            hash = excluded.hash, previous_hash = excluded.previous_hash, heard = excluded.heard";
    let parameters = values![
        room,
        identity.player,
        identity.user,
        identity.session,
        &identity.name,
        identity.role.name(),
        signed(identity.issued_at),
        &hash[..],
        previous_hash.as_ref().map(|hash| &hash[..]),
        false,
        &metadata,
    ];
    transaction.execute(insert, parameters).map(|_| ())
}

fn write_checkpoint(
    transaction: &mut Transaction<'_>,
    room: &str,
    state: &Checkpoint,
    at: i64,
) -> Result<(), StoreError> {
    let Checkpoint { tick, bytes, applied, last_player: _, label, players, entities } = state;
    let insert = "INSERT INTO room_states (room, number, taken_at, players, entities, applied, state, tick)
        VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (room, number) DO UPDATE SET taken_at = excluded.taken_at, players = excluded.players,
            entities = excluded.entities, applied = excluded.applied, state = excluded.state, tick = excluded.tick";
    let parameters = values![room, at, *players, *entities, signed(*applied), &**bytes, *tick];
    transaction.execute(insert, parameters)?;
    transaction
        .execute("DELETE FROM room_journal WHERE room = ?1 AND number <= ?2", values![room, signed(*applied)])?;
    transaction.execute("UPDATE rooms SET label = ?2, players = ?3 WHERE id = ?1", values![room, label, *players])?;
    Ok(())
}

/// Archives the latest checkpoint, and deletes all but the newest archived ones.
fn archive_checkpoint(transaction: &mut Transaction<'_>, room: &str, checkpoints_max: u32) -> Result<(), StoreError> {
    let newest = "SELECT coalesce(max(number), 0) FROM room_states WHERE room = ?1";
    let number = transaction.row(newest, values![room], |row| row.get::<i64>(0))?.unwrap_or(0) + 1;
    let insert = "INSERT INTO room_states (room, number, taken_at, players, entities, applied, state, tick)
        SELECT room, ?2, taken_at, players, entities, applied, state, tick
        FROM room_states WHERE room = ?1 AND number = 0";
    transaction.execute(insert, values![room, number])?;
    let delete = "DELETE FROM room_states WHERE room = ?1 AND number > 0 AND number <= ?2";
    transaction.execute(delete, values![room, number - i64::from(checkpoints_max)])?;
    Ok(())
}

/// Database integers are signed. These numbers never reach the limit.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
