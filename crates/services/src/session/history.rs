//! History of sessions: buffered in memory and written in batches, because no request waits for it.

use super::tokens::VALID_SECONDS_MAX;
use super::{NewSession, Sessions};
use crate::account::for_presence;
use crate::error::ServiceError;
use aether_store::{SqlValue, StoreError, Transaction, values};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// Maximum number of buffered records. Beyond, the history gets gaps instead of exhausting memory.
const PENDING_MAX: usize = 100_000;

/// Maximum rows per statement, a power of two. A row has six parameters; a statement takes 32,766 on SQLite and 65,535
/// on PostgreSQL. More rows are hardly faster.
const ROWS_MAX: usize = 512;

/// Maximum number of states and heartbeats that one [`Sessions::flush`] writes; the others wait. Called every second, so
/// as many rows per second.
const SEEN_PER_FLUSH: usize = 2_000;

/// Maximum number of sessions in one list.
pub const HISTORY_MAX: u32 = 100;

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// A realtime connection has shown a token, and joins a room.
    Connecting,
    /// Tokens were issued, and there is no realtime connection.
    Authenticated,
    /// A realtime connection is in a room.
    Active,
    /// The connection was lost; the client may resume.
    Resuming,
    /// The session was ended.
    Closed,
}

/// Record of a past or current session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// Id of the session.
    pub session: Uuid,
    /// State: see [`SessionState::name`].
    pub state: String,
    /// Start time, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last heartbeat.
    pub last_seen_at: i64,
    /// Time of revocation, if it was revoked.
    pub revoked_at: Option<i64>,
    /// Reason of the revocation.
    pub reason: String,
    /// Address of the client.
    pub address: String,
    /// Sign-in method.
    pub method: String,
}

#[derive(Default)]
pub(super) struct History {
    pending: Mutex<Pending>,
    /// Revocations that are in effect and not stored yet, by session. Nothing is dropped from here before it is stored.
    revocations: Mutex<HashMap<Uuid, PendingRevocation>>,
}

/// Revocation that is not stored yet.
#[derive(Clone, Copy)]
pub(super) struct PendingRevocation {
    pub user: Uuid,
    pub reason: &'static str,
}

#[derive(Default)]
struct Pending {
    starts: Vec<Start>,
    seen: HashMap<Uuid, (SessionState, i64)>,
}

#[derive(Clone)]
struct Start {
    session: Uuid,
    user: Uuid,
    at: i64,
    expires_at: i64,
    address: String,
    method: &'static str,
}

impl SessionState {
    /// Returns the name used in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SessionState::Connecting => "connecting",
            SessionState::Authenticated => "authenticated",
            SessionState::Active => "active",
            SessionState::Resuming => "resuming",
            SessionState::Closed => "closed",
        }
    }
}

impl History {
    pub fn note_start(&self, session: Uuid, new_session: &NewSession<'_>, at: i64, expires_at: i64) {
        let mut pending = self.pending();
        if pending.starts.len() < PENDING_MAX {
            let address = new_session.address.map(|address| address.to_string()).unwrap_or_default();
            let (user, method) = (new_session.user, new_session.method);
            pending.starts.push(Start { session, user, at, expires_at, address, method });
        }
    }

    fn note_seen(&self, session: Uuid, state: SessionState, at: i64) {
        let mut pending = self.pending();
        if pending.seen.len() < PENDING_MAX || pending.seen.contains_key(&session) {
            pending.seen.insert(session, (state, at));
        }
    }

    /// Takes the records that the next write stores: all starts, and states up to the limit.
    fn take(&self) -> Pending {
        let mut pending = self.pending();
        let starts = std::mem::take(&mut pending.starts);
        if pending.seen.len() <= SEEN_PER_FLUSH {
            return Pending { starts, seen: std::mem::take(&mut pending.seen) };
        }
        let due: Vec<Uuid> = pending.seen.keys().take(SEEN_PER_FLUSH).copied().collect();
        let seen = due.into_iter().filter_map(|session| pending.seen.remove_entry(&session)).collect();
        Pending { starts, seen }
    }

