//! Lists of stored rooms and checkpoints, for tools.

use super::Rooms;
use crate::error::ServiceError;
use aether_store::{Transaction, values};

/// Maximum number of rooms in one list.
pub const ROOMS_LISTED_MAX: u32 = 1_000;

/// Summary of a stored room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Id.
    pub id: String,
    /// Room code.
    pub code: String,
    /// Room type.
    pub room_type: String,
    /// Label.
    pub label: String,
    /// Number of players at the latest checkpoint.
    pub players: i64,
    /// Creation time, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last write, in milliseconds since 1970.
    pub updated_at: i64,
}

/// Stored checkpoint, without its state. The latest has the number 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// Number: 0 for the latest, otherwise increasing with time.
    pub number: i64,
    /// Time of the checkpoint, in milliseconds since 1970.
    pub taken_at: i64,
    /// Number of players.
    pub players: i64,
    /// Number of entities.
    pub entities: i64,
    /// Bytes of the state.
    pub bytes: i64,
}

impl Rooms {
    /// Lists stored rooms, most recently used first.
    pub async fn list(&self, limit: u32) -> Result<Vec<Summary>, ServiceError> {
        let limit = limit.clamp(1, ROOMS_LISTED_MAX);
        let select = "SELECT id, code, room_type, label, players, created_at, updated_at
            FROM rooms ORDER BY updated_at DESC, id LIMIT ?1";
        let operation = move |transaction: &mut Transaction<'_>| {
            let rooms = transaction.rows(select, values![limit], |row| {
                Ok(Summary {
                    id: row.get(0)?,
                    code: row.get(1)?,
                    room_type: row.get(2)?,
                    label: row.get(3)?,
                    players: row.get(4)?,
                    created_at: row.get(5)?,
                    updated_at: row.get(6)?,
                })
            })?;
            Ok(rooms)
        };
        self.store.read(operation).await
    }

    /// Lists the stored checkpoints of a room, oldest first.
    pub async fn checkpoints(&self, room: &str) -> Result<Vec<CheckpointInfo>, ServiceError> {
        let room = room.to_owned();
        let select = "SELECT number, taken_at, players, entities, length(state) FROM room_states WHERE room = ?1
            ORDER BY taken_at, CASE number WHEN 0 THEN 1 ELSE 0 END, number";
        let operation = move |transaction: &mut Transaction<'_>| {
            let checkpoints = transaction.rows(select, values![&room], |row| {
                Ok(CheckpointInfo {
                    number: row.get(0)?,
                    taken_at: row.get(1)?,
                    players: row.get(2)?,
                    entities: row.get(3)?,
                    bytes: row.get(4)?,
                })
            })?;
            Ok(checkpoints)
        };
        self.store.read(operation).await
    }

    /// Returns the state of a checkpoint, or `None` if there is none of this number.
    pub async fn checkpoint(&self, room: &str, number: i64) -> Result<Option<Vec<u8>>, ServiceError> {
        let room = room.to_owned();
        let select = "SELECT state FROM room_states WHERE room = ?1 AND number = ?2";
        let operation = move |transaction: &mut Transaction<'_>| {
            Ok(transaction.row(select, values![&room, number], |row| row.get::<Vec<u8>>(0))?)
        };
        self.store.read(operation).await
    }
}
