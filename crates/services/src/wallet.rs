//! Wallets: integer amounts by name, changed by server code only, with a ledger of all changes.
//!
//! A wallet is changed by adding to it, never set, and no amount becomes negative. Changes of several users are made in
//! one transaction, so a transfer happens on both sides or not at all.

use crate::clock::{WallClock, id_within};
use crate::cursor;
use crate::error::{GrpcCode, INTERNAL, ServiceError};
use crate::storage::json;
use aether_store::{SqlRow, Statements, Store, StoreError, Transaction, values};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tracing::error;
use uuid::{ContextV7, Uuid};

/// Maximum number of updates in one transaction. Each locks a user until its end.
pub const UPDATES_MAX: usize = 128;
/// Maximum number of names in a wallet, which is read and written whole.
pub const NAMES_MAX: usize = 256;
/// Maximum bytes of a name.
pub const NAME_BYTES_MAX: usize = 128;
/// Maximum bytes of the metadata of a ledger entry.
pub const METADATA_BYTES_MAX: usize = 16_384;
/// Maximum entries per page of the ledger.
pub const LEDGER_LIST_MAX: i32 = 100;

const NO_USER: ServiceError = ServiceError::new(GrpcCode::NotFound, "User account not found.");

/// Amounts by name, or changes to them.
pub type Amounts = BTreeMap<String, i64>;

/// Wallets of all users.
#[derive(Clone)]
pub struct Wallets {
    store: Store,
    clock: Arc<dyn WallClock>,
    /// Orders the ids of entries within the same millisecond.
    entries: Arc<Mutex<ContextV7>>,
}

/// Change to a user's wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletUpdate {
    /// Owner of the wallet.
    pub user: Uuid,
    /// Amounts to add. Negative amounts are subtracted.
    pub changes: Amounts,
    /// Metadata for the ledger: a JSON object, or empty.
    pub metadata: String,
}

/// Result of a wallet update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletUpdated {
    /// Owner of the wallet.
    pub user: Uuid,
    /// Amounts before the update.
    pub previous: Amounts,
    /// Amounts after the update.
    pub updated: Amounts,
}

/// Entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Id of the entry.
    pub id: Uuid,
    /// Owner of the wallet.
    pub user: Uuid,
    /// Amounts that were added.
    pub changes: Amounts,
    /// Metadata: a JSON object.
    pub metadata: String,
    /// Time of the change, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last change of the metadata, in milliseconds since 1970.
    pub updated_at: i64,
}

/// Page of the ledger, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerPage {
    /// Entries.
    pub entries: Vec<LedgerEntry>,
    /// Cursor of the next page. Empty on the last page.
    pub cursor: String,
}

/// Position of the last entry of a page.
#[derive(Serialize, Deserialize)]
struct PageCursor {
    created_at: i64,
    id: Uuid,
}

/// Changes wallets inside a transaction, and records the changes.
pub(crate) struct Ledger {
    entries: Arc<Mutex<ContextV7>>,
    /// True if changes are recorded.
    pub is_recorded: bool,
    pub now: i64,
}

