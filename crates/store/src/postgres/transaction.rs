//! A transaction on a PostgreSQL connection.

use super::connection::{PostgresConnection, StatementError, wait};
use super::pipeline::{self, Step};
use super::{is_retryable, to_store_error};
use crate::error::StoreError;
use crate::job::Mode;
use crate::row::SqlRow;
use crate::statement::Answer;
use crate::value::SqlValue;
use futures_util::future::join;
use futures_util::{StreamExt, pin_mut};
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{RowStream, Statement};

/// Removes the time limits of the transaction. Waiting for a lock is still limited.
const NO_LIMITS: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'; \
    SET LOCAL idle_in_transaction_session_timeout = 0";

/// Time limit for preparing a statement of an operation without time limits.
const UNLIMITED: Duration = Duration::from_secs(60);

/// State of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionState {
    /// No transaction: each statement stands alone and only reads.
    NotUsed,
    /// Not begun. This statement is sent with the first one.
    Pending(&'static str),
    /// Begun and not ended.
    Open,
}

/// A transaction on a PostgreSQL connection.
pub(crate) struct PostgresTransaction<'a> {
    runtime: &'a Runtime,
    connection: &'a mut PostgresConnection,
    state: TransactionState,
    /// Deadline of the operation, if it has one.
    deadline: Option<Instant>,
    /// Set if the operation may be retried: another transaction conflicted with it, or the connection was lost.
    retry: &'a mut bool,
}

impl<'a> PostgresTransaction<'a> {
    pub(super) fn new(
        runtime: &'a Runtime,
        connection: &'a mut PostgresConnection,
        mode: Mode,
        deadline: Instant,
        retry: &'a mut bool,
    ) -> Self {
        let state = match mode {
            Mode::Read => TransactionState::NotUsed,
            Mode::Snapshot => TransactionState::Pending("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
            Mode::Write | Mode::WriteInOrder(_) => TransactionState::Pending("BEGIN"),
        };
        PostgresTransaction { runtime, connection, state, deadline: Some(deadline), retry }
    }

    pub fn execute(&mut self, sql: &str, parameters: &[SqlValue<'_>]) -> Result<u64, StoreError> {
        let statement = self.prepare(sql)?;
        let stream = self.query(&statement, parameters)?;
        let outcome = wait(self.runtime, self.deadline, async {
            pin_mut!(stream);
            while let Some(row) = stream.next().await {
                row?;
            }
            Ok(stream.rows_affected().unwrap_or(0))
        });
        outcome.map_err(|error| self.handle_error(error))
    }

    /// Executes statements in one flush, and collects their rows.
    pub fn answers(&mut self, statements: &[crate::statement::Statement]) -> Result<Vec<Answer>, StoreError> {
        let mut steps = Vec::with_capacity(statements.len() + 1);
        let begin = match self.state {
            TransactionState::Pending(begin) => Some(begin),
            TransactionState::NotUsed | TransactionState::Open => None,
        };
        if let Some(begin) = begin {
            steps.push(Step { statement: self.prepare(begin)?, parameters: &[] });
        }
        for one in statements {
            steps.push(Step { statement: self.prepare(&one.sql)?, parameters: &one.parameters });
        }
        if begin.is_some() {
            self.state = TransactionState::Open;
        }
        let deadline = self.deadline.unwrap_or_else(|| Instant::now() + UNLIMITED);
        let outcomes = pipeline::send(self.runtime, self.connection, deadline, &steps);
        let answers = outcomes.into_iter().collect::<Result<Vec<_>, _>>();
        let answers = answers.map_err(|failed| self.handle_error(failed.error))?;
        Ok(answers.into_iter().skip(usize::from(begin.is_some())).collect())
    }

    pub fn for_each_row(
        &mut self,
        sql: &str,
        parameters: &[SqlValue<'_>],
        read: &mut dyn FnMut(&SqlRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let statement = self.prepare(sql)?;
        let stream = self.query(&statement, parameters)?;
        let outcome = wait(self.runtime, self.deadline, async {
            pin_mut!(stream);
            let mut read_all = Ok(());
            // Reads all rows even after an error, so that an error of a later row is not taken for the next statement's.
            while let Some(row) = stream.next().await {
                let row = row?;
                read_all = read_all.and_then(|()| read(&SqlRow::Postgres(&row)));
            }
            Ok(read_all)
        });
        outcome.map_err(|error| self.handle_error(error))?
    }

    pub fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        self.check_deadline()?;
        if let TransactionState::Pending(begin) = self.state {
            self.state = TransactionState::Open;
            self.connection.count_round_trip(1);
            let outcome = wait(self.runtime, self.deadline, self.connection.client.batch_execute(begin));
            outcome.map_err(|error| self.handle_error(error))?;
        }
        self.connection.count_round_trip(1);
        let outcome = wait(self.runtime, self.deadline, self.connection.client.batch_execute(sql));
        outcome.map_err(|error| self.handle_error(error))
    }

    /// Removes the time limits of this transaction and its statements.
    pub fn disable_time_limits(&mut self) -> Result<(), StoreError> {
        self.script(NO_LIMITS)?;
        self.deadline = None;
        Ok(())
    }

    /// Returns true if a transaction was begun.
    pub fn is_open(&self) -> bool {
        self.state == TransactionState::Open
    }

    fn query(&mut self, statement: &Statement, parameters: &[SqlValue<'_>]) -> Result<RowStream, StoreError> {
        let parameters = parameters.iter().map(|value| value as &(dyn ToSql + Sync));
        let client = &self.connection.client;
        let query = client.query_raw(statement, parameters);
        self.connection.count_round_trip(if matches!(self.state, TransactionState::Pending(_)) { 2 } else { 1 });
        let outcome = match self.state {
            TransactionState::Pending(begin) => {
                self.state = TransactionState::Open;
                let both = in_order(client.batch_execute(begin), query);
                wait(self.runtime, self.deadline, async { both.await.1 })
            }
            TransactionState::NotUsed | TransactionState::Open => wait(self.runtime, self.deadline, query),
        };
        outcome.map_err(|error| self.handle_error(error))
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, StoreError> {
        self.check_deadline()?;
        let deadline = self.deadline.unwrap_or_else(|| Instant::now() + UNLIMITED);
        self.connection.prepare(self.runtime, deadline, sql).map_err(|error| self.handle_error(error))
    }

    fn check_deadline(&self) -> Result<(), StoreError> {
        match self.deadline {
            Some(deadline) if deadline < Instant::now() => Err(timed_out()),
            _ => Ok(()),
        }
    }

    fn handle_error(&mut self, error: StatementError) -> StoreError {
        self.connection.check_error(&error);
        match error {
            StatementError::TimedOut => timed_out(),
            StatementError::Database(error) => {
                // Nothing was committed yet, so the whole operation can run again.
                *self.retry |= is_retryable(&error) || self.connection.is_lost();
                to_store_error(&error)
            }
        }
    }
}

/// Runs both futures. The request of the first is sent before that of the second.
async fn in_order<A: Future, B: Future>(first: A, second: B) -> (A::Output, B::Output) {
    // `join` polls in this order, and the first poll sends the request.
    join(first, second).await
}

fn timed_out() -> StoreError {
    StoreError::Unavailable("the operation took too long".to_owned())
}
