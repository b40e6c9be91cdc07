//! Lists records by rank, of given owners, and around an owner.
//!
//! The order comes from memory, and records are read by key in one statement. So the database needs no index by score,
//! which would cost each write more than it saves here.

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

/// Maximum records per page, and maximum owners per request.
pub const RECORD_LIMIT_MAX: usize = 1_000;
/// Maximum records around an owner.
pub const AROUND_LIMIT_MAX: usize = 100;
/// Limits of pages of a board's records.
const PAGE_LIMITS: ListLimits = ListLimits { default: 1, max: RECORD_LIMIT_MAX };
/// Limits of lists around an owner.
const AROUND_LIMITS: ListLimits = ListLimits { default: 1, max: AROUND_LIMIT_MAX };
/// Attempts to build a page when one of its records is written meanwhile. After that, ranks are assigned in the order
/// of the records read.
const ATTEMPTS_MAX: usize = 3;

/// Limits of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListLimits {
    /// Records without a limit in the query.
    pub default: usize,
    /// Maximum records.
    pub max: usize,
}

/// Query for records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordQuery {
    /// Records per page; 1 by default. Without limit and cursor, but with owners, only their records are listed.
    pub limit: Option<i64>,
    /// Cursor of the page. Empty for the first page.
    pub cursor: String,
    /// Period, by its expiry in seconds since 1970. 0 for the current one.
    pub expiry: i64,
}

/// Records of a board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordList {
    /// Page, by rank.
    pub records: Vec<Record>,
    /// Records of the requested owners, in the requested order. Missing ones are omitted.
    pub owner_records: Vec<Record>,
    /// Cursor of the next page. Empty on the last page.
    pub next_cursor: String,
    /// Cursor of the previous page. Empty on the first page.
    pub prev_cursor: String,
    /// Number of records of the period.
    pub rank_count: u64,
}

/// Position in a list by the sort values of a record, so that no record is repeated or omitted when others move
/// meanwhile, not even when that record moves.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PageCursor {
    board: String,
    expiry: i64,
    score: i64,
    subscore: i64,
    owner: Uuid,
    backwards: bool,
}

/// Part of a ranking to list.
#[derive(Clone, Debug)]
enum Window {
    Nothing,
    From(Option<PageCursor>, usize),
    Around(Uuid, usize),
}

/// Ranks of a list, from memory.
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
        let board = self.board(board_id)?;
        let current = board.expiry(self.clock.now_seconds());
        Ok(self.page(&board, current, owners, query, PAGE_LIMITS).await?.shown_by(&board))
    }

    /// Lists the records around an owner's record, including it. Empty if the owner has none. With a cursor, it
    /// continues from there.
    pub async fn records_around(
        &self,
        board_id: &str,
        owner: Uuid,
        query: &RecordQuery,
    ) -> Result<RecordList, ServiceError> {
        let board = self.board(board_id)?;
        let current = board.expiry(self.clock.now_seconds());
        Ok(self.page_around(&board, current, owner, query, AROUND_LIMITS).await?.shown_by(&board))
    }

    /// Lists records as [`Leaderboards::records`] does. `current` is the period of queries without an expiry.
    pub(crate) async fn page(
        &self,
        board: &Arc<Board>,
        current: i64,
        owners: &[Uuid],
        query: &RecordQuery,
        limits: ListLimits,
    ) -> Result<RecordList, ServiceError> {
        if owners.len() > limits.max {
            return Err(ServiceError::invalid(format!("At most {} owners can be requested at once.", limits.max)));
        }
        let limit = limits.check(query.limit)?;
        let (expiry, cursor) = period_and_cursor(board, current, query)?;
        let owners_only = query.limit.is_none() && cursor.is_none() && !owners.is_empty();
        let window = if owners_only { Window::Nothing } else { Window::From(cursor, limit) };
        self.list(board, expiry, window, owners).await
    }

    /// Lists records as [`Leaderboards::records_around`] does. `current` is the period of queries without an expiry.
    pub(crate) async fn page_around(
        &self,
        board: &Arc<Board>,
        current: i64,
        owner: Uuid,
        query: &RecordQuery,
        limits: ListLimits,
    ) -> Result<RecordList, ServiceError> {
        let limit = limits.check(query.limit)?;
        let (expiry, window) = match period_and_cursor(board, current, query)? {
            (expiry, None) => (expiry, Window::Around(owner, limit)),
            (expiry, cursor) => (expiry, Window::From(cursor, limit)),
        };
        self.list(board, expiry, window, &[]).await
    }

    /// Returns the cursor of the page that begins with the record of a rank. Beyond the last record the page is empty.
    pub async fn cursor_from_rank(&self, board_id: &str, rank: u64, expiry: i64) -> Result<String, ServiceError> {
        if rank == 0 {
            return Err(ServiceError::invalid("A rank must be 1 or more."));
        }
        let board = self.board(board_id)?;
        let now = self.clock.now_seconds();
        let expiry = if expiry == 0 { board.expiry(now) } else { expiry };
        let period = self.periods.ready(&board, expiry, now).await?;
        let before = |ranking: &Ranking| ranking.at((rank - 1).min(ranking.len() as u64));
        // A page follows the record of its cursor; nothing precedes the first page.
        let before = period.with_ranking(before).flatten();
        Ok(before.map(|before| cursor::encode(&PageCursor::at(&board, expiry, &before, false))).unwrap_or_default())
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
            // The ranking is read here, on the store's thread, right before the records.
            let mut attempts = 0;
            loop {
                attempts += 1;
                let outline = outline(&period, &window, &owners);
                let wanted: Vec<Uuid> = outline.all().map(owner_id).collect();
                let mut records = records_of(transaction, &board.definition.id, expiry, &wanted)?;
                if outline.matches_records(&records) || attempts == ATTEMPTS_MAX {
                    return Ok::<_, StoreError>(outline.complete(&mut records, &board, expiry));
                }
            }
        });
        Ok(read.await?)
    }
}

