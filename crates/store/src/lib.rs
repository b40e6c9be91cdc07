//! The database layer: SQLite and PostgreSQL behind one transaction interface.
//!
//! An operation is a closure over [`Transaction`], written once for both databases. [`Store::write`] runs it in a
//! transaction and returns after the commit; [`Store::read`] runs one that changes nothing.
//!
//! ```
//! # use aether_store::*;
//! # #[tokio::main] async fn main() -> Result<(), StoreError> {
//! let store = Store::open(&StoreSettings::new(Database::Memory), &aether_metrics::Registry::new()).await?;
//! let found = store
//!     .read(|transaction| {
//!         transaction.row("SELECT count(*) FROM users WHERE username = ?1", values!["someone"], |row| {
//!             row.get::<i64>(0)
//!         })
//!     })
//!     .await?;
//! assert_eq!(found, Some(0));
//! # Ok(()) }
//! ```

pub mod backup;
mod column;
mod error;
mod job;
mod metrics;
mod migrations;
pub mod outbox;
mod postgres;
pub mod private_file;
mod queue;
mod row;
mod sqlite;
mod statement;
mod store;
mod transaction;
mod value;

pub use backup::{back_up, restore};
pub use column::ColumnValue;
pub use error::StoreError;
pub use migrations::{Migration, MigrationStatus};
pub use private_file::PrivateFile;
pub use queue::on_behalf_of;
pub use row::{FromColumn, SqlRow};
pub use statement::{Answers, Statements};
pub use store::{Database, Store, StoreSettings};
pub use transaction::{Dialect, Transaction};
pub use value::SqlValue;
