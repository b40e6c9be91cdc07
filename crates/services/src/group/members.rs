//! Joining, leaving, and changes of the members of a group.

use super::change::{Change, Effects, admins_of, lock_users};
use super::limits::USERS_PER_CALL_MAX;
use super::role::{GroupRole, LAST_SUPERADMIN, LAST_SUPERADMIN_STAYS, RoleChange};
use super::{Groups, USER_NOT_FOUND, stream};
use crate::chat::{self, code};
use crate::error::{GrpcCode, ServiceError};
use crate::friend;
use crate::notification::Notifications;
use crate::router::Shown;
use aether_store::Transaction;
use std::sync::Arc;
use uuid::Uuid;

const BANNED: ServiceError = ServiceError::new(
    GrpcCode::PermissionDenied,
    "You are banned from this group. An admin of the group lifts the ban by kicking you.",
);

impl Groups {
    /// Joins an open group, or asks a closed one for entry. Nothing changes for a user who is a member or has asked.
    pub async fn join(&self, group: Uuid, user: Uuid) -> Result<(), ServiceError> {
        let (now_ms, notifications) = (self.clock.now_ms(), Arc::clone(&self.notifications));
        let effects = self.store.write(move |transaction| {
            // A request notifies the admins, so they are locked with the user, before the group. Someone who becomes an
            // admin in the meantime sees the request in the list.
            let mut locked = admins_of(transaction, group)?;
            locked.push(user);
            let username = lock_users(transaction, &locked)?.remove(&user).ok_or(USER_NOT_FOUND)?;
            let mut change = Change::begin(transaction, group, Some(user), now_ms)?;
            let from = change.role(transaction, user)?;
            match from {
                Some(GroupRole::Banned) => return Err(BANNED),
                Some(role) if role.is_member() => {}
                Some(_) | None if change.group.is_open => {
                    change.set_role(transaction, user, from, Some(GroupRole::Member))?;
                    change.tell(transaction, code::GROUP_JOIN, user, &username)?;
                }
                Some(_) => {}
                None => {
                    change.set_role(transaction, user, None, Some(GroupRole::JoinRequest))?;
                    change.notify_admins(transaction, &notifications, &locked, (user, &username))?;
                }
            }
            change.finish(transaction)
        });
        let effects = effects.await?;
        self.follow_up(group, effects);
        Ok(())
    }

    /// Leaves a group, or takes a join request back. Nothing changes for other users, and a ban stays. The last superadmin
    /// cannot leave.
    pub async fn leave(&self, group: Uuid, user: Uuid) -> Result<(), ServiceError> {
        let now_ms = self.clock.now_ms();
        let effects = self.store.write(move |transaction| {
            let username = lock_users(transaction, &[user])?.remove(&user).ok_or(USER_NOT_FOUND)?;
            let mut change = Change::begin(transaction, group, Some(user), now_ms)?;
            let from = change.role(transaction, user)?.filter(|role| *role != GroupRole::Banned);
            if let Some(role) = from {
                let left = change.set_role(transaction, user, from, None);
                left.map_err(|error| if error == LAST_SUPERADMIN_STAYS { LAST_SUPERADMIN } else { error })?;
                if role.is_member() {
                    change.tell(transaction, code::GROUP_LEAVE, user, &username)?;
                }
            }
            change.finish(transaction)
        });
        let effects = effects.await?;
        self.follow_up(group, effects);
        Ok(())
    }

