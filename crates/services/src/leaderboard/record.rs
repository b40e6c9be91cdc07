//! Records and their database columns.

use super::board::Board;
use aether_ranks::Score;
use aether_store::{SqlRow, SqlValue, Statements, StoreError, Transaction};
use std::collections::HashMap;
use std::fmt::Write as _;
use uuid::Uuid;

/// Record of an owner in one period of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Owner.
    pub owner: Uuid,
    /// Username at the last write. Empty if none was given.
    pub username: String,
    /// Score and subscore.
    pub score: Score,
    /// Number of writes that changed it, including the first.
    pub num_score: i64,
    /// Maximum number of such writes. 0 for no limit.
    pub max_num_score: i64,
    /// JSON object for the game.
    pub metadata: String,
    /// Time of the first write, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// Time of the last change, in milliseconds since 1970.
    pub updated_at_ms: i64,
    /// End of its period, in seconds since 1970. 0 for never.
    pub expiry: i64,
    /// Rank. The best is 1. 0 if the board shows no ranks.
    pub rank: u64,
}

/// Columns that [`Record::read`] reads. A macro, because statements are concatenated at compile time.
macro_rules! record_columns {
    () => {
        "owner_id, username, score, subscore, num_score, max_num_score, metadata, created_at, updated_at, expiry"
    };
}
pub(super) use record_columns;

impl Record {
    /// Reads a row of [`record_columns!`]. The rank is not stored.
    pub(super) fn read(row: &SqlRow<'_>) -> Result<Record, StoreError> {
        Ok(Record {
            owner: row.get(0)?,
            username: row.get(1)?,
            score: Score { score: row.get(2)?, subscore: row.get(3)? },
            num_score: row.get(4)?,
            max_num_score: row.get(5)?,
            metadata: row.get(6)?,
            created_at_ms: row.get(7)?,
            updated_at_ms: row.get(8)?,
            expiry: row.get(9)?,
            rank: 0,
        })
    }

    /// Leaves the rank out if the board shows none.
    pub(crate) fn show_rank_of(&mut self, board: &Board) {
        if !board.has_ranks() {
            self.rank = 0;
        }
    }
}

/// Reads the records of several owners in one period, with one statement.
pub(super) fn records_of(
    transaction: &mut Transaction<'_>,
    board_id: &str,
    expiry: i64,
    owners: &[Uuid],
) -> Result<HashMap<Uuid, Record>, StoreError> {
    if owners.is_empty() {
        return Ok(HashMap::new());
    }
    let records = transaction.answers(&search(board_id, expiry, owners))?.rows(0, Record::read)?;
    Ok(records.into_iter().map(|record| (record.owner, record)).collect())
}

/// Returns the statement that reads the record of one owner in one period.
pub(super) fn search_one(board_id: &str, expiry: i64, owner: Uuid) -> Statements {
    search(board_id, expiry, &[owner])
}

fn search(board_id: &str, expiry: i64, owners: &[Uuid]) -> Statements {
    // Statements are cached by their text. Padding to a power of two with the last owner leaves only a dozen.
    let count = owners.len().next_power_of_two();
    let mut sql = String::from(concat!(
        "SELECT ",
        record_columns!(),
        " FROM leaderboard_records WHERE leaderboard_id = ?1 AND expiry = ?2 AND owner_id IN (?3"
    ));
    for index in 1..count {
        let _ = write!(sql, ",?{}", index + 3);
    }
    sql.push(')');
    let mut parameters = Vec::with_capacity(count + 2);
    parameters.extend([SqlValue::from(board_id), SqlValue::from(expiry)]);
    parameters.extend(owners.iter().map(SqlValue::from));
    parameters.extend(owners.last().into_iter().cycle().take(count - owners.len()).map(SqlValue::from));
    Statements::reading(sql, &parameters)
}

/// Reads the record of one owner in one period.
pub(super) fn read_one(
    transaction: &mut Transaction<'_>,
    board_id: &str,
    expiry: i64,
    owner: Uuid,
) -> Result<Option<Record>, StoreError> {
    records_of(transaction, board_id, expiry, &[owner]).map(|mut records| records.remove(&owner))
}
