//! A connection with what it has prepared.

use super::described;
use super::pool::Pool;
use crate::error::StoreError;
use std::collections::HashMap;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio_postgres::error::Severity;
use tokio_postgres::{Client, Error, Statement};

/// How long a connection may take to come about.
pub(super) const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);
/// How much longer than PostgreSQL itself we wait for it to give up a statement.
const GRACE: Duration = Duration::from_secs(2);
/// Statements that each connection keeps ready. There are about as many in the whole program.
const STATEMENTS_KEPT: usize = 512;

/// A connection with what it has prepared.
pub(crate) struct PostgresConnection {
    pub client: Client,
    statements: HashMap<String, Statement>,
    lost: bool,
}

/// Why a statement was not done.
pub(super) enum StatementError {
    /// PostgreSQL says so, or the connection.
    Said(Error),
    /// No answer came in time.
    Late,
}

impl PostgresConnection {
    /// Connects, and limits how long anything may take: no statement and no wait for a lock goes on for ever, nor does a
    /// transaction that its client has forgotten.
    pub async fn open(pool: &Pool) -> Result<PostgresConnection, StoreError> {
        let client = tokio::time::timeout(CONNECT_TIME_MAX, pool.address.connect()).await;
        let client = client.map_err(|_| unreachable(pool, "it does not answer"))?;
        let client = client.map_err(|error| unreachable(pool, &described(&error)))?;
        let set_up = format!(
            "SET statement_timeout = {0}; SET lock_timeout = {0}; SET idle_in_transaction_session_timeout = {1}; \
             SET client_min_messages = warning",
            pool.time_max.as_millis(),
            (pool.time_max + GRACE).as_millis(),
        );
        client.batch_execute(&set_up).await.map_err(|error| unreachable(pool, &described(&error)))?;
        Ok(PostgresConnection { client, statements: HashMap::new(), lost: false })
    }

    /// Whether it is of no more use.
    pub fn is_lost(&self) -> bool {
        self.lost || self.client.is_closed()
    }

    /// A statement that was prepared before.
    pub fn prepared(&self, sql: &str) -> Option<Statement> {
        self.statements.get(sql).cloned()
    }

    /// Keeps a statement ready.
    pub fn keep(&mut self, sql: &str, statement: Statement) {
        if self.statements.len() >= STATEMENTS_KEPT {
            self.statements.clear();
        }
        self.statements.insert(sql.to_owned(), statement);
    }

    /// Looks whether the connection has come to its end with this.
    pub fn note(&mut self, trouble: &StatementError) {
        self.lost |= match trouble {
            StatementError::Late => true,
            StatementError::Said(error) => {
                let severity = error.as_db_error().and_then(|error| error.parsed_severity());
                error.is_closed() || matches!(severity, Some(Severity::Fatal | Severity::Panic))
            }
        };
    }
}

/// Waits for an answer, and not for ever.
pub(super) fn wait<T>(
    runtime: &Runtime,
    deadline: Option<Instant>,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, StatementError> {
    let answer = match deadline {
        None => runtime.block_on(answer),
        Some(deadline) => {
            let outcome = runtime.block_on(async { tokio::time::timeout_at((deadline + GRACE).into(), answer).await });
            outcome.map_err(|_| StatementError::Late)?
        }
    };
    answer.map_err(StatementError::Said)
}

fn unreachable(pool: &Pool, why: &str) -> StoreError {
    StoreError::Unavailable(format!("PostgreSQL at {}: {why}", pool.address))
}
