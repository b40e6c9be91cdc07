//! Operations whose statements are all known before they run.
//!
//! Such an operation needs no answer between its statements, so PostgreSQL gets them in one round trip, and operations of
//! several callers share a connection.

use crate::error::StoreError;
use crate::job::Mode;
use crate::row::SqlRow;
use crate::transaction::check;
use crate::value::{OwnedValue, SqlValue};
use rusqlite::types::Value;
use std::borrow::Cow;

/// Statements of an operation, in order. They take effect together or not at all.
///
/// ```
/// # use aether_store::*;
/// let name = Statements::reading("SELECT username FROM users WHERE id = ?1", values![uuid::Uuid::nil()]);
/// ```
#[derive(Clone, Debug)]
pub struct Statements {
    pub(crate) mode: Mode,
    pub(crate) list: Vec<Statement>,
}

/// A statement with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub sql: Cow<'static, str>,
    pub parameters: Vec<OwnedValue>,
}

/// Answers to the statements of an operation, in their order.
#[derive(Default)]
pub struct Answers(pub(crate) Vec<Answer>);

/// Answer to a statement.
pub(crate) struct Answer {
    pub changed: u64,
    pub rows: AnsweredRows,
}

/// Rows in the form of their database.
pub(crate) enum AnsweredRows {
    Sqlite(Vec<Vec<Value>>),
    Postgres(Vec<tokio_postgres::Row>),
}

impl Statements {
    /// Creates an operation that only reads. Its statements may see different states of the database.
    pub fn reading(sql: impl Into<Cow<'static, str>>, parameters: &[SqlValue<'_>]) -> Statements {
        Statements { mode: Mode::Read, list: Vec::new() }.and(sql, parameters)
    }

    /// Creates an operation that writes.
    pub fn writing(sql: impl Into<Cow<'static, str>>, parameters: &[SqlValue<'_>]) -> Statements {
        Statements { mode: Mode::Write, list: Vec::new() }.and(sql, parameters)
    }

    /// Joins operations that write into one.
    pub fn all(operations: impl IntoIterator<Item = Statements>) -> Statements {
        Statements { mode: Mode::Write, list: operations.into_iter().flat_map(|one| one.list).collect() }
    }

    /// Adds a statement.
    #[must_use]
    pub fn and(mut self, sql: impl Into<Cow<'static, str>>, parameters: &[SqlValue<'_>]) -> Statements {
        let parameters = parameters.iter().map(OwnedValue::from).collect();
        self.list.push(Statement { sql: sql.into(), parameters });
        self
    }

    /// Runs the operation one at a time among the writes of the same number: see
    /// [`Store::write_in_order`](crate::Store::write_in_order).
    #[must_use]
    pub fn in_order(mut self, number: u64) -> Statements {
        self.mode = Mode::WriteInOrder(number);
        self
    }

    /// Rejects parameters that one of the databases cannot store.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let parameters = self.list.iter().flat_map(|statement| &statement.parameters);
        parameters.map(OwnedValue::borrow).try_for_each(|value| check(&[value]))
    }
}

impl Statement {
    /// Returns the approximate size of the request.
    pub fn bytes(&self) -> usize {
        self.parameters.iter().map(OwnedValue::bytes).sum()
    }
}

impl Answers {
    /// Returns the number of rows that a statement changed. Statements are counted from 0.
    #[must_use]
    pub fn changed(&self, statement: usize) -> u64 {
        self.0.get(statement).map_or(0, |answer| answer.changed)
    }

    /// Returns all rows of a statement, counted from 0.
    pub fn rows<T>(
        &self,
        statement: usize,
        mut read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        match self.0.get(statement).map(|answer| &answer.rows) {
            None => Ok(Vec::new()),
            Some(AnsweredRows::Sqlite(rows)) => rows.iter().map(|row| read(&SqlRow::Values(row))).collect(),
            Some(AnsweredRows::Postgres(rows)) => rows.iter().map(|row| read(&SqlRow::Postgres(row))).collect(),
        }
    }

    /// Returns the row of a statement, counted from 0, if there is one. Of several rows it returns the last.
    pub fn row<T>(
        &self,
        statement: usize,
        read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.rows(statement, read)?.pop())
    }
}
