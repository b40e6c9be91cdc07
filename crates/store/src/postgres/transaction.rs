//! An operation's view of a connection.

use super::session::{PostgresConnection, StatementError, wait};
use super::{failed, is_retryable};
use crate::error::StoreError;
use crate::job::Mode;
use crate::row::SqlRow;
use crate::value::SqlValue;
use futures_util::future::join;
use futures_util::{StreamExt, pin_mut};
use std::future::Future;
use std::time::Instant;
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{RowStream, Statement};

/// Limits that do not hold for what has to take its time.
const NO_LIMITS: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'; \
    SET LOCAL idle_in_transaction_session_timeout = 0";

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    /// Each statement is one of its own: nothing is changed.
    Never,
    /// This goes with the first statement.
    NotYet(&'static str),
    /// It is open.
    Yes,
}

/// An operation's view of a connection.
pub(crate) struct PostgresTransaction<'a> {
    runtime: &'a Runtime,
    session: &'a mut PostgresConnection,
    begun: Begun,
    /// When it has to be done, if ever.
    deadline: Option<Instant>,
    /// Set when another transaction was in the way, or the connection was lost, and this one may be begun anew.
    retry: &'a mut bool,
}

impl<'a> PostgresTransaction<'a> {
    pub(super) fn new(
        runtime: &'a Runtime,
        session: &'a mut PostgresConnection,
        mode: Mode,
        deadline: Instant,
        retry: &'a mut bool,
    ) -> Self {
        let begun = match mode {
            Mode::Read => Begun::Never,
            Mode::Snapshot => Begun::NotYet("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
            Mode::Write | Mode::WriteInTurn(_) => Begun::NotYet("BEGIN"),
        };
        PostgresTransaction { runtime, session, begun, deadline: Some(deadline), retry }
    }

    pub fn execute(&mut self, sql: &str, parameters: &[SqlValue<'_>]) -> Result<u64, StoreError> {
        let statement = self.prepare(sql)?;
        let stream = self.ask(&statement, parameters)?;
        let outcome = wait(self.runtime, self.deadline, async {
            pin_mut!(stream);
            while let Some(row) = stream.next().await {
                row?;
            }
            Ok(stream.rows_affected().unwrap_or(0))
        });
        outcome.map_err(|trouble| self.note(trouble))
    }

    pub fn each(
        &mut self,
        sql: &str,
        parameters: &[SqlValue<'_>],
        look: &mut dyn FnMut(&SqlRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let statement = self.prepare(sql)?;
        let stream = self.ask(&statement, parameters)?;
        let looked = wait(self.runtime, self.deadline, async {
            pin_mut!(stream);
            let mut looked = Ok(());
            // All of them, even after a refusal: an error of a later row must not be taken for the next statement's.
            while let Some(row) = stream.next().await {
                let row = row?;
                looked = looked.and_then(|()| look(&SqlRow::Postgres(&row)));
            }
            Ok(looked)
        });
        looked.map_err(|trouble| self.note(trouble))?
    }

    pub fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        self.check_deadline()?;
        if let Begun::NotYet(begin) = self.begun {
            self.begun = Begun::Yes;
            let outcome = wait(self.runtime, self.deadline, self.session.client.batch_execute(begin));
            outcome.map_err(|trouble| self.note(trouble))?;
        }
        let outcome = wait(self.runtime, self.deadline, self.session.client.batch_execute(sql));
        outcome.map_err(|trouble| self.note(trouble))
    }

    /// Lets this transaction, and each of its statements, take as long as it takes.
    pub fn take_your_time(&mut self) -> Result<(), StoreError> {
        self.script(NO_LIMITS)?;
        self.deadline = None;
        Ok(())
    }

    /// Whether there is a transaction to end.
    pub fn is_open(&self) -> bool {
        self.begun == Begun::Yes
    }

    fn ask(&mut self, statement: &Statement, parameters: &[SqlValue<'_>]) -> Result<RowStream, StoreError> {
        let parameters = parameters.iter().map(|value| value as &(dyn ToSql + Sync));
        let client = &self.session.client;
        let query = client.query_raw(statement, parameters);
        let outcome = match self.begun {
            Begun::NotYet(begin) => {
                self.begun = Begun::Yes;
                let both = in_order(client.batch_execute(begin), query);
                wait(self.runtime, self.deadline, async { both.await.1 })
            }
            Begun::Never | Begun::Yes => wait(self.runtime, self.deadline, query),
        };
        outcome.map_err(|trouble| self.note(trouble))
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, StoreError> {
        self.check_deadline()?;
        if let Some(statement) = self.session.prepared(sql) {
            return Ok(statement);
        }
        let prepared = wait(self.runtime, self.deadline, self.session.client.prepare(&numbered(sql)));
        let statement = prepared.map_err(|trouble| self.note(trouble))?;
        self.session.keep(sql, statement.clone());
        Ok(statement)
    }

    fn check_deadline(&self) -> Result<(), StoreError> {
        match self.deadline {
            Some(deadline) if deadline < Instant::now() => Err(late()),
            _ => Ok(()),
        }
    }

    fn note(&mut self, trouble: StatementError) -> StoreError {
        self.session.note(&trouble);
        match trouble {
            StatementError::Late => late(),
            StatementError::Said(error) => {
                // Nothing was committed yet, so whatever was done before is undone and can be done again.
                *self.retry |= is_retryable(&error) || self.session.is_lost();
                failed(&error)
            }
        }
    }
}

/// Both at once, the first one's request ahead of the second's.
async fn in_order<A: Future, B: Future>(first: A, second: B) -> (A::Output, B::Output) {
    // Each is polled in this order, and a request is sent by the first poll.
    join(first, second).await
}

fn late() -> StoreError {
    StoreError::Unavailable("the operation took too long".to_owned())
}

/// PostgreSQL writes `$1` for what is `?1` in our statements. A question mark in a text stays.
fn numbered(sql: &str) -> String {
    let mut within_text = false;
    let mut out = String::with_capacity(sql.len());
    for character in sql.chars() {
        within_text ^= character == '\'';
        out.push(if character == '?' && !within_text { '$' } else { character });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn parameters_are_numbered_in_the_way_of_the_database_and_texts_stay() {
        assert_eq!(numbered("SELECT ?1, '?2', ?10"), "SELECT $1, '?2', $10");
    }
}
