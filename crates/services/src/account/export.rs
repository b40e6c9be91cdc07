//! Export of all stored data of a user as one JSON document, in pages.
//!
//! A page is one read of the database, of bounded size, and the next is read when its receiver has taken the last. So an
//! export of any length takes little memory, and neither a thread nor a snapshot of the database while its receiver is
//! slow. Each page is consistent in itself. Rows that are written while the export runs are in it or not, each as a whole.

use super::{Accounts, NOT_FOUND};
use crate::error::ServiceError;
use aether_store::{SqlRow, SqlValue, Store, StoreError, Transaction, on_behalf_of, values};
use serde_json::json;
use serde_json::value::RawValue;
use std::fmt::Write as _;
use std::sync::Arc;
use uuid::Uuid;

/// Bytes of the texts of a page, except that a page has at least one row.
const PAGE_BYTES: i64 = 256 * 1_024;
/// Maximum rows of a page.
const PAGE_ROWS_MAX: usize = 256;
/// Bytes of an export that are in memory at a time, about: a page in rows and as JSON, with one row that is longer.
pub(super) const EXPORT_BYTES_IN_FLIGHT: usize = 1_024 * 1_024;
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

/// Table, its owner column, its order, and the exported columns. The order is unique and uses exported columns.
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
        ("username_skeleton", Text),
        ("username_folded", Text),
        ("display_name", Text),
        ("avatar_url", Text),
        ("lang_tag", Text),
        ("location", Text),
        ("timezone", Text),
        ("metadata", Json),
        ("wallet", Json),
        ("email", Text),
        ("custom_id", Text),
        ("custom_id_at", Number),
        ("role", Text),
        ("edge_count", Number),
        ("notification_count", Number),
        ("created_at", Number),
        ("updated_at", Number),
        ("verified_at", Number),
        ("disabled_at", Number),
        ("sessions_valid_from", Number),
        ("session_kept", Id),
    ],
};

/// All other tables. Codes are omitted: they are hashes of what was sent to the user.
const SECTIONS: &[Section] = &[
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
            ("metadata", Text),
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
        table: "chat_messages",
        owner: "sender_id",
        order: "channel_id, sequence",
        columns: &[
            ("channel_id", Text),
            ("sequence", Number),
            ("id", Id),
            ("code", Number),
            ("username", Text),
            ("content", Json),
            ("created_at", Number),
            ("updated_at", Number),
        ],
    },
    Section {
        table: "tournament_entrants",
        owner: "owner_id",
        order: "tournament, expiry",
        columns: &[
            ("tournament", Text),
            ("expiry", Number),
            ("attempts", Number),
            ("attempts_added", Number),
            ("joined_at", Number),
        ],
    },
    Section {
        table: "bracket_entrants",
        owner: "user_id",
        order: "bracket",
        columns: &[("bracket", Text), ("username", Text), ("rating", Number), ("seed", Number), ("joined_at", Number)],
    },
    Section {
        table: "purchases",
        owner: "user_id",
        order: "purchased_at, transaction_id, store",
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
        order: "purchased_at, original_transaction_id, store",
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
    Section {
        // Groups that the user created.
        table: "groups",
        owner: "creator",
        order: "id",
        columns: &[
            ("id", Id),
            ("name", Text),
            ("name_skeleton", Text),
            ("name_folded", Text),
            ("description", Text),
            ("avatar_url", Text),
            ("lang_tag", Text),
            ("metadata", Json),
            ("open", Flag),
            ("edge_count", Number),
            ("max_count", Number),
            ("created_at", Number),
            ("updated_at", Number),
        ],
    },
    Section {
        table: "group_members",
        owner: "user_id",
        order: "group_key",
        columns: &[("group_key", Id), ("role", Number), ("since", Number)],
    },
    Section {
        table: "notifications",
        owner: "user_id",
        order: "number",
        columns: &[
            ("number", Number),
            ("id", Id),
            ("subject", Text),
            ("content", Json),
            ("code", Number),
            ("sender_id", Id),
            ("created_at", Number),
        ],
    },
    Section {
        table: "friend_edges",
        owner: "user_id",
        order: "other_id",
        columns: &[("other_id", Id), ("state", Number), ("metadata", Json), ("updated_at", Number)],
    },
    Section {
        // Without the ids of others, and without the decision, which is about others.
        table: "reports",
        owner: "reporter_id",
        order: "created_at, id",
        columns: &[
            ("id", Id),
            ("state", Text),
            ("statements", Json),
            ("created_at", Number),
            ("updated_at", Number),
            ("resolved_at", Number),
        ],
    },
    Section {
        table: "mutes",
        owner: "user_id",
        order: "created_at, id",
        columns: &[("id", Id), ("reason", Text), ("created_at", Number), ("expires_at", Number), ("lifted_at", Number)],
    },
    Section { table: "profile_selections", owner: "user_id", order: "profile_id", columns: &[("profile_id", Text)] },
];