impl Wallets {
    /// Creates the service over a store.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>) -> Wallets {
        Wallets { store, clock, entries: Arc::new(Mutex::new(ContextV7::new())) }
    }

    /// Returns the amounts in a user's wallet.
    pub async fn amounts(&self, user: Uuid) -> Result<Amounts, ServiceError> {
        let select = "SELECT wallet FROM users WHERE id = ?1";
        let select = Statements::reading(select, values![user]);
        let found = self.store.run(select, |answers| answers.row(0, |row| row.get::<String>(0))).await?;
        parse(&found.ok_or(NO_USER)?)
    }

    /// Changes wallets, all or none. Several updates of the same user are applied in order. Results are in the order of
    /// the updates. With `ledger`, each update is recorded.
    pub async fn update(&self, updates: Vec<WalletUpdate>, ledger: bool) -> Result<Vec<WalletUpdated>, ServiceError> {
        check_count(updates.len())?;
        let updates = updates.into_iter().map(WalletUpdate::check).collect::<Result<Vec<_>, _>>()?;
        if updates.is_empty() {
            return Ok(Vec::new());
        }
        let ledger = self.ledger(ledger);
        let mut order: Vec<usize> = (0..updates.len()).collect();
        order.sort_by_key(|&index| updates[index].user);
        self.store
            .write(move |transaction| {
                let mut done: Vec<Option<WalletUpdated>> = vec![None; updates.len()];
                for of_user in order.chunk_by(|&one, &other| updates[one].user == updates[other].user) {
                    let of_user_updates: Vec<&WalletUpdate> = of_user.iter().map(|&index| &updates[index]).collect();
                    let updated = ledger.apply(transaction, &of_user_updates)?;
                    of_user.iter().zip(updated).for_each(|(&index, updated)| done[index] = Some(updated));
                }
                Ok(done.into_iter().flatten().collect())
            })
            .await
    }

    /// Lists a user's ledger, newest first.
    pub async fn list_ledger(&self, user: Uuid, limit: i32, cursor: &str) -> Result<LedgerPage, ServiceError> {
        if !(1..=LEDGER_LIST_MAX).contains(&limit) {
            return Err(ServiceError::invalid(format!("Limit must be between 1 and {LEDGER_LIST_MAX}.")));
        }
        let after = cursor::decode(cursor)?.unwrap_or(PageCursor { created_at: i64::MAX, id: Uuid::max() });
        // One entry more than the limit tells if there is another page.
        let list = Statements::reading(LIST, values![user, after.created_at, after.id, limit + 1]);
        let mut found = self.store.run(list, |answers| answers.rows(0, Stored::from_row)).await?;
        let shown = usize::try_from(limit).unwrap_or(0);
        let has_more = found.len() > shown;
        found.truncate(shown);
        let entries = found.into_iter().map(Stored::entry).collect::<Result<Vec<_>, _>>()?;
        let last = entries.last().filter(|_| has_more);
        let cursor = last.map(|last| cursor::encode(&PageCursor { created_at: last.created_at, id: last.id }));
        Ok(LedgerPage { entries, cursor: cursor.unwrap_or_default() })
    }

    /// Replaces the metadata of a ledger entry.
    pub async fn annotate(&self, entry: Uuid, metadata: &str) -> Result<LedgerEntry, ServiceError> {
        let metadata = checked_metadata(metadata)?;
        let now = self.clock.now_ms();
        let annotate = Statements::writing(ANNOTATE, values![entry, &metadata, now]);
        let updated = self.store.run(annotate, |answers| answers.row(0, Stored::from_row)).await?;
        updated.ok_or(ServiceError::new(GrpcCode::NotFound, "Ledger entry not found."))?.entry()
    }

    pub(crate) fn ledger(&self, is_recorded: bool) -> Ledger {
        Ledger { entries: Arc::clone(&self.entries), is_recorded, now: self.clock.now_ms() }
    }
}

impl WalletUpdate {
    /// Validates the update and fills in missing metadata.
    pub(crate) fn check(mut self) -> Result<WalletUpdate, ServiceError> {
        if self.changes.len() > NAMES_MAX {
            return Err(ServiceError::invalid(format!("A wallet has at most {NAMES_MAX} names.")));
        }
        for name in self.changes.keys() {
            if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('\0') {
                return Err(ServiceError::invalid(format!(
                    "A name in a wallet must have 1 to {NAME_BYTES_MAX} bytes and no U+0000."
                )));
            }
        }
        self.metadata = checked_metadata(&self.metadata)?;
        Ok(self)
    }
}

impl Ledger {
    /// Changes the wallet of one user, who is locked until the end of the transaction.
    ///
    /// A caller that changes several users goes in the order of their ids, so that transactions cannot deadlock.
    pub(crate) fn apply(
        &self,
        transaction: &mut Transaction<'_>,
        updates: &[&WalletUpdate],
    ) -> Result<Vec<WalletUpdated>, ServiceError> {
        let Some(user) = updates.first().map(|update| update.user) else { return Ok(Vec::new()) };
        let select = format!("SELECT wallet FROM users WHERE id = ?1{}", transaction.for_update());
        let found = transaction.row(&select, values![user], |row| row.get::<String>(0))?;
        let mut amounts = parse(&found.ok_or(NO_USER)?)?;
        let mut done = Vec::with_capacity(updates.len());
        for update in updates {
            let previous = amounts.clone();
            add(&mut amounts, &update.changes)?;
            done.push(WalletUpdated { user, previous, updated: amounts.clone() });
        }
        let mut statements = Statements::writing(UPDATE, values![user, &text(&amounts), self.now]);
        for update in updates.iter().filter(|_| self.is_recorded) {
            let changes = text(&update.changes);
            statements = statements.and(INSERT, values![self.id(), user, &changes, &update.metadata, self.now]);
        }
        transaction.answers(&statements)?;
        Ok(done)
    }

