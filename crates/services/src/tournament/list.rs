//! Lists tournaments by category and time.

use super::limits::{CATEGORY_MAX, TOURNAMENT_LIMIT_MAX};
use super::{Terms, Tournament, Tournaments};
use crate::cursor;
use crate::error::ServiceError;
use crate::leaderboard::Board;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Query for tournaments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TournamentQuery {
    /// Lowest category.
    pub category_start: u32,
    /// Highest category. `None` for all.
    pub category_end: Option<u32>,
    /// Earliest start, in seconds since 1970.
    pub start_time: i64,
    /// Latest end, in seconds since 1970. 0 lists those that never end; `None` lists all that have not ended.
    pub end_time: Option<i64>,
    /// Tournaments per page. `None` for the maximum.
    pub limit: Option<i64>,
    /// Cursor of the page. Empty for the first page.
    pub cursor: String,
}

/// Page of tournaments.
#[derive(Clone, Debug)]
pub struct TournamentList {
    /// Tournaments, by category and id.
    pub tournaments: Vec<Tournament>,
    /// Cursor of the next page. Empty on the last page.
    pub cursor: String,
}

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    category: u32,
    id: String,
}

impl Tournaments {
    /// Lists tournaments by category and id, page by page.
    pub async fn list(&self, query: &TournamentQuery) -> Result<TournamentList, ServiceError> {
        let limit = query.check()?;
        let after: Option<Position> = cursor::decode(&query.cursor)?;
        let now = self.clock.now_seconds();
        let mut found: Vec<(Position, Arc<Board>)> = self
            .boards
            .tournaments()
            .into_iter()
            .filter(|board| board.definition.tournament.as_ref().is_some_and(|terms| query.matches(terms, board, now)))
            .map(|board| (position(&board), board))
            .filter(|(position, _)| after.as_ref().is_none_or(|after| position > after))
            .collect();
        found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let has_more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| has_more);
        let cursor = last.map(|(position, _)| cursor::encode(position)).unwrap_or_default();
        let tournaments = self.at_present(found.into_iter().map(|(_, board)| board).collect()).await?;
        Ok(TournamentList { tournaments, cursor })
    }

    /// Returns tournaments by id, in the order of the ids. Missing ones are omitted.
    pub async fn find(&self, ids: &[String]) -> Result<Vec<Tournament>, ServiceError> {
        if ids.len() > TOURNAMENT_LIMIT_MAX {
            let why = format!("At most {TOURNAMENT_LIMIT_MAX} tournaments can be requested at once.");
            return Err(ServiceError::invalid(why));
        }
        self.at_present(ids.iter().filter_map(|id| self.board(id).ok()).collect()).await
    }
}

impl TournamentQuery {
    /// Validates the query. Returns the limit.
    fn check(&self) -> Result<usize, ServiceError> {
        let category_end = self.category_end.unwrap_or(CATEGORY_MAX);
        if category_end > CATEGORY_MAX || self.category_start > category_end {
            let why = format!("Categories must be from 0 to {CATEGORY_MAX}, the first not above the last.");
            return Err(ServiceError::invalid(why));
        }
        if self.end_time.is_some_and(|end| end > 0 && end < self.start_time) {
            return Err(ServiceError::invalid("The end time must not be before the start time."));
        }
        let Some(limit) = self.limit else { return Ok(TOURNAMENT_LIMIT_MAX) };
        let fits = usize::try_from(limit).ok().filter(|limit| (1..=TOURNAMENT_LIMIT_MAX).contains(limit));
        let why = || format!("Invalid limit: it must be between 1 and {TOURNAMENT_LIMIT_MAX}.");
        fits.ok_or_else(|| ServiceError::invalid(why()))
    }

    fn matches(&self, terms: &Terms, board: &Board, now: i64) -> bool {
        let start = if terms.start_time == 0 { board.created_at_ms.div_euclid(1_000) } else { terms.start_time };
        let is_in_time = match self.end_time {
            None => terms.end_time == 0 || terms.end_time > now,
            Some(0) => terms.end_time == 0,
            Some(end) => terms.end_time > 0 && terms.end_time <= end,
        };
        let categories = self.category_start..=self.category_end.unwrap_or(CATEGORY_MAX);
        is_in_time && start >= self.start_time && categories.contains(&terms.category)
    }
}

fn position(board: &Board) -> Position {
    let category = board.definition.tournament.as_ref().map_or(0, |terms| terms.category);
    Position { category, id: board.definition.id.clone() }
}