/// A position in the order of a section, to continue after it.
type Position = Arc<[Key]>;

/// A value that a section is ordered by.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    Text(String),
    Number(i64),
    Id(Uuid),
}

/// An export that is being read.
pub struct AccountExporter {
    store: Store,
    user: Uuid,
    now: i64,
    next: Step,
}

/// Part of the document that is read next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Account,
    /// A section, after a row of it.
    Section(usize, Option<Position>),
    Ended,
}

impl Accounts {
    /// Begins an export of all stored data of a user. Tables and columns have the names of the database. Times are in
    /// milliseconds since 1970.
    #[must_use]
    pub fn export(&self, user: Uuid) -> AccountExporter {
        AccountExporter { store: self.store.clone(), user, now: self.clock.now_ms(), next: Step::Account }
    }
}

impl AccountExporter {
    /// Returns the next page of the text of the document, or `None` after its end. Fails if the user does not exist.
    pub async fn next_page(&mut self) -> Result<Option<String>, ServiceError> {
        let (user, now, step) = (self.user, self.now, self.next.clone());
        if step == Step::Ended {
            return Ok(None);
        }
        let read = self.store.snapshot(move |transaction| match &step {
            Step::Account => begin(transaction, user, now),
            Step::Section(index, after) => read_section(transaction, user, *index, after.as_deref()),
            Step::Ended => Ok((String::new(), Step::Ended)),
        });
        let (page, next) = on_behalf_of(user, read).await?;
        self.next = next;
        Ok(Some(page))
    }
}