    /// Returns an id that is greater than all earlier ones.
    fn id(&self) -> Uuid {
        id_within(&*self.entries, self.now)
    }
}

/// Ledger entry as stored in the database.
struct Stored {
    entry: LedgerEntry,
    changes: String,
}

impl Stored {
    fn from_row(row: &SqlRow<'_>) -> Result<Stored, StoreError> {
        let entry = LedgerEntry {
            id: row.get(0)?,
            user: row.get(1)?,
            changes: Amounts::new(),
            metadata: row.get(3)?,
            created_at: row.get(4)?,
            updated_at: row.get(5)?,
        };
        Ok(Stored { entry, changes: row.get(2)? })
    }

    fn entry(self) -> Result<LedgerEntry, ServiceError> {
        Ok(LedgerEntry { changes: parse(&self.changes)?, ..self.entry })
    }
}

/// Adds changes, unless an amount becomes negative or exceeds 64 bits.
fn add(amounts: &mut Amounts, changes: &Amounts) -> Result<(), ServiceError> {
    for (name, change) in changes {
        let before = amounts.get(name).copied().unwrap_or(0);
        let after = before.checked_add(*change);
        let message = match after {
            Some(after) if after >= 0 => {
                amounts.insert(name.clone(), after);
                continue;
            }
            Some(_) => format!("wallet update rejected negative value at path '{name}'"),
            None if *change < 0 => format!("wallet update rejected negative value at path '{name}'"),
            None => format!("wallet update rejected value beyond 64 bits at path '{name}'"),
        };
        return Err(ServiceError::with(GrpcCode::FailedPrecondition, message));
    }
    match amounts.len() <= NAMES_MAX {
        true => Ok(()),
        false => {
            Err(ServiceError::with(GrpcCode::FailedPrecondition, format!("A wallet has at most {NAMES_MAX} names.")))
        }
    }
}

/// Rejects too many updates in one call.
pub(crate) fn check_count(count: usize) -> Result<(), ServiceError> {
    match count <= UPDATES_MAX {
        true => Ok(()),
        false => Err(ServiceError::invalid(format!("At most {UPDATES_MAX} wallets may be changed at once."))),
    }
}

fn checked_metadata(metadata: &str) -> Result<String, ServiceError> {
    let metadata = if metadata.is_empty() { "{}" } else { metadata };
    json::check_object("Metadata", metadata, METADATA_BYTES_MAX)?;
    Ok(metadata.to_owned())
}

fn text(amounts: &Amounts) -> String {
    serde_json::to_string(amounts).expect("names and numbers are plain values")
}

fn parse(text: &str) -> Result<Amounts, ServiceError> {
    serde_json::from_str(text).map_err(|why| {
        // Only a change to the database outside the server can cause this.
        error!(%why, "stored wallet is not a map of integers");
        INTERNAL
    })
}

const UPDATE: &str = "UPDATE users SET wallet = ?2, updated_at = ?3 WHERE id = ?1";

const INSERT: &str = "INSERT INTO wallet_ledger (id, user_id, changeset, metadata, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?5)";

const LIST: &str = "SELECT id, user_id, changeset, metadata, created_at, updated_at FROM wallet_ledger
    WHERE user_id = ?1 AND (created_at, id) < (?2, ?3) ORDER BY created_at DESC, id DESC LIMIT ?4";

const ANNOTATE: &str = "UPDATE wallet_ledger SET metadata = ?2, updated_at = ?3 WHERE id = ?1
    RETURNING id, user_id, changeset, metadata, created_at, updated_at";
