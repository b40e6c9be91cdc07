//! SQLite: one thread writes, several read.

mod deadline;
pub(crate) mod presence;
mod reader;
mod writer;

pub(crate) use reader::Reader;
pub(crate) use writer::Writer;

use crate::error::StoreError;
use crate::private_file;
use crate::row::SqlRow;
use crate::statement::{Answer, AnsweredRows, Statement};
use crate::value::{OwnedValue, SqlValue};
use deadline::StatementDeadline;
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi, params_from_iter};
use std::path::Path;
use std::time::Duration;

/// Maximum number of cached statements of a connection. The whole program has about as many.
const STATEMENTS_CACHED_MAX: usize = 256;
/// Maximum size of the memory-mapped part of the file.
const MAPPED_BYTES_MAX: i64 = 256 << 20;
/// Time that a statement waits for another process that has locked the file, such as the `sqlite3` shell.
const BUSY_MS_MAX: u32 = 5_000;

/// Pages of the journal after which they are copied into the database file, 32 MiB. A page that many commits change is
/// copied once. The commit that copies takes longer, so there are not more.
const JOURNAL_PAGES_MAX: u32 = 8_192;
/// Memory for pages of the writing connection, in KiB. A commit that changes more pages writes some of them twice.
const WRITER_CACHE_KIB: u32 = 16_384;

/// A connection, with the time limit of its operations.
pub(crate) struct SqliteConnection {
    handle: Connection,
    deadline: StatementDeadline,
}

impl SqliteConnection {
    /// Opens the file for writing and creates it if it is missing.
    fn writer(path: Option<&Path>, limit: Duration) -> Result<SqliteConnection, StoreError> {
        let connection = match path {
            Some(path) => create_private(path).and_then(|()| Connection::open(path)),
            None => Connection::open_in_memory(),
        };
        let connection = connection.map_err(|error| open_error(path, &error))?;
        let pragmas = format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
             PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = {JOURNAL_PAGES_MAX};
             PRAGMA cache_size = -{WRITER_CACHE_KIB};"
        );
        SqliteConnection::new(connection, limit, &pragmas).map_err(|error| open_error(path, &error))
    }

    /// Opens the file for reading.
    fn reader(path: &Path, limit: Duration) -> Result<SqliteConnection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags)
            .and_then(|connection| SqliteConnection::new(connection, limit, ""));
        opened.map_err(|error| open_error(Some(path), &error))
    }

    fn new(mut connection: Connection, limit: Duration, pragmas: &str) -> rusqlite::Result<SqliteConnection> {
        connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED_MAX);
        connection.execute_batch(&format!(
            "PRAGMA busy_timeout = {BUSY_MS_MAX}; PRAGMA mmap_size = {MAPPED_BYTES_MAX}; {pragmas}"
        ))?;
        let deadline = StatementDeadline::install(&mut connection, limit)?;
        Ok(SqliteConnection { handle: connection, deadline })
    }

    /// Starts the time of an operation.
    fn begin_deadline(&self) {
        self.deadline.begin();
    }

    /// Removes the time limit.
    fn end_deadline(&self) {
        self.deadline.end();
    }

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        let mut statement = self.handle.prepare_cached(sql).map_err(|error| to_store_error(&error))?;
        statement.execute([]).map(|_| ()).map_err(|error| to_store_error(&error))
    }
}

/// An operation on a SQLite connection.
pub(crate) struct SqliteTransaction<'a> {
    connection: &'a SqliteConnection,
}

impl<'a> SqliteTransaction<'a> {
    fn new(connection: &'a SqliteConnection) -> Self {
        SqliteTransaction { connection }
    }

    pub fn execute(&mut self, sql: &str, parameters: &[SqlValue<'_>]) -> Result<u64, StoreError> {
        let mut statement = self.connection.handle.prepare_cached(sql).map_err(|error| to_store_error(&error))?;
        let changed = statement.execute(params_from_iter(parameters)).map_err(|error| to_store_error(&error))?;
        Ok(changed as u64)
    }

    pub fn for_each_row(
        &mut self,
        sql: &str,
        parameters: &[SqlValue<'_>],
        read: &mut dyn FnMut(&SqlRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.connection.handle.prepare_cached(sql).map_err(|error| to_store_error(&error))?;
        let mut rows = statement.query(params_from_iter(parameters)).map_err(|error| to_store_error(&error))?;
        while let Some(row) = rows.next().map_err(|error| to_store_error(&error))? {
            read(&SqlRow::Sqlite(row))?;
        }
        Ok(())
    }

    /// Executes a statement and copies its rows.
    pub fn answer(&mut self, statement: &Statement) -> Result<Answer, StoreError> {
        let parameters = statement.parameters.iter().map(OwnedValue::borrow);
        let answer = || {
            let mut statement = self.connection.handle.prepare_cached(&statement.sql)?;
            let (columns, is_reading) = (statement.column_count(), statement.readonly());
            let mut found = statement.query(params_from_iter(parameters))?;
            let mut rows = Vec::new();
            while let Some(row) = found.next()? {
                rows.push((0..columns).map(|index| row.get(index)).collect::<rusqlite::Result<Vec<Value>>>()?);
            }
            let changed = if is_reading { 0 } else { self.connection.handle.changes() };
            Ok(Answer { changed, rows: AnsweredRows::Sqlite(rows) })
        };
        answer().map_err(|error: rusqlite::Error| to_store_error(&error))
    }

    pub fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        self.connection.handle.execute_batch(sql).map_err(|error| to_store_error(&error))
    }

    /// Removes the time limit of this operation.
    pub fn disable_time_limits(&mut self) {
        self.connection.end_deadline();
    }
}

/// Creates the file if it is missing, readable only for the user of the server.
fn create_private(path: &Path) -> rusqlite::Result<()> {
    // SQLite reports any error of the path next.
    let _ = private_file::options().create(true).append(true).open(path);
    Ok(())
}

fn open_error(path: Option<&Path>, error: &rusqlite::Error) -> StoreError {
    let name = path.map_or("the database in memory".to_owned(), |path| path.display().to_string());
    StoreError::Refused(format!("Cannot open {name}: {error}. Repair or restore the file, or change database.url."))
}

/// Converts an error of SQLite.
fn to_store_error(error: &rusqlite::Error) -> StoreError {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    match (error.sqlite_error_code(), extended) {
        (_, Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY)) => {
            // The text is `UNIQUE constraint failed: users.username`.
            let text = error.to_string();
            StoreError::Duplicate(text.rsplit_once(": ").map_or(text.as_str(), |(_, columns)| columns).to_owned())
        }
        (Some(ErrorCode::OperationInterrupted), _) => StoreError::Unavailable("the operation took too long".to_owned()),
        (
            Some(
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull | ErrorCode::SystemIoFailure,
            ),
            _,
        ) => StoreError::Unavailable(error.to_string()),
        _ => StoreError::Failed(error.to_string()),
    }
}
