//! A connection and its prepared statements.

use super::pool::Pool;
use super::{describe, to_store_error};
use crate::error::StoreError;
use crate::metrics::StoreMetrics;
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

/// Time limits and kind of a connection.
pub(super) struct ConnectionLimits {
    /// Time limit of a statement.
    pub statement: Duration,
    /// Time limit of waiting for a lock.
    pub lock: Duration,
    /// True if callers share the connection.
    pub is_shared: bool,
}

/// A connection and its prepared statements.
pub(crate) struct PostgresConnection {
    pub client: Client,
    statements: HashMap<String, Statement>,
    metrics: StoreMetrics,
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
    pub async fn open(pool: &Pool, limits: &ConnectionLimits) -> Result<PostgresConnection, StoreError> {
        let client = tokio::time::timeout(CONNECT_TIME_MAX, pool.address.connect()).await;
        let client = client.map_err(|_| connect_error(pool, "no answer"))?;
        let client = client.map_err(|error| connect_error(pool, &describe(&error)))?;
        let set_up = format!(
            "SET statement_timeout = {}; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}; \
             SET client_min_messages = warning",
            limits.statement.min(pool.time_max).as_millis(),
            limits.lock.min(pool.time_max).as_millis(),
            (pool.time_max + GRACE).as_millis(),
        );
        let failed = |error| connect_error(pool, &describe(&error));
        client.batch_execute(&set_up).await.map_err(failed)?;
        let mut statements = HashMap::new();
        if limits.is_shared {
            // Shared statements look up rows by their keys, so one plan fits all parameters.
            client.batch_execute("SET plan_cache_mode = force_generic_plan").await.map_err(failed)?;
            for sql in ["BEGIN", "COMMIT"] {
                statements.insert(sql.to_owned(), client.prepare(sql).await.map_err(failed)?);
            }
        }
        Ok(PostgresConnection { client, statements, metrics: pool.metrics.clone(), lost: false })
    }

    /// Returns a prepared statement, which is prepared once.
    pub fn prepare(&mut self, runtime: &Runtime, deadline: Instant, sql: &str) -> Result<Statement, StatementError> {
        if let Some(statement) = self.cached_statement(sql) {
            return Ok(statement);
        }
        self.count_round_trip(1);
        let prepared = wait(runtime, Some(deadline), self.client.prepare(&with_dollar_parameters(sql)));
        match prepared {
            Ok(statement) => {
                self.cache_statement(sql, statement.clone());
                Ok(statement)
            }
            Err(error) => {
                self.check_error(&error);
                Err(error)
            }
        }
    }

    /// Counts statements that are sent in one flush.
    pub fn count_round_trip(&self, statements: u64) {
        self.metrics.round_trips.inc();
        self.metrics.statements.add(statements);
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
            self.statements.retain(|sql, _| matches!(sql.as_str(), "BEGIN" | "COMMIT"));
        }
        self.statements.insert(sql.to_owned(), statement);
    }

    /// Marks the connection as lost if this error ends it.
    pub fn check_error(&mut self, error: &StatementError) {
        self.lost |= error.is_lost();
    }
}

impl StatementError {
    /// Returns true if the error ends the connection.
    pub fn is_lost(&self) -> bool {
        match self {
            StatementError::TimedOut => true,
            StatementError::Database(error) => {
                let severity = error.as_db_error().and_then(|error| error.parsed_severity());
                error.is_closed() || matches!(severity, Some(Severity::Fatal | Severity::Panic))
            }
        }
    }

    /// Returns the error of PostgreSQL or of the connection.
    pub fn database(&self) -> Option<&Error> {
        match self {
            StatementError::TimedOut => None,
            StatementError::Database(error) => Some(error),
        }
    }

    /// Converts the error for the caller of a statement without a transaction.
    pub fn to_store_error(&self, may_have_run: bool) -> StoreError {
        match self {
            _ if may_have_run && self.is_lost() => {
                StoreError::Unavailable("no answer to the commit; it may have been done".to_owned())
            }
            StatementError::TimedOut => StoreError::Unavailable("the operation took too long".to_owned()),
            StatementError::Database(error) => to_store_error(error),
        }
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

/// Replaces the parameters `?1` by PostgreSQL's `$1`, except in string literals.
fn with_dollar_parameters(sql: &str) -> String {
    let mut in_literal = false;
    let mut out = String::with_capacity(sql.len());
    for character in sql.chars() {
        in_literal ^= character == '\'';
        out.push(if character == '?' && !in_literal { '$' } else { character });
    }
    out
}

fn connect_error(pool: &Pool, why: &str) -> StoreError {
    StoreError::Unavailable(format!("PostgreSQL at {}: {why}", pool.address))
}

#[cfg(test)]
mod tests {
    use super::with_dollar_parameters;

    #[test]
    fn parameters_are_replaced_except_in_string_literals() {
        assert_eq!(with_dollar_parameters("SELECT ?1, '?2', ?10"), "SELECT $1, '?2', $10");
    }
}