    pub fn note_revocation(&self, session: Uuid, revocation: PendingRevocation) {
        self.revocations().insert(session, revocation);
    }

    pub fn revocation_is_stored(&self, session: Uuid) {
        self.revocations().remove(&session);
    }

    fn revocations(&self) -> MutexGuard<'_, HashMap<Uuid, PendingRevocation>> {
        self.revocations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions {
    /// Records the state of a session, as a heartbeat. It is written by the next [`Sessions::flush`].
    pub fn note(&self, session: Uuid, state: SessionState) {
        self.history.note_seen(session, state, self.clock.now_ms());
    }

    /// Writes buffered records, and revocations that could not be stored at once. Call it every second.
    pub async fn flush(&self) -> Result<(), ServiceError> {
        let revocations: Vec<_> =
            self.history.revocations().iter().map(|(session, revocation)| (*session, *revocation)).collect();
        for (session, PendingRevocation { user, reason }) in revocations {
            self.revoke(session, user, reason).await?;
            self.history.revocation_is_stored(session);
        }
        let pending = self.history.take();
        if pending.starts.is_empty() && pending.seen.is_empty() {
            return Ok(());
        }
        let pending = Arc::new(pending);
        let written = Arc::clone(&pending);
        let outcome = self.store.write(move |transaction| write(transaction, &written)).await;
        if outcome.is_err() {
            self.requeue(&pending);
        }
        outcome
    }

    /// Writes all buffered records, before the server stops.
    pub async fn flush_all(&self) -> Result<(), ServiceError> {
        for _ in 0..=PENDING_MAX / SEEN_PER_FLUSH {
            self.flush().await?;
        }
        Ok(())
    }

    /// Puts records of a failed write back, as far as there is space.
    fn requeue(&self, unwritten: &Pending) {
        let mut pending = self.history.pending();
        let space = PENDING_MAX.saturating_sub(pending.starts.len());
        pending.starts.extend(unwritten.starts.iter().take(space).cloned());
        for (session, seen) in &unwritten.seen {
            pending.seen.entry(*session).or_insert(*seen);
        }
    }

    /// Lists the latest sessions of a user, newest first.
    pub async fn history(&self, user: Uuid, limit: u32) -> Result<Vec<SessionRecord>, ServiceError> {
        let select = "SELECT id, state, created_at, last_seen_at, revoked_at, reason, address, method
            FROM sessions WHERE user_id = ?1 ORDER BY created_at DESC, id LIMIT ?2";
        let limit = limit.clamp(1, HISTORY_MAX);
        let operation = move |transaction: &mut Transaction<'_>| {
            let rows = transaction.rows(select, values![user, limit], |row| {
                Ok(SessionRecord {
                    session: row.get(0)?,
                    state: row.get(1)?,
                    created_at: row.get(2)?,
                    last_seen_at: row.get(3)?,
                    revoked_at: row.get(4)?,
                    reason: row.get(5)?,
                    address: row.get(6)?,
                    method: row.get(7)?,
                })
            })?;
            Ok(rows)
        };
        self.store.read(operation).await
    }

    /// Deletes sessions that expired before a time. Returns their number.
    ///
    /// A session stays until no token of it can be valid, also if the lifetime of tokens was longer before. Otherwise a
    /// used refresh token could be used again.
    pub async fn prune(&self, expired_before: i64) -> Result<u64, ServiceError> {
        let expired_before = expired_before.min(self.clock.now_ms().saturating_sub_unsigned(VALID_SECONDS_MAX * 1_000));
        let delete = "DELETE FROM sessions WHERE expires_at < ?1";
        let operation =
            move |transaction: &mut Transaction<'_>| Ok(transaction.execute(delete, values![expired_before])?);
        self.store.write(operation).await
    }
}

