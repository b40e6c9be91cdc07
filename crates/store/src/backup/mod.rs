//! Backups: all rows as lines of JSON, for either kind of database.
//!
//! ```text
//! {"backup":"aether","format":1,"migration":1}
//! {"t":"users","columns":[["id","uuid"],["username","text"],…]}
//! {"t":"users","r":["0198…","someone",…]}
//! …
//! {"end":{"rows":{"users":1,…},"sha256":"…"}}
//! ```
//!
//! The first line has the last migration of the database. The last line has the number of rows of each table and the
//! SHA-256 of all bytes before it, so that a truncated or changed file is rejected. Integers are numbers, booleans are `true`
//! and `false`. Ids, texts and numbers with a fraction are strings; bytes are strings of hexadecimal digits.
//!
//! A backup has the state of one moment; the server keeps running. It is restored in one transaction, into a database that
//! is empty or is emptied first. An older backup is restored into the tables of its version, and then the pending migrations
//! are applied.

mod cell;
mod reading;
mod tables;
mod writing;

pub use reading::restore;
pub use writing::back_up;

/// Version of the format. It changes when an older program could not read the file.
const FORMAT: i64 = 1;
/// Rows between two calls of the progress callback.
const PROGRESS_ROWS: u64 = 1_000;

/// Summary of a backup or a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of rows.
    pub rows: u64,
    /// Last migration of the backup.
    pub migration: i64,
    /// Users of the backup that were not restored, because they were erased after it was taken.
    pub erased_users: u64,
}
