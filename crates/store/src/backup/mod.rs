//! Backups: all rows, in lines of JSON that both databases read.
//!
//! ```text
//! {"backup":"aether","format":1,"migration":1}
//! {"t":"users","columns":[["id","uuid"],["username","text"],…]}
//! {"t":"users","r":["0198…","someone",…]}
//! …
//! {"end":{"rows":{"users":1,…},"sha256":"…"}}
//! ```
//!
//! The first line says which steps of the tables it holds, the last counts the rows of each table and has the SHA-256 of
//! all bytes before it, so that a file that was cut off or changed is refused. Numbers are numbers, yes and no are
//! `true` and `false`; ids and texts are strings, bytes are strings of hexadecimal digits.
//!
//! A backup is taken from one moment while the server goes on. It is restored in one transaction, into a database that is
//! empty or is emptied for it: all of it is there afterwards, or nothing has changed. An older backup is restored into
//! tables as they were then, and these are brought up to date like an older database.

mod cell;
mod reading;
mod tables;
mod writing;

pub use reading::restore;
pub use writing::back_up;

/// The format, which changes when an older program could not read it.
const FORMAT: i64 = 1;
/// Rows between two calls that tell how far it is.
const PROGRESS_ROWS: u64 = 1_000;

/// What a backup holds, or what was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How many rows.
    pub rows: u64,
    /// The last step of the tables.
    pub migration: i64,
    /// Users of the backup that were left out, because the database knows that they were erased after it was taken.
    pub erased_users: u64,
}
