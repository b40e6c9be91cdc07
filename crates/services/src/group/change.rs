//! A change of the members of one group, within a transaction.

use super::limits::{ADMINS_NOTIFIED_MAX, BANS_MAX, GROUPS_PER_USER_MAX, JOIN_REQUESTS_MAX};
use super::role::{Authority, GroupRole, LAST_SUPERADMIN_STAYS};
use super::{NOT_FOUND, USER_NOT_FOUND, rows};
use crate::account::with_list;
use crate::chat::{self, ChatMessage};
use crate::error::{GrpcCode, ServiceError};
use crate::notification::{NewNotification, Notifications, StoredNotification, code};
use aether_store::{Dialect, SqlValue, StoreError, Transaction, values};
use serde_json::json;
use std::collections::BTreeMap;
use uuid::Uuid;

const FULL: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "Group is full. Try again when a member has left.");

/// A group whose row is locked until the end of the transaction.
pub(super) struct Change {
    pub group: LockedGroup,
    /// Rights of the one who changes it.
    pub authority: Authority,
    by: Option<Uuid>,
    now_ms: i64,
    /// Number of members when the change began.
    count_before: i64,
    effects: Effects,
}

/// State of a group that a change depends on.
pub(super) struct LockedGroup {
    pub id: Uuid,
    pub name: String,
    pub is_open: bool,
    pub edge_count: i64,
    max_count: i64,
}

/// Consequences of a change, which follow after its commit.
#[derive(Default)]
pub(super) struct Effects {
    /// Users who are no longer members.
    pub removed: Vec<Uuid>,
    /// System messages of the group's chat, in their order.
    pub messages: Vec<ChatMessage>,
    /// Notifications of users who were added, or of admins.
    pub notifications: Vec<StoredNotification>,
}

impl Change {
    /// Locks a group. Users that the change adds are locked before: see [`lock_users`].
    pub fn begin(
        transaction: &mut Transaction<'_>,
        group: Uuid,
        by: Option<Uuid>,
        now_ms: i64,
    ) -> Result<Change, ServiceError> {
        let select = "SELECT name, open, edge_count, max_count FROM groups WHERE id = ?1";
        let select = format!("{select}{}", transaction.for_update());
        let locked = transaction.row(&select, values![group], |row| {
            Ok(LockedGroup {
                id: group,
                name: row.get(0)?,
                is_open: row.get(1)?,
                edge_count: row.get(2)?,
                max_count: row.get(3)?,
            })
        })?;
        let locked = locked.ok_or(NOT_FOUND)?;
        let authority = match by {
            None => Authority::Server,
            Some(user) => Authority::User(rows::member_role(transaction, group, user)?),
        };
        let count_before = locked.edge_count;
        Ok(Change { group: locked, authority, by, now_ms, count_before, effects: Effects::default() })
    }

    /// Returns the role of a user.
    pub fn role(&self, transaction: &mut Transaction<'_>, user: Uuid) -> Result<Option<GroupRole>, ServiceError> {
        Ok(rows::member_role(transaction, self.group.id, user)?)
    }

    /// Changes the role of a user, with the limits of the group and of the user.
    pub fn set_role(
        &mut self,
        transaction: &mut Transaction<'_>,
        user: Uuid,
        from: Option<GroupRole>,
        to: Option<GroupRole>,
    ) -> Result<(), ServiceError> {
        let group = self.group.id;
        if from == Some(GroupRole::Superadmin) && rows::count_role(transaction, group, GroupRole::Superadmin)? <= 1 {
            return Err(LAST_SUPERADMIN_STAYS);
        }
        if from.is_none_or(|role| role == GroupRole::Banned) && to.is_some_and(|role| role != GroupRole::Banned) {
            check_quota(transaction, user)?;
        }
        let [was_member, is_member] = [from, to].map(|role| role.is_some_and(GroupRole::is_member));
        match to {
            None => rows::delete_role(transaction, group, user)?,
            Some(role) if was_member && is_member => rows::change_role(transaction, group, user, role)?,
            Some(role) => {
                self.check_room(transaction, role)?;
                rows::write_role(transaction, group, user, role, self.now_ms)?;
            }
        }
        self.group.edge_count += i64::from(is_member) - i64::from(was_member);
        if was_member && !is_member {
            self.effects.removed.push(user);
        }
        Ok(())
    }

    /// Rejects one more user with a role, if the group has as many as it may.
    fn check_room(&self, transaction: &mut Transaction<'_>, role: GroupRole) -> Result<(), ServiceError> {
        let (most, what) = match role {
            GroupRole::Superadmin | GroupRole::Admin | GroupRole::Member => {
                return if self.group.edge_count < self.group.max_count { Ok(()) } else { Err(FULL) };
            }
            GroupRole::JoinRequest => (JOIN_REQUESTS_MAX, "join requests. Try again when an admin has answered some"),
            GroupRole::Banned => (BANS_MAX, "bans. Kick banned users who no longer matter, which lifts their ban"),
        };
        if rows::count_role(transaction, self.group.id, role)? >= most.into() {
            let why = format!("The group has its maximum of {most} {what}.");
            return Err(ServiceError::with(GrpcCode::ResourceExhausted, why));
        }
        Ok(())
    }

