//! Reports of players about players.

use super::evidence;
use super::limits::{
    CATEGORY_BYTES_MAX, CONTEXT_ID_BYTES_MAX, MESSAGES_MAX, REPORTS_PER_PERIOD_MAX, REPORTS_PERIOD_MS,
    STATEMENTS_BYTES_MAX, STATEMENTS_MAX, TEXT_BYTES_MAX,
};
use super::{Moderation, OPEN};
use crate::clock::new_id;
use crate::error::{BAD_TEXT, GrpcCode, ServiceError};
use aether_store::{Dialect, Transaction, values};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

const SELF_REPORT: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "You cannot report yourself. Name another player.");
const TARGET_NOT_FOUND: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "The reported player was not found; the account may be deleted.");
const REPORTER_NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "User account not found.");

/// Report to file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewReport {
    /// Reported player.
    pub target: Uuid,
    /// Category: letters, digits, hyphens and underscores.
    pub category: String,
    /// Words of the reporter; may be empty.
    pub text: String,
    /// Chat channel that it is about; empty if there is none.
    pub channel: String,
    /// Messages in this channel. Those of the target and of the reporter are copied.
    pub messages: Vec<String>,
    /// Match that it is about; empty if there is none.
    pub match_id: String,
}

/// One statement of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Statement {
    /// Category.
    pub category: String,
    /// Words of the reporter.
    pub text: String,
    /// Chat channel; empty if there is none.
    pub channel: String,
    /// Copies of the messages.
    pub messages: Vec<ReportedMessage>,
    /// Match; empty if there is none.
    pub match_id: String,
    /// Time, in milliseconds since 1970.
    pub created_at: i64,
}

/// Message as it was when it was reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportedMessage {
    /// Id of the message.
    pub id: String,
    /// Sender: the target or the reporter.
    pub sender: Uuid,
    /// Text, cut off at a length.
    pub text: String,
    /// Time of the message, in milliseconds since 1970.
    pub created_at: i64,
}

/// Outcome of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filed {
    /// Id of the report.
    pub id: Uuid,
    /// False if the open report about this player is full, so that nothing was added to it.
    pub is_added: bool,
}

impl Moderation {
    /// Files a report. If the reporter has an open report about the same player, the statement is added to it.
    pub async fn report(&self, reporter: Uuid, report: NewReport) -> Result<Filed, ServiceError> {
        report.check(reporter)?;
        let now = self.clock.now_ms();
        self.store.write(move |transaction| file(transaction, reporter, &report, now)).await
    }
}

