//! The tables, and how an older database comes to have them.
//!
//! Each step is a file, written once for both databases, and its checksum is kept with it: a step that was changed after
//! it was applied is refused, as is a database with steps that this version does not know.

use crate::error::StoreError;
use crate::store::Store;
use crate::transaction::{Dialect, Transaction};
use crate::values;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// Its number, from 1, without gaps.
    pub version: i64,
    /// What it is called.
    pub name: &'static str,
    sql: &'static str,
}

/// All steps, in order. Once released, one is never changed.
const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "base", sql: include_str!("../migrations/0001_base.sql") },
    Migration { version: 2, name: "rooms", sql: include_str!("../migrations/0002_rooms.sql") },
];

/// Where the steps that were applied are kept.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";

/// Held while steps are applied, so that two servers that start at once do not both do it. Any number will do that
/// nobody else uses.
const ADVISORY_LOCK: &str = "SELECT pg_advisory_xact_lock(7350735173527349)";

/// How far a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    /// The steps that are applied.
    pub applied: Vec<i64>,
    /// Those that are not.
    pub pending: Vec<Migration>,
}

impl MigrationStatus {
    /// A database that is not there yet.
    pub(crate) fn of_nothing() -> MigrationStatus {
        MigrationStatus { applied: Vec::new(), pending: MIGRATIONS.to_vec() }
    }
}

impl Migration {
    /// The step as this database writes it.
    fn text(&self, dialect: Dialect) -> String {
        let (tail, blob) = match dialect {
            // Rows lie in the order of the key, so that one look-up finds them.
            Dialect::Sqlite => (" WITHOUT ROWID", "BLOB"),
            Dialect::Postgres => ("", "BYTEA"),
        };
        self.sql.replace("{by_key}", tail).replace("{bytes}", blob)
    }

    fn checksum(&self) -> String {
        Sha256::digest(self.sql).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

impl Store {
    /// How far the database is. It is not changed.
    pub async fn migration_status(&self) -> Result<MigrationStatus, StoreError> {
        self.snapshot(status).await
    }
}

/// Brings the database up to date, or refuses one that is not.
pub(crate) async fn apply(store: &Store, migrate: bool) -> Result<(), StoreError> {
    store.write(move |transaction| step_by_step(transaction, migrate)).await
}

fn step_by_step(transaction: &mut Transaction<'_>, migrate: bool) -> Result<(), StoreError> {
    transaction.take_your_time()?;
    if transaction.dialect() == Dialect::Postgres {
        transaction.script(ADVISORY_LOCK)?;
    }
    let lacking = status(transaction)?.pending.len();
    if lacking > 0 && !migrate {
        return Err(StoreError::Refused(format!(
            "The database lacks {lacking} migrations. Run `aether migrate`, or set database.migrate."
        )));
    }
    catch_up(transaction)
}

/// Does these steps, and notes them.
fn apply_steps(transaction: &mut Transaction<'_>, steps: &[Migration]) -> Result<(), StoreError> {
    if !steps.is_empty() {
        transaction.script(TABLE)?;
    }
    for step in steps {
        transaction.script(&step.text(transaction.dialect()))?;
        let insert = "INSERT INTO schema_migrations (version, name, checksum) VALUES (?1, ?2, ?3)";
        transaction.execute(insert, values![step.version, step.name, &step.checksum()])?;
    }
    Ok(())
}

/// The number of the newest step.
pub(crate) fn newest() -> i64 {
    MIGRATIONS.len() as i64
}

/// The number of the last step that is applied, 0 if none is.
pub(crate) fn applied(transaction: &mut Transaction<'_>) -> Result<i64, StoreError> {
    Ok(status(transaction)?.applied.last().copied().unwrap_or(0))
}

/// Does the steps that are missing.
pub(crate) fn catch_up(transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
    let pending = status(transaction)?.pending;
    apply_steps(transaction, &pending)
}

/// Does the steps up to a certain one, in a database whose tables were all dropped.
pub(crate) fn rewind(transaction: &mut Transaction<'_>, version: i64) -> Result<(), StoreError> {
    transaction.execute("DELETE FROM schema_migrations", &[])?;
    let steps: Vec<Migration> = MIGRATIONS.iter().filter(|step| step.version <= version).copied().collect();
    apply_steps(transaction, &steps)
}

/// How far the database is; refuses one that this program cannot know.
fn status(transaction: &mut Transaction<'_>) -> Result<MigrationStatus, StoreError> {
    if !tables(transaction)?.iter().any(|table| table == "schema_migrations") {
        return Ok(MigrationStatus::of_nothing());
    }
    let applied = transaction.rows("SELECT version, checksum FROM schema_migrations ORDER BY version", &[], |row| {
        Ok((row.get::<i64>(0)?, row.get::<String>(1)?))
    })?;
    for (version, checksum) in &applied {
        match MIGRATIONS.iter().find(|step| step.version == *version) {
            None => {
                return Err(StoreError::Refused(format!(
                    "The database is of a newer version: it has migration {version}, and this program knows {} of them. \
                     Run the newer program, or restore a backup that is older.",
                    MIGRATIONS.len()
                )));
            }
            Some(step) if step.checksum() != *checksum => {
                return Err(StoreError::Refused(format!(
                    "Migration {version} was applied to the database in another form than this program knows. \
                     Run the program that made it, or restore a backup."
                )));
            }
            Some(_) => {}
        }
    }
    let applied: Vec<i64> = applied.into_iter().map(|(version, _)| version).collect();
    let pending = MIGRATIONS.iter().filter(|step| !applied.contains(&step.version)).copied().collect();
    Ok(MigrationStatus { applied, pending })
}

/// The names of the tables, in order.
pub(crate) fn tables(transaction: &mut Transaction<'_>) -> Result<Vec<String>, StoreError> {
    let names = match transaction.dialect() {
        Dialect::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
        Dialect::Postgres => {
            "SELECT table_name::text FROM information_schema.tables
             WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1"
        }
    };
    transaction.rows(names, &[], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbered_without_gaps() {
        assert!(MIGRATIONS.iter().zip(1..).all(|(step, number)| step.version == number));
    }
}
