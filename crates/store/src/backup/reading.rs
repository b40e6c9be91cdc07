//! Restoring a backup.

use super::cell::{Cell, hex};
use super::tables::{Column, ERASURES, TABLES, Table, columns, quoted};
use super::{FORMAT, PROGRESS_ROWS, Summary};
use crate::error::StoreError;
use crate::migrations;
use crate::store::Store;
use crate::transaction::{Dialect, Transaction};
use crate::value::SqlValue;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Mutex, PoisonError};

/// Bytes of a line. The largest row is an object of storage of a few megabytes; a longer line is none of ours, and must
/// not fill the memory.
const LINE_BYTES_MAX: u64 = 256 << 20;
/// Rows that are written by one statement, which saves most of the way to another machine.
const BATCH_ROWS_MAX: usize = 100;
/// Bytes of rows that are gathered for it.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// Restores a backup, all of it or nothing. The database has to be empty, or is emptied if `replace` says so. `progress`
/// is told now and then how many rows are done.
///
/// Users that the database knows as erased stay so: their rows are left out.
///
/// No other server may use the database meanwhile: it would go on with what it has in memory.
pub async fn restore<R, P>(store: &Store, reader: R, replace: bool, progress: P) -> Result<Summary, StoreError>
where
    R: Read + Send + 'static,
    P: FnMut(u64) + Send + 'static,
{
    let source = Source { input: BufReader::new(reader), hash: Sha256::new(), bytes: Vec::new(), number: 0 };
    let parts = Mutex::new(Some((source, progress)));
    let operation = move |transaction: &mut Transaction<'_>| {
        let parts = parts.lock().unwrap_or_else(PoisonError::into_inner).take();
        // What was read is gone.
        let parts = parts.ok_or_else(|| StoreError::Unavailable("the connection was lost; begin anew".to_owned()))?;
        let (source, mut progress) = parts;
        restore_all(transaction, source, replace, &mut progress)
    };
    store.write(operation).await
}

