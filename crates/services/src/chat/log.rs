//! Stored messages: adds, changes and removes them in a transaction.

use super::channel::Channel;
use super::message::{ChatMessage, NewMessage, code, sequence_of, stored_id};
use crate::account::for_presence;
use aether_store::{SqlRow, Statements, StoreError, Transaction, values};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Columns of a message, in the order of [`read_message`].
pub(super) const COLUMNS: &str = "sequence, id, code, sender_id, username, content, created_at, updated_at";

/// Stores messages in their order, and gives each the next number of its channel. A message whose sender does not exist
/// is left out.
pub(super) fn append_all(
    transaction: &mut Transaction<'_>,
    messages: &[NewMessage],
    now: i64,
) -> Result<Vec<Option<ChatMessage>>, StoreError> {
    let senders = existing_senders(transaction, messages)?;
    let exists = |message: &NewMessage| message.sender.is_none_or(|sender| senders.contains(&sender));
    let mut last = take_numbers(transaction, messages.iter().filter(|message| exists(message)), now)?;
    let number = |message: &NewMessage| {
        let next = last.get_mut(message.channel.id())?;
        *next += 1;
        Some(ChatMessage::new(message, *next, stored_id(*next), now))
    };
    let mut number = number;
    let stored: Vec<_> = messages.iter().map(|message| if exists(message) { number(message) } else { None }).collect();
    insert(transaction, stored.iter().flatten())?;
    Ok(stored)
}

/// Stores a message of the server in the chat of a group.
pub fn store_group_message(
    transaction: &mut Transaction<'_>,
    group: Uuid,
    code: i32,
    sender: Uuid,
    username: &str,
    now_ms: i64,
) -> Result<ChatMessage, StoreError> {
    let channel = Channel::group(group);
    let new =
        NewMessage { channel, code, sender: Some(sender), username: username.to_owned(), content: "{}".to_owned() };
    let last = take_numbers(transaction, std::iter::once(&new), now_ms)?;
    let sequence = last.get(new.channel.id()).copied().unwrap_or(0) + 1;
    let message = ChatMessage::new(&new, sequence, stored_id(sequence), now_ms);
    insert(transaction, std::iter::once(&message))?;
    Ok(message)
}

/// Deletes the oldest messages of a channel, if it has more than `count`. Returns false if it has no more than that.
pub(crate) fn delete_oldest(
    transaction: &mut Transaction<'_>,
    channel: &Channel,
    count: u32,
) -> Result<bool, StoreError> {
    let more = "SELECT 1 FROM chat_messages WHERE channel_id = ?1 LIMIT 1 OFFSET ?2";
    if transaction.row(more, values![channel.id(), count], |_| Ok(()))?.is_none() {
        return Ok(false);
    }
    let delete = "DELETE FROM chat_messages WHERE channel_id = ?1 AND sequence <
        (SELECT min(sequence) FROM chat_messages WHERE channel_id = ?1) + ?2";
    transaction.execute(delete, values![channel.id(), count])?;
    Ok(true)
}

/// Deletes the messages of a channel.
pub fn delete_channel(transaction: &mut Transaction<'_>, channel: &Channel) -> Result<(), StoreError> {
    transaction.execute("DELETE FROM chat_messages WHERE channel_id = ?1", values![channel.id()])?;
    transaction.execute("DELETE FROM chat_channels WHERE id = ?1", values![channel.id()])?;
    Ok(())
}

/// Returns the senders that exist. They cannot be erased until the transaction ends.
fn existing_senders(transaction: &mut Transaction<'_>, messages: &[NewMessage]) -> Result<BTreeSet<Uuid>, StoreError> {
    let senders: BTreeSet<Uuid> = messages.iter().filter_map(|message| message.sender).collect();
    if senders.is_empty() {
        return Ok(senders);
    }
    let select = format!("SELECT id FROM users WHERE id = ?1{}", for_presence(transaction.dialect()));
    let select = |sender: &Uuid| Statements::writing(select.clone(), values![*sender]);
    let answers = transaction.answers(&Statements::all(senders.iter().map(select)))?;
    let mut existing = BTreeSet::new();
    for index in 0..senders.len() {
        existing.extend(answers.row(index, |row| row.get::<Uuid>(0))?);
    }
    Ok(existing)
}

