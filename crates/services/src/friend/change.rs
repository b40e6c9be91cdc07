//! Changes relations of a user in a transaction.

use super::relation::{Action, FriendState, Notice, Relation};
use super::{BLOCKED_MAX, FRIENDS_MAX, INVITES_RECEIVED_MAX, NamedUsers};
use crate::error::{GrpcCode, ServiceError};
use crate::notification::{NewNotification, Notifications, StoredNotification, code};
use aether_store::{SqlRow, SqlValue, Statements, StoreError, Transaction, values};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Keys of one statement. Longer lists take several.
const KEYS_PER_STATEMENT: usize = 256;
/// Lengths of lists in statements. A list is padded to the next of them, so that there are few distinct statements.
const LIST_LENGTHS: [usize; 4] = [1, 8, 64, KEYS_PER_STATEMENT];

const NO_USERS: ServiceError = ServiceError::new(GrpcCode::InvalidArgument, "No valid ID or username was provided.");
const ADDS_SELF: ServiceError = ServiceError::new(GrpcCode::InvalidArgument, "Cannot add self as friend.");
const BLOCKS_SELF: ServiceError = ServiceError::new(GrpcCode::InvalidArgument, "Cannot block self.");
const NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "User account not found.");

/// Action of a user on others.
pub(super) struct Change<'a> {
    pub user: Uuid,
    pub others: BTreeSet<Uuid>,
    pub action: Action,
    /// Metadata of the user's edges. `None` keeps it.
    pub metadata: Option<&'a str>,
    /// True if a limit is an error. Otherwise users beyond a limit are left out.
    pub is_strict: bool,
    pub now_ms: i64,
}

/// Result of a change.
pub(super) struct Changed {
    /// Users whose relation changed.
    pub users: Vec<Uuid>,
    pub notifications: Vec<StoredNotification>,
}

/// A locked user.
struct LockedUser {
    username: String,
    edge_count: i64,
}

/// Next relation with a user.
struct Step {
    other: Uuid,
    before: Relation,
    after: Relation,
    notice: Option<Notice>,
}

/// Returns the ids of named users. Unknown names are left out, and unknown ids later.
pub(super) fn find(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    named: &NamedUsers,
    action: Action,
) -> Result<BTreeSet<Uuid>, ServiceError> {
    let mut ids: BTreeSet<Uuid> = named.ids.iter().copied().collect();
    for username in &named.usernames {
        let select = "SELECT id FROM users WHERE username = ?1";
        ids.extend(transaction.row(select, values![username], |row| row.get::<Uuid>(0))?);
    }
    match action {
        Action::Add if ids.contains(&user) => Err(ADDS_SELF),
        Action::Block if ids.contains(&user) => Err(BLOCKS_SELF),
        _ => {
            ids.remove(&user);
            Ok(ids)
        }
    }
}

