//! Export of all stored data of a user as one document.

use super::{Accounts, NOT_FOUND};
use crate::error::{GrpcCode, ServiceError, TOO_OFTEN};
use aether_store::{SqlRow, StoreError, Transaction, values};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Maximum bytes of texts in an export. It is held in memory whole; use a backup for larger users.
const EXPORT_BYTES_MAX: i64 = 64 * 1_024 * 1_024;
/// Maximum number of concurrent exports. Each may hold several times its bytes in memory.
pub(super) const CONCURRENT_EXPORTS_MAX: usize = 2;
/// Approximate bytes of a row beside its texts.
const ROW_BYTES: i64 = 128;

/// Format version of the document. It increases when a field changes its meaning.
const FORMAT: u32 = 1;

/// Type of a column in the document.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Flag,
    Id,
    /// JSON stored as text.
    Json,
}

use Kind::{Flag, Id, Json, Number, Text};

/// Table, its owner column, its order, and the exported columns.
struct Section {
    table: &'static str,
    owner: &'static str,
    order: &'static str,
    columns: &'static [(&'static str, Kind)],
}

/// The user's own row, without the password hash, which is of no use to its owner.
const ACCOUNT: Section = Section {
    table: "users",
    owner: "id",
    order: "id",
    columns: &[
        ("id", Id),
        ("username", Text),
        ("display_name", Text),
        ("avatar_url", Text),
        ("lang_tag", Text),
        ("location", Text),
        ("timezone", Text),
        ("metadata", Json),
        ("wallet", Json),
        ("email", Text),
        ("custom_id", Text),
        ("role", Text),
        ("edge_count", Number),
        ("created_at", Number),
        ("updated_at", Number),
        ("verified_at", Number),
        ("disabled_at", Number),
        ("sessions_valid_from", Number),
    ],
};

/// All other tables. Codes are omitted: they are hashes of what was sent to the user.
const SECTIONS: [Section; 14] = [
    Section {
        table: "user_devices",
        owner: "user_id",
        order: "created_at, id",
        columns: &[("id", Text), ("created_at", Number)],
    },
    Section {
        table: "user_identities",
        owner: "user_id",
        order: "provider",
        columns: &[("provider", Text), ("subject", Text), ("created_at", Number)],
    },
    Section {
        table: "sessions",
        owner: "user_id",
        order: "created_at, id",
        columns: &[
            ("id", Id),
            ("state", Text),
            ("generation", Number),
            ("created_at", Number),
            ("refreshed_at", Number),
            ("last_seen_at", Number),
            ("expires_at", Number),
            ("revoked_at", Number),
            ("reason", Text),
            ("address", Text),
            ("method", Text),
        ],
    },
    Section {
        // Without the hashes of resume tokens.
        table: "room_players",
        owner: "user_id",
        order: "room, player",
        columns: &[
            ("room", Text),
            ("player", Number),
            ("session", Id),
            ("name", Text),
            ("role", Text),
            ("issued_at", Number),
            ("heard", Flag),
        ],
    },
    Section {
        table: "room_visits",
        owner: "user_id",
        order: "joined_at, id",
        columns: &[
            ("id", Id),
            ("session", Id),
            ("room", Text),
            ("room_type", Text),
            ("player", Number),
            ("node", Text),
            ("joined_at", Number),
            ("left_at", Number),
            ("reason", Text),
        ],
    },
    Section { table: "room_creators", owner: "user_id", order: "room", columns: &[("room", Text)] },
    Section {
        table: "storage_objects",
        owner: "user_id",
        order: "collection, key",
        columns: &[
            ("collection", Text),
            ("key", Text),
            ("value", Json),
            ("version", Text),
            ("permission_read", Number),
            ("permission_write", Number),
            ("created_at", Number),
            ("updated_at", Number),
        ],
    },
    Section {
        table: "wallet_ledger",
        owner: "user_id",
        order: "created_at, id",
        columns: &[("id", Id), ("changeset", Json), ("metadata", Json), ("created_at", Number), ("updated_at", Number)],
    },
    Section {
        table: "leaderboard_records",
        owner: "owner_id",
        order: "leaderboard_id, expiry",
        columns: &[
            ("leaderboard_id", Text),
            ("expiry", Number),
            ("username", Text),
            ("score", Number),
            ("subscore", Number),
            ("num_score", Number),
            ("max_num_score", Number),
            ("metadata", Json),
            ("created_at", Number),
            ("updated_at", Number),
        ],
    },
    Section {
        table: "purchases",
        owner: "user_id",
        order: "purchased_at, transaction_id",
        columns: &[
            ("store", Number),
            ("transaction_id", Text),
            ("product_id", Text),
            ("environment", Number),
            ("purchased_at", Number),
            ("refunded_at", Number),
            ("response", Json),
            ("created_at", Number),
            ("updated_at", Number),
        ],
    },
    Section {
        table: "subscriptions",
        owner: "user_id",
        order: "purchased_at, original_transaction_id",
        columns: &[
            ("store", Number),
            ("original_transaction_id", Text),
            ("product_id", Text),
            ("environment", Number),
            ("purchased_at", Number),
            ("expires_at", Number),
            ("refunded_at", Number),
            ("response", Json),
            ("notification", Json),
            ("created_at", Number),
            ("updated_at", Number),
        ],
    },
    Section {
        table: "profiles",
        owner: "user_id",
        order: "id",
        columns: &[("id", Text), ("name", Text), ("data", Json), ("created_at", Number), ("updated_at", Number)],
    },
    Section {
        // Without the ids of others.
        table: "audit_entries",
        owner: "CASE WHEN actor_id = ?1 THEN actor_id ELSE user_id END",
        order: "last_at, action",
        columns: &[
            ("action", Text),
            ("outcome", Text),
            ("detail", Text),
            ("count", Number),
            ("first_at", Number),
            ("last_at", Number),
        ],
    },
    Section { table: "profile_selections", owner: "user_id", order: "profile_id", columns: &[("profile_id", Text)] },
];

