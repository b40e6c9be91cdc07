//! Who may join a channel and change its messages.

use super::channel::Channel;
use super::log::Change;
use super::message::ChatMessage;
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Store, StoreError, Transaction, values};
use uuid::Uuid;

const NOT_OF_CHANNEL: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "Only the two users of a direct message channel may use it.");
const USER_NOT_FOUND: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "The other user of the channel does not exist.");

/// Rejects a user who may not join a channel or read its history.
pub(super) async fn check(store: &Store, channel: &Channel, user: Uuid) -> Result<(), ServiceError> {
    if let Some(users) = channel.users() {
        let other = other_of(users, user).ok_or(NOT_OF_CHANNEL)?;
        return store.read(move |transaction| check_direct(transaction, other)).await;
    }
    Ok(())
}

fn check_direct(transaction: &mut Transaction<'_>, other: Uuid) -> Result<(), ServiceError> {
    let select = "SELECT 1 FROM users WHERE id = ?1 AND disabled_at IS NULL";
    transaction.row(select, values![other], |_| Ok(()))?.ok_or(USER_NOT_FOUND)
}

/// Returns true if a user may change a message: its sender.
pub(super) fn may_change(
    _transaction: &mut Transaction<'_>,
    user: Uuid,
    message: &ChatMessage,
    _change: &Change<'_>,
) -> Result<bool, StoreError> {
    Ok(message.sender == user)
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