fn write(transaction: &mut Transaction<'_>, pending: &Pending) -> Result<(), ServiceError> {
    // Users are locked in the order of their ids, as everywhere, so that transactions cannot deadlock.
    let mut starts: Vec<&Start> = pending.starts.iter().collect();
    starts.sort_by_key(|start| start.user);
    for batch in starts.chunks(ROWS_MAX) {
        let with_account = users_with_account(transaction, batch)?;
        let batch: Vec<&Start> = batch.iter().copied().filter(|start| with_account.contains(&start.user)).collect();
        insert(transaction, &batch)?;
    }
    // Sessions that were seen in the same second share a statement.
    let mut groups: BTreeMap<(&str, i64), Vec<Uuid>> = BTreeMap::new();
    for (session, (state, at)) in &pending.seen {
        groups.entry((state.name(), at - at.rem_euclid(1_000))).or_default().push(*session);
    }
    for ((state, at), mut sessions) in groups {
        sessions.sort_unstable();
        for batch in sessions.chunks(ROWS_MAX) {
            update_seen(transaction, state, at, batch)?;
        }
    }
    Ok(())
}

/// Updates the state of sessions with one statement. A session that was ended stays closed.
fn update_seen(transaction: &mut Transaction<'_>, state: &str, at: i64, batch: &[Uuid]) -> Result<(), StoreError> {
    let mut update =
        "UPDATE sessions SET state = ?1, last_seen_at = ?2 WHERE revoked_at IS NULL AND id IN (".to_owned();
    let mut parameters: Vec<SqlValue<'_>> = values![state, at].to_vec();
    for session in padded(batch) {
        let comma = if parameters.len() > 2 { ", " } else { "" };
        let _ = write!(update, "{comma}?{}", parameters.len() + 1);
        parameters.push(session.into());
    }
    update.push(')');
    transaction.execute(&update, &parameters).map(|_| ())
}

/// Returns the users of a batch that have an account.
///
/// A late write must not restore sessions of an erased account. No foreign key ensures that, so user rows are locked
/// until the commit on PostgreSQL, and an erasure begins with a lock that excludes this one. If the erasure was first,
/// this statement waits for it and then does not find the user. Otherwise the erasure waits for this commit and then
/// deletes the sessions. SQLite has one writer.
fn users_with_account(transaction: &mut Transaction<'_>, batch: &[&Start]) -> Result<HashSet<Uuid>, StoreError> {
    let users: Vec<SqlValue<'_>> = padded(batch).map(|start| start.user.into()).collect();
    let placeholders: Vec<String> = (1..=users.len()).map(|number| format!("?{number}")).collect();
    let (placeholders, lock) = (placeholders.join(", "), for_presence(transaction.dialect()));
    let select = format!("SELECT id FROM users WHERE id IN ({placeholders}) ORDER BY id{lock}");
    let mut found = HashSet::new();
    transaction.for_each_row(&select, &users, |row| {
        found.insert(row.get(0)?);
        Ok(())
    })?;
    Ok(found)
}

/// Inserts started sessions with one statement.
fn insert(transaction: &mut Transaction<'_>, batch: &[&Start]) -> Result<(), StoreError> {
    if batch.is_empty() {
        return Ok(());
    }
    let mut insert = "INSERT INTO sessions
            (id, user_id, state, created_at, refreshed_at, last_seen_at, expires_at, address, method)
        VALUES "
        .to_owned();
    let mut parameters: Vec<SqlValue<'_>> = Vec::new();
    for start in padded(batch) {
        let [a, b, c, d, e, f] = [1, 2, 3, 4, 5, 6].map(|offset| parameters.len() + offset);
        let comma = if parameters.is_empty() { "" } else { ", " };
        let _ = write!(insert, "{comma}(?{a}, ?{b}, 'authenticated', ?{c}, ?{c}, ?{c}, ?{d}, ?{e}, ?{f})");
        let Start { session, user, at, expires_at, address, method } = start;
        parameters.extend_from_slice(values![session, user, *at, *expires_at, address, *method]);
    }
    insert.push_str(" ON CONFLICT (id) DO NOTHING");
    transaction.execute(&insert, &parameters).map(|_| ())
}

/// Repeats the last element up to the next power of two, which changes nothing: so there are few distinct statements,
/// and all of them stay prepared.
fn padded<T>(batch: &[T]) -> impl Iterator<Item = &T> {
    let missing = batch.len().next_power_of_two() - batch.len();
    batch.iter().chain(batch.last().into_iter().cycle().take(missing))
}