fn restore_all<R: Read>(
    transaction: &mut Transaction<'_>,
    mut source: Source<R>,
    replace: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Summary, StoreError> {
    transaction.take_your_time()?;
    let migration = source.header()?;
    if !replace && !is_empty(transaction)? {
        let why = "The database is not empty. Restore into a new one, or have what is in it replaced.";
        return Err(StoreError::Refused(why.to_owned()));
    }
    transaction.script(&format!("CREATE TEMPORARY TABLE kept_erasures AS SELECT * FROM {ERASURES}"))?;
    clear(transaction, migration)?;
    let mut filling = Filling { source, counts: BTreeMap::new(), rows: 0, progress };
    filling.fill(transaction)?;
    (filling.progress)(filling.rows);
    let rows = filling.rows;
    migrations::catch_up(transaction)?;
    let erased_users = erase_again(transaction)?;
    Ok(Summary { rows, migration, erased_users })
}

fn is_empty(transaction: &mut Transaction<'_>) -> Result<bool, StoreError> {
    for Table { name, .. } in TABLES.iter().filter(|table| table.name != ERASURES) {
        if transaction.row(&format!("SELECT 1 FROM {name} LIMIT 1"), &[], |_| Ok(()))?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Empties all tables; if the backup is older, makes them as they were then.
fn clear(transaction: &mut Transaction<'_>, migration: i64) -> Result<(), StoreError> {
    let names = || TABLES.iter().rev().map(|table| table.name);
    if migration != migrations::applied(transaction)? {
        let drop: String = names().map(|name| format!("DROP TABLE {name};")).collect();
        transaction.script(&drop)?;
        return migrations::rewind(transaction, migration);
    }
    match transaction.dialect() {
        Dialect::Sqlite => transaction.script(&names().map(|name| format!("DELETE FROM {name};")).collect::<String>()),
        Dialect::Postgres => transaction.script(&format!("TRUNCATE {}", names().collect::<Vec<_>>().join(", "))),
    }
}

/// Leaves out whom the database had erased before the restore.
fn erase_again(transaction: &mut Transaction<'_>) -> Result<u64, StoreError> {
    transaction.script(&format!(
        "INSERT INTO {ERASURES} SELECT * FROM kept_erasures WHERE TRUE ON CONFLICT DO NOTHING; DROP TABLE kept_erasures"
    ))?;
    let mut users = 0;
    for table in TABLES {
        for column in table.people {
            let delete = format!("DELETE FROM {} WHERE {column} IN (SELECT user_id FROM {ERASURES})", table.name);
            let deleted = transaction.execute(&delete, &[])?;
            users += if table.name == "users" { deleted } else { 0 };
        }
    }
    Ok(users)
}

/// Rows on their way from the lines to the tables.
struct Filling<'a, R> {
    source: Source<R>,
    counts: BTreeMap<String, u64>,
    rows: u64,
    progress: &'a mut dyn FnMut(u64),
}

/// Rows of one table that are written by the next statement.
struct Batch {
    table: String,
    columns: Vec<Column>,
    cells: Vec<Cell>,
    bytes: usize,
}

impl<R: Read> Filling<'_, R> {
    /// Goes through all lines up to the last.
    fn fill(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        let mut batch: Option<Batch> = None;
        loop {
            let before = self.source.hash.clone();
            let mut line = self.source.line()?;
            if let Some(end) = line.get_mut("end") {
                self.write(transaction, batch.as_mut())?;
                return self.check_end(&end.take(), &hex(&before.finalize()), transaction);
            }
            let table = line.get("t").and_then(Json::as_str).unwrap_or_default();
            match (line.get("columns"), &mut batch) {
                (Some(columns), _) => {
                    let next = self.table(transaction, table, columns)?;
                    self.write(transaction, batch.as_mut())?;
                    batch = Some(next);
                }
                (None, Some(batch)) if batch.table == table => {
                    let row = line.get_mut("r").map(Json::take).unwrap_or_default();
                    batch.push(row).ok_or_else(|| self.source.damaged("a row does not fit its table"))?;
                    if batch.is_full() {
                        self.write(transaction, Some(batch))?;
                    }
                }
                _ => return Err(self.source.damaged("a row is not among the others of its table")),
            }
        }
    }

    /// The line that begins a table: it has to be as the database has it.
    fn table(&mut self, transaction: &mut Transaction<'_>, table: &str, named: &Json) -> Result<Batch, StoreError> {
        let known = TABLES.iter().any(|known| known.name == table);
        let columns = if known { columns(transaction, table)? } else { Vec::new() };
        let expected: Vec<Json> =
            columns.iter().map(|column| serde_json::json!([column.name, column.kind.name()])).collect();
        if columns.is_empty() || named.as_array() != Some(&expected) {
            return Err(self.source.damaged("a table is not one of this program"));
        }
        if self.counts.insert(table.to_owned(), 0).is_some() {
            return Err(self.source.damaged("a table begins twice"));
        }
        Ok(Batch { table: table.to_owned(), columns, cells: Vec::new(), bytes: 0 })
    }

    /// Writes the rows that were gathered.
    fn write(&mut self, transaction: &mut Transaction<'_>, batch: Option<&mut Batch>) -> Result<(), StoreError> {
        let Some(batch) = batch.filter(|batch| !batch.cells.is_empty()) else { return Ok(()) };
        let rows = batch.cells.len() / batch.columns.len();
        let parameters: Vec<SqlValue<'_>> = batch.cells.iter().map(Cell::value).collect();
        transaction.execute(&batch.statement(rows), &parameters).map_err(|error| match error {
            StoreError::Unavailable(_) => error,
            other => self.source.damaged(&format!("a row of {} cannot be kept: {other}", batch.table)),
        })?;
        drop(parameters);
        batch.cells.clear();
        batch.bytes = 0;
        if let Some(count) = self.counts.get_mut(&batch.table) {
            *count += rows as u64;
        }
        let before = self.rows;
        self.rows += rows as u64;
        if before / PROGRESS_ROWS != self.rows / PROGRESS_ROWS {
            (self.progress)(self.rows);
        }
        Ok(())
    }

    /// The last line: it has to count what was there, and nothing may follow.
    fn check_end(&mut self, end: &Json, hash: &str, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        if end.get("sha256").and_then(Json::as_str) != Some(hash) {
            return Err(self.source.damaged("something in it was changed"));
        }
        let counted = |(table, count): (&String, &u64)| (table.clone(), Json::from(*count));
        let counts: serde_json::Map<_, _> = self.counts.iter().map(counted).collect();
        if end.get("rows").and_then(Json::as_object) != Some(&counts) {
            return Err(self.source.damaged("it does not have as many rows as it says"));
        }
        // The database is as the backup's program had it, so every table has to be in it.
        let tables = migrations::tables(transaction)?;
        let missing = |table: &&Table| tables.iter().any(|name| name == table.name) && !counts.contains_key(table.name);
        if TABLES.iter().any(|table| missing(&table)) {
            return Err(self.source.damaged("a table is missing"));
        }
        match self.source.is_over()? {
            true => Ok(()),
            false => Err(self.source.damaged("something follows its end")),
        }
    }
}

impl Batch {
    /// Takes a row, if it fits.
    fn push(&mut self, row: Json) -> Option<()> {
        let Json::Array(row) = row else { return None };
        if row.len() != self.columns.len() {
            return None;
        }
        for (value, column) in row.into_iter().zip(&self.columns) {
            let cell = column.kind.parse(value)?;
            self.bytes += cell.size();
            self.cells.push(cell);
        }
        Some(())
    }

    fn is_full(&self) -> bool {
        self.cells.len() >= BATCH_ROWS_MAX * self.columns.len() || self.bytes >= BATCH_BYTES_MAX
    }

    fn statement(&self, rows: usize) -> String {
        let width = self.columns.len();
        let row = |row: usize| {
            let numbers = (1..=width).map(|column| format!("?{}", row * width + column)).collect::<Vec<_>>();
            format!("({})", numbers.join(", "))
        };
        let names = quoted(self.columns.iter().map(|column| column.name.as_str()));
        let values = (0..rows).map(row).collect::<Vec<_>>().join(", ");
        format!("INSERT INTO \"{}\" ({names}) VALUES {values}", self.table)
    }
}

/// The lines of a backup.
struct Source<R> {
    input: BufReader<R>,
    hash: Sha256,
    bytes: Vec<u8>,
    /// Lines that were read.
    number: u64,
}

impl<R: Read> Source<R> {
    /// The next line.
    fn line(&mut self) -> Result<Json, StoreError> {
        self.bytes.clear();
        self.number += 1;
        let read = (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.bytes);
        read.map_err(|error| unread(&error))?;
        if self.bytes.last() != Some(&b'\n') {
            return Err(self.damaged("it ends too early"));
        }
        self.hash.update(&self.bytes);
        serde_json::from_slice(&self.bytes).map_err(|_| self.damaged("the line is not JSON"))
    }

    /// The first line: which step of the tables the backup is of.
    fn header(&mut self) -> Result<i64, StoreError> {
        let line = self.line()?;
        let number = |name| line.get(name).and_then(Json::as_i64);
        let (format, migration) =
            match (line.get("backup").and_then(Json::as_str), number("format"), number("migration")) {
                (Some("aether"), Some(format), Some(migration)) if migration >= 0 => (format, migration),
                _ => return Err(StoreError::Refused("This is no backup of Aether.".to_owned())),
            };
        let newest = migrations::newest();
        if format > FORMAT || migration > newest {
            return Err(StoreError::Refused(format!(
                "The backup is of a newer version: it has format {format} and migration {migration}, and this program \
                 knows format {FORMAT} and migration {newest}. Restore it with the newer program."
            )));
        }
        Ok(migration)
    }

    fn is_over(&mut self) -> Result<bool, StoreError> {
        self.input.fill_buf().map(<[u8]>::is_empty).map_err(|error| unread(&error))
    }

    fn damaged(&self, what: &str) -> StoreError {
        let number = self.number;
        StoreError::Refused(format!("The backup is damaged at line {number}: {what}. The database stays as it was."))
    }
}

fn unread(error: &std::io::Error) -> StoreError {
    StoreError::Refused(format!("The backup cannot be read: {error}. The database stays as it was."))
}
