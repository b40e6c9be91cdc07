//! Atomic changes to accounts, wallets and stored objects of any number of users.
//!
//! For server code: permissions are not checked.

use crate::account::{self, Update};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::storage::{self, Ack, Author, Change, Delete, ObjectId, StorageIndexes, Write};
use crate::wallet::{self, Ledger, WalletUpdate, WalletUpdated, Wallets};
use aether_store::{Dialect, Store, Transaction, values};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// Maximum number of accounts in one update. Each is locked until the end of the transaction.
pub const ACCOUNTS_MAX: usize = 128;

/// Applies changes of several kinds in one transaction.
#[derive(Clone)]
pub struct MultiUpdates {
    store: Store,
    clock: Arc<dyn WallClock>,
    wallets: Wallets,
    indexes: Arc<StorageIndexes>,
}

/// Changes to apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Account updates by user. Several updates of the same user are applied in order.
    pub accounts: Vec<(Uuid, Update)>,
    /// Objects to write.
    pub writes: Vec<Write>,
    /// Objects to delete, after the writes.
    pub deletes: Vec<Delete>,
    /// Wallet updates. Several updates of the same user are applied in order.
    pub wallets: Vec<WalletUpdate>,
    /// True if wallet changes are recorded in the ledger.
    pub ledger: bool,
}

/// Result of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Acknowledgements of the writes, in order.
    pub acks: Vec<Ack>,
    /// Results of the wallet updates, in order.
    pub wallets: Vec<WalletUpdated>,
}

/// Changes that passed all checks that need no database.
struct Checked {
    accounts: Vec<(Uuid, Update)>,
    wallets: Vec<WalletUpdate>,
    objects: Vec<Change>,
    /// Indexes of each user's account and wallet updates, in the order in which users are locked.
    users: BTreeMap<Uuid, UserUpdates>,
}

#[derive(Default)]
struct UserUpdates {
    accounts: Vec<usize>,
    wallets: Vec<usize>,
}

impl MultiUpdates {
    /// Creates the service over a store, with the wallets that own the ledger.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>, wallets: Wallets) -> MultiUpdates {
        MultiUpdates { store, clock, wallets, indexes: Arc::default() }
    }

    /// Sets the storage indexes, which follow the changes of objects.
    #[must_use]
    pub fn with_indexes(mut self, indexes: Arc<StorageIndexes>) -> MultiUpdates {
        self.indexes = indexes;
        self
    }

    /// Applies all changes, or none if any of them is rejected.
    pub async fn apply(&self, changes: Changes) -> Result<Changed, ServiceError> {
        let ledger = self.wallets.ledger(changes.ledger);
        let now = self.clock.now_ms();
        let checked = changes.check()?;
        let covered = checked.objects.iter().map(Change::id).filter(|id| self.indexes.covers(id));
        let covered: Vec<ObjectId> = covered.cloned().collect();
        let (indexes, is_covered) = (Arc::clone(&self.indexes), !covered.is_empty());
        if is_covered {
            indexes.check_certain()?;
        }
        let outcome = self.store.write(move |transaction| {
            // Every transaction locks users before objects, each in order, so that transactions cannot deadlock.
            let wallets = checked.apply_to_users(transaction, &ledger, now)?;
            let acks = storage::apply(transaction, Author::default(), &checked.objects, now)?;
            if !covered.is_empty() {
                let pending = indexes.pending(covered.clone());
                // They become uncertain, with or without a commit, and are read again.
                transaction.after_commit(move || drop(pending));
            }
            Ok(Changed { acks, wallets })
        });
        let changed = outcome.await.map_err(account::name_taken)?;
        if is_covered && let Err(error) = self.indexes.settle(&self.store).await {
            tracing::warn!(%error, "storage index waits for the database");
        }
        Ok(changed)
    }
}

impl Changes {
    fn check(self) -> Result<Checked, ServiceError> {
        if self.accounts.len() > ACCOUNTS_MAX {
            return Err(ServiceError::invalid(format!("At most {ACCOUNTS_MAX} accounts may be changed at once.")));
        }
        wallet::check_count(self.wallets.len())?;
        storage::check_count(self.writes.len() + self.deletes.len())?;
        self.accounts.iter().try_for_each(|(_, update)| update.check())?;
        let wallets = self.wallets.into_iter().map(WalletUpdate::check).collect::<Result<Vec<_>, _>>()?;
        let writes = self.writes.into_iter().map(|write| Ok(Change::Write(write.check()?)));
        let deletes = self.deletes.into_iter().map(|delete| Ok(Change::Delete(delete.check()?)));
        let objects = writes.chain(deletes).collect::<Result<Vec<_>, ServiceError>>()?;
        let mut users: BTreeMap<Uuid, UserUpdates> = BTreeMap::new();
        for (index, (user, _)) in self.accounts.iter().enumerate() {
            users.entry(*user).or_default().accounts.push(index);
        }
        for (index, update) in wallets.iter().enumerate() {
            users.entry(update.user).or_default().wallets.push(index);
        }
        // Writes of objects lock the rows of their owners, which must be in the same order.
        for owner in objects.iter().map(|change| change.id().owner).filter(|owner| !owner.is_nil()) {
            users.entry(owner).or_default();
        }
        Ok(Checked { accounts: self.accounts, wallets, objects, users })
    }
}

impl Checked {
    fn apply_to_users(
        &self,
        transaction: &mut Transaction<'_>,
        ledger: &Ledger,
        now: i64,
    ) -> Result<Vec<WalletUpdated>, ServiceError> {
        let mut done: Vec<Option<WalletUpdated>> = vec![None; self.wallets.len()];
        for (user, indexes) in &self.users {
            if indexes.accounts.is_empty() && indexes.wallets.is_empty() {
                lock_owner(transaction, *user)?;
            }
            for &index in &indexes.accounts {
                account::apply(transaction, *user, &self.accounts[index].1, now)?;
            }
            let updates: Vec<&WalletUpdate> = indexes.wallets.iter().map(|&index| &self.wallets[index]).collect();
            let updated = ledger.apply(transaction, &updates)?;
            indexes.wallets.iter().zip(updated).for_each(|(&index, updated)| done[index] = Some(updated));
        }
        Ok(done.into_iter().flatten().collect())
    }
}

/// Locks the row of an owner of objects until the end of the transaction. SQLite has one writer and needs no lock.
fn lock_owner(transaction: &mut Transaction<'_>, owner: Uuid) -> Result<(), ServiceError> {
    if transaction.dialect() == Dialect::Postgres {
        let lock = "SELECT 1 FROM users WHERE id = ?1 FOR NO KEY UPDATE";
        transaction.row(lock, values![owner], |_| Ok(()))?;
    }
    Ok(())
}
