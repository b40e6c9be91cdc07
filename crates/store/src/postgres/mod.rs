//! PostgreSQL: a few threads, each with a connection, and a transaction for each caller.
//!
//! A thread drives its connection by itself, so a statement costs no change of threads. What needs no transaction,
//! because it only reads, is asked without one; `BEGIN` travels with the first statement.

mod address;
mod pool;
mod session;
mod tls;
mod transaction;
mod worker;

pub(crate) use address::Address;
pub(crate) use pool::Pool;
pub(crate) use transaction::PostgresTransaction;
pub(crate) use worker::Worker;

use crate::error::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

/// What an error of PostgreSQL means.
fn failed(error: &Error) -> StoreError {
    let Some(database) = error.as_db_error() else {
        let of_the_connection =
            error.is_closed() || std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>());
        return match of_the_connection {
            true => StoreError::Unavailable(described(error)),
            false => StoreError::Failed(described(error)),
        };
    };
    let code = database.code();
    match (code, code.code().get(..2).unwrap_or_default()) {
        (&SqlState::UNIQUE_VIOLATION, _) => StoreError::Duplicate(key(database)),
        // Connections, resources, an operator's doing, and time-outs.
        (_, "08" | "53" | "57") | (&SqlState::LOCK_NOT_AVAILABLE, _) => StoreError::Unavailable(described(error)),
        // A time-out between two statements.
        (&SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, _) => StoreError::Unavailable(described(error)),
        // A disk that cannot be written, or a server that has become one that only reads.
        (_, "58") | (&SqlState::READ_ONLY_SQL_TRANSACTION, _) => StoreError::Unavailable(described(error)),
        (&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED, _) => {
            StoreError::Unavailable(described(error))
        }
        _ => StoreError::Failed(described(error)),
    }
}

/// Whether the same operation may succeed when it is begun anew.
fn is_retryable(error: &Error) -> bool {
    let retryable = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| retryable.contains(code))
}

/// The columns of a key that is there already. PostgreSQL tells them as `Key (user_id, provider)=(…)`.
fn key(error: &DbError) -> String {
    let detail = error.detail().and_then(|detail| detail.split_once(")=(")).and_then(|(key, _)| key.split_once('('));
    match (error.table(), detail) {
        (Some(table), Some((_, columns))) => {
            columns.split(", ").map(|column| format!("{table}.{column}")).collect::<Vec<_>>().join(", ")
        }
        _ => error.constraint().unwrap_or("a key").to_owned(),
    }
}

/// The error with its causes, because its own text does not tell them. What an error says of values stays unsaid.
fn described(error: &Error) -> String {
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
