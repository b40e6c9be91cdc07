//! Creates durable rooms and takes their leases.

use super::{LEASE_MS, MemberIdentity, RoomLease, Rooms, now, out_of_range};
use crate::error::{GrpcCode, ServiceError};
use aether_store::{StoreError, Transaction, values};
use uuid::Uuid;

/// Maximum number of candidates when any room of a type will do.
const CANDIDATES: i64 = 16;
/// Maximum number of journal entries to read. A checkpoint is stored about every second, so there are far fewer.
const JOURNAL_MAX: i64 = 100_000;

/// Error for a room whose lease another server holds.
pub const LEASE_HELD: ServiceError =
    ServiceError::new(GrpcCode::Unavailable, "Another server holds the lease of the room. Try again in a few seconds.");
const CODE_TAKEN: ServiceError = ServiceError::new(GrpcCode::AlreadyExists, "A room with this code already exists.");

/// Error for an account that has created too many stored rooms.
pub const ROOMS_STORED_MAX_REACHED: ServiceError = ServiceError::new(
    GrpcCode::FailedPrecondition,
    "Your account has reached its limit of stored rooms. Join an existing room, or wait until unused rooms are deleted.",
);

/// Account that creates a durable room, and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomCreator {
    /// Account or guest.
    pub user: Uuid,
    /// Maximum number of stored rooms that it may have created.
    pub rooms_max: u32,
}

/// Description of a durable room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRoom {
    /// Id.
    pub id: String,
    /// Room code.
    pub code: String,
    /// Room type.
    pub room_type: String,
    /// Label requested at creation.
    pub wanted_label: String,
    /// True if the room is joined by id or code only.
    pub is_private: bool,
    /// Parameters of its game, in JSON.
    pub params: String,
}

/// Names a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomChoice {
    /// By id.
    Id(String),
    /// By room code.
    Code(String),
}

impl RoomChoice {
    /// Returns the column that names the room, and its value.
    fn column(&self) -> (&'static str, &str) {
        match self {
            RoomChoice::Id(id) => ("id", id),
            RoomChoice::Code(code) => ("code", code),
        }
    }
}

/// Room whose lease this server has taken, with everything stored about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedRoom {
    /// Lease that allows writes.
    pub lease: RoomLease,
    /// Description of the room.
    pub room: NewRoom,
    /// Last known tick of the room.
    pub tick: u32,
    /// Upper bound of the time that the room ran after this tick, in milliseconds; 0 if it was unloaded.
    pub ran_ms_max: i64,
    /// State of the latest checkpoint. `None` if none was stored.
    pub state: Option<Vec<u8>>,
    /// Number of the last journal entry that the state includes.
    pub applied: u64,
    /// Highest player id so far.
    pub last_player: u32,
    /// Members, by player id.
    pub members: Vec<MemberIdentity>,
    /// Journal entries after the checkpoint, by number.
    pub journal: Vec<(u64, Vec<u8>)>,
}

