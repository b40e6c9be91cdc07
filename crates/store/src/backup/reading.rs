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

/// Maximum length of a line. The largest row is a storage object of a few megabytes; a longer line is not from a backup and
/// must not fill the memory.
const LINE_BYTES_MAX: u64 = 256 << 20;
/// Maximum number of rows per `INSERT`, which saves most round trips to the database.
const BATCH_ROWS_MAX: usize = 100;
/// Maximum size of the rows of one `INSERT`, in bytes.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// Restores a backup in one transaction. The database must be empty, or is emptied if `replace` is true. `progress` is
/// called from time to time with the number of restored rows.
///
/// Users that are erased in the database stay erased: their rows are not restored.
///
/// No server may use the database meanwhile, because its state in memory would be outdated.
pub async fn restore<R, P>(store: &Store, reader: R, replace: bool, progress: P) -> Result<Summary, StoreError>
where
    R: Read + Send + 'static,
    P: FnMut(u64) + Send + 'static,
{
    let source = BackupReader { input: BufReader::new(reader), hash: Sha256::new(), bytes: Vec::new(), number: 0 };
    let parts = Mutex::new(Some((source, progress)));
    let operation = move |transaction: &mut Transaction<'_>| {
        let parts = parts.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A retry cannot read the input again.
        let parts =
            parts.ok_or_else(|| StoreError::Unavailable("the connection was lost; restore again".to_owned()))?;
        let (source, mut progress) = parts;
        restore_all(transaction, source, replace, &mut progress)
    };
    store.write(operation).await
}

