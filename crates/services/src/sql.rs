//! SQL of server code. For data that the services do not reach.

use crate::error::{GrpcCode, ServiceError};
pub use aether_store::ColumnValue;
use aether_store::{SqlValue, Store, StoreError, Transaction};
use std::sync::Arc;
use uuid::Uuid;

/// Most bytes of a statement.
pub const STATEMENT_BYTES_MAX: usize = 65_536;
/// Most parameters of a statement.
pub const PARAMETERS_MAX: usize = 256;
/// Most rows of a result. It is in memory as a whole.
pub const ROWS_MAX: usize = 1_000;
/// Most bytes of all texts of a result.
pub const ROWS_BYTES_MAX: usize = 4 << 20;

/// Commands that may begin a statement that changes rows or tables. Others end the transaction, or change the connection.
const WRITING: [&str; 7] = ["insert", "update", "delete", "with", "create", "alter", "drop"];
/// Commands that change tables, and no rows.
const SCHEMA: [&str; 3] = ["create", "alter", "drop"];
/// Commands that may begin a statement that only reads.
const READING: [&str; 2] = ["select", "values"];

/// Names and values of the columns of a row.
pub type Row = Vec<(String, ColumnValue)>;

/// Statement with its parameters, which are numbered: `$1` or `?1`, and on.
#[derive(Clone, Debug)]
pub struct SqlStatement {
    text: String,
    parameters: Vec<ColumnValue>,
    is_reading: bool,
    is_schema: bool,
}

impl SqlStatement {
    /// Checks a statement.
    pub fn new(text: &str, parameters: Vec<ColumnValue>) -> Result<SqlStatement, ServiceError> {
        if text.len() > STATEMENT_BYTES_MAX || parameters.len() > PARAMETERS_MAX {
            return Err(ServiceError::invalid(format!(
                "A statement may have {STATEMENT_BYTES_MAX} bytes and {PARAMETERS_MAX} parameters."
            )));
        }
        let command: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
        let command = command.to_ascii_lowercase();
        let is_reading = READING.contains(&command.as_str());
        if !is_reading && !WRITING.contains(&command.as_str()) {
            let allowed = [READING.as_slice(), &WRITING].concat().join(", ");
            let message = format!("A statement cannot begin with `{command:.20}`; use one of {allowed}.");
            return Err(ServiceError::invalid(message));
        }
        let is_schema = SCHEMA.contains(&command.as_str());
        Ok(SqlStatement { text: numbered(text), parameters, is_reading, is_schema })
    }

    /// Executes the statement in a transaction of its own. Returns the number of changed rows.
    pub async fn execute(self, store: &Store) -> Result<u64, ServiceError> {
        let statement = Arc::new(self);
        let operation = move |transaction: &mut Transaction<'_>| {
            let changed = transaction.execute(&statement.text, &statement.values()).map_err(Failed)?;
            // SQLite returns the rows of the statement before.
            Ok(if statement.is_schema { 0 } else { changed })
        };
        store.write(operation).await.map_err(|Failed(error)| to_service_error(error))
    }

    /// Executes the statement in a transaction of its own. Returns its rows; fails if there are too many.
    pub async fn query(self, store: &Store) -> Result<Vec<Row>, ServiceError> {
        let is_reading = self.is_reading;
        let statement = Arc::new(self);
        let operation = move |transaction: &mut Transaction<'_>| statement.rows(transaction).map_err(Failed);
        let outcome = if is_reading { store.read(operation).await } else { store.write(operation).await };
        outcome.map_err(|Failed(error)| to_service_error(error))
    }

    fn rows(&self, transaction: &mut Transaction<'_>) -> Result<Vec<Row>, StoreError> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        transaction.for_each_row(&self.text, &self.values(), |row| {
            let row = row.columns()?;
            bytes += row.iter().map(|(name, value)| name.len() + size(value)).sum::<usize>();
            if rows.len() >= ROWS_MAX || bytes > ROWS_BYTES_MAX {
                return Err(StoreError::Failed(format!(
                    "the result has more than {ROWS_MAX} rows or {ROWS_BYTES_MAX} bytes; select less, or use LIMIT"
                )));
            }
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    fn values(&self) -> Vec<SqlValue<'_>> {
        self.parameters.iter().map(value).collect()
    }
}

/// Error of a statement of a script: its text is shown, because the script is the operator's.
struct Failed(StoreError);

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed(error)
    }
}

fn to_service_error(error: StoreError) -> ServiceError {
    match error {
        StoreError::Failed(why) => ServiceError::with(GrpcCode::InvalidArgument, format!("SQL failed: {why}")),
        StoreError::Duplicate(columns) => {
            ServiceError::with(GrpcCode::AlreadyExists, format!("SQL failed: a row with the same {columns} exists."))
        }
        other => other.into(),
    }
}

fn value(value: &ColumnValue) -> SqlValue<'_> {
    match value {
        ColumnValue::Null => SqlValue::Null,
        ColumnValue::Boolean(value) => SqlValue::Boolean(*value),
        ColumnValue::Integer(value) => SqlValue::Integer(*value),
        ColumnValue::Real(value) => SqlValue::Real(*value),
        ColumnValue::Text(text) => SqlValue::Text(text),
        ColumnValue::Bytes(bytes) => SqlValue::Bytes(bytes),
        ColumnValue::Uuid(id) => SqlValue::Uuid(*id),
    }
}

fn size(value: &ColumnValue) -> usize {
    match value {
        ColumnValue::Text(text) => text.len(),
        ColumnValue::Bytes(bytes) => bytes.len(),
        _ => size_of::<Uuid>(),
    }
}

/// Writes `$1` as `?1`, which the store uses for both databases, except in quotes.
fn numbered(text: &str) -> String {
    let (mut written, mut quote) = (String::with_capacity(text.len()), None);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match quote {
            Some(open) if character == open => quote = None,
            None if character == '\'' || character == '"' => quote = Some(character),
            _ => {}
        }
        let is_parameter = quote.is_none() && character == '$' && characters.peek().is_some_and(char::is_ascii_digit);
        written.push(if is_parameter { '?' } else { character });
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_renamed_outside_quotes() {
        assert_eq!(numbered("SELECT '$1', \"a$2\", $1, ?2, $x"), "SELECT '$1', \"a$2\", ?1, ?2, $x");
    }

    #[test]
    fn statements_that_control_the_connection_are_refused() {
        for text in ["COMMIT", " begin", "PRAGMA user_version", "ATTACH 'a' AS b", "vacuum", "", "/**/ SELECT 1"] {
            assert!(SqlStatement::new(text, Vec::new()).is_err(), "{text}");
        }
        assert!(SqlStatement::new(" Select 1", Vec::new()).is_ok());
        assert!(SqlStatement::new("SELECT 1", vec![ColumnValue::Null; PARAMETERS_MAX + 1]).is_err());
        assert!(SqlStatement::new(&format!("SELECT 1{}", " ".repeat(STATEMENT_BYTES_MAX)), Vec::new()).is_err());
    }
}
