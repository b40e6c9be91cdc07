//! Which tables there are, and what is in them.

use super::cell::Kind;
use crate::error::StoreError;
use crate::transaction::{Dialect, Transaction};
use crate::values;

/// A table of the newest version.
pub(super) struct Table {
    pub name: &'static str,
    /// The columns with the id of a user, whose row is of that user and goes when the user is erased.
    pub people: &'static [&'static str],
}

/// The users that were erased. It is not emptied by a restore.
pub(super) const ERASURES: &str = "erasures";

/// All tables, each after those that it refers to. A new table is entered here; a test compares it with the database.
pub(super) const TABLES: &[Table] = &[
    Table { name: "users", people: &["id"] },
    Table { name: "user_devices", people: &["user_id"] },
    Table { name: "user_identities", people: &["user_id"] },
    Table { name: "account_codes", people: &["user_id"] },
    Table { name: ERASURES, people: &[] },
    Table { name: "sessions", people: &["user_id"] },
    Table { name: "storage_objects", people: &["user_id"] },
    Table { name: "wallet_ledger", people: &["user_id"] },
    Table { name: "leaderboards", people: &[] },
    Table { name: "leaderboard_records", people: &["owner_id"] },
    Table { name: "purchases", people: &["user_id"] },
    Table { name: "subscriptions", people: &["user_id"] },
    Table { name: "profiles", people: &["user_id"] },
    Table { name: "profile_selections", people: &["user_id"] },
    Table { name: "outbox", people: &[] },
    Table { name: "rooms", people: &[] },
    Table { name: "room_states", people: &[] },
    Table { name: "room_journal", people: &[] },
    Table { name: "room_players", people: &["user_id"] },
    Table { name: "room_visits", people: &["user_id"] },
];

/// A column as the database has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub name: String,
    pub kind: Kind,
    /// Its place in the key, from 1; 0 if it is not part of it.
    pub key: i64,
}

/// The columns of a table, in order. A table that is not there has none.
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
        let kind = Kind::declared(&declared)
            .ok_or_else(|| StoreError::Failed(format!("{table} has a column of the type {declared}")))?;
        Ok(Column { name: row.get(0)?, kind, key: row.get(2)? })
    })
}

/// Names with a comma between them, such that none is taken for a word of the language.
pub(super) fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Store, StoreSettings, migrations};

    #[tokio::test]
    async fn all_tables_are_known_with_the_columns_that_name_their_user() {
        let settings = StoreSettings::new(Database::Memory);
        let store = Store::open(&settings, &aether_metrics::Registry::new()).await.unwrap();
        let found = store.read(|transaction| {
            let tables = migrations::tables(transaction)?.into_iter().filter(|name| name != "schema_migrations");
            tables.map(|name| Ok((columns(transaction, &name)?, name))).collect::<Result<Vec<_>, StoreError>>()
        });
        let found = found.await.unwrap();
        for (columns, name) in &found {
            let table = TABLES.iter().find(|table| table.name == name);
            let table = table.unwrap_or_else(|| panic!("{name} has to be entered above"));
            let of_a_user =
                |column: &&Column| column.kind == Kind::Uuid && (column.name.ends_with("_id") || name == "users");
            let people: Vec<&str> = columns.iter().filter(of_a_user).map(|column| column.name.as_str()).collect();
            assert!(name == ERASURES || people == table.people, "{name}: {people:?}");
            assert!(columns.iter().any(|column| column.key == 1), "{name} has a key");
        }
        assert_eq!(found.len(), TABLES.len());
    }
}
