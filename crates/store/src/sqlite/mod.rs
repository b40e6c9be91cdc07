//! SQLite: one thread writes, a few read.

mod limit;
mod reader;
mod writer;

pub(crate) use reader::Reader;
pub(crate) use writer::Writer;

use crate::error::StoreError;
use crate::row::SqlRow;
use crate::value::SqlValue;
use limit::StatementDeadline;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi, params_from_iter};
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

/// Statements that each connection keeps ready. There are about as many in the whole program.
const STATEMENTS_KEPT: usize = 256;
/// Bytes of the file that are read through memory that the system maps.
const MAPPED_BYTES_MAX: i64 = 256 << 20;
/// How long a statement waits for another process, such as someone's shell, that holds the file.
const BUSY_MS_MAX: u32 = 5_000;

/// A connection, and how long an operation may keep it.
pub(crate) struct SqliteConnection {
    connection: Connection,
    limit: StatementDeadline,
}

impl SqliteConnection {
    /// Opens the file for writing, and makes it if it is missing.
    fn writer(path: Option<&Path>, limit: Duration) -> Result<SqliteConnection, StoreError> {
        let connection = match path {
            Some(path) => make_private(path).and_then(|()| Connection::open(path)),
            None => Connection::open_in_memory(),
        };
        let connection = connection.map_err(|error| cannot_open(path, &error))?;
        let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;";
        SqliteConnection::new(connection, limit, pragmas).map_err(|error| cannot_open(path, &error))
    }

    /// Opens the file for reading.
    fn reader(path: &Path, limit: Duration) -> Result<SqliteConnection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags)
            .and_then(|connection| SqliteConnection::new(connection, limit, ""));
        opened.map_err(|error| cannot_open(Some(path), &error))
    }

    fn new(mut connection: Connection, limit: Duration, pragmas: &str) -> rusqlite::Result<SqliteConnection> {
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        connection.execute_batch(&format!(
            "PRAGMA busy_timeout = {BUSY_MS_MAX}; PRAGMA mmap_size = {MAPPED_BYTES_MAX}; {pragmas}"
        ))?;
        let limit = StatementDeadline::watch(&mut connection, limit)?;
        Ok(SqliteConnection { connection, limit })
    }

    /// From now on the time of an operation runs.
    fn begin_limit(&self) {
        self.limit.begin();
    }

    /// What follows takes as long as it takes.
    fn end_limit(&self) {
        self.limit.end();
    }

    fn statement(&self, sql: &str) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| failed(&error))?;
        statement.execute([]).map(|_| ()).map_err(|error| failed(&error))
    }
}

/// An operation's view of a connection.
pub(crate) struct SqliteTransaction<'a> {
    session: &'a SqliteConnection,
}

impl<'a> SqliteTransaction<'a> {
    fn new(session: &'a SqliteConnection) -> Self {
        SqliteTransaction { session }
    }

    pub fn execute(&mut self, sql: &str, parameters: &[SqlValue<'_>]) -> Result<u64, StoreError> {
        let mut statement = self.session.connection.prepare_cached(sql).map_err(|error| failed(&error))?;
        let changed = statement.execute(params_from_iter(parameters)).map_err(|error| failed(&error))?;
        Ok(changed as u64)
    }

    pub fn each(
        &mut self,
        sql: &str,
        parameters: &[SqlValue<'_>],
        look: &mut dyn FnMut(&SqlRow<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.session.connection.prepare_cached(sql).map_err(|error| failed(&error))?;
        let mut rows = statement.query(params_from_iter(parameters)).map_err(|error| failed(&error))?;
        while let Some(row) = rows.next().map_err(|error| failed(&error))? {
            look(&SqlRow::Sqlite(row))?;
        }
        Ok(())
    }

    pub fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        self.session.connection.execute_batch(sql).map_err(|error| failed(&error))
    }

    /// Lets this operation take as long as it takes.
    pub fn take_your_time(&mut self) {
        self.session.end_limit();
    }
}

/// Makes the file, if it is missing, so that nobody else on the machine can read what is in it.
fn make_private(path: &Path) -> rusqlite::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Whatever is wrong with the path, SQLite says so next.
    let _ = options.open(path);
    Ok(())
}

fn cannot_open(path: Option<&Path>, error: &rusqlite::Error) -> StoreError {
    let shown = path.map_or("the database in memory".to_owned(), |path| path.display().to_string());
    StoreError::Refused(format!("{shown} cannot be opened: {error}. Set database.url, or mend the file."))
}

/// What an error of SQLite means.
fn failed(error: &rusqlite::Error) -> StoreError {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    match (error.sqlite_error_code(), extended) {
        (_, Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY)) => {
            // It reads `UNIQUE constraint failed: users.username`.
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