impl Rooms {
    /// Stores a new room, and takes its lease. Fails with [`ROOMS_STORED_MAX_REACHED`] if its creator has too many. A
    /// room without a creator is one of the server.
    pub async fn create(
        &self,
        node: &str,
        room: NewRoom,
        creator: Option<RoomCreator>,
    ) -> Result<RoomLease, ServiceError> {
        let (node, at) = (node.to_owned(), self.clock.now_ms());
        let operation = move |transaction: &mut Transaction<'_>| {
            if let Some(creator) = creator {
                check_creator(transaction, creator)?;
            }
            let insert = format!(
                "INSERT INTO rooms
                    (id, code, room_type, wanted_label, label, created_at, updated_at, node, epoch, lease_until, is_private,
                     tick_at, params)
                 VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?5, ?6, 1, {now} + ?7, ?8, {now}, ?9) ON CONFLICT DO NOTHING",
                now = now(transaction)
            );
            let NewRoom { id, code, room_type, wanted_label, is_private, params } = &room;
            let parameters = values![id, code, room_type, wanted_label, at, &node, LEASE_MS, *is_private, params];
            if transaction.execute(&insert, parameters)? != 1 {
                return Err(CODE_TAKEN);
            }
            if let Some(RoomCreator { user, .. }) = creator {
                // An account that was erased meanwhile leaves no trace.
                let insert = "INSERT INTO room_creators (room, user_id)
                    SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = ?2)";
                transaction.execute(insert, values![id, user])?;
            }
            Ok(RoomLease { room: id.clone(), epoch: 1 })
        };
        self.store.write(operation).await
    }

    /// Returns the ids of rooms of a type that have space and that this server could open, most recently used first.
    pub async fn candidates(
        &self,
        node: &str,
        room_type: &str,
        wanted_label: &str,
        players_max: usize,
    ) -> Result<Vec<String>, ServiceError> {
        let (node, room_type, wanted_label) = (node.to_owned(), room_type.to_owned(), wanted_label.to_owned());
        let players_max = i64::try_from(players_max).unwrap_or(i64::MAX);
        let operation = move |transaction: &mut Transaction<'_>| {
            let select = format!(
                "SELECT id FROM rooms WHERE room_type = ?1 AND wanted_label = ?2 AND players < ?3
                    AND is_private = FALSE AND (node = ?4 OR lease_until <= {})
                 ORDER BY updated_at DESC LIMIT ?5",
                now(transaction)
            );
            let parameters = values![&room_type, &wanted_label, players_max, &node, CANDIDATES];
            Ok(transaction.rows(&select, parameters, |row| row.get::<String>(0))?)
        };
        self.store.read(operation).await
    }

    /// Returns the id of a stored room, or `None` if there is none.
    pub async fn find(&self, choice: RoomChoice) -> Result<Option<String>, ServiceError> {
        let operation = move |transaction: &mut Transaction<'_>| {
            let (column, text) = choice.column();
            let select = format!("SELECT id FROM rooms WHERE {column} = ?1");
            Ok(transaction.row(&select, values![text], |row| row.get::<String>(0))?)
        };
        self.store.read(operation).await
    }

    /// Takes the lease of a room and reads what is stored about it. Returns `None` if the room does not exist. The
    /// previous holder can no longer write.
    ///
    /// If the lease was last renewed more than `away_ms_max` ago, all members are removed.
    pub async fn open(
        &self,
        node: &str,
        choice: RoomChoice,
        away_ms_max: i64,
    ) -> Result<Option<OpenedRoom>, ServiceError> {
        let (node, at) = (node.to_owned(), self.clock.now_ms());
        let operation = move |transaction: &mut Transaction<'_>| {
            let Some(taken) = take_lease(transaction, &node, &choice, (away_ms_max, at))? else {
                return Ok(None);
            };
            Ok(Some(read(transaction, taken)?))
        };
        self.store.write(operation).await
    }
}

/// Raises the epoch of a room whose lease is expired or belongs to this server.
fn take_lease(
    transaction: &mut Transaction<'_>,
    node: &str,
    choice: &RoomChoice,
    (away_ms_max, at): (i64, i64),
) -> Result<Option<TakenRoom>, ServiceError> {
    let (column, text) = choice.column();
    let now = now(transaction);
    let select = format!(
        "SELECT id, code, room_type, wanted_label, epoch, node = ?2 OR lease_until <= {now}, {now} - lease_until, is_private,
            tick, tick_at, lease_until, params
         FROM rooms WHERE {column} = ?1{}",
        transaction.for_update()
    );
    let found = transaction.row(&select, values![text, node], |row| {
        let room = NewRoom {
            id: row.get(0)?,
            code: row.get(1)?,
            room_type: row.get(2)?,
            wanted_label: row.get(3)?,
            is_private: row.get(7)?,
            params: row.get(11)?,
        };
        let (tick, tick_at, lease_until): (i64, i64, i64) = (row.get(8)?, row.get(9)?, row.get(10)?);
        // The room ran at most until its lease expired. The tick of a room that an earlier version stored is unknown.
        let ran_ms_max = if tick_at == 0 { 0 } else { (lease_until - tick_at).max(0) };
        let tick = u32::try_from(tick).map_err(|_| out_of_range("tick"))?;
        Ok(((room, tick, ran_ms_max), row.get::<i64>(4)?, row.get::<bool>(5)?, row.get::<i64>(6)?))
    })?;
    let Some(((room, tick, ran_ms_max), epoch, is_free, since_lease_ms)) = found else { return Ok(None) };
    if !is_free {
        return Err(LEASE_HELD);
    }
    let lease = RoomLease { room: room.id.clone(), epoch: epoch + 1 };
    let update = format!("UPDATE rooms SET node = ?2, epoch = ?3, lease_until = {now} + ?4 WHERE id = ?1");
    transaction.execute(&update, values![&lease.room, node, lease.epoch, LEASE_MS])?;
    // A running server renews its leases, so the last sign of life is one lease before the expiry.
    if since_lease_ms + LEASE_MS > away_ms_max {
        transaction.execute("DELETE FROM room_players WHERE room = ?1", values![&lease.room])?;
        let left = "UPDATE room_visits SET left_at = ?2, reason = 'server_lost' WHERE room = ?1 AND left_at IS NULL";
        transaction.execute(left, values![&lease.room, at])?;
    }
    let ran_ms_max = ran_ms_max.min(ran_ms_max + since_lease_ms);
    Ok(Some(TakenRoom { lease, room, tick, ran_ms_max: ran_ms_max.max(0) }))
}