    /// Adds users as members, or accepts their join requests, on behalf of an admin, or of the server. All or none are
    /// added. Members stay as they are.
    pub async fn add(&self, by: Option<Uuid>, group: Uuid, users: Vec<Uuid>) -> Result<(), ServiceError> {
        let notifications = Arc::clone(&self.notifications);
        let apply = move |transaction: &mut Transaction<'_>, change: &mut Change, user: Uuid, username: &str| {
            add_user(transaction, change, &notifications, (by, user, username))
        };
        self.change_members(by, group, users, apply).await
    }

    /// Changes the roles of users, on behalf of an admin, or of the server. All or none are changed.
    pub async fn change_roles(
        &self,
        by: Option<Uuid>,
        group: Uuid,
        role_change: RoleChange,
        users: Vec<Uuid>,
    ) -> Result<(), ServiceError> {
        let apply = move |transaction: &mut Transaction<'_>, change: &mut Change, user: Uuid, username: &str| {
            change_user(transaction, change, role_change, (by, user, username))
        };
        self.change_members(by, group, users, apply).await
    }

    /// Changes several members in one transaction.
    async fn change_members(
        &self,
        by: Option<Uuid>,
        group: Uuid,
        mut users: Vec<Uuid>,
        apply: impl Fn(&mut Transaction<'_>, &mut Change, Uuid, &str) -> Result<(), ServiceError> + Send + 'static,
    ) -> Result<(), ServiceError> {
        users.sort_unstable();
        users.dedup();
        if users.len() > USERS_PER_CALL_MAX {
            let why = format!("At most {USERS_PER_CALL_MAX} users may be named at once.");
            return Err(ServiceError::invalid(why));
        }
        let now_ms = self.clock.now_ms();
        let effects = self.store.write(move |transaction| {
            // The one who changes the group is the sender of notifications.
            let locked: Vec<Uuid> = users.iter().copied().chain(by).collect();
            let usernames = lock_users(transaction, &locked)?;
            let mut change = Change::begin(transaction, group, by, now_ms)?;
            change.authority.check_admin()?;
            for user in &users {
                let username = usernames.get(user).ok_or(USER_NOT_FOUND)?;
                apply(transaction, &mut change, *user, username)?;
            }
            change.finish(transaction)
        });
        let effects = effects.await?;
        self.follow_up(group, effects);
        Ok(())
    }

    /// Does what follows from a committed change.
    fn follow_up(&self, group: Uuid, effects: Effects) {
        for message in &effects.messages {
            chat::deliver(&self.router, message);
        }
        self.notifications.deliver(effects.notifications);
        if effects.removed.is_empty() {
            return;
        }
        let stream = stream(group);
        for presence in self.router.list(&stream, Shown::All) {
            if effects.removed.contains(&presence.socket.user) {
                self.router.untrack(presence.socket.session, &stream);
            }
        }
    }
}

/// Makes a user a member.
fn add_user(
    transaction: &mut Transaction<'_>,
    change: &mut Change,
    notifications: &Notifications,
    (by, user, username): (Option<Uuid>, Uuid, &str),
) -> Result<(), ServiceError> {
    let from = change.role(transaction, user)?;
    match from {
        Some(role) if role.is_member() => return Ok(()),
        Some(GroupRole::Banned) => {
            let why = format!("User {username} is banned from the group. Kick the user first, which lifts the ban.");
            return Err(ServiceError::with(GrpcCode::FailedPrecondition, why));
        }
        // Who has asked to join agrees to be added.
        Some(_) => {}
        None => {
            if let Some(by) = by
                && friend::is_blocked(transaction, by, user)?
            {
                let why = format!("You cannot add {username}: one of you blocks the other.");
                return Err(ServiceError::with(GrpcCode::PermissionDenied, why));
            }
        }
    }
    change.set_role(transaction, user, from, Some(GroupRole::Member))?;
    change.tell(transaction, code::GROUP_ADD, user, username)?;
    change.notify_added(transaction, notifications, user)
}

/// Changes the role of a user.
fn change_user(
    transaction: &mut Transaction<'_>,
    change: &mut Change,
    role_change: RoleChange,
    (by, user, username): (Option<Uuid>, Uuid, &str),
) -> Result<(), ServiceError> {
    let from = change.role(transaction, user)?;
    let to = role_change.apply(change.authority, from, by == Some(user))?;
    if from == to {
        return Ok(());
    }
    change.set_role(transaction, user, from, to)?;
    if !from.is_some_and(GroupRole::is_member) {
        return Ok(());
    }
    let code = match role_change {
        RoleChange::Kick => code::GROUP_KICK,
        RoleChange::Ban => code::GROUP_BAN,
        RoleChange::Promote => code::GROUP_PROMOTE,
        RoleChange::Demote => code::GROUP_DEMOTE,
    };
    change.tell(transaction, code, user, username)
}
