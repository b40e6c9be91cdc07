//! The interface of operations, the same for both databases.

use crate::error::StoreError;
use crate::job::Action;
use crate::postgres::PostgresTransaction;
use crate::row::SqlRow;
use crate::sqlite::SqliteTransaction;
use crate::statement::{Answers, Statement, Statements};
use crate::value::SqlValue;

/// Kind of database, for the few statements that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// Runs the statements of an operation.
///
/// Parameters are numbered, `?1` and on, for both databases.
///
/// After a failed statement the operation is rolled back, even if it returns `Ok`, because PostgreSQL has aborted the
/// transaction. Write a statement whose failure is to be ignored so that it does not fail, for example with `ON CONFLICT`.
pub struct Transaction<'a> {
    inner: Inner<'a>,
    after_commit: Vec<Action>,
    /// The first error of a statement.
    error: Option<StoreError>,
}

enum Inner<'a> {
    Sqlite(SqliteTransaction<'a>),
    Postgres(PostgresTransaction<'a>),
}

impl<'a> Transaction<'a> {
    pub(crate) fn sqlite(transaction: SqliteTransaction<'a>) -> Self {
        Transaction { inner: Inner::Sqlite(transaction), after_commit: Vec::new(), error: None }
    }

    pub(crate) fn postgres(transaction: PostgresTransaction<'a>) -> Self {
        Transaction { inner: Inner::Postgres(transaction), after_commit: Vec::new(), error: None }
    }

    /// Returns the kind of database.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match self.inner {
            Inner::Sqlite(_) => Dialect::Sqlite,
            Inner::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Returns the end of a `SELECT` whose rows this operation is about to change. It is empty for SQLite, which has one
    /// writer.
    #[must_use]
    pub fn for_update(&self) -> &'static str {
        match self.dialect() {
            Dialect::Sqlite => "",
            Dialect::Postgres => " FOR UPDATE",
        }
    }

    /// Executes a statement. Returns the number of changed rows.
    pub fn execute(&mut self, sql: &str, parameters: &[SqlValue<'_>]) -> Result<u64, StoreError> {
        let outcome = check(parameters).and_then(|()| match &mut self.inner {
            Inner::Sqlite(transaction) => transaction.execute(sql, parameters),
            Inner::Postgres(transaction) => transaction.execute(sql, parameters),
        });
        self.record(outcome)
    }

    /// Returns all rows of a query.
    pub fn rows<T>(
        &mut self,
        sql: &str,
        parameters: &[SqlValue<'_>],
        mut read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut rows = Vec::new();
        self.for_each_row(sql, parameters, |row| {
            rows.push(read(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Returns the row of a query, if there is one. Of several rows it returns the last.
    pub fn row<T>(
        &mut self,
        sql: &str,
        parameters: &[SqlValue<'_>],
        mut read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut found = None;
        self.for_each_row(sql, parameters, |row| {
            found = Some(read(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `read` with each row of a query.
    pub fn for_each_row(
        &mut self,
        sql: &str,
        parameters: &[SqlValue<'_>],
        mut read: impl FnMut(&SqlRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let outcome = check(parameters).and_then(|()| match &mut self.inner {
            Inner::Sqlite(transaction) => transaction.for_each_row(sql, parameters, &mut read),
            Inner::Postgres(transaction) => transaction.for_each_row(sql, parameters, &mut read),
        });
        self.record(outcome)
    }

    /// Executes statements in order, and returns their answers. PostgreSQL gets them in one round trip.
    pub fn answers(&mut self, statements: &Statements) -> Result<Answers, StoreError> {
        statements.check()?;
        self.answers_to(&statements.list)
    }

    pub(crate) fn answers_to(&mut self, statements: &[Statement]) -> Result<Answers, StoreError> {
        let answers = match &mut self.inner {
            Inner::Sqlite(transaction) => statements.iter().map(|statement| transaction.answer(statement)).collect(),
            Inner::Postgres(transaction) => transaction.answers(statements),
        };
        self.record(answers).map(Answers)
    }

    /// Adds an action that runs after the commit and before the caller gets its result. Without a commit it never runs. It
    /// blocks a thread of the store, so it must be fast. See [`Store::write_in_order`](crate::Store::write_in_order) for the
    /// order of actions.
    pub fn after_commit(&mut self, action: impl FnOnce() + Send + 'static) {
        self.after_commit.push(Box::new(action));
    }

    /// Executes several statements without parameters.
    pub(crate) fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        let outcome = match &mut self.inner {
            Inner::Sqlite(transaction) => transaction.script(sql),
            Inner::Postgres(transaction) => transaction.script(sql),
        };
        self.record(outcome)
    }

    /// Removes the time limits of this operation and its statements.
    pub(crate) fn disable_time_limits(&mut self) -> Result<(), StoreError> {
        let outcome = match &mut self.inner {
            Inner::Sqlite(transaction) => {
                transaction.disable_time_limits();
                Ok(())
            }
            Inner::Postgres(transaction) => transaction.disable_time_limits(),
        };
        self.record(outcome)
    }

    /// Returns true if a PostgreSQL transaction is open.
    pub(crate) fn is_open(&self) -> bool {
        matches!(&self.inner, Inner::Postgres(transaction) if transaction.is_open())
    }

    pub(crate) fn take_after_commit(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.after_commit)
    }

    pub(crate) fn take_error(&mut self) -> Option<StoreError> {
        self.error.take()
    }

    fn record<T>(&mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if let (Err(error), None) = (&outcome, &self.error) {
            self.error = Some(error.clone());
        }
        outcome
    }
}

/// Rejects values that one of the databases cannot store, so that both behave the same.
pub(crate) fn check(parameters: &[SqlValue<'_>]) -> Result<(), StoreError> {
    for value in parameters {
        match value {
            SqlValue::Text(text) if text.contains('\0') => {
                return Err(StoreError::BadValue("a text contains the character U+0000, which cannot be stored"));
            }
            SqlValue::Real(number) if number.is_nan() => {
                return Err(StoreError::Failed("a number is NaN, which SQLite cannot store".to_owned()));
            }
            _ => {}
        }
    }
    Ok(())
}
