//! Writes for a user while the account is being erased: in any order, nothing of the user is left behind.

use super::fixture::{Fixture, NOW};
use aether_ranks::{RankOrder, Score};
use aether_services::leaderboard::{Definition, Leaderboards, Operator, RecordWrite};
use aether_services::purchase::{PurchaseProvider, Purchases, Receipt, Shop, ValidateFuture, ValidatedPurchase};
use aether_services::session::keys::KeyRing;
use aether_services::session::tokens::Tokens;
use aether_services::session::{self, NewSession, Sessions, TokenPair};
use aether_services::storage::{Condition, ObjectId, Storage, Write};
use aether_services::wallet::{WalletUpdate, Wallets};
use aether_services::{Caller, ServiceError};
use aether_store::{StoreError, Transaction, values};
use aether_testkit_store::{TestDatabase, databases, postgres};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use uuid::Uuid;

/// Time limit for expected events.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// Time limit for a write that waits for its turn, and so neither ends nor waits for the database.
const TURN: Duration = Duration::from_millis(300);

/// All services that write for users, over one store.
struct RaceFixture {
    fixture: Fixture,
    sessions: Sessions,
    storage: Storage,
    wallets: Wallets,
    purchases: Purchases,
    leaderboards: Leaderboards,
    folder: PathBuf,
}

/// Signed-in user.
#[derive(Clone)]
struct Subject {
    user: Uuid,
    pair: TokenPair,
}

type Writing = Pin<Box<dyn Future<Output = Result<(), ServiceError>> + Send>>;
type Deed = fn(Arc<RaceFixture>, Subject) -> Writing;

/// All operations that write rows of a user.
const DEEDS: [(&str, Deed); 9] = [
    ("an object", |races, subject| Box::pin(async move { races.put(subject.user, Condition::Always).await })),
    ("a new object", |races, subject| Box::pin(async move { races.put(subject.user, Condition::Absent).await })),
    ("a wallet", |races, subject| Box::pin(async move { races.pay(subject.user).await })),
    ("a purchase", |races, subject| Box::pin(async move { races.buy(subject.user).await })),
    ("a score", |races, subject| Box::pin(async move { races.score(subject.user).await })),
    ("a session's renewal", |races, Subject { pair, .. }| {
        Box::pin(async move { races.sessions.refresh(&pair.refresh, BTreeMap::new()).await.map(|_| ()) })
    }),
    ("a session's end", |races, Subject { user, pair }| {
        Box::pin(async move { races.sessions.log_out(user, &pair.access, "").await })
    }),
    ("the end of a session that is not known", |races, Subject { user, .. }| {
        Box::pin(async move { races.sessions.revoke(Uuid::new_v4(), user, "a test").await })
    }),
    ("the history", |races, _| Box::pin(async move { races.sessions.flush().await })),
];

/// Shop that confirms every receipt.
struct Market;

impl PurchaseProvider for Market {
    fn shop(&self) -> Shop {
        Shop::Apple
    }

    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>> {
        let bought = ValidatedPurchase {
            product_id: "gems".to_owned(),
            transaction_id: receipt.text.clone(),
            purchased_at: NOW,
            response: "{}".to_owned(),
            ..ValidatedPurchase::default()
        };
        Box::pin(async { Ok(vec![bought]) })
    }
}

impl RaceFixture {
    async fn over(database: TestDatabase) -> Arc<RaceFixture> {
        let fixture = Fixture::over(database, |accounts, _| accounts).await;
        let (store, clock) = (fixture.store.clone(), fixture.clock.clone());
        let folder = std::env::temp_dir().join(format!("aether-races-{}", Uuid::new_v4()));
        let ring = KeyRing::open(&folder, (NOW / 1_000) as u64).expect("the folder can be made");
        let settings = session::Settings {
            access_seconds: 900,
            refresh_seconds: 604_800,
            refresh_again_seconds: 10,
            single: false,
        };
        let tokens = Arc::new(Tokens::new(ring, "aether"));
        let sessions = Sessions::open(store.clone(), tokens, clock.clone(), settings).await.expect("tables are there");
        let leaderboards = Leaderboards::open(store.clone(), clock.clone()).await.expect("tables are there");
        let board = Definition {
            id: "board".to_owned(),
            authoritative: false,
            order: RankOrder::Descending,
            operator: Operator::Best,
            reset_schedule: String::new(),
            metadata: "{}".to_owned(),
            tournament: None,
        };
        leaderboards.create(board).await.expect("it is new");
        Arc::new(RaceFixture {
            sessions,
            storage: Storage::new(store.clone(), clock.clone()),
            wallets: Wallets::new(store.clone(), clock.clone()),
            purchases: Purchases::new(store, clock).with_provider(Market),
            leaderboards,
            fixture,
            folder,
        })
    }

    async fn subject(&self, number: usize) -> Subject {
        let user = self.fixture.user(&format!("device-of-{number:06}")).await;
        let beginning =
            NewSession { user, username: "someone", variables: BTreeMap::new(), address: None, method: "device" };
        Subject { user, pair: self.sessions.start(beginning).await.expect("it starts") }
    }

    async fn put(&self, user: Uuid, condition: Condition) -> Result<(), ServiceError> {
        let id = ObjectId { collection: "saves".to_owned(), owner: user, key: "one".to_owned() };
        self.storage.write(&Caller::Server, vec![Write::new(id, "{}").when(condition)]).await.map(|_| ())
    }

    async fn pay(&self, user: Uuid) -> Result<(), ServiceError> {
        let update =
            WalletUpdate { user, changes: BTreeMap::from([("gold".to_owned(), 5)]), metadata: "{}".to_owned() };
        self.wallets.update(vec![update], true).await.map(|_| ())
    }