impl NewReport {
    fn check(&self, reporter: Uuid) -> Result<(), ServiceError> {
        if self.target == reporter {
            return Err(SELF_REPORT);
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let has_length = (1..=CATEGORY_BYTES_MAX).contains(&self.category.len());
        if !has_length || !self.category.bytes().all(is_plain) {
            return Err(ServiceError::invalid(format!(
                "`category` must have 1 to {CATEGORY_BYTES_MAX} letters, digits, hyphens or underscores."
            )));
        }
        if self.text.len() > TEXT_BYTES_MAX {
            return Err(ServiceError::invalid(format!("`text` must have at most {TEXT_BYTES_MAX} bytes.")));
        }
        if self.messages.len() > MESSAGES_MAX {
            return Err(ServiceError::invalid(format!("A report names at most {MESSAGES_MAX} messages.")));
        }
        if self.channel.is_empty() && !self.messages.is_empty() {
            return Err(ServiceError::invalid("Name the channel of the messages in `channel_id`."));
        }
        let ids = || self.messages.iter().chain([&self.channel, &self.match_id]);
        if ids().chain([&self.text]).any(|text| text.contains('\0')) {
            return Err(BAD_TEXT);
        }
        if ids().any(|id| id.len() > CONTEXT_ID_BYTES_MAX) {
            let message = format!("Ids of channels, messages and matches have at most {CONTEXT_ID_BYTES_MAX} bytes.");
            return Err(ServiceError::invalid(message));
        }
        Ok(())
    }
}

/// Adds a statement to the open report, or opens one.
fn file(
    transaction: &mut Transaction<'_>,
    reporter: Uuid,
    report: &NewReport,
    now: i64,
) -> Result<Filed, ServiceError> {
    lock_reporter(transaction, reporter)?;
    let target = "SELECT 1 FROM users WHERE id = ?1";
    transaction.row(target, values![report.target], |_| Ok(()))?.ok_or(TARGET_NOT_FOUND)?;
    let statement = Statement {
        category: report.category.clone(),
        text: report.text.clone(),
        channel: report.channel.clone(),
        messages: evidence::copy_messages(transaction, reporter, report)?,
        match_id: report.match_id.clone(),
        created_at: now,
    };
    let select = "SELECT id, statements FROM reports WHERE reporter_id = ?1 AND target_id = ?2 AND state = 'open'";
    let read = transaction
        .row(select, values![reporter, report.target], |row| Ok((row.get::<Uuid>(0)?, row.get::<String>(1)?)))?;
    match read {
        Some((id, statements)) => add(transaction, id, &statements, statement, now),
        None => open(transaction, reporter, report.target, &statement, now),
    }
}

/// Adds a statement to a report, if it has a place.
fn add(
    transaction: &mut Transaction<'_>,
    id: Uuid,
    stored: &str,
    statement: Statement,
    now: i64,
) -> Result<Filed, ServiceError> {
    let mut statements: Vec<Statement> = serde_json::from_str(stored).unwrap_or_default();
    statements.push(statement);
    let text = to_text(&statements);
    if statements.len() > STATEMENTS_MAX || text.len() > STATEMENTS_BYTES_MAX {
        return Ok(Filed { id, is_added: false });
    }
    let update = "UPDATE reports SET statements = ?2, updated_at = ?3 WHERE id = ?1";
    transaction.execute(update, values![id, &text, now])?;
    Ok(Filed { id, is_added: true })
}

/// Opens a report, if the reporter has not filed too many.
fn open(
    transaction: &mut Transaction<'_>,
    reporter: Uuid,
    target: Uuid,
    statement: &Statement,
    now: i64,
) -> Result<Filed, ServiceError> {
    let count = "SELECT COUNT(*), MIN(created_at) FROM reports WHERE reporter_id = ?1 AND created_at > ?2";
    let counted = transaction.row(count, values![reporter, now - REPORTS_PERIOD_MS], |row| {
        Ok((row.get::<i64>(0)?, row.get::<Option<i64>>(1)?))
    })?;
    let (count, oldest) = counted.unwrap_or_default();
    if count >= REPORTS_PER_PERIOD_MAX {
        let wait_ms = oldest.unwrap_or(now) + REPORTS_PERIOD_MS - now;
        let message = format!("You may report {REPORTS_PER_PERIOD_MAX} players a day. Try again later.");
        let seconds = u32::try_from(wait_ms.div_euclid(1_000) + 1).unwrap_or(1);
        return Err(ServiceError::with(GrpcCode::ResourceExhausted, message).retry_after(seconds));
    }
    let id = new_id(now);
    let insert = "INSERT INTO reports
            (id, reporter_id, target_id, state, statements, resolver, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)";
    let text = to_text(std::slice::from_ref(statement));
    transaction.execute(insert, values![id, reporter, target, OPEN, &text, Uuid::nil(), now])?;
    Ok(Filed { id, is_added: true })
}

fn to_text(statements: &[Statement]) -> String {
    serde_json::to_string(statements).expect("statements are plain values")
}

/// Locks the reporter, so that concurrent reports of one player are counted one after the other. SQLite has one writer.
fn lock_reporter(transaction: &mut Transaction<'_>, reporter: Uuid) -> Result<(), ServiceError> {
    // Not for an update of the key: others may report the reporter meanwhile.
    let lock = match transaction.dialect() {
        Dialect::Sqlite => "SELECT 1 FROM users WHERE id = ?1",
        Dialect::Postgres => "SELECT 1 FROM users WHERE id = ?1 FOR NO KEY UPDATE",
    };
    transaction.row(lock, values![reporter], |_| Ok(()))?.ok_or(REPORTER_NOT_FOUND)
}
