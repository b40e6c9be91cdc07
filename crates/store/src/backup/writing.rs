//! Taking a backup.

use super::cell::{Cell, hex};
use super::tables::{Column, TABLES, columns, quoted};
use super::{FORMAT, PROGRESS_ROWS, Summary};
use crate::error::StoreError;
use crate::migrations;
use crate::store::Store;
use crate::transaction::Transaction;
use crate::value::SqlValue;
use serde::Serialize;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::sync::{Mutex, PoisonError};

/// Rows per query.
const PAGE_ROWS: usize = 1_000;

/// Writes all rows as they are at one moment. Other operations continue meanwhile. Returns the writer, so that the caller
/// can finish it. `progress` is called from time to time with the number of written rows.
///
/// It occupies one reading thread of the store until it is done.
pub async fn back_up<W, P>(store: &Store, writer: W, progress: P) -> Result<(W, Summary), StoreError>
where
    W: Write + Send + 'static,
    P: FnMut(u64) + Send + 'static,
{
    let output = BackupWriter { out: BufWriter::new(writer), hash: Sha256::new(), line: Vec::new(), rows: 0, progress };
    let output = Mutex::new(Some(output));
    let operation = move |transaction: &mut Transaction<'_>| {
        let output = output.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A retry cannot take back what was written.
        let mut output =
            output.ok_or_else(|| StoreError::Unavailable("the connection was lost; back up again".to_owned()))?;
        let migration = write_all(transaction, &mut output)?;
        (output.progress)(output.rows);
        let summary = Summary { rows: output.rows, migration, erased_users: 0 };
        let writer = output.out.into_inner().map_err(|error| write_error(&error.into_error()))?;
        Ok((writer, summary))
    };
    store.snapshot(operation).await
}

/// Writes the lines of a backup.
struct BackupWriter<W: Write, P> {
    out: BufWriter<W>,
    hash: Sha256,
    /// Buffer of the current line, reused.
    line: Vec<u8>,
    rows: u64,
    progress: P,
}

#[derive(Serialize)]
struct FirstLine {
    backup: &'static str,
    format: i64,
    migration: i64,
}

#[derive(Serialize)]
struct TableLine<'a> {
    t: &'a str,
    columns: Vec<(&'a str, &'a str)>,
}

#[derive(Serialize)]
struct RowLine<'a> {
    t: &'a str,
    r: Vec<Json>,
}

#[derive(Serialize)]
struct LastLine {
    end: End,
}

#[derive(Serialize)]
struct End {
    rows: BTreeMap<&'static str, u64>,
    sha256: String,
}

impl<W: Write, P: FnMut(u64)> BackupWriter<W, P> {
    fn line(&mut self, value: &impl Serialize) -> Result<(), StoreError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value).map_err(|error| write_error(&error.into()))?;
        self.line.push(b'\n');
        self.hash.update(&self.line);
        self.out.write_all(&self.line).map_err(|error| write_error(&error))
    }

    fn row(&mut self, table: &str, cells: Vec<Cell>) -> Result<(), StoreError> {
        self.line(&RowLine { t: table, r: cells.into_iter().map(Cell::json).collect() })?;
        self.rows += 1;
        if self.rows.is_multiple_of(PROGRESS_ROWS) {
            (self.progress)(self.rows);
        }
        Ok(())
    }
}

fn write_all<W: Write, P: FnMut(u64)>(
    transaction: &mut Transaction<'_>,
    output: &mut BackupWriter<W, P>,
) -> Result<i64, StoreError> {
    transaction.disable_time_limits()?;
    let migration = migrations::applied(transaction)?;
    output.line(&FirstLine { backup: "aether", format: FORMAT, migration })?;
    let mut rows = BTreeMap::new();
    for table in TABLES.iter().filter(|table| !table.is_derived) {
        let before = output.rows;
        write_table(transaction, table.name, output)?;
        rows.insert(table.name, output.rows - before);
    }
    let sha256 = hex(&output.hash.clone().finalize());
    output.line(&LastLine { end: End { rows, sha256 } })?;
    Ok(migration)
}

/// Writes a table page by page, in the order of its key.
fn write_table<W: Write, P: FnMut(u64)>(
    transaction: &mut Transaction<'_>,
    table: &str,
    output: &mut BackupWriter<W, P>,
) -> Result<(), StoreError> {
    let columns = columns(transaction, table)?;
    let named = columns.iter().map(|column| (column.name.as_str(), column.kind.name())).collect();
    output.line(&TableLine { t: table, columns: named })?;
    let pages = PageStatements::new(table, &columns);
    let mut after: Option<Vec<Cell>> = None;
    loop {
        let parameters: Vec<SqlValue<'_>> = after.iter().flatten().map(Cell::value).collect();
        let select = if after.is_none() { &pages.first } else { &pages.next };
        let mut last = None;
        let mut rows = 0;
        transaction.for_each_row(select, &parameters, |row| {
            let read = |(index, column): (usize, &Column)| column.kind.read(row, index);
            let cells = columns.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
            rows += 1;
            if rows == PAGE_ROWS {
                last = Some(pages.key.iter().map(|&index| cells[index].clone()).collect());
            }
            output.row(table, cells)
        })?;
        drop(parameters);
        if last.is_none() {
            return Ok(());
        }
        after = last;
    }
}

/// `SELECT` statements for the pages of a table.
struct PageStatements {
    first: String,
    next: String,
    /// Indices of the key columns.
    key: Vec<usize>,
}

impl PageStatements {
    fn new(table: &str, columns: &[Column]) -> PageStatements {
        let mut key: Vec<usize> = (0..columns.len()).filter(|&index| columns[index].key_position > 0).collect();
        key.sort_by_key(|&index| columns[index].key_position);
        let names = quoted(columns.iter().map(|column| column.name.as_str()));
        let keys = quoted(key.iter().map(|&index| columns[index].name.as_str()));
        let numbers = (1..=key.len()).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
        let end = format!("ORDER BY {keys} LIMIT {PAGE_ROWS}");
        let first = format!("SELECT {names} FROM \"{table}\" {end}");
        let next = format!("SELECT {names} FROM \"{table}\" WHERE ({keys}) > ({numbers}) {end}");
        PageStatements { first, next, key }
    }
}

fn write_error(error: &std::io::Error) -> StoreError {
    StoreError::Refused(format!("Cannot write the backup: {error}."))
}