impl Accounts {
    /// Returns all stored data of a user, as one consistent snapshot. Tables and columns have the names of the
    /// database. Times are in milliseconds since 1970.
    pub async fn export(&self, user: Uuid) -> Result<Value, ServiceError> {
        let _permit = self.exports.try_acquire().map_err(|_| TOO_OFTEN)?;
        let now = self.clock.now_ms();
        let operation = move |transaction: &mut Transaction<'_>| {
            let account = ACCOUNT.read(transaction, user)?.pop().ok_or(NOT_FOUND)?;
            check_size(transaction, user)?;
            let mut document = Map::new();
            document.insert("format".to_owned(), FORMAT.into());
            document.insert("exported_at".to_owned(), now.into());
            document.insert("account".to_owned(), account);
            for section in &SECTIONS {
                document.insert(section.table.to_owned(), section.read(transaction, user)?.into());
            }
            Ok(Value::Object(document))
        };
        self.store.snapshot(operation).await
    }
}

/// Checks the size before reading, because a database may return all rows at once.
fn check_size(transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), ServiceError> {
    let mut bytes = 0;
    for section in &SECTIONS {
        bytes += section.bytes(transaction, user)?;
    }
    if bytes > EXPORT_BYTES_MAX {
        let message = "The user has too much data for one export. Read it from a backup instead.";
        return Err(ServiceError::new(GrpcCode::ResourceExhausted, message));
    }
    Ok(())
}

impl Section {
    /// Returns the approximate bytes of the rows.
    fn bytes(&self, transaction: &mut Transaction<'_>, user: Uuid) -> Result<i64, StoreError> {
        let texts = self.columns.iter().filter(|(_, kind)| matches!(kind, Text | Json));
        let lengths: Vec<String> = texts.map(|(name, _)| format!("coalesce(length({name}), 0)")).collect();
        let (lengths, Section { table, owner, .. }) = (lengths.join(" + "), self);
        let select = format!("SELECT coalesce(sum({lengths} + {ROW_BYTES}), 0) FROM {table} WHERE {owner} = ?1");
        Ok(transaction.row(&select, values![user], |row| row.get::<i64>(0))?.unwrap_or(0))
    }

    fn read(&self, transaction: &mut Transaction<'_>, user: Uuid) -> Result<Vec<Value>, StoreError> {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        let (names, Section { table, owner, order, .. }) = (names.join(", "), self);
        let select = format!("SELECT {names} FROM {table} WHERE {owner} = ?1 ORDER BY {order}");
        transaction.rows(&select, values![user], |row| {
            let mut written = Map::new();
            for (index, (name, kind)) in self.columns.iter().enumerate() {
                written.insert((*name).to_owned(), kind.read(row, index)?);
            }
            Ok(Value::Object(written))
        })
    }
}

impl Kind {
    /// Reads the value of a column.
    fn read(self, row: &SqlRow<'_>, index: usize) -> Result<Value, StoreError> {
        Ok(match self {
            Text => json!(row.get::<Option<String>>(index)?),
            Number => json!(row.get::<Option<i64>>(index)?),
            Flag => json!(row.get::<Option<bool>>(index)?),
            Id => json!(row.get::<Option<Uuid>>(index)?),
            Json => {
                let text = row.get::<Option<String>>(index)?.unwrap_or_default();
                // Text that is not JSON, such as the answer of a shop, stays text.
                serde_json::from_str(&text).unwrap_or_else(|_| json!(text))
            }
        })
    }
}