fn restore_all<R: Read>(
    transaction: &mut Transaction<'_>,
    mut source: BackupReader<R>,
    replace: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Summary, StoreError> {
    transaction.disable_time_limits()?;
    let migration = source.header()?;
    if !replace && !is_empty(transaction)? {
        let why = "The database is not empty. Restore into a new database, or use --replace.";
        return Err(StoreError::Refused(why.to_owned()));
    }
    transaction.script(&format!("CREATE TEMPORARY TABLE previous_erasures AS SELECT * FROM {ERASURES}"))?;
    clear(transaction, migration)?;
    let mut restorer = Restorer { source, counts: BTreeMap::new(), rows: 0, progress };
    restorer.restore_rows(transaction)?;
    (restorer.progress)(restorer.rows);
    let rows = restorer.rows;
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

/// Empties all tables. If the backup is older, creates the tables of its version.
fn clear(transaction: &mut Transaction<'_>, migration: i64) -> Result<(), StoreError> {
    let names = || TABLES.iter().rev().map(|table| table.name);
    if migration != migrations::applied(transaction)? {
        let drop: String = names().map(|name| format!("DROP TABLE {name};")).collect();
        transaction.script(&drop)?;
        return migrations::reapply_up_to(transaction, migration);
    }
    match transaction.dialect() {
        Dialect::Sqlite => transaction.script(&names().map(|name| format!("DELETE FROM {name};")).collect::<String>()),
        Dialect::Postgres => transaction.script(&format!("TRUNCATE {}", names().collect::<Vec<_>>().join(", "))),
    }
}

/// Deletes the users that were erased in the database before the restore. Returns their number.
fn erase_again(transaction: &mut Transaction<'_>) -> Result<u64, StoreError> {
    transaction.script(&format!(
        "INSERT INTO {ERASURES} SELECT * FROM previous_erasures WHERE TRUE ON CONFLICT DO NOTHING;
         DROP TABLE previous_erasures"
    ))?;
    let mut users = 0;
    for table in TABLES {
        for column in table.user_columns {
            let delete = format!("DELETE FROM {} WHERE {column} IN (SELECT user_id FROM {ERASURES})", table.name);
            let deleted = transaction.execute(&delete, &[])?;
            users += if table.name == "users" { deleted } else { 0 };
        }
    }
    if users > 0 {
        repair_groups(transaction)?;
        let count = "(SELECT count(*) FROM friend_edges e WHERE e.user_id = users.id)";
        transaction.execute(&format!("UPDATE users SET edge_count = {count} WHERE edge_count <> {count}"), &[])?;
    }
    Ok(users)
}

/// Makes groups valid again that have lost erased users: each has a superadmin and counts its members, as after an erasure
/// by the services.
fn repair_groups(transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
    transaction.script(&format!(
        "UPDATE groups SET creator = {nil}
            WHERE creator IN (SELECT user_id FROM {ERASURES});
         DELETE FROM groups WHERE id NOT IN (SELECT group_key FROM group_members WHERE role <= 2);
         UPDATE group_members SET role = 0 WHERE (group_key, user_id) IN (
            SELECT group_key, user_id FROM (SELECT group_key, user_id, role,
                row_number() OVER (PARTITION BY group_key ORDER BY role, since, user_id) AS place
                FROM group_members) AS ranked WHERE place = 1 AND role > 0);
         UPDATE groups SET edge_count = (SELECT count(*) FROM group_members m WHERE m.group_key = groups.id AND role <= 2)",
        nil = match transaction.dialect() {
            Dialect::Sqlite => "zeroblob(16)",
            Dialect::Postgres => "'00000000-0000-0000-0000-000000000000'::uuid",
        }
    ))
}

/// Copies the rows of a backup to the tables.
struct Restorer<'a, R> {
    source: BackupReader<R>,
    counts: BTreeMap<String, u64>,
    rows: u64,
    progress: &'a mut dyn FnMut(u64),
}

/// Rows of one table for the next `INSERT`.
struct Batch {
    table: String,
    columns: Vec<Column>,
    cells: Vec<Cell>,
    bytes: usize,
}

impl<R: Read> Restorer<'_, R> {
    /// Reads all lines and writes their rows.
    fn restore_rows(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
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
                _ => return Err(self.source.damaged("a row is outside the section of its table")),
            }
        }
    }

    /// Handles the first line of a table. Its columns must be those of the database.
    fn table(&mut self, transaction: &mut Transaction<'_>, table: &str, named: &Json) -> Result<Batch, StoreError> {
        let known = TABLES.iter().any(|known| known.name == table && !known.is_derived);
        let columns = if known { columns(transaction, table)? } else { Vec::new() };
        let expected: Vec<Json> =
            columns.iter().map(|column| serde_json::json!([column.name, column.kind.name()])).collect();
        if columns.is_empty() || named.as_array() != Some(&expected) {
            return Err(self.source.damaged("a table or its columns are unknown"));
        }
        if self.counts.insert(table.to_owned(), 0).is_some() {
            return Err(self.source.damaged("a table begins twice"));
        }
        Ok(Batch { table: table.to_owned(), columns, cells: Vec::new(), bytes: 0 })
    }

    /// Writes the rows of a batch.
    fn write(&mut self, transaction: &mut Transaction<'_>, batch: Option<&mut Batch>) -> Result<(), StoreError> {
        let Some(batch) = batch.filter(|batch| !batch.cells.is_empty()) else { return Ok(()) };
        let rows = batch.cells.len() / batch.columns.len();
        let parameters: Vec<SqlValue<'_>> = batch.cells.iter().map(Cell::value).collect();
        transaction.execute(&batch.statement(rows), &parameters).map_err(|error| match error {
            StoreError::Unavailable(_) => error,
            other => self.source.damaged(&format!("a row of {} cannot be stored: {other}", batch.table)),
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

    /// Checks the last line: hash, row counts, and that nothing follows.
    fn check_end(&mut self, end: &Json, hash: &str, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        if end.get("sha256").and_then(Json::as_str) != Some(hash) {
            return Err(self.source.damaged("the checksum does not match"));
        }
        let counted = |(table, count): (&String, &u64)| (table.clone(), Json::from(*count));
        let counts: serde_json::Map<_, _> = self.counts.iter().map(counted).collect();
        if end.get("rows").and_then(Json::as_object) != Some(&counts) {
            return Err(self.source.damaged("the number of rows does not match"));
        }
        // The database has the schema of the backup, so every table must be in the backup.
        let tables = migrations::tables(transaction)?;
        let missing = |table: &Table| tables.iter().any(|name| name == table.name) && !counts.contains_key(table.name);
        if TABLES.iter().any(|table| !table.is_derived && missing(table)) {
            return Err(self.source.damaged("a table is missing"));
        }
        match self.source.is_at_end()? {
            true => Ok(()),
            false => Err(self.source.damaged("there is data after the end")),
        }
    }
}

impl Batch {
    /// Adds a row. Returns `None` if it does not fit the columns.
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

/// Reads the lines of a backup.
struct BackupReader<R> {
    input: BufReader<R>,
    hash: Sha256,
    bytes: Vec<u8>,
    /// Number of lines read.
    number: u64,
}

impl<R: Read> BackupReader<R> {
    /// Reads the next line.
    fn line(&mut self) -> Result<Json, StoreError> {
        self.bytes.clear();
        self.number += 1;
        let read = (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.bytes);
        read.map_err(|error| read_error(&error))?;
        if self.bytes.last() != Some(&b'\n') {
            return Err(self.damaged("it is truncated"));
        }
        self.hash.update(&self.bytes);
        serde_json::from_slice(&self.bytes).map_err(|_| self.damaged("the line is not JSON"))
    }

    /// Reads the first line. Returns the last migration of the backup.
    fn header(&mut self) -> Result<i64, StoreError> {
        let line = self.line()?;
        let number = |name| line.get(name).and_then(Json::as_i64);
        let (format, migration) =
            match (line.get("backup").and_then(Json::as_str), number("format"), number("migration")) {
                (Some("aether"), Some(format), Some(migration)) if migration >= 0 => (format, migration),
                _ => return Err(StoreError::Refused("The file is not a backup of Aether.".to_owned())),
            };
        let newest = migrations::newest();
        if format > FORMAT || migration > newest {
            return Err(StoreError::Refused(format!(
                "The backup is from a newer version: it has format {format} and migration {migration}, and this program \
                 knows format {FORMAT} and migration {newest}. Restore it with the newer version."
            )));
        }
        Ok(migration)
    }

    fn is_at_end(&mut self) -> Result<bool, StoreError> {
        self.input.fill_buf().map(<[u8]>::is_empty).map_err(|error| read_error(&error))
    }

    fn damaged(&self, what: &str) -> StoreError {
        let number = self.number;
        StoreError::Refused(format!("The backup is damaged at line {number}: {what}. The database was not changed."))
    }
}

fn read_error(error: &std::io::Error) -> StoreError {
    StoreError::Refused(format!("Cannot read the backup: {error}. The database was not changed."))
}