    /// Adds a system message to the group's chat, about a user. The code is one of [`chat::code`].
    pub fn tell(
        &mut self,
        transaction: &mut Transaction<'_>,
        code: i32,
        user: Uuid,
        username: &str,
    ) -> Result<(), ServiceError> {
        let message = chat::store_group_message(transaction, self.group.id, code, user, username, self.now_ms)?;
        self.effects.messages.push(message);
        Ok(())
    }

    /// Notifies a user who was added. The user is locked.
    pub fn notify_added(
        &mut self,
        transaction: &mut Transaction<'_>,
        notifications: &Notifications,
        user: Uuid,
    ) -> Result<(), ServiceError> {
        let subject = format!("You've been added to group {}", self.group.name);
        let content = json!({ "group_id": self.group.id, "name": self.group.name }).to_string();
        let new = NewNotification::persistent(user, code::GROUP_ADDED, subject, content);
        let new = NewNotification { sender: self.by, ..new };
        self.effects.notifications.push(notifications.store(transaction, &new, self.now_ms)?);
        Ok(())
    }

    /// Notifies admins of a join request: those of `locked` who are still admins and do not have the same notification of
    /// an earlier request, so that a user who asks again and again does not displace other notifications.
    pub fn notify_admins(
        &mut self,
        transaction: &mut Transaction<'_>,
        notifications: &Notifications,
        locked: &[Uuid],
        (user, username): (Uuid, &str),
    ) -> Result<(), ServiceError> {
        let subject = format!("{username} wants to join your group {}", self.group.name);
        let content = json!({ "group_id": self.group.id, "name": self.group.name, "username": username }).to_string();
        let told = "SELECT user_id FROM notifications WHERE sender_id = ?1 AND code = ?2 AND content = ?3";
        let told =
            transaction.rows(told, values![user, code::GROUP_JOIN_REQUEST, &content], |row| row.get::<Uuid>(0))?;
        let mut admins = admins_of(transaction, self.group.id)?;
        admins.retain(|admin| locked.contains(admin) && !told.contains(admin));
        admins.sort_unstable();
        for admin in admins {
            let new = NewNotification::persistent(admin, code::GROUP_JOIN_REQUEST, subject.clone(), content.clone());
            let stored = notifications.store(transaction, &new.from_user(user), self.now_ms)?;
            self.effects.notifications.push(stored);
        }
        Ok(())
    }

    /// Stores the number of members. Returns what follows after the commit.
    pub fn finish(self, transaction: &mut Transaction<'_>) -> Result<Effects, ServiceError> {
        if self.group.edge_count != self.count_before {
            rows::write_count(transaction, self.group.id, self.group.edge_count, self.now_ms)?;
        }
        Ok(self.effects)
    }
}

/// Returns the admins of a closed group who are notified of a join request; none if the group is open.
pub(super) fn admins_of(transaction: &mut Transaction<'_>, group: Uuid) -> Result<Vec<Uuid>, StoreError> {
    let select = "SELECT m.user_id FROM group_members m JOIN groups g ON g.id = m.group_key
        WHERE m.group_key = ?1 AND m.role <= 1 AND NOT g.open ORDER BY m.role, m.since, m.user_id LIMIT ?2";
    transaction.rows(select, values![group, ADMINS_NOTIFIED_MAX], |row| row.get(0))
}

/// Locks users who are about to get a role, in the order of their ids, and returns their usernames. They cannot be erased
/// until the end of the transaction, and their groups are counted exactly.
pub(super) fn lock_users(
    transaction: &mut Transaction<'_>,
    users: &[Uuid],
) -> Result<BTreeMap<Uuid, String>, ServiceError> {
    let lock = match transaction.dialect() {
        Dialect::Sqlite => " ORDER BY id",
        // It conflicts with itself and with an erasure, but not with rows of other tables that refer to the user.
        Dialect::Postgres => " ORDER BY id FOR NO KEY UPDATE",
    };
    if users.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut keys: Vec<SqlValue<'_>> = users.iter().map(SqlValue::from).collect();
    let select = with_list("SELECT id, username FROM users WHERE id IN ", lock, &mut keys);
    let found = transaction.rows(&select, &keys, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found: BTreeMap<Uuid, String> = found.into_iter().collect();
    if users.iter().any(|user| !found.contains_key(user)) {
        return Err(USER_NOT_FOUND);
    }
    Ok(found)
}

/// Rejects one more group of a user who has as many as allowed.
pub(super) fn check_quota(transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), ServiceError> {
    let select = "SELECT count(*) FROM group_members WHERE user_id = ?1 AND role <= ?2";
    let role = GroupRole::JoinRequest.number();
    let count: i64 = transaction.row(select, values![user, role], |row| row.get(0))?.unwrap_or(0);
    if count >= GROUPS_PER_USER_MAX.into() {
        let why = format!(
            "A user may be in at most {GROUPS_PER_USER_MAX} groups, with join requests. Leave one of them first."
        );
        return Err(ServiceError::with(GrpcCode::ResourceExhausted, why));
    }
    Ok(())
}