/// Reads the user's own row.
fn begin(transaction: &mut Transaction<'_>, user: Uuid, now: i64) -> Result<(String, Step), ServiceError> {
    let rows = ACCOUNT.read(transaction, user, None, 1)?;
    let (account, _) = rows.into_iter().next().ok_or(NOT_FOUND)?;
    let page = format!(r#"{{"format":{FORMAT},"exported_at":{now},"account":{account}"#);
    Ok((page, Step::Section(0, None)))
}

/// Reads a page of a section.
fn read_section(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    index: usize,
    after: Option<&[Key]>,
) -> Result<(String, Step), ServiceError> {
    let section = &SECTIONS[index];
    let sizes = section.sizes(transaction, user, after)?;
    let fitting = count_fitting(&sizes);
    let rows = if fitting == 0 { Vec::new() } else { section.read(transaction, user, after, fitting)? };
    let mut page = if after.is_none() { format!(r#","{}":["#, section.table) } else { String::new() };
    let mut last = None;
    for (index, (row, position)) in rows.into_iter().enumerate() {
        page.push_str(if after.is_some() || index > 0 { "," } else { "" });
        page.push_str(&row);
        last = Some(position);
    }
    if let Some(position) = last.filter(|_| fitting < sizes.len()) {
        return Ok((page, Step::Section(index, Some(position))));
    }
    page.push(']');
    if index + 1 < SECTIONS.len() {
        return Ok((page, Step::Section(index + 1, None)));
    }
    page.push('}');
    Ok((page, Step::Ended))
}

/// Returns how many of the first rows fit into a page: at least one, and not the last of a full probe, so that there is a
/// next page.
fn count_fitting(sizes: &[i64]) -> usize {
    let mut bytes = 0;
    let fitting = sizes.iter().take(PAGE_ROWS_MAX).take_while(|size| {
        bytes += **size;
        bytes <= PAGE_BYTES
    });
    fitting.count().max(sizes.len().min(1))
}

impl Section {
    /// Returns the approximate bytes of the next rows, of one more than a page can have.
    fn sizes(
        &self,
        transaction: &mut Transaction<'_>,
        user: Uuid,
        after: Option<&[Key]>,
    ) -> Result<Vec<i64>, StoreError> {
        let texts = self.columns.iter().filter(|(_, kind)| matches!(kind, Text | Json));
        let lengths = texts.map(|(name, _)| format!("coalesce(octet_length({name}), 0) + "));
        let size = format!("CAST({}{ROW_BYTES} AS BIGINT)", lengths.collect::<String>());
        let (select, parameters) = self.next_rows(&size, user, after, PAGE_ROWS_MAX + 1);
        transaction.rows(&select, &parameters, |row| row.get(0))
    }

    /// Returns the next rows as JSON, each with its position.
    fn read(
        &self,
        transaction: &mut Transaction<'_>,
        user: Uuid,
        after: Option<&[Key]>,
        count: usize,
    ) -> Result<Vec<(String, Position)>, StoreError> {
        let Section { table, owner, order, .. } = self;
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        // The rows are found by their keys alone, so that only values of this page are read.
        let (keys, parameters) = self.next_rows(order, user, after, count);
        let names = names.join(", ");
        let select =
            format!("SELECT {names} FROM {table} WHERE {owner} = ?1 AND ({order}) IN ({keys}) ORDER BY {order}");
        transaction.rows(&select, &parameters, |row| Ok((self.write_row(row)?, self.position(row)?)))
    }

    /// Returns the statement that selects something of the next rows, and its parameters.
    fn next_rows<'a>(
        &self,
        selected: &str,
        user: Uuid,
        after: Option<&'a [Key]>,
        count: usize,
    ) -> (String, Vec<SqlValue<'a>>) {
        let Section { table, owner, order, .. } = self;
        let after = after.unwrap_or(&[]);
        let mut parameters = values![user].to_vec();
        parameters.extend(after.iter().map(Key::value));
        let numbers: Vec<String> = (0..after.len()).map(|index| format!("?{}", index + 2)).collect();
        let condition = match after {
            [] => String::new(),
            _ => format!(" AND ({order}) > ({})", numbers.join(", ")),
        };
        // A parameter, so that there are few distinct statements to prepare.
        parameters.push(SqlValue::Integer(count as i64));
        let limit = parameters.len();
        let select =
            format!("SELECT {selected} FROM {table} WHERE {owner} = ?1{condition} ORDER BY {order} LIMIT ?{limit}");
        (select, parameters)
    }

    fn write_row(&self, row: &SqlRow<'_>) -> Result<String, StoreError> {
        let mut text = String::from("{");
        for (index, (name, kind)) in self.columns.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            // Writing to a string does not fail.
            let _ = write!(text, r#"{comma}"{name}":"#);
            kind.write(row, index, &mut text)?;
        }
        text.push('}');
        Ok(text)
    }

    fn position(&self, row: &SqlRow<'_>) -> Result<Position, StoreError> {
        let column = |name: &str| self.columns.iter().position(|(known, _)| *known == name);
        self.order
            .split(", ")
            .filter_map(column)
            .map(|index| {
                Ok(match self.columns[index].1 {
                    Number | Flag => Key::Number(row.get(index)?),
                    Id => Key::Id(row.get(index)?),
                    Text | Json => Key::Text(row.get(index)?),
                })
            })
            .collect()
    }
}

impl Key {
    fn value(&self) -> SqlValue<'_> {
        match self {
            Key::Text(text) => SqlValue::from(text),
            Key::Number(number) => SqlValue::from(*number),
            Key::Id(id) => SqlValue::from(*id),
        }
    }
}

impl Kind {
    /// Writes the value of a column as JSON.
    fn write(self, row: &SqlRow<'_>, index: usize, to: &mut String) -> Result<(), StoreError> {
        let value = match self {
            Text => json!(row.get::<Option<String>>(index)?),
            Number => json!(row.get::<Option<i64>>(index)?),
            Flag => json!(row.get::<Option<bool>>(index)?),
            Id => json!(row.get::<Option<Uuid>>(index)?),
            Json => {
                let text = row.get::<Option<String>>(index)?.unwrap_or_default();
                // Text that is not JSON, such as the answer of a shop, stays text.
                if serde_json::from_str::<&RawValue>(&text).is_ok() {
                    to.push_str(&text);
                    return Ok(());
                }
                json!(text)
            }
        };
        // Writing to a string does not fail.
        let _ = write!(to, "{value}");
        Ok(())
    }
}