/// Room whose lease was taken.
struct TakenRoom {
    lease: RoomLease,
    room: NewRoom,
    tick: u32,
    ran_ms_max: i64,
}

fn read(transaction: &mut Transaction<'_>, taken: TakenRoom) -> Result<OpenedRoom, StoreError> {
    let TakenRoom { lease, room, tick, ran_ms_max } = taken;
    let select = "SELECT state, applied FROM room_states WHERE room = ?1 AND number = 0";
    let state =
        transaction.row(select, values![&lease.room], |row| Ok((row.get::<Vec<u8>>(0)?, row.get::<i64>(1)?)))?;
    let (state, applied) = state.map_or((None, 0), |(state, applied)| (Some(state), applied));
    let select = "SELECT last_player FROM rooms WHERE id = ?1";
    let last_player = transaction.row(select, values![&lease.room], |row| row.get::<i64>(0))?.unwrap_or(0);
    let members = members(transaction, &lease.room)?;
    let select = "SELECT number, entry FROM room_journal WHERE room = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
    let journal = transaction.rows(select, values![&lease.room, applied, JOURNAL_MAX], |row| {
        let number = u64::try_from(row.get::<i64>(0)?).map_err(|_| out_of_range("number"))?;
        Ok((number, row.get::<Vec<u8>>(1)?))
    })?;
    let applied = u64::try_from(applied).map_err(|_| out_of_range("applied"))?;
    let last_player = u32::try_from(last_player).map_err(|_| out_of_range("last_player"))?;
    Ok(OpenedRoom { lease, room, tick, ran_ms_max, state, applied, last_player, members, journal })
}

/// Returns the members of a room, by player id.
pub(super) fn members(transaction: &mut Transaction<'_>, room: &str) -> Result<Vec<MemberIdentity>, StoreError> {
    let select = "SELECT player, user_id, session, name, role, issued_at, metadata
        FROM room_players WHERE room = ?1 ORDER BY player";
    transaction.rows(select, values![room], MemberIdentity::from_row)
}

/// Rejects a creator with too many stored rooms. Reads at most as many rows as the limit.
fn check_creator(transaction: &mut Transaction<'_>, creator: RoomCreator) -> Result<(), ServiceError> {
    let RoomCreator { user, rooms_max } = creator;
    // Locks the account, so that concurrent creations are counted one after the other. A guest has no row to lock: on
    // PostgreSQL, as many creations as it has connections may pass at once.
    let lock = format!("SELECT 1 FROM users WHERE id = ?1{}", transaction.for_update());
    transaction.row(&lock, values![user], |_| Ok(()))?;
    let count = "SELECT count(*) FROM (SELECT 1 FROM room_creators WHERE user_id = ?1 LIMIT ?2) AS counted";
    let count = transaction.row(count, values![user, i64::from(rooms_max)], |row| row.get::<i64>(0))?;
    match count.unwrap_or(0) < i64::from(rooms_max) {
        true => Ok(()),
        false => Err(ROOMS_STORED_MAX_REACHED),
    }
}
