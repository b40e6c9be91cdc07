//! Columns of rows whose types are known only when they are read.

use crate::error::StoreError;
use crate::row::SqlRow;
use rusqlite::types::ValueRef;
use std::error::Error;
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

/// Value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValue {
    /// NULL.
    Null,
    /// A boolean. SQLite has integers instead.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text, or JSON.
    Text(String),
    /// Bytes. SQLite also stores ids as bytes.
    Bytes(Vec<u8>),
    /// An id.
    Uuid(Uuid),
}

impl SqlRow<'_> {
    /// Returns the names and values of all columns.
    pub fn columns(&self) -> Result<Vec<(String, ColumnValue)>, StoreError> {
        match self {
            SqlRow::Sqlite(row) => {
                let names = row.as_ref().column_names().map(str::to_owned).collect::<Vec<_>>();
                let value = |(index, name): (usize, String)| {
                    let value = row.get_ref(index).map_err(|error| StoreError::Failed(error.to_string()))?;
                    Ok((name, ColumnValue::from(value)))
                };
                names.into_iter().enumerate().map(value).collect()
            }
            SqlRow::Values(values) => {
                let named = values.iter().enumerate();
                Ok(named.map(|(index, value)| (index.to_string(), ValueRef::from(value).into())).collect())
            }
            SqlRow::Postgres(row) => {
                let value = |(index, column): (usize, &tokio_postgres::Column)| {
                    let name = column.name().to_owned();
                    let value = row.try_get::<_, Option<ColumnValue>>(index).map_err(|_| {
                        let kind = column.type_();
                        StoreError::Failed(format!("column `{name}` has the type {kind}; cast it to text or bigint"))
                    });
                    value.map(|value| (name.clone(), value.unwrap_or(ColumnValue::Null)))
                };
                row.columns().iter().enumerate().map(value).collect()
            }
        }
    }
}

impl From<ValueRef<'_>> for ColumnValue {
    fn from(value: ValueRef<'_>) -> ColumnValue {
        match value {
            ValueRef::Null => ColumnValue::Null,
            ValueRef::Integer(value) => ColumnValue::Integer(value),
            ValueRef::Real(value) => ColumnValue::Real(value),
            ValueRef::Text(text) => ColumnValue::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(bytes) => ColumnValue::Bytes(bytes.to_vec()),
        }
    }
}

impl<'a> FromSql<'a> for ColumnValue {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *kind {
            Type::BOOL => ColumnValue::Boolean(bool::from_sql(kind, raw)?),
            Type::INT2 => ColumnValue::Integer(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => ColumnValue::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => ColumnValue::Integer(i64::from_sql(kind, raw)?),
            Type::FLOAT4 => ColumnValue::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => ColumnValue::Real(f64::from_sql(kind, raw)?),
            Type::BYTEA => ColumnValue::Bytes(raw.to_vec()),
            Type::UUID => ColumnValue::Uuid(Uuid::from_sql(kind, raw)?),
            Type::JSON => ColumnValue::Text(std::str::from_utf8(raw)?.to_owned()),
            // The binary form begins with a version.
            Type::JSONB => ColumnValue::Text(std::str::from_utf8(raw.get(1..).unwrap_or_default())?.to_owned()),
            _ => ColumnValue::Text(String::from_sql(kind, raw)?),
        })
    }

    fn accepts(kind: &Type) -> bool {
        let known = [
            Type::BOOL,
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::FLOAT4,
            Type::FLOAT8,
            Type::BYTEA,
            Type::UUID,
            Type::JSON,
            Type::JSONB,
        ];
        known.contains(kind) || <String as FromSql<'_>>::accepts(kind)
    }
}