impl PageCursor {
    /// Returns the position of a record.
    fn at(board: &Board, expiry: i64, ranked: &RankedRecord, backwards: bool) -> PageCursor {
        PageCursor {
            board: board.definition.id.clone(),
            expiry,
            score: ranked.score.score,
            subscore: ranked.score.subscore,
            owner: owner_id(ranked),
            backwards,
        }
    }
}

impl RecordList {
    /// Leaves the ranks out if the board shows none.
    pub(crate) fn shown_by(mut self, board: &Board) -> RecordList {
        self.records.iter_mut().chain(&mut self.owner_records).for_each(|record| record.show_rank_of(board));
        self
    }
}

impl Outline {
    fn all(&self) -> impl Iterator<Item = &RankedRecord> {
        self.page.iter().chain(&self.owners)
    }

    /// Returns true if the records still have the scores that were ranked.
    fn matches_records(&self, records: &HashMap<Uuid, Record>) -> bool {
        self.all().all(|ranked| records.get(&owner_id(ranked)).is_some_and(|record| record.score == ranked.score))
    }

    /// Combines ranks and records to a list.
    fn complete(&self, records: &mut HashMap<Uuid, Record>, board: &Board, expiry: i64) -> RecordList {
        let owner_records = self.owners.iter().filter_map(|ranked| {
            let record = records.get(&owner_id(ranked))?;
            Some(Record { rank: ranked.rank, ..record.clone() })
        });
        let owner_records = owner_records.collect();
        let page = self.page.iter().filter_map(|ranked| {
            let record = records.remove(&owner_id(ranked))?;
            Some(Record { rank: ranked.rank, ..record })
        });
        let mut page: Vec<Record> = page.collect();
        reassign_ranks(&mut page, board.definition.order);
        let cursor =
            |ranked: &RankedRecord, backwards: bool| cursor::encode(&PageCursor::at(board, expiry, ranked, backwards));
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

/// Returns the period and the cursor of a query.
fn period_and_cursor(
    board: &Board,
    current: i64,
    query: &RecordQuery,
) -> Result<(i64, Option<PageCursor>), ServiceError> {
    if query.expiry < 0 {
        return Err(ServiceError::invalid("An expiry must be a time in seconds since 1970, or 0."));
    }
    let Some(position) = cursor::decode::<PageCursor>(&query.cursor)? else {
        return Ok((if query.expiry == 0 { current } else { query.expiry }, None));
    };
    // A list that began before a reset continues in its period.
    let fits = position.board == board.definition.id && (query.expiry == 0 || query.expiry == position.expiry);
    if !fits {
        return Err(ServiceError::new(GrpcCode::InvalidArgument, "Cursor is invalid or expired."));
    }
    Ok((position.expiry, Some(position)))
}

/// Reads the requested part of a ranking at this moment.
fn outline(period: &Period, window: &Window, owners: &[Uuid]) -> Outline {
    let outline = period.with_ranking(|ranking| {
        let page = match window {
            Window::Nothing => Vec::new(),
            Window::From(None, limit) => ranking.range(1, *limit).collect(),
            Window::From(Some(cursor), limit) => page_at(ranking, cursor, *limit),
            Window::Around(owner, limit) => {
                ranking.around(rank_owner(*owner), *limit).map(Iterator::collect).unwrap_or_default()
            }
        };
        let mut seen = std::collections::HashSet::new();
        let owners = owners.iter().filter(|owner| seen.insert(**owner));
        let owners = owners.filter_map(|owner| ranking.ranked_record(rank_owner(*owner))).collect();
        Outline { page, owners, rank_count: ranking.len() as u64 }
    });
    outline.unwrap_or(Outline { page: Vec::new(), owners: Vec::new(), rank_count: 0 })
}

/// Reassigns the ranks of a page in order, if a record has changed since it was ranked.
fn reassign_ranks(page: &mut [Record], order: RankOrder) {
    let sort_key = |record: &Record| (record.score, rank_owner(record.owner));
    let is_in_order = |one: &Record, next: &Record| match order {
        RankOrder::Ascending => sort_key(one) <= sort_key(next),
        RankOrder::Descending => sort_key(one) >= sort_key(next),
    };
    if page.is_sorted_by(is_in_order) {
        return;
    }
    let ranks: Vec<u64> = page.iter().map(|record| record.rank).collect();
    page.sort_by_key(sort_key);
    if order == RankOrder::Descending {
        page.reverse();
    }
    for (record, rank) in page.iter_mut().zip(ranks) {
        record.rank = rank;
    }
}

/// Returns the records on one side of a cursor.
fn page_at(ranking: &Ranking, cursor: &PageCursor, limit: usize) -> Vec<RankedRecord> {
    let score = Score { score: cursor.score, subscore: cursor.subscore };
    let at = (score, rank_owner(cursor.owner));
    if cursor.backwards {
        let before = ranks_while(ranking, |ranked| compare(ranking.order(), ranked, at) == Ordering::Less);
        let first = before.saturating_sub(limit as u64) + 1;
        ranking.range(first, (before + 1 - first) as usize).collect()
    } else {
        let passed = ranks_while(ranking, |ranked| compare(ranking.order(), ranked, at) != Ordering::Greater);
        ranking.range(passed + 1, limit).collect()
    }
}

/// Compares a record to a position, in the order of ranks.
fn compare(order: RankOrder, ranked: &RankedRecord, at: (Score, RankOwner)) -> Ordering {
    let ascending = (ranked.score, ranked.owner).cmp(&at);
    match order {
        RankOrder::Ascending => ascending,
        RankOrder::Descending => ascending.reverse(),
    }
}

/// Returns the number of leading ranks that satisfy a condition, by binary search.
fn ranks_while(ranking: &Ranking, condition: impl Fn(&RankedRecord) -> bool) -> u64 {
    let (mut yes, mut no) = (0, ranking.len() as u64 + 1);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        match ranking.at(middle) {
            Some(ranked) if condition(&ranked) => yes = middle,
            _ => no = middle,
        }
    }
    yes
}

fn owner_id(ranked: &RankedRecord) -> Uuid {
    Uuid::from_bytes(ranked.owner.to_bytes())
}

impl ListLimits {
    fn check(self, limit: Option<i64>) -> Result<usize, ServiceError> {
        let Some(limit) = limit else { return Ok(self.default) };
        let max = self.max;
        let fits = usize::try_from(limit).ok().filter(|limit| (1..=max).contains(limit));
        fits.ok_or_else(|| ServiceError::invalid(format!("Invalid limit: it must be between 1 and {max}.")))
    }
}
