//! Migrations of the database schema.
//!
//! Each migration is a file, written once for both databases. Its checksum is stored when it is applied. A database is
//! refused if an applied migration has another checksum, or if it has migrations that this version does not know.

mod name_keys;

use crate::error::StoreError;
use crate::store::Store;
use crate::transaction::{Dialect, Transaction};
use crate::values;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// A migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// Number, from 1, without gaps.
    pub version: i64,
    /// Name of the migration.
    pub name: &'static str,
    sql: &'static str,
}

/// All migrations, in order. A released migration is never changed.
const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "base", sql: include_str!("../migrations/0001_base.sql") },
    Migration { version: 2, name: "rooms", sql: include_str!("../migrations/0002_rooms.sql") },
    Migration { version: 3, name: "storage_totals", sql: include_str!("../migrations/0003_storage_totals.sql") },
    Migration { version: 4, name: "outbox", sql: include_str!("../migrations/0004_outbox.sql") },
    Migration { version: 5, name: "room_creators", sql: include_str!("../migrations/0005_room_creators.sql") },
    Migration { version: 6, name: "names_and_owners", sql: include_str!("../migrations/0006_names_and_owners.sql") },
    Migration {
        version: 7,
        name: "storage_totals_by_row",
        sql: include_str!("../migrations/0007_storage_totals_by_row.sql"),
    },
    Migration { version: 8, name: "audit", sql: include_str!("../migrations/0008_audit.sql") },
    Migration { version: 9, name: "join_metadata", sql: include_str!("../migrations/0009_join_metadata.sql") },
    Migration { version: 10, name: "room_ticks", sql: include_str!("../migrations/0010_room_ticks.sql") },
    Migration { version: 11, name: "notifications", sql: include_str!("../migrations/0011_notifications.sql") },
    Migration { version: 12, name: "friends", sql: include_str!("../migrations/0012_friends.sql") },
    Migration { version: 13, name: "groups", sql: include_str!("../migrations/0013_groups.sql") },
    Migration { version: 14, name: "chat", sql: include_str!("../migrations/0014_chat.sql") },
    Migration { version: 15, name: "tournaments", sql: include_str!("../migrations/0015_tournaments.sql") },
    Migration { version: 16, name: "brackets", sql: include_str!("../migrations/0016_brackets.sql") },
    Migration { version: 17, name: "moderation", sql: include_str!("../migrations/0017_moderation.sql") },
    Migration { version: 18, name: "remote_values", sql: include_str!("../migrations/0018_remote_values.sql") },
    Migration { version: 19, name: "room_params", sql: include_str!("../migrations/0019_room_params.sql") },
    Migration { version: 20, name: "leaderboard_ranks", sql: include_str!("../migrations/0020_leaderboard_ranks.sql") },
];

/// Line at which the program continues a migration.
const FILL: &str = "\n-- {fill}\n";

/// Table of the applied migrations.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";

/// Locked while migrations are applied, so that two servers that start at once do not both apply them. The number is
/// arbitrary.
const ADVISORY_LOCK: &str = "SELECT pg_advisory_xact_lock(7350735173527349)";

/// Applied and pending migrations of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    /// Numbers of the applied migrations.
    pub applied: Vec<i64>,
    /// Migrations that are not applied.
    pub pending: Vec<Migration>,
}

impl MigrationStatus {
    /// Status of a database that does not exist.
    pub(crate) fn of_missing_database() -> MigrationStatus {
        MigrationStatus { applied: Vec::new(), pending: MIGRATIONS.to_vec() }
    }
}

impl Migration {
    /// Returns the SQL of the migration for a kind of database.
    fn sql_for(&self, dialect: Dialect) -> String {
        let (own, tail, blob) = match dialect {
            // Rows are stored in the order of the key, which saves a second lookup.
            Dialect::Sqlite => ("-- {sqlite}", " WITHOUT ROWID", "BLOB"),
            Dialect::Postgres => ("-- {postgres}", "", "BYTEA"),
        };
        let mut is_included = true;
        let lines = self.sql.lines().filter(|line| {
            if matches!(*line, "-- {both}" | "-- {sqlite}" | "-- {postgres}") {
                is_included = *line == own || *line == "-- {both}";
            }
            is_included
        });
        let sql = lines.collect::<Vec<_>>().join("\n");
        sql.replace("{by_key}", tail).replace("{bytes}", blob)
    }