impl Change<'_> {
    /// Runs the change, and stores its notifications.
    pub fn run(
        self,
        transaction: &mut Transaction<'_>,
        notifications: &Notifications,
    ) -> Result<Changed, ServiceError> {
        let users = self.lock(transaction)?;
        let own = users.get(&self.user).ok_or(NOT_FOUND)?;
        let others: Vec<Uuid> = self.others.iter().filter(|other| users.contains_key(*other)).copied().collect();
        if others.is_empty() && self.is_strict {
            return Err(NO_USERS);
        }
        let mut steps = Vec::new();
        for (other, before) in read_relations(transaction, self.user, &others)? {
            let (after, notice) = before.after(self.action).map_err(|_| blocks(&users[&other].username))?;
            steps.push(Step { other, before, after, notice });
        }
        self.apply_limits(transaction, &users, &mut steps)?;
        self.write(transaction, &steps)?;
        let mut stored = Vec::new();
        for step in &steps {
            if let Some(notice) = step.notice {
                let new = notification(self.user, &own.username, step.other, notice);
                stored.push(notifications.store(transaction, &new, self.now_ms)?);
            }
        }
        let changed = steps.iter().filter(|step| step.before != step.after).map(|step| step.other);
        Ok(Changed { users: changed.collect(), notifications: stored })
    }

    /// Locks all users in the order of their ids, and reads them. Missing ones are left out.
    fn lock(&self, transaction: &mut Transaction<'_>) -> Result<BTreeMap<Uuid, LockedUser>, StoreError> {
        let ids: BTreeSet<Uuid> = self.others.iter().copied().chain([self.user]).collect();
        let (ids, mut users) = (Vec::from_iter(ids), BTreeMap::new());
        let select = "SELECT id, username, edge_count FROM users WHERE id IN ";
        let end = format!(" ORDER BY id{}", transaction.for_update());
        each_of_ending(transaction, (select, &end), &[], &ids, |row| {
            users.insert(row.get(0)?, LockedUser { username: row.get(1)?, edge_count: row.get(2)? });
            Ok(())
        })?;
        Ok(users)
    }

    /// Rejects steps beyond a limit, or leaves them out.
    fn apply_limits(
        &self,
        transaction: &mut Transaction<'_>,
        users: &BTreeMap<Uuid, LockedUser>,
        steps: &mut Vec<Step>,
    ) -> Result<(), ServiceError> {
        let mut own = Room::new(self.user, users[&self.user].edge_count);
        let mut kept = Vec::with_capacity(steps.len());
        for step in steps.drain(..) {
            let mut other = Room::new(step.other, users[&step.other].edge_count);
            let has_room = own.take(transaction, step.before.own, step.after.own)?
                && other.take(transaction, step.before.other, step.after.other)?;
            if has_room {
                kept.push(step);
            } else if self.is_strict {
                return Err(TOO_MANY);
            }
        }
        *steps = kept;
        Ok(())
    }

    /// Writes the edges and the edge counts.
    fn write(&self, transaction: &mut Transaction<'_>, steps: &[Step]) -> Result<(), StoreError> {
        let mut statements = Vec::new();
        let mut own_change = 0;
        for Step { other, before, after, .. } in steps {
            statements.extend(self.edge(self.user, *other, before.own, after.own, self.metadata));
            statements.extend(self.edge(*other, self.user, before.other, after.other, None));
            own_change += count(after.own) - count(before.own);
            statements.extend(counted(*other, count(after.other) - count(before.other)));
        }
        statements.extend(counted(self.user, own_change));
        if !statements.is_empty() {
            transaction.answers(&Statements::all(statements))?;
        }
        Ok(())
    }

    /// Returns the statement that changes an edge, if it changes.
    fn edge(
        &self,
        user: Uuid,
        other: Uuid,
        before: Option<FriendState>,
        after: Option<FriendState>,
        metadata: Option<&str>,
    ) -> Option<Statements> {
        let Some(state) = after else {
            let delete = "DELETE FROM friend_edges WHERE user_id = ?1 AND other_id = ?2";
            return before.map(|_| Statements::writing(delete, values![user, other]));
        };
        if before == after {
            let update = "UPDATE friend_edges SET metadata = ?3 WHERE user_id = ?1 AND other_id = ?2";
            return metadata.map(|metadata| Statements::writing(update, values![user, other, metadata]));
        }
        let upsert = "INSERT INTO friend_edges (user_id, other_id, state, metadata, updated_at)
            VALUES (?1, ?2, ?3, coalesce(?4, '{}'), ?5) ON CONFLICT (user_id, other_id) DO UPDATE SET
            state = excluded.state, updated_at = excluded.updated_at, metadata = coalesce(?4, friend_edges.metadata)";
        Some(Statements::writing(upsert, values![user, other, state.number(), metadata, self.now_ms]))
    }
}

const TOO_MANY: ServiceError = ServiceError::new(
    GrpcCode::ResourceExhausted,
    "One of the users has too many friends, invites or blocked users. Delete some first.",
);

/// Number of edges that a user may still get.
struct Room {
    user: Uuid,
    /// Edges of all states, an upper bound of those of one.
    edges: i64,
    /// Stored edges, and edges of this change, by their list of states.
    stored: BTreeMap<&'static str, i64>,
    taken: BTreeMap<&'static str, i64>,
}

impl Room {
    fn new(user: Uuid, edges: i64) -> Room {
        Room { user, edges, stored: BTreeMap::new(), taken: BTreeMap::new() }
    }

    /// Takes a place for a changed edge. Returns false if there is none.
    fn take(
        &mut self,
        transaction: &mut Transaction<'_>,
        before: Option<FriendState>,
        after: Option<FriendState>,
    ) -> Result<bool, StoreError> {
        let (Some(states), former) = (after.map(states_of), before.map(states_of)) else { return Ok(true) };
        if former == Some(states) {
            return Ok(true);
        }
        let (list, max) = states;
        let taken = self.taken.get(list).copied().unwrap_or(0);
        // Most users have few edges, and nothing is counted.
        let has_room = self.edges < max || self.stored(transaction, list)? + taken < max;
        if has_room {
            self.edges += i64::from(before.is_none());
            self.taken.insert(list, taken + 1);
        }
        Ok(has_room)
    }

