//! Parameters of statements.

use bytes::BytesMut;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::error::Error;
use std::fmt;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

/// A parameter of a statement.
#[derive(Clone, Copy, PartialEq)]
pub enum SqlValue<'a> {
    /// NULL.
    Null,
    /// A boolean.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A UUID.
    Uuid(Uuid),
}

/// Parameters of a statement, in order: `values![id, name]`.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::SqlValue::from($value)),*] };
}

/// A parameter that owns its content.
#[derive(Clone)]
pub(crate) enum OwnedValue {
    Text(String),
    Bytes(Vec<u8>),
    /// Any other value.
    Plain(SqlValue<'static>),
}

impl OwnedValue {
    pub fn borrow(&self) -> SqlValue<'_> {
        match self {
            OwnedValue::Text(text) => SqlValue::Text(text),
            OwnedValue::Bytes(bytes) => SqlValue::Bytes(bytes),
            OwnedValue::Plain(value) => *value,
        }
    }

    /// Returns the approximate size.
    pub fn bytes(&self) -> usize {
        match self {
            OwnedValue::Text(text) => text.len(),
            OwnedValue::Bytes(bytes) => bytes.len(),
            OwnedValue::Plain(_) => 16,
        }
    }
}

impl From<&SqlValue<'_>> for OwnedValue {
    fn from(value: &SqlValue<'_>) -> OwnedValue {
        match *value {
            SqlValue::Text(text) => OwnedValue::Text(text.to_owned()),
            SqlValue::Bytes(bytes) => OwnedValue::Bytes(bytes.to_owned()),
            SqlValue::Null => OwnedValue::Plain(SqlValue::Null),
            SqlValue::Boolean(value) => OwnedValue::Plain(SqlValue::Boolean(value)),
            SqlValue::Integer(value) => OwnedValue::Plain(SqlValue::Integer(value)),
            SqlValue::Real(value) => OwnedValue::Plain(SqlValue::Real(value)),
            SqlValue::Uuid(value) => OwnedValue::Plain(SqlValue::Uuid(value)),
        }
    }
}

impl fmt::Debug for OwnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrow().fmt(f)
    }
}

macro_rules! from {
    ($($type:ty => |$value:ident| $made:expr;)+) => {$(
        impl<'a> From<$type> for SqlValue<'a> {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )+};
}

from! {
    bool => |value| SqlValue::Boolean(value);
    i64 => |value| SqlValue::Integer(value);
    i32 => |value| SqlValue::Integer(value.into());
    u32 => |value| SqlValue::Integer(value.into());
    f64 => |value| SqlValue::Real(value);
    Uuid => |value| SqlValue::Uuid(value);
    &'a Uuid => |value| SqlValue::Uuid(*value);
    &'a str => |value| SqlValue::Text(value);
    &'a String => |value| SqlValue::Text(value);
    &'a [u8] => |value| SqlValue::Bytes(value);
    &'a Vec<u8> => |value| SqlValue::Bytes(value);
}

impl<'a, T: Into<SqlValue<'a>>> From<Option<T>> for SqlValue<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(SqlValue::Null, Into::into)
    }
}

impl<'a> From<&'a Option<String>> for SqlValue<'a> {
    fn from(value: &'a Option<String>) -> Self {
        value.as_ref().map_or(SqlValue::Null, SqlValue::from)
    }
}

/// Shows the length of a text instead of its content, because logs must not contain passwords or addresses.
impl fmt::Debug for SqlValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlValue::Null => f.write_str("Null"),
            SqlValue::Boolean(value) => write!(f, "Boolean({value})"),
            SqlValue::Integer(value) => write!(f, "Integer({value})"),
            SqlValue::Real(value) => write!(f, "Real({value})"),
            SqlValue::Text(value) => write!(f, "Text of {} bytes", value.len()),
            SqlValue::Bytes(value) => write!(f, "{} bytes", value.len()),
            SqlValue::Uuid(value) => write!(f, "Uuid({value})"),
        }
    }
}

impl rusqlite::ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            SqlValue::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            SqlValue::Boolean(value) => ToSqlOutput::Borrowed(ValueRef::Integer((*value).into())),
            SqlValue::Integer(value) => ToSqlOutput::Borrowed(ValueRef::Integer(*value)),
            SqlValue::Real(value) => ToSqlOutput::Borrowed(ValueRef::Real(*value)),
            SqlValue::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            SqlValue::Bytes(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value)),
            SqlValue::Uuid(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value.as_bytes())),
        })
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            SqlValue::Null => Ok(IsNull::Yes),
            SqlValue::Boolean(value) => value.to_sql_checked(kind, out),
            // A parameter may be compared with a 32-bit column.
            SqlValue::Integer(value) if *kind == Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
            SqlValue::Integer(value) if *kind == Type::FLOAT8 => (*value as f64).to_sql(kind, out),
            SqlValue::Integer(value) => value.to_sql_checked(kind, out),
            SqlValue::Real(value) => value.to_sql_checked(kind, out),
            SqlValue::Text(value) => value.to_sql_checked(kind, out),
            // SQLite stores ids as bytes.
            SqlValue::Bytes(value) if *kind == Type::UUID => Uuid::from_slice(value)?.to_sql(kind, out),
            SqlValue::Bytes(value) => value.to_sql_checked(kind, out),
            SqlValue::Uuid(value) => value.to_sql_checked(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // `to_sql_checked` checks the type of each value.
        true
    }

    to_sql_checked!();
}