    fn checksum(&self) -> String {
        Sha256::digest(self.sql).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

impl Store {
    /// Returns the applied and pending migrations.
    pub async fn migration_status(&self) -> Result<MigrationStatus, StoreError> {
        self.snapshot(status).await
    }
}

/// Applies pending migrations. If `migrate` is false and there are any, it fails. A database without any table fails with
/// `lost`, if that is given.
pub(crate) async fn apply(store: &Store, migrate: bool, lost: Option<StoreError>) -> Result<(), StoreError> {
    store.write(move |transaction| apply_pending(transaction, migrate, lost.as_ref())).await
}

fn apply_pending(
    transaction: &mut Transaction<'_>,
    migrate: bool,
    lost: Option<&StoreError>,
) -> Result<(), StoreError> {
    transaction.disable_time_limits()?;
    if transaction.dialect() == Dialect::Postgres {
        transaction.script(ADVISORY_LOCK)?;
    }
    let MigrationStatus { applied, pending } = status(transaction)?;
    if let (Some(lost), true) = (lost, applied.is_empty()) {
        return Err(lost.clone());
    }
    let pending = pending.len();
    if pending > 0 && !migrate {
        return Err(StoreError::Refused(format!(
            "The database lacks {pending} migrations. Run `aether migrate`, or set database.migrate to true."
        )));
    }
    catch_up(transaction)
}

/// Applies these migrations and records them.
fn apply_steps(transaction: &mut Transaction<'_>, steps: &[Migration]) -> Result<(), StoreError> {
    if !steps.is_empty() {
        transaction.script(TABLE)?;
    }
    for step in steps {
        let sql = step.sql_for(transaction.dialect());
        let (before, after) = sql.split_once(FILL).unwrap_or((&sql, ""));
        transaction.script(before)?;
        // What SQL cannot do, at the line `-- {fill}`.
        if step.version == name_keys::MIGRATION {
            name_keys::fill(transaction)?;
            transaction.script(after)?;
        }
        let insert = "INSERT INTO schema_migrations (version, name, checksum) VALUES (?1, ?2, ?3)";
        transaction.execute(insert, values![step.version, step.name, &step.checksum()])?;
    }
    Ok(())
}

/// Returns the number of the newest migration.
pub(crate) fn newest() -> i64 {
    MIGRATIONS.len() as i64
}

/// Returns the number of the last applied migration, 0 if there is none.
pub(crate) fn applied(transaction: &mut Transaction<'_>) -> Result<i64, StoreError> {
    Ok(status(transaction)?.applied.last().copied().unwrap_or(0))
}

/// Applies the pending migrations.
pub(crate) fn catch_up(transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
    let pending = status(transaction)?.pending;
    apply_steps(transaction, &pending)
}

/// Applies the migrations up to `version`, in a database whose tables were all dropped.
pub(crate) fn reapply_up_to(transaction: &mut Transaction<'_>, version: i64) -> Result<(), StoreError> {
    transaction.execute("DELETE FROM schema_migrations", &[])?;
    let steps: Vec<Migration> = MIGRATIONS.iter().filter(|step| step.version <= version).copied().collect();
    apply_steps(transaction, &steps)
}

/// Returns the status of the database. Fails if it has migrations that this program does not know.
fn status(transaction: &mut Transaction<'_>) -> Result<MigrationStatus, StoreError> {
    if !tables(transaction)?.iter().any(|table| table == "schema_migrations") {
        return Ok(MigrationStatus::of_missing_database());
    }
    let applied = transaction.rows("SELECT version, checksum FROM schema_migrations ORDER BY version", &[], |row| {
        Ok((row.get::<i64>(0)?, row.get::<String>(1)?))
    })?;
    for (version, checksum) in &applied {
        match MIGRATIONS.iter().find(|step| step.version == *version) {
            None => {
                return Err(StoreError::Refused(format!(
                    "The database is from a newer version: it has migration {version}, and this program knows {} \
                     migrations. Run the newer version, or restore an older backup.",
                    MIGRATIONS.len()
                )));
            }
            Some(step) if step.checksum() != *checksum => {
                return Err(StoreError::Refused(format!(
                    "Migration {version} of the database differs from the one in this program. Run the program that \
                     created the database, or restore a backup."
                )));
            }
            Some(_) => {}
        }
    }
    let applied: Vec<i64> = applied.into_iter().map(|(version, _)| version).collect();
    let pending = MIGRATIONS.iter().filter(|step| !applied.contains(&step.version)).copied().collect();
    Ok(MigrationStatus { applied, pending })
}

/// Returns the names of all tables, sorted.
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
    fn migrations_are_numbered_without_gaps() {
        assert!(MIGRATIONS.iter().zip(1..).all(|(step, number)| step.version == number));
    }
}
