//! Messages that a report names.

use super::access::{NOT_OF_CHANNEL, check_group, other_of};
use super::channel::Channel;
use super::log::{COLUMNS, read_message};
use super::message::{ChatMessage, sequence_of};
use crate::error::ServiceError;
use aether_store::{Transaction, values};
use uuid::Uuid;

/// Finds the stored messages of these ids. The reporter must be allowed to read the channel; who blocks the other user of a
/// direct chat may still report.
pub(crate) fn find_reported(
    transaction: &mut Transaction<'_>,
    reporter: Uuid,
    channel: &Channel,
    ids: &[Uuid],
) -> Result<Vec<ChatMessage>, ServiceError> {
    if let Some(group) = channel.group_of() {
        check_group(transaction, group, reporter)?;
    }
    if let Some(users) = channel.users() {
        other_of(users, reporter).ok_or(NOT_OF_CHANNEL)?;
    }
    let select = format!("SELECT {COLUMNS} FROM chat_messages WHERE channel_id = ?1 AND sequence = ?2 AND id = ?3");
    let mut found = Vec::new();
    for id in ids {
        let parameters = values![channel.id(), sequence_of(*id), *id];
        found.extend(transaction.row(&select, parameters, |row| read_message(channel, row))?);
    }
    Ok(found)
}
