//! Lists brackets, the newest first.

use super::definition::{Bracket, Phase};
use super::limits::BRACKET_LIMIT_MAX;
use super::rows::{self, COLUMNS};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{SqlValue, Store, StoreError, values};
use serde::{Deserialize, Serialize};

/// Query for brackets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BracketQuery {
    /// Phase. `None` for all.
    pub phase: Option<Phase>,
    /// Brackets per page. `None` for the maximum.
    pub limit: Option<i64>,
    /// Cursor of the page. Empty for the first page.
    pub cursor: String,
}

/// Page of brackets, without entrants and matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BracketList {
    /// Brackets, the newest first.
    pub brackets: Vec<Bracket>,
    /// Cursor of the next page. Empty on the last page.
    pub cursor: String,
}

#[derive(Serialize, Deserialize)]
struct Position {
    created_at: i64,
    id: String,
}

/// Lists brackets.
pub(super) async fn list(store: &Store, query: &BracketQuery) -> Result<BracketList, ServiceError> {
    let limit = match query.limit {
        None => BRACKET_LIMIT_MAX,
        Some(limit) => {
            usize::try_from(limit).ok().filter(|limit| (1..=BRACKET_LIMIT_MAX).contains(limit)).ok_or_else(|| {
                ServiceError::invalid(format!("Invalid limit: it must be between 1 and {BRACKET_LIMIT_MAX}."))
            })?
        }
    };
    let after: Option<Position> = cursor::decode(&query.cursor)?;
    let after = after.unwrap_or(Position { created_at: i64::MAX, id: String::new() });
    let phase = query.phase;
    let condition = if phase.is_some() { "phase = ?4 AND " } else { "" };
    let sql = format!(
        "SELECT {COLUMNS} FROM brackets WHERE {condition}(created_at, id) < (?1, ?2) \
         ORDER BY created_at DESC, id DESC LIMIT ?3"
    );
    let read = store.read(move |transaction| {
        // One more than the page shows that there is a next one.
        let mut parameters = values![after.created_at, &after.id, limit as i64 + 1].to_vec();
        parameters.extend(phase.map(|phase| SqlValue::from(phase.name())));
        transaction.rows(&sql, &parameters, rows::read_head)
    });
    let mut brackets: Vec<Bracket> = read.await.map_err(|error: StoreError| ServiceError::from(error))?;
    let has_more = brackets.len() > limit;
    brackets.truncate(limit);
    let last = brackets.last().filter(|_| has_more);
    let position = last.map(|last| Position { created_at: last.created_at_ms, id: last.definition.id.clone() });
    Ok(BracketList { cursor: position.map(|position| cursor::encode(&position)).unwrap_or_default(), brackets })
}
