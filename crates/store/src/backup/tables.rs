//! Tables and columns of the database.

use super::cell::ColumnKind;
use crate::error::StoreError;
use crate::transaction::{Dialect, Transaction};
use crate::values;

/// A table of the newest schema.
pub(super) struct Table {
    pub name: &'static str,
    /// Columns with the id of a user. The rows of a user are deleted when the user is erased.
    pub user_columns: &'static [&'static str],
    /// True if triggers fill the table from another one. It is not part of a backup.
    pub is_derived: bool,
}

impl Table {
    const fn new(name: &'static str, user_columns: &'static [&'static str]) -> Table {
        Table { name, user_columns, is_derived: false }
    }

    const fn derived(name: &'static str, user_columns: &'static [&'static str]) -> Table {
        Table { name, user_columns, is_derived: true }
    }
}

/// Table of erased users. A restore does not empty it.
pub(super) const ERASURES: &str = "erasures";

/// All tables, each after those that it references. A test compares the list with the database.
pub(super) const TABLES: &[Table] = &[
    Table::new("users", &["id"]),
    Table::new("user_devices", &["user_id"]),
    Table::new("user_identities", &["user_id"]),
    Table::new("account_codes", &["user_id"]),
    Table::new(ERASURES, &[]),
    Table::new("sessions", &["user_id"]),
    Table::new("storage_objects", &["user_id"]),
    Table::derived("storage_totals", &["user_id"]),
    Table::new("wallet_ledger", &["user_id"]),
    Table::new("leaderboards", &[]),
    Table::new("leaderboard_records", &["owner_id"]),
    Table::new("tournament_entrants", &["owner_id"]),
    Table::new("brackets", &[]),
    Table::new("bracket_entrants", &["user_id"]),
    Table::new("bracket_actions", &[]),
    Table::new("purchases", &["user_id"]),
    Table::new("subscriptions", &["user_id"]),
    Table::new("profiles", &["user_id"]),
    Table::new("profile_selections", &["user_id"]),
    Table::new("outbox", &[]),
    Table::new("rooms", &[]),
    Table::new("room_states", &[]),
    Table::new("room_journal", &[]),
    Table::new("room_players", &["user_id"]),
    Table::new("room_visits", &["user_id"]),
    Table::new("room_creators", &["user_id"]),
    Table::new("audit_entries", &["actor_id", "user_id"]),
    Table::new("chat_channels", &[]),
    Table::new("chat_messages", &["sender_id"]),
    Table::new("notifications", &["user_id", "sender_id"]),
    Table::new("groups", &[]),
    Table::new("group_members", &["user_id"]),
    Table::new("group_tags", &[]),
    Table::new("friend_edges", &["user_id", "other_id"]),
    Table::new("reports", &["reporter_id", "target_id"]),
    Table::new("mutes", &["user_id"]),
    Table::new("remote_values", &[]),
];

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub name: String,
    pub kind: ColumnKind,
    /// Position in the primary key, from 1; 0 if it is not part of it.
    pub key_position: i64,
}

/// Returns the columns of a table, in order. A missing table has none.
pub(super) fn columns(transaction: &mut Transaction<'_>, table: &str) -> Result<Vec<Column>, StoreError> {
    let select = match transaction.dialect() {
        Dialect::Sqlite => "SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid",
        Dialect::Postgres => {
            "SELECT a.attname::text, format_type(a.atttypid, NULL),
                coalesce(array_position(i.indkey::int2[], a.attnum), -1)::bigint + 1
             FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
             WHERE a.attrelid = to_regclass(?1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
        }
    };
    transaction.rows(select, values![table], |row| {
        let declared = row.get::<String>(1)?;
        let kind = ColumnKind::from_declared(&declared)
            .ok_or_else(|| StoreError::Failed(format!("table {table} has a column of type {declared}")))?;
        Ok(Column { name: row.get(0)?, kind, key_position: row.get(2)? })
    })
}

/// Returns quoted names, separated by commas.
pub(super) fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Store, StoreSettings, migrations};

    #[tokio::test]
    async fn all_tables_and_their_user_columns_are_listed() {
        let settings = StoreSettings::new(Database::Memory);
        let store = Store::open(&settings, &aether_metrics::Registry::new()).await.unwrap();
        let found = store.read(|transaction| {
            let tables = migrations::tables(transaction)?.into_iter().filter(|name| name != "schema_migrations");
            tables.map(|name| Ok((columns(transaction, &name)?, name))).collect::<Result<Vec<_>, StoreError>>()
        });
        let found = found.await.unwrap();
        for (columns, name) in &found {
            let table = TABLES.iter().find(|table| table.name == name);
            let table = table.unwrap_or_else(|| panic!("table {name} is missing in TABLES"));
            let is_user_id = |column: &&Column| {
                let is_named_so = column.name.ends_with("_id") || (name == "users" && column.name == "id");
                column.kind == ColumnKind::Uuid && is_named_so
            };
            let user_columns: Vec<&str> =
                columns.iter().filter(is_user_id).map(|column| column.name.as_str()).collect();
            assert!(name == ERASURES || user_columns == table.user_columns, "{name}: {user_columns:?}");
            assert!(columns.iter().any(|column| column.key_position == 1), "{name} has a key");
        }
        assert_eq!(found.len(), TABLES.len());
    }
}
