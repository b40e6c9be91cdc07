//! PostgreSQL: threads that each drive a connection, so a statement needs no thread switch.
//!
//! A [`Lane`] runs operations whose statements are known before, of many callers at once. A [`Worker`] runs one operation at
//! a time, which may decide after each answer. It reads without a transaction, and sends `BEGIN` with the first statement.

mod address;
mod connection;
mod lane;
mod pipeline;
mod pool;
mod tls;
mod transaction;
mod worker;

pub(crate) use address::Address;
pub(crate) use lane::Lane;
pub(crate) use pool::Pool;
pub(crate) use transaction::PostgresTransaction;
pub(crate) use worker::Worker;

use crate::error::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

/// Converts an error of PostgreSQL.
fn to_store_error(error: &Error) -> StoreError {
    let Some(database) = error.as_db_error() else {
        let is_connection_error =
            error.is_closed() || std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>());
        return match is_connection_error {
            true => StoreError::Unavailable(describe(error)),
            false => StoreError::Failed(describe(error)),
        };
    };
    let code = database.code();
    match (code, code.code().get(..2).unwrap_or_default()) {
        (&SqlState::UNIQUE_VIOLATION, _) => StoreError::Duplicate(key_columns(database)),
        // Classes of connection errors, lack of resources, operator intervention, and timeouts.
        (_, "08" | "53" | "57") | (&SqlState::LOCK_NOT_AVAILABLE, _) => StoreError::Unavailable(describe(error)),
        // A timeout between two statements.
        (&SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, _) => StoreError::Unavailable(describe(error)),
        // The disk cannot be written, or the server has become read-only.
        (_, "58") | (&SqlState::READ_ONLY_SQL_TRANSACTION, _) => StoreError::Unavailable(describe(error)),
        (&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED, _) => {
            StoreError::Unavailable(describe(error))
        }
        _ => StoreError::Failed(describe(error)),
    }
}

/// Returns true if the operation may succeed when it is retried.
fn is_retryable(error: &Error) -> bool {
    let retryable = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| retryable.contains(code))
}

/// Returns true if a statement or a lock took too long for its connection.
fn is_timeout(error: &Error) -> bool {
    error.code().is_some_and(|code| [SqlState::QUERY_CANCELED, SqlState::LOCK_NOT_AVAILABLE].contains(code))
}

/// Returns true if the statement was rejected because an earlier one of its transaction failed.
fn is_in_failed_transaction(error: &Error) -> bool {
    error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION)
}

/// Returns the columns of a duplicate key. PostgreSQL reports them as `Key (user_id, provider)=(…)`.
fn key_columns(error: &DbError) -> String {
    let detail = error.detail().and_then(|detail| detail.split_once(")=(")).and_then(|(key, _)| key.split_once('('));
    match (error.table(), detail) {
        (Some(table), Some((_, columns))) => {
            columns.split(", ").map(|column| format!("{table}.{column}")).collect::<Vec<_>>().join(", ")
        }
        _ => error.constraint().unwrap_or("a key").to_owned(),
    }
}

/// Formats an error with its causes. Details are left out, because they contain values of rows.
fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        text = match deeper.downcast_ref::<DbError>() {
            Some(database) => format!("{text}: {} ({})", database.message(), database.code().code()),
            None => format!("{text}: {deeper}"),
        };
        cause = deeper.source();
    }
    text
}
