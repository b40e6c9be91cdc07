//! The history of sessions: gathered in memory and written many at once, because nobody waits for it.

use super::{NewSession, Sessions};
use crate::account::for_presence;
use crate::error::ServiceError;
use aether_store::{SqlValue, StoreError, Transaction, values};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// What may wait to be written. Beyond that the history has gaps rather than the server no memory.
const WAITING_MAX: usize = 100_000;

/// Rows of one statement, a power of two. Each has six parameters, of which a statement takes 32,766 on SQLite and 65,535
/// on PostgreSQL; more rows at once are hardly faster.
const ROWS_MAX: usize = 512;

/// Sessions in one answer.
pub const HISTORY_MAX: u32 = 100;

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// Someone has opened a connection and not yet said who they are. Never stored: it has no session yet.
    Connecting,
    /// There are tokens.
    Authenticated,
    /// A realtime connection is open.
    Active,
    /// The connection was lost; the player may come back.
    Resuming,
    /// It is over.
    Closed,
}

/// A session of the past, or of now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// The session.
    pub session: Uuid,
    /// How far it is: see [`SessionState::name`].
    pub state: String,
    /// When it started, in milliseconds since 1970.
    pub created_at: i64,
    /// When it was last seen.
    pub last_seen_at: i64,
    /// When it was ended, if it was.
    pub revoked_at: Option<i64>,
    /// Why it was ended.
    pub reason: String,
    /// Where it came from.
    pub address: String,
    /// How it was signed in.
    pub method: String,
}

#[derive(Default)]
pub(super) struct History {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
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
    /// Its name in the database.
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
    pub fn note_start(&self, session: Uuid, beginning: &NewSession<'_>, at: i64, expires_at: i64) {
        let mut waiting = self.waiting();
        if waiting.starts.len() < WAITING_MAX {
            let address = beginning.address.map(|address| address.to_string()).unwrap_or_default();
            let (user, method) = (beginning.user, beginning.method);
            waiting.starts.push(Start { session, user, at, expires_at, address, method });
        }
    }

    fn note_seen(&self, session: Uuid, state: SessionState, at: i64) {
        let mut waiting = self.waiting();
        if waiting.seen.len() < WAITING_MAX || waiting.seen.contains_key(&session) {
            waiting.seen.insert(session, (state, at));
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions {
    /// Notes how far a session is: a heartbeat. It is written with the next [`Sessions::flush`].
    pub fn note(&self, session: Uuid, state: SessionState) {
        self.history.note_seen(session, state, self.clock.now_ms());
    }

    /// Writes what was noted. To be called each second.
    pub async fn flush(&self) -> Result<(), ServiceError> {
        let waiting = std::mem::take(&mut *self.history.waiting());
        if waiting.starts.is_empty() && waiting.seen.is_empty() {
            return Ok(());
        }
        let waiting = Arc::new(waiting);
        let written = Arc::clone(&waiting);
        let outcome = self.store.write(move |transaction| write(transaction, &written)).await;
        if outcome.is_err() {
            self.take_back(&waiting);
        }
        outcome
    }

    /// What was not written is tried again, as far as there is room.
    fn take_back(&self, unwritten: &Waiting) {
        let mut waiting = self.history.waiting();
        let room = WAITING_MAX.saturating_sub(waiting.starts.len());
        waiting.starts.extend(unwritten.starts.iter().take(room).cloned());
        for (session, seen) in &unwritten.seen {
            waiting.seen.entry(*session).or_insert(*seen);
        }
    }

    /// The last sessions of a user, the newest first.
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

    /// Forgets sessions that expired before a time. Returns how many.
    pub async fn prune(&self, expired_before: i64) -> Result<u64, ServiceError> {
        let delete = "DELETE FROM sessions WHERE expires_at < ?1";
        let operation =
            move |transaction: &mut Transaction<'_>| Ok(transaction.execute(delete, values![expired_before])?);
        self.store.write(operation).await
    }
}

fn write(transaction: &mut Transaction<'_>, waiting: &Waiting) -> Result<(), ServiceError> {
    // Users are locked in the order of their ids, as everywhere, so that no two transactions wait for each other.
    let mut starts: Vec<&Start> = waiting.starts.iter().collect();
    starts.sort_by_key(|start| start.user);
    for batch in starts.chunks(ROWS_MAX) {
        let present = present(transaction, batch)?;
        let batch: Vec<&Start> = batch.iter().copied().filter(|start| present.contains(&start.user)).collect();
        insert(transaction, &batch)?;
    }
    for (session, (state, at)) in &waiting.seen {
        let update = "UPDATE sessions SET state = ?2, last_seen_at = ?3 WHERE id = ?1 AND revoked_at IS NULL";
        transaction.execute(update, values![*session, state.name(), *at])?;
    }
    Ok(())
}

/// Which users are there, of those to whom something happened.
///
/// The sessions of an erased account must not come back with a late write. There is no reference that would see to it, so
/// the rows of the users do: on PostgreSQL each is locked until the commit. An erasure begins with a lock that excludes
/// ours. If it was first, this statement waits for it and then no longer finds the user; if we were, it waits for our
/// commit, and then finds the sessions and removes them. On SQLite one transaction writes at a time.
fn present(transaction: &mut Transaction<'_>, batch: &[&Start]) -> Result<HashSet<Uuid>, StoreError> {
    let users: Vec<SqlValue<'_>> = padded(batch).map(|start| start.user.into()).collect();
    let places: Vec<String> = (1..=users.len()).map(|number| format!("?{number}")).collect();
    let (places, lock) = (places.join(", "), for_presence(transaction));
    let select = format!("SELECT id FROM users WHERE id IN ({places}) ORDER BY id{lock}");
    let mut present = HashSet::new();
    transaction.each(&select, &users, |row| {
        present.insert(row.get(0)?);
        Ok(())
    })?;
    Ok(present)
}

/// Writes sessions that have started, all by one statement.
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
        let [a, b, c, d, e, f] = [1, 2, 3, 4, 5, 6].map(|place| parameters.len() + place);
        let comma = if parameters.is_empty() { "" } else { ", " };
        let _ = write!(insert, "{comma}(?{a}, ?{b}, 'authenticated', ?{c}, ?{c}, ?{c}, ?{d}, ?{e}, ?{f})");
        let Start { session, user, at, expires_at, address, method } = start;
        parameters.extend_from_slice(values![session, user, *at, *expires_at, address, *method]);
    }
    insert.push_str(" ON CONFLICT (id) DO NOTHING");
    transaction.execute(&insert, &parameters).map(|_| ())
}

/// A batch whose last start is repeated up to the next power of two, which changes nothing: so there are few different
/// statements, and all of them stay prepared.
fn padded<'a>(batch: &'a [&'a Start]) -> impl Iterator<Item = &'a Start> {
    let missing = batch.len().next_power_of_two() - batch.len();
    batch.iter().copied().chain(batch.last().copied().into_iter().cycle().take(missing))
}
