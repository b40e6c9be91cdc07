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

/// Rows that are asked for at once.
const PAGE_ROWS: usize = 1_000;

/// Writes all rows as they are at one moment, while others go on writing; gives the writer back, for whatever it needs to
/// be finished. `progress` is told now and then how many rows are done.
///
/// It occupies one of the store's threads that read, as long as it takes.
pub async fn back_up<W, P>(store: &Store, writer: W, progress: P) -> Result<(W, Summary), StoreError>
where
    W: Write + Send + 'static,
    P: FnMut(u64) + Send + 'static,
{
    let sink = Sink { out: BufWriter::new(writer), hash: Sha256::new(), line: Vec::new(), rows: 0, progress };
    let sink = Mutex::new(Some(sink));
    let operation = move |transaction: &mut Transaction<'_>| {
        let sink = sink.lock().unwrap_or_else(PoisonError::into_inner).take();
        // What is written cannot be taken back.
        let mut sink = sink.ok_or_else(|| StoreError::Unavailable("the connection was lost; begin anew".to_owned()))?;
        let migration = write_all(transaction, &mut sink)?;
        (sink.progress)(sink.rows);
        let summary = Summary { rows: sink.rows, migration, erased_users: 0 };
        let writer = sink.out.into_inner().map_err(|error| unwritten(&error.into_error()))?;
        Ok((writer, summary))
    };
    store.snapshot(operation).await
}

/// Where the lines go.
struct Sink<W: Write, P> {
    out: BufWriter<W>,
    hash: Sha256,
    /// The line in the making, kept for its memory.
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

impl<W: Write, P: FnMut(u64)> Sink<W, P> {
    fn line(&mut self, value: &impl Serialize) -> Result<(), StoreError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value).map_err(|error| unwritten(&error.into()))?;
        self.line.push(b'\n');
        self.hash.update(&self.line);
        self.out.write_all(&self.line).map_err(|error| unwritten(&error))
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
    sink: &mut Sink<W, P>,
) -> Result<i64, StoreError> {
    transaction.take_your_time()?;
    let migration = migrations::applied(transaction)?;
    sink.line(&FirstLine { backup: "aether", format: FORMAT, migration })?;
    let mut rows = BTreeMap::new();
    for table in TABLES {
        let before = sink.rows;
        write_table(transaction, table.name, sink)?;
        rows.insert(table.name, sink.rows - before);
    }
    let sha256 = hex(&sink.hash.clone().finalize());
    sink.line(&LastLine { end: End { rows, sha256 } })?;
    Ok(migration)
}

/// Writes a table page by page, in the order of its key.
fn write_table<W: Write, P: FnMut(u64)>(
    transaction: &mut Transaction<'_>,
    table: &str,
    sink: &mut Sink<W, P>,
) -> Result<(), StoreError> {
    let columns = columns(transaction, table)?;
    let named = columns.iter().map(|column| (column.name.as_str(), column.kind.name())).collect();
    sink.line(&TableLine { t: table, columns: named })?;
    let pages = Pages::new(table, &columns);
    let mut after: Option<Vec<Cell>> = None;
    loop {
        let parameters: Vec<SqlValue<'_>> = after.iter().flatten().map(Cell::value).collect();
        let select = if after.is_none() { &pages.first } else { &pages.next };
        let mut last = None;
        let mut rows = 0;
        transaction.each(select, &parameters, |row| {
            let read = |(index, column): (usize, &Column)| column.kind.read(row, index);
            let cells = columns.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
            rows += 1;
            if rows == PAGE_ROWS {
                last = Some(pages.key.iter().map(|&index| cells[index].clone()).collect());
            }
            sink.row(table, cells)
        })?;
        drop(parameters);
        if last.is_none() {
            return Ok(());
        }
        after = last;
    }
}

/// The statements for a table.
struct Pages {
    first: String,
    next: String,
    /// Where the columns of the key are.
    key: Vec<usize>,
}

impl Pages {
    fn new(table: &str, columns: &[Column]) -> Pages {
        let mut key: Vec<usize> = (0..columns.len()).filter(|&index| columns[index].key > 0).collect();
        key.sort_by_key(|&index| columns[index].key);
        let names = quoted(columns.iter().map(|column| column.name.as_str()));
        let keys = quoted(key.iter().map(|&index| columns[index].name.as_str()));
        let numbers = (1..=key.len()).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
        let end = format!("ORDER BY {keys} LIMIT {PAGE_ROWS}");
        let first = format!("SELECT {names} FROM \"{table}\" {end}");
        let next = format!("SELECT {names} FROM \"{table}\" WHERE ({keys}) > ({numbers}) {end}");
        Pages { first, next, key }
    }
}

fn unwritten(error: &std::io::Error) -> StoreError {
    StoreError::Refused(format!("The backup cannot be written: {error}."))
}
