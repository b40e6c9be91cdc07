//! Listing records: by rank, of given owners, and around an owner.
//!
//! The order is memory's and the records are read by their keys, in one statement: so the database needs no index by
//! score, which would cost each write more than it saves here.

use super::Leaderboards;
use super::board::Board;
use super::period::{Period, rank_owner};
use super::record::{Record, records_of};
use crate::cursor;
use crate::error::{GrpcCode, ServiceError};
use aether_ranks::{RankOrder, RankOwner, RankedRecord, Ranking, Score};
use aether_store::StoreError;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use uuid::Uuid;

/// Records in one page, and owners that are asked for at once.
pub const RECORD_LIMIT_MAX: usize = 1_000;
/// Records around an owner.
pub const AROUND_LIMIT_MAX: usize = 100;
/// How many records there are where nothing is said about it.
const LIMIT_DEFAULT: usize = 1;
/// How often a page is put together anew because a record of it was written meanwhile. After that its ranks are given
/// out in the order of the records as they are.
const ATTEMPTS_MAX: usize = 3;

/// Which records are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordQuery {
    /// How many; 1 if nothing is said. Without a limit and a cursor, but with owners, only theirs are listed.
    pub limit: Option<i64>,
    /// Where a list before this one ended, if not empty.
    pub cursor: String,
    /// The period, in seconds since 1970; 0 for the current one.
    pub expiry: i64,
}

/// Records of a board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordList {
    /// The page, by rank.
    pub records: Vec<Record>,
    /// The records of the owners who were asked for, in the order in which they were, as far as they exist.
    pub owner_records: Vec<Record>,
    /// Where the list goes on; empty at its end.
    pub next_cursor: String,
    /// Where it goes on backwards; empty at its start.
    pub prev_cursor: String,
    /// How many records the period has.
    pub rank_count: u64,
}

/// Where a list goes on: at a record, by what it is ordered by, so that nothing is shown twice or left out when others
/// move meanwhile, not even when that record does.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PageCursor {
    board: String,
    expiry: i64,
    score: i64,
    subscore: i64,
    owner: Uuid,
    backwards: bool,
}

/// What of a ranking is shown.
#[derive(Clone, Debug)]
enum Window {
    Nothing,
    From(Option<PageCursor>, usize),
    Around(Uuid, usize),
}

/// What memory says about a list.
struct Outline {
    page: Vec<RankedRecord>,
    owners: Vec<RankedRecord>,
    rank_count: u64,
}

impl Leaderboards {
    /// Lists records by rank, and those of given owners.
    pub async fn records(
        &self,
        board_id: &str,
        owners: &[Uuid],
        query: &RecordQuery,
    ) -> Result<RecordList, ServiceError> {
        if owners.len() > RECORD_LIMIT_MAX {
            return Err(ServiceError::invalid(format!("Ask for at most {RECORD_LIMIT_MAX} owners at once.")));
        }
        let limit = checked_limit(query.limit, RECORD_LIMIT_MAX)?;
        let board = self.board(board_id)?;
        let (expiry, place) = self.whereabouts(&board, query)?;
        let owners_only = query.limit.is_none() && place.is_none() && !owners.is_empty();
        let window = if owners_only { Window::Nothing } else { Window::From(place, limit) };
        self.list(&board, expiry, window, owners).await
    }

    /// Lists the records around an owner's, which is among them; nothing if the owner has none. With a cursor, it goes
    /// on from there.
    pub async fn records_around(
        &self,
        board_id: &str,
        owner: Uuid,
        query: &RecordQuery,
    ) -> Result<RecordList, ServiceError> {
        let limit = checked_limit(query.limit, AROUND_LIMIT_MAX)?;
        let board = self.board(board_id)?;
        let (expiry, window) = match self.whereabouts(&board, query)? {
            (expiry, None) => (expiry, Window::Around(owner, limit)),
            (expiry, place) => (expiry, Window::From(place, limit)),
        };
        self.list(&board, expiry, window, &[]).await
    }

    /// Which period, and where in it.
    fn whereabouts(&self, board: &Board, query: &RecordQuery) -> Result<(i64, Option<PageCursor>), ServiceError> {
        if query.expiry < 0 {
            return Err(ServiceError::invalid("An expiry must be a time in seconds since 1970, or 0."));
        }
        let current = || board.expiry(self.clock.now_seconds());
        let Some(place) = cursor::decode::<PageCursor>(&query.cursor)? else {
            return Ok((if query.expiry == 0 { current() } else { query.expiry }, None));
        };
        // A list that was begun before a reset goes on in its own period.
        let fits = place.board == board.definition.id && (query.expiry == 0 || query.expiry == place.expiry);
        if !fits {
            return Err(ServiceError::new(GrpcCode::InvalidArgument, "Cursor is invalid or expired."));
        }
        Ok((place.expiry, Some(place)))
    }

    async fn list(
        &self,
        board: &Arc<Board>,
        expiry: i64,
        window: Window,
        owners: &[Uuid],
    ) -> Result<RecordList, ServiceError> {
        let period = self.periods.ready(board, expiry, self.clock.now_seconds()).await?;
        let (board, owners) = (Arc::clone(board), owners.to_vec());
        let read = self.store.read(move |transaction| {
            // Memory is asked here, on the store's thread, so that no time passes until the records are read.
            let mut attempts = 0;
            loop {
                attempts += 1;
                let outline = outline(&period, &window, &owners);
                let wanted: Vec<Uuid> = outline.all().map(owner_id).collect();
                let mut records = records_of(transaction, &board.definition.id, expiry, &wanted)?;
                if outline.is_true_of(&records) || attempts == ATTEMPTS_MAX {
                    return Ok::<_, StoreError>(outline.complete(&mut records, &board, expiry));
                }
            }
        });
        Ok(read.await?)
    }
}

