//! Lists of parties.

use super::Parties;
use super::error::PartyError;
use super::event::PartyInfo;
use super::limits::{LISTED_DEFAULT, LISTED_MAX};
use crate::cursor;
use aether_query::{Query, SearchOrder};
use serde::{Deserialize, Serialize};

/// Filter of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartyFilter {
    /// Most parties of the page.
    pub limit: Option<usize>,
    /// True for open parties only, false for closed ones only.
    pub open: Option<bool>,
    /// Query over `label`, `open`, `size`, `max_size`, `party_id` and `create_time`. Empty accepts all.
    pub query: String,
    /// Cursor of the page before, or empty.
    pub cursor: String,
}

/// Page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartyPage {
    /// Parties, the best score first, then the newest.
    pub parties: Vec<PartyInfo>,
    /// Cursor of the next page, or empty at the end.
    pub cursor: String,
}

/// Position in a list: the last party of a page.
#[derive(Serialize, Deserialize)]
struct Position {
    query: String,
    open: Option<bool>,
    /// Bits of the score.
    score: u64,
    sequence: u64,
}

impl Parties {
    /// Lists parties that are not hidden, the best score first, then the newest.
    pub fn list(&self, filter: &PartyFilter) -> Result<PartyPage, PartyError> {
        let limit = filter.limit.unwrap_or(LISTED_DEFAULT);
        if !(1..=LISTED_MAX).contains(&limit) {
            return Err(PartyError::Limit);
        }
        let query = Query::parse(&filter.query).map_err(PartyError::Query)?;
        let position: Option<Position> = cursor::decode(&filter.cursor).map_err(|_| PartyError::Cursor)?;
        if position.as_ref().is_some_and(|position| position.query != filter.query || position.open != filter.open) {
            return Err(PartyError::Cursor);
        }
        let is_after = |score: f64, sequence: u64| {
            position.as_ref().is_none_or(|position| {
                let last = f64::from_bits(position.score);
                score < last || score == last && sequence < position.sequence
            })
        };
        let hits = self.index.search_scored(&query, usize::MAX, &SearchOrder::best_then_oldest());
        let mut hits: Vec<_> = hits
            .into_iter()
            .filter_map(|(party_id, score)| Some((self.parties.get(&party_id)?, score.value())))
            .filter(|(party, _)| filter.open.is_none_or(|open| party.info.open == open))
            .filter(|(party, score)| is_after(*score, party.sequence))
            .collect();
        hits.sort_by(|left, right| right.1.total_cmp(&left.1).then(right.0.sequence.cmp(&left.0.sequence)));
        let has_more = hits.len() > limit;
        hits.truncate(limit);
        let last = hits.last().filter(|_| has_more).map(|(party, score)| Position {
            query: filter.query.clone(),
            open: filter.open,
            score: score.to_bits(),
            sequence: party.sequence,
        });
        let cursor = last.map_or_else(String::new, |position| cursor::encode(&position));
        Ok(PartyPage { parties: hits.into_iter().map(|(party, _)| party.info.clone()).collect(), cursor })
    }
}
