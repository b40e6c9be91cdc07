//! Pages of the history of a channel.

use super::channel::Channel;
use super::limits::{PAGE_DEFAULT, PAGE_MAX};
use super::log::{COLUMNS, read_message};
use super::message::ChatMessage;
use crate::cursor;
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Statements, Store, values};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

const FOREIGN_CURSOR: ServiceError = ServiceError::new(GrpcCode::InvalidArgument, "Cursor is invalid or expired.");

/// Request for a page of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Number of messages; 1 if absent.
    pub limit: Option<i64>,
    /// True if the oldest message comes first. Default is true.
    pub forward: Option<bool>,
    /// Cursor of an earlier page; empty for the first.
    pub cursor: String,
}

/// Page of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryPage {
    /// Messages, in the direction of the list.
    pub messages: Vec<ChatMessage>,
    /// Cursor of the next page; empty if there is none.
    pub next_cursor: String,
    /// Cursor of the previous page; empty if there is none.
    pub prev_cursor: String,
    /// Cursor from which a client continues later, forwards, with the messages after the newest of this page.
    pub cacheable_cursor: String,
}

/// Position in a list.
#[derive(Serialize, Deserialize)]
struct Position {
    /// Id of the channel.
    c: String,
    /// Number of the message that the page continues from, which is not part of it.
    s: i64,
    /// True if the list goes forwards.
    f: bool,
    /// True if the page follows in the direction of the list, false if it precedes.
    n: bool,
}

/// Returns a page of a channel, for a user without the messages of users whom the user blocks or who block the user.
pub(super) async fn list(
    store: &Store,
    reader: Option<Uuid>,
    channel: &Channel,
    query: &HistoryQuery,
) -> Result<HistoryPage, ServiceError> {
    let limit = query.limit.unwrap_or(PAGE_DEFAULT);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(ServiceError::invalid(format!("Invalid limit: it must be between 1 and {PAGE_MAX}.")));
    }
    let position = cursor::decode::<Position>(&query.cursor)?;
    if position.as_ref().is_some_and(|position| position.c != channel.id()) {
        return Err(FOREIGN_CURSOR);
    }
    let forward = query.forward.unwrap_or_else(|| position.as_ref().is_none_or(|position| position.f));
    if position.as_ref().is_some_and(|position| position.f != forward) {
        return Err(FOREIGN_CURSOR);
    }
    let follows = position.as_ref().is_none_or(|position| position.n);
    let from = position.as_ref().map(|position| position.s);
    // The direction in which the rows are read.
    let ascending = forward == follows;
    let rows = Rows { channel, reader, from, ascending, limit: limit + 1 };
    let mut messages = rows.read(store).await?;
    let has_more = messages.len() as i64 > limit;
    messages.truncate(usize::try_from(limit).unwrap_or(0));
    if !follows {
        messages.reverse();
    }
    let page = Page { channel, forward, has_more, follows, is_first: from.is_none() };
    Ok(page.finish(messages, query))
}

/// Rows of a page.
struct Rows<'a> {
    channel: &'a Channel,
    reader: Option<Uuid>,
    from: Option<i64>,
    ascending: bool,
    limit: i64,
}

impl Rows<'_> {
    async fn read(self, store: &Store) -> Result<Vec<ChatMessage>, ServiceError> {
        let (compare, order, start) = if self.ascending { (">", "", 0) } else { ("<", " DESC", i64::MAX) };
        let visible = if self.reader.is_some() { VISIBLE } else { "" };
        let select = format!(
            "SELECT {COLUMNS} FROM chat_messages WHERE channel_id = ?1 AND sequence {compare} ?2{visible}
             ORDER BY sequence{order} LIMIT ?3"
        );
        let (id, from) = (self.channel.id(), self.from.unwrap_or(start));
        let statements = match self.reader {
            Some(reader) => Statements::reading(select, values![id, from, self.limit, reader]),
            None => Statements::reading(select, values![id, from, self.limit]),
        };
        let channel = self.channel.clone();
        store.run(statements, move |answers| Ok(answers.rows(0, |row| read_message(&channel, row))?)).await
    }
}

/// Leaves out users whom the reader blocks, and who block the reader.
const VISIBLE: &str = " AND sender_id NOT IN (
    SELECT other_id FROM friend_edges WHERE user_id = ?4 AND state = 3
    UNION SELECT user_id FROM friend_edges WHERE other_id = ?4 AND state = 3)";

struct Page<'a> {
    channel: &'a Channel,
    forward: bool,
    has_more: bool,
    follows: bool,
    is_first: bool,
}

impl Page<'_> {
    fn finish(self, messages: Vec<ChatMessage>, query: &HistoryQuery) -> HistoryPage {
        let ends = messages.first().zip(messages.last()).map(|(first, last)| (first.sequence, last.sequence));
        // A page that was reached backwards has a page after it, and one that was reached forwards one before it.
        let has_next = if self.follows { self.has_more } else { true };
        let has_previous = if self.follows { !self.is_first } else { self.has_more };
        let cursor = |sequence, forward, follows| {
            cursor::encode(&Position { c: self.channel.id().to_owned(), s: sequence, f: forward, n: follows })
        };
        let Some((first, last)) = ends else {
            let cacheable_cursor = if self.forward { query.cursor.clone() } else { String::new() };
            return HistoryPage { cacheable_cursor, ..HistoryPage::default() };
        };
        HistoryPage {
            next_cursor: if has_next { cursor(last, self.forward, true) } else { String::new() },
            prev_cursor: if has_previous { cursor(first, self.forward, false) } else { String::new() },
            cacheable_cursor: cursor(first.max(last), true, true),
            messages,
        }
    }
}
