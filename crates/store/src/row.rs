//! Rows of a query.

use crate::error::StoreError;
use rusqlite::types::{Value, ValueRef};
use std::error::Error;
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

/// A row of a query.
pub enum SqlRow<'a> {
    /// A row of SQLite.
    #[doc(hidden)]
    Sqlite(&'a rusqlite::Row<'a>),
    /// A row of PostgreSQL.
    #[doc(hidden)]
    Postgres(&'a tokio_postgres::Row),
    /// A copied row of SQLite.
    #[doc(hidden)]
    Values(&'a [Value]),
}

impl SqlRow<'_> {
    /// Returns the value of a column, counted from 0.
    pub fn get<T: FromColumn>(&self, index: usize) -> Result<T, StoreError> {
        match self {
            SqlRow::Sqlite(row) => {
                let value = row.get_ref(index).map_err(|error| unexpected(index, &error))?;
                T::from_sqlite(value).ok_or_else(|| unexpected(index, &value.data_type()))
            }
            SqlRow::Values(values) => {
                let value = values.get(index).ok_or_else(|| unexpected(index, &"no such column"))?;
                T::from_sqlite(ValueRef::from(value)).ok_or_else(|| unexpected(index, &value.data_type()))
            }
            SqlRow::Postgres(row) => T::from_postgres(row, index).map_err(|error| unexpected(index, &error)),
        }
    }
}

/// A type that a column can be read as.
pub trait FromColumn: Sized {
    /// Converts a value of SQLite. Returns `None` if it has another type.
    #[doc(hidden)]
    fn from_sqlite(value: ValueRef<'_>) -> Option<Self>;

    /// Converts a column of a PostgreSQL row.
    #[doc(hidden)]
    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, tokio_postgres::Error>;
}

macro_rules! columns {
    ($($type:ty as $wire:ty, $value:ident => $read:expr;)+) => {$(
        impl FromColumn for $type {
            fn from_sqlite($value: ValueRef<'_>) -> Option<Self> {
                $read
            }

            fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, tokio_postgres::Error> {
                row.try_get::<_, $wire>(index).map(<$type>::from)
            }
        }

        impl FromColumn for Option<$type> {
            fn from_sqlite(value: ValueRef<'_>) -> Option<Self> {
                match value {
                    ValueRef::Null => Some(None),
                    value => <$type>::from_sqlite(value).map(Some),
                }
            }

            fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, tokio_postgres::Error> {
                row.try_get::<_, Option<$wire>>(index).map(|value| value.map(<$type>::from))
            }
        }
    )+};
}

columns! {
    bool as bool, value => value.as_i64().ok().map(|value| value != 0);
    i64 as AnyInteger, value => value.as_i64().ok();
    f64 as f64, value => value.as_f64().ok();
    String as String, value => value.as_str().ok().map(str::to_owned);
    Vec<u8> as Vec<u8>, value => value.as_blob().ok().map(<[u8]>::to_vec);
    Uuid as Uuid, value => value.as_blob().ok().and_then(|bytes| Uuid::from_slice(bytes).ok());
}

/// An integer of any width. A literal, for example, is narrower than a column.
struct AnyInteger(i64);

impl From<AnyInteger> for i64 {
    fn from(AnyInteger(value): AnyInteger) -> i64 {
        value
    }
}

impl<'a> FromSql<'a> for AnyInteger {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let value = match *kind {
            Type::INT2 => i16::from_sql(kind, raw)?.into(),
            Type::INT4 => i32::from_sql(kind, raw)?.into(),
            _ => i64::from_sql(kind, raw)?,
        };
        Ok(AnyInteger(value))
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT2 | Type::INT4 | Type::INT8)
    }
}

fn unexpected(index: usize, what: &impl std::fmt::Display) -> StoreError {
    StoreError::Failed(format!("column {index} has an unexpected type: {what}"))
}
