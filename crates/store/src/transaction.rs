//! The interface that an operation is written against, the same for both databases.

use crate::error::StoreError;
use crate::job::Action;
use crate::postgres::PostgresTransaction;
use crate::row::SqlRow;
use crate::sqlite::SqliteTransaction;
use crate::value::SqlValue;

/// Which database it is, for the few statements that cannot be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// What an operation has in hand while it runs: statements, one after the other.
///
/// Statements are written with numbered parameters, `?1` and on, on both databases.
///
/// After a statement has failed, nothing of the operation is kept, even if it goes on and returns `Ok`: PostgreSQL has
/// given up its transaction then. What may fail and be passed over is written so that it does not fail, with
/// `ON CONFLICT` for example.
pub struct Transaction<'a> {
    inner: Inner<'a>,
    after_commit: Vec<Action>,
    /// The first error of a statement.
    trouble: Option<StoreError>,
}

enum Inner<'a> {
    Sqlite(SqliteTransaction<'a>),
    Postgres(PostgresTransaction<'a>),
}

impl<'a> Transaction<'a> {
    pub(crate) fn sqlite(transaction: SqliteTransaction<'a>) -> Self {
        Transaction { inner: Inner::Sqlite(transaction), after_commit: Vec::new(), trouble: None }
    }

    pub(crate) fn postgres(transaction: PostgresTransaction<'a>) -> Self {
        Transaction { inner: Inner::Postgres(transaction), after_commit: Vec::new(), trouble: None }
    }

    /// Which database it is.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match self.inner {
            Inner::Sqlite(_) => Dialect::Sqlite,
            Inner::Postgres(_) => Dialect::Postgres,
        }
    }

    /// What stands at the end of a `SELECT` whose rows this operation is about to change. SQLite has one writer, so
    /// there nothing is needed.
    #[must_use]
    pub fn for_update(&self) -> &'static str {
        match self.dialect() {
            Dialect::Sqlite => "",
            Dialect::Postgres => " FOR UPDATE",
        }
    }

    /// Does a statement; tells how many rows it changed.
    pub fn execute(&mut self, sql: &str, parameters: &[SqlValue<'_>]) -> Result<u64, StoreError> {
        let outcome = check(parameters).and_then(|()| match &mut self.inner {
            Inner::Sqlite(transaction) => transaction.execute(sql, parameters),
            Inner::Postgres(transaction) => transaction.execute(sql, parameters),
        });
        self.noted(outcome)
    }

    /// All rows of an answer.
    pub fn rows<T>(
        &mut self,
        sql: &str,
        parameters: &[SqlValue<'_>],
        mut read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut rows = Vec::new();
        self.each(sql, parameters, |row| {
            rows.push(read(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The only row of an answer, if there is one. Of several, the last.
    pub fn row<T>(
        &mut self,
        sql: &str,
        parameters: &[SqlValue<'_>],
        mut read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut found = None;
        self.each(sql, parameters, |row| {
            found = Some(read(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Looks at each row of an answer.
    pub fn each(
        &mut self,
        sql: &str,
        parameters: &[SqlValue<'_>],
        mut look: impl FnMut(&SqlRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let outcome = check(parameters).and_then(|()| match &mut self.inner {
            Inner::Sqlite(transaction) => transaction.each(sql, parameters, &mut look),
            Inner::Postgres(transaction) => transaction.each(sql, parameters, &mut look),
        });
        self.noted(outcome)
    }

    /// Has something done right after the commit, before anyone is answered; never if there is none. It runs on the
    /// store's thread, so it has to be short. See [`Store::write_in_turn`](crate::Store::write_in_turn) for its order.
    pub fn after_commit(&mut self, action: impl FnOnce() + Send + 'static) {
        self.after_commit.push(Box::new(action));
    }

    /// Several statements at once, without parameters.
    pub(crate) fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        let outcome = match &mut self.inner {
            Inner::Sqlite(transaction) => transaction.script(sql),
            Inner::Postgres(transaction) => transaction.script(sql),
        };
        self.noted(outcome)
    }

    /// Lets this operation, and each of its statements, take as long as it takes.
    pub(crate) fn take_your_time(&mut self) -> Result<(), StoreError> {
        let outcome = match &mut self.inner {
            Inner::Sqlite(transaction) => {
                transaction.take_your_time();
                Ok(())
            }
            Inner::Postgres(transaction) => transaction.take_your_time(),
        };
        self.noted(outcome)
    }

    /// Whether there is a transaction of PostgreSQL to end.
    pub(crate) fn is_open(&self) -> bool {
        matches!(&self.inner, Inner::Postgres(transaction) if transaction.is_open())
    }

    pub(crate) fn take_after_commit(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.after_commit)
    }

    pub(crate) fn take_trouble(&mut self) -> Option<StoreError> {
        self.trouble.take()
    }

    fn noted<T>(&mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if let (Err(error), None) = (&outcome, &self.trouble) {
            self.trouble = Some(error.clone());
        }
        outcome
    }
}

/// Refuses what one of the databases cannot keep, so that both keep the same.
fn check(parameters: &[SqlValue<'_>]) -> Result<(), StoreError> {
    for value in parameters {
        match value {
            SqlValue::Text(text) if text.contains('\0') => {
                let why = "a text has the character U+0000 in it, which PostgreSQL does not keep";
                return Err(StoreError::Failed(why.to_owned()));
            }
            SqlValue::Real(number) if number.is_nan() => {
                return Err(StoreError::Failed("a number is none, which SQLite does not keep".to_owned()));
            }
            _ => {}
        }
    }
    Ok(())
}
