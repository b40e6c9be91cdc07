//! What goes into a statement.

use bytes::BytesMut;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::error::Error;
use std::fmt;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

/// A parameter of a statement.
#[derive(Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// A yes or no.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// An id.
    Uuid(Uuid),
}

/// The parameters of a statement, in order: `values![id, name]`.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::Value::from($value)),*] };
}

macro_rules! from {
    ($($type:ty => |$value:ident| $made:expr;)+) => {$(
        impl<'a> From<$type> for Value<'a> {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )+};
}

from! {
    bool => |value| Value::Boolean(value);
    i64 => |value| Value::Integer(value);
    i32 => |value| Value::Integer(value.into());
    u32 => |value| Value::Integer(value.into());
    f64 => |value| Value::Real(value);
    Uuid => |value| Value::Uuid(value);
    &'a Uuid => |value| Value::Uuid(*value);
    &'a str => |value| Value::Text(value);
    &'a String => |value| Value::Text(value);
    &'a [u8] => |value| Value::Bytes(value);
    &'a Vec<u8> => |value| Value::Bytes(value);
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<'a> From<&'a Option<String>> for Value<'a> {
    fn from(value: &'a Option<String>) -> Self {
        value.as_ref().map_or(Value::Null, Value::from)
    }
}

/// Tells how long a text is but not what it says: a log of statements must not hold passwords or addresses.
impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("Null"),
            Value::Boolean(value) => write!(f, "Boolean({value})"),
            Value::Integer(value) => write!(f, "Integer({value})"),
            Value::Real(value) => write!(f, "Real({value})"),
            Value::Text(value) => write!(f, "Text of {} bytes", value.len()),
            Value::Bytes(value) => write!(f, "{} bytes", value.len()),
            Value::Uuid(value) => write!(f, "Uuid({value})"),
        }
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Boolean(value) => ToSqlOutput::Borrowed(ValueRef::Integer((*value).into())),
            Value::Integer(value) => ToSqlOutput::Borrowed(ValueRef::Integer(*value)),
            Value::Real(value) => ToSqlOutput::Borrowed(ValueRef::Real(*value)),
            Value::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            Value::Bytes(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value)),
            Value::Uuid(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value.as_bytes())),
        })
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Boolean(value) => value.to_sql_checked(kind, out),
            // A column that is narrower than a literal suggests is still found by its number.
            Value::Integer(value) if *kind == Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
            Value::Integer(value) => value.to_sql_checked(kind, out),
            Value::Real(value) => value.to_sql_checked(kind, out),
            Value::Text(value) => value.to_sql_checked(kind, out),
            Value::Bytes(value) => value.to_sql_checked(kind, out),
            Value::Uuid(value) => value.to_sql_checked(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Each kind of value checks for itself when it is written.
        true
    }

    to_sql_checked!();
}
