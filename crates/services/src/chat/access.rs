//! Access to channels: rules for joining one, and for changing its messages.

use super::channel::Channel;
use super::log::Change;
use super::message::ChatMessage;
use crate::error::{GrpcCode, ServiceError};
use crate::friend;
use crate::group::{self, GroupRole};
use aether_store::{Store, StoreError, Transaction, values};
use uuid::Uuid;

pub(super) const NOT_OF_CHANNEL: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "Only the two users of a direct message channel may use it.");
const USER_NOT_FOUND: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "The other user of the channel does not exist.");
const BLOCKED: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "You and this user cannot chat: one of you blocks the other.");
const NOT_A_MEMBER: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "Only members of the group may use its channel. Join the group first.",
);

/// Rejects a user who may not join a channel or read its history.
pub(super) async fn check(store: &Store, channel: &Channel, user: Uuid) -> Result<(), ServiceError> {
    if let Some(group) = channel.group_of() {
        return store.read(move |transaction| check_group(transaction, group, user)).await;
    }
    if let Some(users) = channel.users() {
        let other = other_of(users, user).ok_or(NOT_OF_CHANNEL)?;
        return store.read(move |transaction| check_direct(transaction, user, other)).await;
    }
    Ok(())
}

pub(super) fn check_group(transaction: &mut Transaction<'_>, group: Uuid, user: Uuid) -> Result<(), ServiceError> {
    match group::member_role(transaction, group, user)? {
        Some(GroupRole::Superadmin | GroupRole::Admin | GroupRole::Member) => Ok(()),
        Some(GroupRole::JoinRequest | GroupRole::Banned) | None => Err(NOT_A_MEMBER),
    }
}

fn check_direct(transaction: &mut Transaction<'_>, user: Uuid, other: Uuid) -> Result<(), ServiceError> {
    let select = "SELECT 1 FROM users WHERE id = ?1 AND disabled_at IS NULL";
    transaction.row(select, values![other], |_| Ok(()))?.ok_or(USER_NOT_FOUND)?;
    if friend::is_blocked(transaction, user, other)? { Err(BLOCKED) } else { Ok(()) }
}

/// Returns true if a user may change a message: its sender, and an admin of the group may remove it.
pub(super) fn may_change(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    message: &ChatMessage,
    change: &Change<'_>,
) -> Result<bool, StoreError> {
    // A message of the server names the user that it is about, who may not change it.
    let is_own = message.sender == user && message.code == super::code::CHAT;
    let (Change::Remove, Some(group), false) = (change, message.channel.group_of(), is_own) else { return Ok(is_own) };
    let role = group::member_role(transaction, group, user)?;
    Ok(matches!(role, Some(GroupRole::Superadmin | GroupRole::Admin)))
}

/// Returns the other of two users; `None` if the user is neither.
pub(super) fn other_of([one, two]: [Uuid; 2], user: Uuid) -> Option<Uuid> {
    if user == one {
        Some(two)
    } else if user == two {
        Some(one)
    } else {
        None
    }
}