    /// Returns the number of stored edges with a state of a list.
    fn stored(&mut self, transaction: &mut Transaction<'_>, list: &'static str) -> Result<i64, StoreError> {
        if let Some(stored) = self.stored.get(list) {
            return Ok(*stored);
        }
        let count = format!("SELECT count(*) FROM friend_edges WHERE user_id = ?1 AND state IN ({list})");
        let stored = transaction.row(&count, values![self.user], |row| row.get::<i64>(0))?.unwrap_or(0);
        self.stored.insert(list, stored);
        Ok(stored)
    }
}

/// States that count together with a state, as a list, and their maximum.
fn states_of(state: FriendState) -> (&'static str, i64) {
    match state {
        FriendState::Friend | FriendState::InviteSent => ("0, 1", FRIENDS_MAX),
        FriendState::InviteReceived => ("2", INVITES_RECEIVED_MAX),
        FriendState::Blocked => ("3", BLOCKED_MAX),
    }
}

fn blocks(username: &str) -> ServiceError {
    let message = format!("You block {username}. Delete the block first.");
    ServiceError::with(GrpcCode::FailedPrecondition, message)
}

fn count(edge: Option<FriendState>) -> i64 {
    i64::from(edge.is_some())
}

fn counted(user: Uuid, change: i64) -> Option<Statements> {
    let update = "UPDATE users SET edge_count = edge_count + ?2 WHERE id = ?1";
    (change != 0).then(|| Statements::writing(update, values![user, change]))
}

/// Returns the relations of a user with others, in their order.
fn read_relations(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    others: &[Uuid],
) -> Result<Vec<(Uuid, Relation)>, StoreError> {
    let mut edges: [BTreeMap<Uuid, Option<FriendState>>; 2] = Default::default();
    for (found, (own, other)) in edges.iter_mut().zip([("user_id", "other_id"), ("other_id", "user_id")]) {
        let select = format!("SELECT {other}, state FROM friend_edges WHERE {own} = ?1 AND {other} IN ");
        each_of(transaction, &select, values![user], others, |row| {
            found.insert(row.get(0)?, FriendState::from_number(row.get(1)?));
            Ok(())
        })?;
    }
    let state = |index: usize, other: &Uuid| edges[index].get(other).copied().flatten();
    Ok(others.iter().map(|other| (*other, Relation { own: state(0, other), other: state(1, other) })).collect())
}

/// Returns the notification about a change.
fn notification(user: Uuid, username: &str, to: Uuid, notice: Notice) -> NewNotification {
    let (code, subject) = match notice {
        Notice::Requested => (code::FRIEND_REQUEST, format!("{username} wants to add you as a friend")),
        Notice::Accepted => (code::FRIEND_ACCEPTED, format!("{username} accepted your friend request")),
        Notice::Removed => (code::FRIEND_REMOVED, format!("{username} removed you as a friend")),
        Notice::JoinedGame => (code::FRIEND_JOINED_GAME, "Your friend has just joined the game".to_owned()),
    };
    let content = json!({ "username": username }).to_string();
    NewNotification::persistent(to, code, subject, content).from_user(user)
}

/// Reads rows whose key is in a list. The statement ends before the list, and `first` are its first parameters.
pub(super) fn each_of(
    transaction: &mut Transaction<'_>,
    statement: &str,
    first: &[SqlValue<'_>],
    keys: &[Uuid],
    read: impl FnMut(&SqlRow<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    each_of_ending(transaction, (statement, ""), first, keys, read)
}

/// Like [`each_of`], with text after the list.
fn each_of_ending(
    transaction: &mut Transaction<'_>,
    (start, end): (&str, &str),
    first: &[SqlValue<'_>],
    keys: &[Uuid],
    mut read: impl FnMut(&SqlRow<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for keys in keys.chunks(KEYS_PER_STATEMENT) {
        let length = LIST_LENGTHS.into_iter().find(|length| *length >= keys.len()).unwrap_or(keys.len());
        let padding = keys.last().into_iter().cycle().take(length - keys.len());
        let parameters: Vec<SqlValue<'_>> =
            first.iter().copied().chain(keys.iter().chain(padding).map(SqlValue::from)).collect();
        let numbers: Vec<String> = (first.len()..parameters.len()).map(|index| format!("?{}", index + 1)).collect();
        let statement = format!("{start}({}){end}", numbers.join(", "));
        transaction.for_each_row(&statement, &parameters, &mut read)?;
    }
    Ok(())
}
