//! Lists the friends of the friends of a user.

use super::{
    Friends, OF_FRIENDS_LISTED_DEFAULT, OF_FRIENDS_LISTED_MAX, OF_FRIENDS_SEARCHED_MAX, blocked_among, change,
};
use crate::account::{USER_COLUMNS, User, read_user};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{StoreError, Transaction, values};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Friends of a friend that are read at a time.
const SEARCH_STEP: i64 = 500;

/// A friend of a friend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FriendOfFriend {
    /// Friend of the user, who is a friend of the other one.
    pub referrer: Uuid,
    /// The other user.
    pub user: User,
}

/// Page of friends of friends. A page is short if many friends were searched for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FriendOfFriendPage {
    /// Friends of friends. Each is listed once in a page, and again in a later one if another friend knows them too.
    pub friends_of_friends: Vec<FriendOfFriend>,
    /// Cursor of the next page. Empty on the last page.
    pub cursor: String,
}

/// Position after a friend of a friend; a nil user is before all of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Position {
    referrer: Uuid,
    user: Uuid,
}

/// Users that are found, with their referrers, and the position to continue at.
struct Search {
    user: Uuid,
    /// Friends and blocked users, who are left out.
    known: BTreeSet<Uuid>,
    limit: usize,
    listed: BTreeSet<Uuid>,
    found: Vec<(Uuid, Uuid)>,
    position: Position,
}

impl Friends {
    /// Returns friends of the user's friends, without the user, their friends, and users with a block in between.
    pub async fn list_of_friends(
        &self,
        user: Uuid,
        limit: Option<i32>,
        cursor: &str,
    ) -> Result<FriendOfFriendPage, ServiceError> {
        let limit = limit.unwrap_or(OF_FRIENDS_LISTED_DEFAULT);
        if !(1..=OF_FRIENDS_LISTED_MAX).contains(&limit) {
            let message = format!("Invalid limit - limit must be between 1 and {OF_FRIENDS_LISTED_MAX}.");
            return Err(ServiceError::invalid(message));
        }
        let limit = usize::try_from(limit).unwrap_or(0);
        let position = cursor::decode::<Position>(cursor)?.unwrap_or_default();
        let operation = move |transaction: &mut Transaction<'_>| {
            let (friends, known) = read_own(transaction, user, position.referrer)?;
            let (listed, found, position) = (BTreeSet::new(), Vec::new(), position.clone());
            Search { user, known, limit, listed, found, position }.run(transaction, &friends)
        };
        Ok(self.store.read(operation).await?)
    }
}

/// Returns the friends of a user from one on, in the order of their ids, and all friends and blocked users.
fn read_own(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    from: Uuid,
) -> Result<(Vec<Uuid>, BTreeSet<Uuid>), StoreError> {
    let (mut friends, mut known) = (Vec::new(), BTreeSet::from([user]));
    let select = "SELECT other_id, state FROM friend_edges WHERE user_id = ?1 AND state IN (0, 3) ORDER BY other_id";
    transaction.for_each_row(select, values![user], |row| {
        let other = row.get::<Uuid>(0)?;
        known.insert(other);
        if row.get::<i64>(1)? == 0 && other >= from {
            friends.push(other);
        }
        Ok(())
    })?;
    Ok((friends, known))
}

impl Search {
    fn run(mut self, transaction: &mut Transaction<'_>, friends: &[Uuid]) -> Result<FriendOfFriendPage, StoreError> {
        for friend in friends.iter().take(OF_FRIENDS_SEARCHED_MAX) {
            if self.search(transaction, *friend)? {
                return self.page(transaction, true);
            }
        }
        let next = friends.get(OF_FRIENDS_SEARCHED_MAX);
        if let Some(next) = next {
            self.position = Position { referrer: *next, user: Uuid::nil() };
        }
        self.page(transaction, next.is_some())
    }

    /// Searches the friends of a friend. Returns true if the page is full.
    fn search(&mut self, transaction: &mut Transaction<'_>, friend: Uuid) -> Result<bool, StoreError> {
        let mut after = if self.position.referrer == friend { self.position.user } else { Uuid::nil() };
        loop {
            let select = "SELECT other_id FROM friend_edges
                WHERE user_id = ?1 AND other_id > ?2 AND state = 0 ORDER BY other_id LIMIT ?3";
            let others = transaction.rows(select, values![friend, after, SEARCH_STEP], |row| row.get::<Uuid>(0))?;
            let blocked = blocked_among(transaction, self.user, &others)?;
            for other in &others {
                if self.found.len() == self.limit {
                    return Ok(true);
                }
                if !self.known.contains(other) && !blocked.contains(other) && self.listed.insert(*other) {
                    self.found.push((friend, *other));
                }
                self.position = Position { referrer: friend, user: *other };
            }
            match others.last() {
                Some(last) if others.len() as i64 == SEARCH_STEP => after = *last,
                _ => return Ok(false),
            }
        }
    }

    fn page(self, transaction: &mut Transaction<'_>, has_more: bool) -> Result<FriendOfFriendPage, StoreError> {
        let ids: Vec<Uuid> = self.found.iter().map(|(_, user)| *user).collect();
        let mut users = BTreeMap::new();
        let select = format!("SELECT {USER_COLUMNS} FROM users u WHERE u.id IN ");
        change::each_of(transaction, &select, &[], &ids, |row| {
            let user = read_user(row)?;
            users.insert(user.id, user);
            Ok(())
        })?;
        let listed = self
            .found
            .iter()
            .filter_map(|(referrer, user)| Some(FriendOfFriend { referrer: *referrer, user: users.remove(user)? }));
        let friends_of_friends = listed.collect();
        let cursor = if has_more { cursor::encode(&self.position) } else { String::new() };
        Ok(FriendOfFriendPage { friends_of_friends, cursor })
    }
}