    async fn buy(&self, user: Uuid) -> Result<(), ServiceError> {
        let receipt = Receipt { text: Uuid::new_v4().to_string(), signature: String::new() };
        self.purchases.validate(user, Shop::Apple, receipt, true).await.map(|_| ())
    }

    async fn score(&self, user: Uuid) -> Result<(), ServiceError> {
        let write = RecordWrite {
            owner: user,
            username: String::new(),
            score: Score { score: 7, subscore: 0 },
            operator: None,
            metadata: None,
        };
        self.leaderboards.write(&Caller::Server, "board", write).await.map(|_| ())
    }

    /// Locks the last row that an erasure changes before the account itself, until the sender is dropped.
    async fn lock_row(&self, user: Uuid) -> (mpsc::Sender<()>, JoinHandle<()>) {
        let (release, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        let (locked, is_locked) = tokio::sync::oneshot::channel();
        let locked = Mutex::new(Some(locked));
        let insert = "INSERT INTO subscriptions (store, original_transaction_id, user_id, product_id, environment,
                purchased_at, expires_at, response, created_at, updated_at)
            VALUES (1, ?2, ?1, 'season', 1, 0, 0, '{}', 0, 0)";
        let subscribe = move |transaction: &mut Transaction<'_>| {
            transaction.execute(insert, values![user, &user.to_string()]).map(|_| ())
        };
        self.fixture.store.write::<_, StoreError>(subscribe).await.expect("it is new");
        let store = self.fixture.store.clone();
        let holding = tokio::spawn(async move {
            let operation = move |transaction: &mut Transaction<'_>| {
                let select = "SELECT user_id FROM subscriptions WHERE user_id = ?1 FOR UPDATE";
                transaction.row(select, values![user], |_| Ok(()))?;
                if let Some(locked) = locked.lock().expect("nobody panics with it").take() {
                    locked.send(()).expect("the test waits for it");
                }
                let _ = released.lock().expect("nobody panics with it").recv_timeout(WAIT_MAX);
                Ok::<_, StoreError>(())
            };
            store.write(operation).await.expect("the row can be locked");
        });
        is_locked.await.expect("the row is there");
        (release, holding)
    }

    /// Returns the number of transactions that wait for another.
    async fn waiting(&self) -> i64 {
        let count = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let read = move |transaction: &mut Transaction<'_>| transaction.row(count, &[], |row| row.get::<i64>(0));
        self.fixture.store.read::<_, StoreError>(read).await.expect("the database tells it").expect("a count is a row")
    }
}

impl Drop for RaceFixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn erased() -> BTreeSet<String> {
    BTreeSet::from(["erasures".to_owned()])
}

#[tokio::test]
async fn every_operation_writes_for_an_existing_user() {
    for database in databases() {
        let races = RaceFixture::over(database).await;
        for (number, (name, deed)) in DEEDS.into_iter().enumerate() {
            let subject = races.subject(number).await;
            let (user, before) = (subject.user, races.fixture.found(subject.user).await);
            deed(Arc::clone(&races), subject).await.expect(name);
            let after = races.fixture.found(user).await;
            assert!(after.len() > before.len(), "{}: {name}: {after:?}", races.fixture.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_in_the_middle_of_an_erasure_leave_nothing_behind() {
    // With one writer, nothing can run in the middle.
    let Some(database) = postgres() else { return };
    let races = RaceFixture::over(database).await;
    let mut left_behind = Vec::new();
    for (number, (name, deed)) in DEEDS.into_iter().enumerate() {
        let subject = races.subject(number).await;
        let user = subject.user;
        let (release, holding) = races.lock_row(user).await;
        let accounts = Arc::clone(&races.fixture.accounts);
        let erasing = tokio::spawn(async move { accounts.delete(user).await });
        let began = Instant::now();
        while races.waiting().await < 1 {
            assert!(began.elapsed() < WAIT_MAX, "{name}: the erasure waits for the row that is locked");
        }
        // The rows are deleted, and the account is next.
        let writing = tokio::spawn(deed(Arc::clone(&races), subject));
        let began = Instant::now();
        while !writing.is_finished() && races.waiting().await < 2 && began.elapsed() < TURN {}
        drop(release);
        holding.await.expect("it does not panic");
        erasing.await.expect("it does not panic").expect(name);
        // The outcome of the write does not matter.
        let _ = writing.await.expect("it does not panic");
        let found = races.fixture.found(user).await;
        if found != erased() {
            left_behind.push((name, found));
        }
    }
    assert_eq!(left_behind, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_concurrent_with_an_erasure_leave_nothing_behind() {
    for database in databases() {
        let races = RaceFixture::over(database).await;
        for (number, (name, deed)) in DEEDS.into_iter().cycle().take(DEEDS.len() * 5).enumerate() {
            let subject = races.subject(number).await;
            let user = subject.user;
            let (erased_one, _) = tokio::join!(races.fixture.accounts.delete(user), deed(Arc::clone(&races), subject));
            erased_one.expect(name);
            assert_eq!(races.fixture.found(user).await, erased(), "{}: {name}", races.fixture.name);
        }
    }
}

#[tokio::test]
async fn writes_after_an_erasure_leave_nothing_behind() {
    for database in databases() {
        let races = RaceFixture::over(database).await;
        for (number, (name, deed)) in DEEDS.into_iter().enumerate() {
            let subject = races.subject(number).await;
            let user = subject.user;
            races.fixture.accounts.delete(user).await.expect(name);
            let _ = deed(Arc::clone(&races), subject).await;
            assert_eq!(races.fixture.found(user).await, erased(), "{}: {name}", races.fixture.name);
        }
    }
}