/// Adds to the last number of a channel. `RETURNING` would need a temporary table in SQLite.
const TAKE: &str = "INSERT INTO chat_channels (id, last_sequence, created_at) VALUES (?1, ?2, ?3)
    ON CONFLICT (id) DO UPDATE SET last_sequence = chat_channels.last_sequence + ?2";

/// Takes the next numbers of the channels of these messages. Returns the last number before them, by the channel's id.
///
/// The channels are locked in the order of their ids, so that transactions cannot wait for each other.
fn take_numbers<'a>(
    transaction: &mut Transaction<'_>,
    messages: impl Iterator<Item = &'a NewMessage>,
    now: i64,
) -> Result<BTreeMap<&'a str, i64>, StoreError> {
    let mut counts = BTreeMap::new();
    for message in messages {
        *counts.entry(message.channel.id()).or_insert(0) += 1;
    }
    let statements = counts.iter().map(|(id, count)| {
        let taken = Statements::writing(TAKE, values![*id, *count, now]);
        taken.and("SELECT last_sequence FROM chat_channels WHERE id = ?1", values![*id])
    });
    let answers = transaction.answers(&Statements::all(statements))?;
    for (index, last) in counts.values_mut().enumerate() {
        let taken = answers.row(2 * index + 1, |row| row.get::<i64>(0))?;
        *last = taken.ok_or_else(|| StoreError::Failed("a channel has no number".to_owned()))? - *last;
    }
    Ok(counts)
}

fn insert<'a>(
    transaction: &mut Transaction<'_>,
    messages: impl Iterator<Item = &'a ChatMessage>,
) -> Result<(), StoreError> {
    let insert = "INSERT INTO chat_messages (channel_id, sequence, id, code, sender_id, username, content, created_at,
        updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)";
    let statements = messages.map(|message| {
        let ChatMessage { channel, sequence, id, code, sender, username, content, created_at, .. } = message;
        let (username, content) = (username.as_str(), content.as_str());
        let parameters =
            values![channel.id(), *sequence, *id, i64::from(*code), *sender, username, content, *created_at];
        Statements::writing(insert, parameters)
    });
    transaction.answers(&Statements::all(statements)).map(|_| ())
}

/// Change of a stored message.
pub(super) enum Change<'a> {
    /// The content becomes another.
    Update(&'a str),
    /// The message is deleted.
    Remove,
}

/// Changes a message of a channel. Returns the message with the code of the change; `None` if it does not exist, or
/// `may_change` refuses its sender.
pub(super) fn change(
    transaction: &mut Transaction<'_>,
    channel: &Channel,
    id: Uuid,
    change: &Change<'_>,
    now: i64,
    may_change: impl FnOnce(&mut Transaction<'_>, &ChatMessage) -> Result<bool, StoreError>,
) -> Result<Option<ChatMessage>, StoreError> {
    let sequence = sequence_of(id);
    let key = values![channel.id(), sequence];
    let lock = transaction.for_update();
    let select = format!("SELECT {COLUMNS} FROM chat_messages WHERE channel_id = ?1 AND sequence = ?2{lock}");
    let found = transaction.row(&select, key, |row| read_message(channel, row))?;
    let Some(mut message) = found.filter(|message| message.id == id) else { return Ok(None) };
    if !may_change(transaction, &message)? {
        return Ok(None);
    }
    match change {
        Change::Update(content) => {
            let update =
                "UPDATE chat_messages SET content = ?3, updated_at = ?4 WHERE channel_id = ?1 AND sequence = ?2";
            transaction.execute(update, values![channel.id(), sequence, *content, now])?;
            (message.code, message.content) = (code::UPDATE, (*content).to_owned());
        }
        Change::Remove => {
            transaction.execute("DELETE FROM chat_messages WHERE channel_id = ?1 AND sequence = ?2", key)?;
            (message.code, message.content) = (code::REMOVE, "{}".to_owned());
        }
    }
    message.updated_at = now;
    Ok(Some(message))
}

/// Reads a row of [`COLUMNS`].
pub(super) fn read_message(channel: &Channel, row: &SqlRow<'_>) -> Result<ChatMessage, StoreError> {
    Ok(ChatMessage {
        channel: channel.clone(),
        sequence: row.get(0)?,
        id: row.get(1)?,
        code: i32::try_from(row.get::<i64>(2)?).unwrap_or(code::CHAT),
        sender: row.get(3)?,
        username: row.get(4)?,
        content: row.get(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}
