//! A record, and how it is read.

use aether_ranks::Score;
use aether_store::{SqlRow, SqlValue, StoreError, Transaction};
use std::collections::HashMap;
use std::fmt::Write as _;
use uuid::Uuid;

/// An owner's record in one period of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose it is.
    pub owner: Uuid,
    /// Their name when it was written; empty if none was given.
    pub username: String,
    /// The score and its subscore.
    pub score: Score,
    /// How many writes changed it, the first one included.
    pub num_score: i64,
    /// How many may; 0 for any number.
    pub max_num_score: i64,
    /// A JSON object, for the game.
    pub metadata: String,
    /// When it was first written, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When it was last changed, in milliseconds since 1970.
    pub updated_at_ms: i64,
    /// When its period ends, in seconds since 1970; 0 for never.
    pub expiry: i64,
    /// Where it stands; the best is 1.
    pub rank: u64,
}

/// The columns that [`Record::read`] reads. A macro, because statements are put together when the program is built.
macro_rules! record_columns {
    () => {
        "owner_id, username, score, subscore, num_score, max_num_score, metadata, created_at, updated_at, expiry"
    };
}
pub(super) use record_columns;

impl Record {
    /// Reads a row of [`record_columns!`]. The rank is not in the database.
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
}

/// The records of these owners in one period, as far as they exist, by one statement.
pub(super) fn records_of(
    transaction: &mut Transaction<'_>,
    board_id: &str,
    expiry: i64,
    owners: &[Uuid],
) -> Result<HashMap<Uuid, Record>, StoreError> {
    let Some(last) = owners.last() else { return Ok(HashMap::new()) };
    // A statement is kept ready by its text. Rounded up to a power of two there are only a dozen; the last owner fills
    // the places that are left.
    let places = owners.len().next_power_of_two();
    let mut sql = String::from(concat!(
        "SELECT ",
        record_columns!(),
        " FROM leaderboard_records WHERE leaderboard_id = ?1 AND expiry = ?2 AND owner_id IN (?3"
    ));
    for place in 1..places {
        let _ = write!(sql, ",?{}", place + 3);
    }
    sql.push(')');
    let mut parameters = Vec::with_capacity(places + 2);
    parameters.extend([SqlValue::from(board_id), SqlValue::from(expiry)]);
    parameters.extend(owners.iter().map(SqlValue::from));
    parameters.resize(places + 2, SqlValue::from(last));
    let records = transaction.rows(&sql, &parameters, Record::read)?;
    Ok(records.into_iter().map(|record| (record.owner, record)).collect())
}

/// The record of one owner in one period.
pub(super) fn read_one(
    transaction: &mut Transaction<'_>,
    board_id: &str,
    expiry: i64,
    owner: Uuid,
) -> Result<Option<Record>, StoreError> {
    records_of(transaction, board_id, expiry, &[owner]).map(|mut records| records.remove(&owner))
}
