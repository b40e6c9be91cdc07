//! Protection against a lost database: a marker beside the file says that the file had content.
//!
//! SQLite takes a missing or empty file for a new database, and removes a journal that lies beside it.

use crate::error::StoreError;
use crate::private_file::PrivateFile;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Length of the header of a SQLite file.
const HEADER_BYTES: usize = 100;

/// Content of the marker.
const TEXT: &str = "Aether created the database beside this file. While this file exists, a missing or empty database is \
                    reported and not created again.\n";

/// Fails if the file is missing or empty although it had content before.
pub(crate) fn check(path: &Path) -> Result<(), StoreError> {
    let has_content = |path: &Path| std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0);
    // Databases of earlier versions have no marker yet, but a journal if their server was killed.
    let has_journal = has_content(&beside(path, "-wal"));
    if !has_content(path) && (is_marked(path) || has_journal) {
        return Err(lost(path));
    }
    // The pages of a journal may belong behind the end of the file.
    if !has_journal && is_truncated(path).unwrap_or(false) {
        let path = path.display();
        return Err(StoreError::Refused(format!(
            "The database {path} is truncated: it is shorter than its header says. Restore the file or a backup."
        )));
    }
    Ok(())
}

/// Returns true if the file is shorter than the number of pages in its header. SQLite itself does not notice if a part of
/// the last page is missing.
fn is_truncated(path: &Path) -> io::Result<bool> {
    let mut header = [0; HEADER_BYTES];
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.read_exact(&mut header)?;
    let number =
        |at: usize| u64::from(u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]));
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    // The number of pages is valid only if it was written with the last change.
    let is_valid = header.starts_with(b"SQLite format 3\0") && number(24) == number(92);
    Ok(is_valid && length < page_bytes * number(28))
}

/// Returns true if the file has a marker.
pub(crate) fn is_marked(path: &Path) -> bool {
    marker(path).exists()
}

/// Creates the marker of a database that has content now.
pub(crate) fn mark(path: &Path) -> Result<(), StoreError> {
    let marker = marker(path);
    if marker.exists() {
        return Ok(());
    }
    let failed = |error| StoreError::Refused(format!("Cannot write {}: {error}.", marker.display()));
    PrivateFile::write(&marker, TEXT.as_bytes()).map_err(failed)
}

/// Returns the error for a database that has lost its content.
pub(crate) fn lost(path: &Path) -> StoreError {
    let (path, marker, journal) = (path.display(), marker(path), beside(path, "-wal"));
    let (marker, journal) = (marker.display(), journal.display());
    StoreError::Refused(format!(
        "The database {path} is missing or empty, but it had content before. Put the file back. If it is lost, remove \
         {marker} and {journal} and restore a backup; without a backup the server then starts with an empty database."
    ))
}

fn marker(path: &Path) -> PathBuf {
    beside(path, ".created")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
