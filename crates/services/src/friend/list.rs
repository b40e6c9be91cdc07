//! Lists the friends of a user.

use super::change::each_of;
use super::limits::LIST_STEP;
use super::{FriendState, Friends, LIST_BYTES_MAX, LISTED_MAX, USERS_PER_CALL_MAX};
use crate::account::{USER_COLUMNS, USER_COLUMNS_COUNT, User, read_user};
use crate::cursor;
use crate::error::{GrpcCode, ServiceError};
use aether_store::{SqlRow, SqlValue, StoreError, Transaction, values};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use uuid::Uuid;

/// A user with an edge to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Friend {
    /// The other user.
    pub user: User,
    /// State of the edge.
    pub state: FriendState,
    /// Metadata of the edge: a JSON object.
    pub metadata: String,
    /// Time of the last change of the state, in milliseconds since 1970.
    pub updated_at_ms: i64,
}

/// Page of friends, in the order of their state and of its last change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FriendPage {
    /// Friends.
    pub friends: Vec<Friend>,
    /// Cursor of the next page. Empty on the last page.
    pub cursor: String,
}

/// Position after a friend, in a list with this filter.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Position {
    filter: Option<i64>,
    state: i64,
    updated_at: i64,
    other: Uuid,
}

const CURSOR: ServiceError = ServiceError::new(GrpcCode::InvalidArgument, "Cursor is invalid or expired.");

impl Friends {
    /// Returns the users with an edge of the user, of all states or of one. A page of many bytes ends early.
    pub async fn list(
        &self,
        user: Uuid,
        state: Option<FriendState>,
        limit: Option<i32>,
        cursor: &str,
    ) -> Result<FriendPage, ServiceError> {
        let limit = limit.unwrap_or(LISTED_MAX);
        if !(1..=LISTED_MAX).contains(&limit) {
            return Err(ServiceError::invalid(format!("Invalid limit - limit must be between 1 and {LISTED_MAX}.")));
        }
        let filter = state.map(|state| i64::from(state.number()));
        let after = cursor::decode::<Position>(cursor)?;
        if after.as_ref().is_some_and(|position| position.filter != filter) {
            return Err(CURSOR);
        }
        let limit = usize::try_from(limit).unwrap_or(0);
        let operation = move |transaction: &mut Transaction<'_>| read_page(transaction, user, filter, limit, &after);
        Ok(self.store.read(operation).await?)
    }

    /// Returns the edges of the user to the given users, sorted by their ids. Users without an edge are omitted.
    pub async fn among(&self, user: Uuid, others: Vec<Uuid>) -> Result<Vec<Friend>, ServiceError> {
        if others.len() > USERS_PER_CALL_MAX {
            return Err(ServiceError::invalid(format!("At most {USERS_PER_CALL_MAX} users can be sent.")));
        }
        let operation = move |transaction: &mut Transaction<'_>| {
            let select = format!(
                "SELECT {USER_COLUMNS}, e.state, e.metadata, e.updated_at
                 FROM friend_edges e JOIN users u ON u.id = e.other_id WHERE e.user_id = ?1 AND e.other_id IN "
            );
            let mut friends = BTreeMap::new();
            each_of(transaction, &select, values![user], &others, |row| {
                let friend = read(row)?;
                friends.insert(friend.user.id, friend);
                Ok(())
            })?;
            Ok::<_, StoreError>(friends.into_values().collect())
        };
        Ok(self.store.read(operation).await?)
    }
}

/// Reads a page in steps, so that large metadata of users does not fill the memory.
fn read_page(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    filter: Option<i64>,
    limit: usize,
    after: &Option<Position>,
) -> Result<FriendPage, StoreError> {
    let (mut friends, mut bytes): (Vec<Friend>, usize) = (Vec::new(), 0);
    let mut position = after.clone().unwrap_or(Position { filter, state: -1, updated_at: 0, other: Uuid::nil() });
    loop {
        let count = LIST_STEP.min(limit as i64 + 1 - friends.len() as i64);
        let found = read_step(transaction, user, filter, &position, count)?;
        let is_last = (found.len() as i64) < count;
        for friend in found {
            if friends.len() == limit || bytes >= LIST_BYTES_MAX {
                return Ok(FriendPage { friends, cursor: cursor::encode(&position) });
            }
            bytes += friend.user.metadata.len() + friend.metadata.len();
            let state = friend.state.number().into();
            position = Position { filter, state, updated_at: friend.updated_at_ms, other: friend.user.id };
            friends.push(friend);
        }
        if is_last {
            return Ok(FriendPage { friends, cursor: String::new() });
        }
    }
}

fn read_step(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    filter: Option<i64>,
    after: &Position,
    count: i64,
) -> Result<Vec<Friend>, StoreError> {
    let condition = if filter.is_some() { "e.state = ?6" } else { "TRUE" };
    let select = format!(
        "SELECT {USER_COLUMNS}, e.state, e.metadata, e.updated_at
         FROM friend_edges e JOIN users u ON u.id = e.other_id
         WHERE e.user_id = ?1 AND {condition} AND (e.state, e.updated_at, e.other_id) > (?2, ?3, ?4)
         ORDER BY e.state, e.updated_at, e.other_id LIMIT ?5"
    );
    let mut parameters = values![user, after.state, after.updated_at, after.other, count].to_vec();
    parameters.extend(filter.map(SqlValue::from));
    transaction.rows(&select, &parameters, read)
}

fn read(row: &SqlRow<'_>) -> Result<Friend, StoreError> {
    let state = row.get::<i64>(USER_COLUMNS_COUNT)?;
    let unknown = || StoreError::Failed(format!("an edge has the unknown state {state}"));
    Ok(Friend {
        user: read_user(row)?,
        state: FriendState::from_number(state).ok_or_else(unknown)?,
        metadata: row.get(USER_COLUMNS_COUNT + 1)?,
        updated_at_ms: row.get(USER_COLUMNS_COUNT + 2)?,
    })
}
