//! Accounts, wallets and stored objects of any number of users, changed together or not at all.
//!
//! This is for the server's own code: nothing is asked for permission.

use crate::account::{self, Update};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::storage::{self, Ack, Author, Change, Delete, Write};
use crate::wallet::{self, Ledger, WalletUpdate, WalletUpdated, Wallets};
use aether_store::{Store, Transaction};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// Accounts that are changed at once. Each is locked until the end of the transaction.
pub const ACCOUNTS_MAX: usize = 128;

/// Does changes of several kinds in one transaction.
#[derive(Clone)]
pub struct MultiUpdates {
    store: Store,
    clock: Arc<dyn WallClock>,
    wallets: Wallets,
}

/// What is to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Accounts, by user. Several of the same user are made in their order.
    pub accounts: Vec<(Uuid, Update)>,
    /// Objects that are written.
    pub writes: Vec<Write>,
    /// Objects that are removed, after the writes.
    pub deletes: Vec<Delete>,
    /// Wallets. Several changes of the same user are made in their order.
    pub wallets: Vec<WalletUpdate>,
    /// Whether changes of wallets are entered in the ledger.
    pub ledger: bool,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Of the writes, in their order.
    pub acks: Vec<Ack>,
    /// Of the wallets, in the order of the updates.
    pub wallets: Vec<WalletUpdated>,
}

/// Changes that were checked as far as that goes without the database.
struct Checked {
    accounts: Vec<(Uuid, Update)>,
    wallets: Vec<WalletUpdate>,
    objects: Vec<Change>,
    /// Which of the accounts and of the wallets belong to each user, in the order in which users are locked.
    users: BTreeMap<Uuid, Places>,
}

#[derive(Default)]
struct Places {
    accounts: Vec<usize>,
    wallets: Vec<usize>,
}

impl MultiUpdates {
    /// Over a store, with the wallets that keep its ledger.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>, wallets: Wallets) -> MultiUpdates {
        MultiUpdates { store, clock, wallets }
    }

    /// Does all of it or, if anything is refused, nothing.
    pub async fn apply(&self, changes: Changes) -> Result<Changed, ServiceError> {
        let ledger = self.wallets.ledger(changes.ledger);
        let now = self.clock.now_ms();
        let checked = changes.check()?;
        let outcome = self.store.write(move |transaction| {
            // Users before objects, each in order: so every transaction locks, and no two wait for each other.
            let wallets = checked.apply_to_users(transaction, &ledger, now)?;
            let acks = storage::apply(transaction, Author::default(), &checked.objects, now)?;
            Ok(Changed { acks, wallets })
        });
        outcome.await.map_err(account::name_taken)
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
        let mut users: BTreeMap<Uuid, Places> = BTreeMap::new();
        for (place, (user, _)) in self.accounts.iter().enumerate() {
            users.entry(*user).or_default().accounts.push(place);
        }
        for (place, update) in wallets.iter().enumerate() {
            users.entry(update.user).or_default().wallets.push(place);
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
        for (user, places) in &self.users {
            for &place in &places.accounts {
                account::apply(transaction, *user, &self.accounts[place].1, now)?;
            }
            let updates: Vec<&WalletUpdate> = places.wallets.iter().map(|&place| &self.wallets[place]).collect();
            let updated = ledger.apply(transaction, &updates)?;
            places.wallets.iter().zip(updated).for_each(|(&place, updated)| done[place] = Some(updated));
        }
        Ok(done.into_iter().flatten().collect())
    }
}