impl Outline {
    fn all(&self) -> impl Iterator<Item = &RankedRecord> {
        self.page.iter().chain(&self.owners)
    }

    /// Whether the records are those that the ranks were given to.
    fn is_true_of(&self, records: &HashMap<Uuid, Record>) -> bool {
        self.all().all(|standing| records.get(&owner_id(standing)).is_some_and(|record| record.score == standing.score))
    }

    /// Puts the records to where they stand.
    fn complete(&self, records: &mut HashMap<Uuid, Record>, board: &Board, expiry: i64) -> RecordList {
        let owner_records = self.owners.iter().filter_map(|standing| {
            let record = records.get(&owner_id(standing))?;
            Some(Record { rank: standing.rank, ..record.clone() })
        });
        let owner_records = owner_records.collect();
        let page = self.page.iter().filter_map(|standing| {
            let record = records.remove(&owner_id(standing))?;
            Some(Record { rank: standing.rank, ..record })
        });
        let mut page: Vec<Record> = page.collect();
        put_in_order(&mut page, board.definition.order);
        let cursor = |standing: &RankedRecord, backwards: bool| {
            cursor::encode(&PageCursor {
                board: board.definition.id.clone(),
                expiry,
                score: standing.score.score,
                subscore: standing.score.subscore,
                owner: owner_id(standing),
                backwards,
            })
        };
        let first = self.page.first().filter(|first| first.rank > 1);
        let last = self.page.last().filter(|last| last.rank < self.rank_count);
        RecordList {
            records: page,
            owner_records,
            next_cursor: last.map(|last| cursor(last, false)).unwrap_or_default(),
            prev_cursor: first.map(|first| cursor(first, true)).unwrap_or_default(),
            rank_count: self.rank_count,
        }
    }
}

/// What is shown of a period, as it stands at this moment.
fn outline(period: &Period, window: &Window, owners: &[Uuid]) -> Outline {
    let outline = period.look(|ranking| {
        let page = match window {
            Window::Nothing => Vec::new(),
            Window::From(None, limit) => ranking.range(1, *limit).collect(),
            Window::From(Some(place), limit) => page_at(ranking, place, *limit),
            Window::Around(owner, limit) => {
                ranking.around(rank_owner(*owner), *limit).map(Iterator::collect).unwrap_or_default()
            }
        };
        let mut seen = std::collections::HashSet::new();
        let owners = owners.iter().filter(|owner| seen.insert(**owner));
        let owners = owners.filter_map(|owner| ranking.standing(rank_owner(*owner))).collect();
        Outline { page, owners, rank_count: ranking.len() as u64 }
    });
    outline.unwrap_or(Outline { page: Vec::new(), owners: Vec::new(), rank_count: 0 })
}

/// Gives the ranks of a page to its records in their order, should one have changed since it was ranked.
fn put_in_order(page: &mut [Record], order: RankOrder) {
    let place = |record: &Record| (record.score, rank_owner(record.owner));
    let is_in_order = |one: &Record, next: &Record| match order {
        RankOrder::Ascending => place(one) <= place(next),
        RankOrder::Descending => place(one) >= place(next),
    };
    if page.is_sorted_by(is_in_order) {
        return;
    }
    let ranks: Vec<u64> = page.iter().map(|record| record.rank).collect();
    page.sort_by_key(place);
    if order == RankOrder::Descending {
        page.reverse();
    }
    for (record, rank) in page.iter_mut().zip(ranks) {
        record.rank = rank;
    }
}

/// The records on one side of a place.
fn page_at(ranking: &Ranking, place: &PageCursor, limit: usize) -> Vec<RankedRecord> {
    let score = Score { score: place.score, subscore: place.subscore };
    let at = (score, rank_owner(place.owner));
    if place.backwards {
        let before = ranks_while(ranking, |standing| compare(ranking.order(), standing, at) == Ordering::Less);
        let first = before.saturating_sub(limit as u64) + 1;
        ranking.range(first, (before + 1 - first) as usize).collect()
    } else {
        let passed = ranks_while(ranking, |standing| compare(ranking.order(), standing, at) != Ordering::Greater);
        ranking.range(passed + 1, limit).collect()
    }
}

/// How a record stands to a place, in the order of ranks.
fn compare(order: RankOrder, standing: &RankedRecord, at: (Score, RankOwner)) -> Ordering {
    let ascending = (standing.score, standing.owner).cmp(&at);
    match order {
        RankOrder::Ascending => ascending,
        RankOrder::Descending => ascending.reverse(),
    }
}

/// How many of the first ranks satisfy a condition that no rank does after the first that does not.
fn ranks_while(ranking: &Ranking, condition: impl Fn(&RankedRecord) -> bool) -> u64 {
    let (mut yes, mut no) = (0, ranking.len() as u64 + 1);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        match ranking.at(middle) {
            Some(standing) if condition(&standing) => yes = middle,
            _ => no = middle,
        }
    }
    yes
}

fn owner_id(standing: &RankedRecord) -> Uuid {
    Uuid::from_bytes(standing.owner.to_bytes())
}

fn checked_limit(limit: Option<i64>, max: usize) -> Result<usize, ServiceError> {
    let Some(limit) = limit else { return Ok(LIMIT_DEFAULT) };
    let fits = usize::try_from(limit).ok().filter(|limit| (1..=max).contains(limit));
    fits.ok_or_else(|| ServiceError::invalid(format!("Invalid limit: it must be between 1 and {max}.")))
}
