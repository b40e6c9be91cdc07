//! Lists of stored rooms and checkpoints, for tools.

use super::open::members;
use super::{MemberIdentity, Rooms, now};
use crate::error::ServiceError;
use aether_store::{SqlRow, StoreError, Transaction, values};

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

/// Stored room with its lease and its latest checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRoom {
    /// Description.
    pub summary: Summary,
    /// Id of the node that holds the lease, or held it last.
    pub node: String,
    /// Number of the lease.
    pub epoch: i64,
    /// True while the lease is valid.
    pub is_leased: bool,
    /// True if the room is joined by id or code only.
    pub is_private: bool,
    /// Last known tick.
    pub tick: i64,
    /// Number of entities at the latest checkpoint.
    pub entities: i64,
    /// Bytes of the latest checkpoint.
    pub bytes: i64,
}

/// State of a checkpoint, with what is needed to show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredState {
    /// Room type.
    pub room_type: String,
    /// Label requested at creation.
    pub wanted_label: String,
    /// Tick of the state.
    pub tick: i64,
    /// State of the game.
    pub state: Vec<u8>,
    /// Parameters of the game, in JSON.
    pub params: String,
    /// Members of the room, for the latest checkpoint.
    pub members: Vec<MemberIdentity>,
}

/// Stored checkpoint, without its state. The latest has the number 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// Number: 0 for the latest, otherwise increasing with time.
    pub number: i64,
    /// Tick of the state.
    pub tick: i64,
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

    /// Lists stored rooms with their leases, last written first, after a number of them.
    pub async fn list_stored(&self, skipped: u32, limit: u32) -> Result<Vec<StoredRoom>, ServiceError> {
        let operation = move |transaction: &mut Transaction<'_>| {
            let select = format!("{} ORDER BY r.updated_at DESC, r.id LIMIT ?2 OFFSET ?1", select_stored(transaction));
            Ok(transaction.rows(&select, values![skipped, limit], StoredRoom::from_row)?)
        };
        self.store.read(operation).await
    }

    /// Returns those of some rooms that are stored, in the same order.
    pub async fn stored(&self, ids: Vec<String>) -> Result<Vec<StoredRoom>, ServiceError> {
        let operation = move |transaction: &mut Transaction<'_>| {
            let select = format!("{} WHERE r.id = ?1", select_stored(transaction));
            let mut found = Vec::new();
            for id in &ids {
                found.extend(transaction.row(&select, values![id], StoredRoom::from_row)?);
            }
            Ok(found)
        };
        self.store.read(operation).await
    }

    /// Returns a stored state, without taking the lease of the room. The lists of members belong to the number 0 only.
    pub async fn stored_state(&self, room: &str, number: i64) -> Result<Option<StoredState>, ServiceError> {
        let room = room.to_owned();
        let operation = move |transaction: &mut Transaction<'_>| {
            let select = "SELECT r.room_type, r.wanted_label, s.tick, s.state, r.params
                FROM rooms r JOIN room_states s ON s.room = r.id WHERE r.id = ?1 AND s.number = ?2";
            let found = transaction.row(select, values![&room, number], |row| {
                let members = Vec::new();
                let (room_type, wanted_label, tick, state) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                Ok(StoredState { room_type, wanted_label, tick, state, params: row.get(4)?, members })
            })?;
            let Some(mut found) = found else { return Ok(None) };
            if number == 0 {
                found.members = members(transaction, &room)?;
            }
            Ok(Some(found))
        };
        self.store.read(operation).await
    }

    /// Lists the stored checkpoints of a room, oldest first.
    pub async fn checkpoints(&self, room: &str) -> Result<Vec<CheckpointInfo>, ServiceError> {
        let room = room.to_owned();
        let select = "SELECT number, taken_at, players, entities, length(state), tick FROM room_states WHERE room = ?1
            ORDER BY taken_at, CASE number WHEN 0 THEN 1 ELSE 0 END, number";
        let operation = move |transaction: &mut Transaction<'_>| {
            let checkpoints = transaction.rows(select, values![&room], |row| {
                Ok(CheckpointInfo {
                    number: row.get(0)?,
                    taken_at: row.get(1)?,
                    players: row.get(2)?,
                    entities: row.get(3)?,
                    bytes: row.get(4)?,
                    tick: row.get(5)?,
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

impl StoredRoom {
    /// Reads a row of [`select_stored`].
    fn from_row(row: &SqlRow<'_>) -> Result<StoredRoom, StoreError> {
        Ok(StoredRoom {
            summary: Summary {
                id: row.get(0)?,
                code: row.get(1)?,
                room_type: row.get(2)?,
                label: row.get(3)?,
                players: row.get(4)?,
                created_at: row.get(5)?,
                updated_at: row.get(6)?,
            },
            node: row.get(7)?,
            epoch: row.get(8)?,
            is_leased: row.get(9)?,
            is_private: row.get(10)?,
            tick: row.get(11)?,
            entities: row.get(12)?,
            bytes: row.get(13)?,
        })
    }
}

fn select_stored(transaction: &Transaction<'_>) -> String {
    format!(
        "SELECT r.id, r.code, r.room_type, r.label, r.players, r.created_at, r.updated_at, r.node, r.epoch,
            r.lease_until > {}, r.is_private, r.tick, coalesce(s.entities, 0), coalesce(length(s.state), 0)
         FROM rooms r LEFT JOIN room_states s ON s.room = r.id AND s.number = 0",
        now(transaction)
    )
}
