//! Copies of reported messages.

use super::limits::MESSAGE_BYTES_MAX;
use super::report::{NewReport, ReportedMessage};
use crate::chat::{self, Channel, ChatMessage};
use crate::error::ServiceError;
use aether_store::Transaction;
use uuid::Uuid;

/// Copies the reported messages, so that the report shows them as they were. Only messages of the target and of the
/// reporter are copied: their accounts take the report along when they are erased. Of others, and of messages that are not
/// stored, only the id is kept.
pub(super) fn copy_messages(
    transaction: &mut Transaction<'_>,
    reporter: Uuid,
    report: &NewReport,
) -> Result<Vec<ReportedMessage>, ServiceError> {
    if report.channel.is_empty() {
        return Ok(Vec::new());
    }
    let channel = Channel::parse(&report.channel)?;
    let id = |text: &String| {
        text.parse::<Uuid>().map_err(|_| ServiceError::invalid("`message_ids` must be ids of messages."))
    };
    let ids = report.messages.iter().map(id).collect::<Result<Vec<_>, _>>()?;
    let found = chat::find_reported(transaction, reporter, &channel, &ids)?;
    let is_copied = |message: &&ChatMessage| [reporter, report.target].contains(&message.sender);
    Ok(ids
        .into_iter()
        .map(|id| match found.iter().filter(is_copied).find(|message| message.id == id) {
            Some(message) => ReportedMessage {
                id: id.to_string(),
                sender: message.sender,
                text: cut(&message.content).to_owned(),
                created_at: message.created_at,
            },
            None => ReportedMessage { id: id.to_string(), ..ReportedMessage::default() },
        })
        .collect())
}

/// Cuts a text at a number of bytes, between characters.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(MESSAGE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
