//! A connection and its prepared statements.

use super::describe;
use super::pool::Pool;
use crate::error::StoreError;
use std::collections::HashMap;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio_postgres::error::Severity;
use tokio_postgres::{Client, Error, Statement};

/// Time limit for connecting.
pub(super) const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);
/// Extra time beyond PostgreSQL's own statement timeout, so that its error arrives first.
const GRACE: Duration = Duration::from_secs(2);
/// Maximum number of prepared statements of a connection. The whole program has about as many.
const STATEMENTS_CACHED_MAX: usize = 512;

/// A connection and its prepared statements.
pub(crate) struct PostgresConnection {
    pub client: Client,
    statements: HashMap<String, Statement>,
    lost: bool,
}

/// Reason why a statement failed.
pub(super) enum StatementError {
    /// Error of PostgreSQL or of the connection.
    Database(Error),
    /// No answer arrived in time.
    TimedOut,
}

impl PostgresConnection {
    /// Connects and sets the time limits of statements, locks and idle transactions.
    pub async fn open(pool: &Pool) -> Result<PostgresConnection, StoreError> {
        let client = tokio::time::timeout(CONNECT_TIME_MAX, pool.address.connect()).await;
        let client = client.map_err(|_| connect_error(pool, "no answer"))?;
        let client = client.map_err(|error| connect_error(pool, &describe(&error)))?;
        let set_up = format!(
            "SET statement_timeout = {0}; SET lock_timeout = {0}; SET idle_in_transaction_session_timeout = {1}; \
             SET client_min_messages = warning",
            pool.time_max.as_millis(),
            (pool.time_max + GRACE).as_millis(),
        );
        client.batch_execute(&set_up).await.map_err(|error| connect_error(pool, &describe(&error)))?;
        Ok(PostgresConnection { client, statements: HashMap::new(), lost: false })
    }

    /// Returns true if the connection cannot be used any more.
    pub fn is_lost(&self) -> bool {
        self.lost || self.client.is_closed()
    }

    /// Returns a prepared statement from the cache.
    pub fn cached_statement(&self, sql: &str) -> Option<Statement> {
        self.statements.get(sql).cloned()
    }

    /// Adds a prepared statement to the cache.
    pub fn cache_statement(&mut self, sql: &str, statement: Statement) {
        if self.statements.len() >= STATEMENTS_CACHED_MAX {
            self.statements.clear();
        }
        self.statements.insert(sql.to_owned(), statement);
    }

    /// Marks the connection as lost if this error ends it.
    pub fn check_error(&mut self, error: &StatementError) {
        self.lost |= match error {
            StatementError::TimedOut => true,
            StatementError::Database(error) => {
                let severity = error.as_db_error().and_then(|error| error.parsed_severity());
                error.is_closed() || matches!(severity, Some(Severity::Fatal | Severity::Panic))
            }
        };
    }
}

/// Waits for an answer until the deadline.
pub(super) fn wait<T>(
    runtime: &Runtime,
    deadline: Option<Instant>,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, StatementError> {
    let answer = match deadline {
        None => runtime.block_on(answer),
        Some(deadline) => {
            let outcome = runtime.block_on(async { tokio::time::timeout_at((deadline + GRACE).into(), answer).await });
            outcome.map_err(|_| StatementError::TimedOut)?
        }
    };
    answer.map_err(StatementError::Database)
}

fn connect_error(pool: &Pool, why: &str) -> StoreError {
    StoreError::Unavailable(format!("PostgreSQL at {}: {why}", pool.address))
}
