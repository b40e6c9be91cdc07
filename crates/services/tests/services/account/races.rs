//! Writes for a user while the account is being erased: whichever comes first, nothing of the user is left behind.

use super::world::{NOW, World};
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

/// How long the test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a write may take that neither ends nor waits for the database: one that waits for its turn.
const TURN: Duration = Duration::from_millis(300);

/// All that writes for users, over one store.
struct Scene {
    world: World,
    sessions: Sessions,
    storage: Storage,
    wallets: Wallets,
    purchases: Purchases,
    leaderboards: Leaderboards,
    folder: PathBuf,
}

/// A user who is signed in.
#[derive(Clone)]
struct Subject {
    user: Uuid,
    pair: TokenPair,
}

type Writing = Pin<Box<dyn Future<Output = Result<(), ServiceError>> + Send>>;
type Deed = fn(Arc<Scene>, Subject) -> Writing;

/// Everything that leaves rows of a user.
const DEEDS: [(&str, Deed); 9] = [
    ("an object", |scene, subject| Box::pin(async move { scene.put(subject.user, Condition::Always).await })),
    ("a new object", |scene, subject| Box::pin(async move { scene.put(subject.user, Condition::Absent).await })),
    ("a wallet", |scene, subject| Box::pin(async move { scene.pay(subject.user).await })),
    ("a purchase", |scene, subject| Box::pin(async move { scene.buy(subject.user).await })),
    ("a score", |scene, subject| Box::pin(async move { scene.score(subject.user).await })),
    ("a session's renewal", |scene, Subject { pair, .. }| {
        Box::pin(async move { scene.sessions.refresh(&pair.refresh, BTreeMap::new()).await.map(|_| ()) })
    }),
    ("a session's end", |scene, Subject { user, pair }| {
        Box::pin(async move { scene.sessions.log_out(user, &pair.access, "").await })
    }),
    ("the end of a session that is not known", |scene, Subject { user, .. }| {
        Box::pin(async move { scene.sessions.revoke(Uuid::new_v4(), user, "a test").await })
    }),
    ("the history", |scene, _| Box::pin(async move { scene.sessions.flush().await })),
];

/// A shop where everything was bought.
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

impl Scene {
    async fn over(database: TestDatabase) -> Arc<Scene> {
        let world = World::over(database, |accounts, _| accounts).await;
        let (store, clock) = (world.store.clone(), world.clock.clone());
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
        };
        leaderboards.create(board).await.expect("it is new");
        Arc::new(Scene {
            sessions,
            storage: Storage::new(store.clone(), clock.clone()),
            wallets: Wallets::new(store.clone(), clock.clone()),
            purchases: Purchases::new(store, clock).with_provider(Market),
            leaderboards,
            world,
            folder,
        })
    }

    async fn subject(&self, number: usize) -> Subject {
        let user = self.world.user(&format!("device-of-{number:06}")).await;
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

    /// Holds the last row that an erasure changes before the account itself goes, until the sender is dropped.
    async fn hold(&self, user: Uuid) -> (mpsc::Sender<()>, JoinHandle<()>) {
        let (release, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        let (held, is_held) = tokio::sync::oneshot::channel();
        let held = Mutex::new(Some(held));
        let insert = "INSERT INTO subscriptions (store, original_transaction_id, user_id, product_id, environment,
                purchased_at, expires_at, response, created_at, updated_at)
            VALUES (1, ?2, ?1, 'season', 1, 0, 0, '{}', 0, 0)";
        let subscribe = move |transaction: &mut Transaction<'_>| {
            transaction.execute(insert, values![user, &user.to_string()]).map(|_| ())
        };
        self.world.store.write::<_, StoreError>(subscribe).await.expect("it is new");
        let store = self.world.store.clone();
        let holding = tokio::spawn(async move {
            let operation = move |transaction: &mut Transaction<'_>| {
                let select = "SELECT user_id FROM subscriptions WHERE user_id = ?1 FOR UPDATE";
                transaction.row(select, values![user], |_| Ok(()))?;
                if let Some(held) = held.lock().expect("nobody panics with it").take() {
                    held.send(()).expect("the test waits for it");
                }
                let _ = released.lock().expect("nobody panics with it").recv_timeout(PATIENCE);
                Ok::<_, StoreError>(())
            };
            store.write(operation).await.expect("the row can be held");
        });
        is_held.await.expect("the row is there");
        (release, holding)
    }

    /// How many transactions wait for another.
    async fn waiting(&self) -> i64 {
        let count = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let read = move |transaction: &mut Transaction<'_>| transaction.row(count, &[], |row| row.get::<i64>(0));
        self.world.store.read::<_, StoreError>(read).await.expect("the database tells it").expect("a count is a row")
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn erased() -> BTreeSet<String> {
    BTreeSet::from(["erasures".to_owned()])
}

#[tokio::test]
async fn all_of_it_is_written_for_a_user_who_stays() {
    for database in databases() {
        let scene = Scene::over(database).await;
        for (number, (name, deed)) in DEEDS.into_iter().enumerate() {
            let subject = scene.subject(number).await;
            let (user, before) = (subject.user, scene.world.found(subject.user).await);
            deed(Arc::clone(&scene), subject).await.expect(name);
            let after = scene.world.found(user).await;
            assert!(after.len() > before.len(), "{}: {name}: {after:?}", scene.world.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_in_the_middle_of_an_erasure_leaves_nothing_behind() {
    // With one writer at a time nothing comes in the middle.
    let Some(database) = postgres() else { return };
    let scene = Scene::over(database).await;
    let mut left_behind = Vec::new();
    for (number, (name, deed)) in DEEDS.into_iter().enumerate() {
        let subject = scene.subject(number).await;
        let user = subject.user;
        let (release, holding) = scene.hold(user).await;
        let accounts = Arc::clone(&scene.world.accounts);
        let erasing = tokio::spawn(async move { accounts.delete(user).await });
        let began = Instant::now();
        while scene.waiting().await < 1 {
            assert!(began.elapsed() < PATIENCE, "{name}: the erasure waits for the row that is held");
        }
        // The rows are gone, and the account is about to go.
        let writing = tokio::spawn(deed(Arc::clone(&scene), subject));
        let began = Instant::now();
        while !writing.is_finished() && scene.waiting().await < 2 && began.elapsed() < TURN {}
        drop(release);
        holding.await.expect("it does not panic");
        erasing.await.expect("it does not panic").expect(name);
        // Whether it is refused or thought to be done is all the same.
        let _ = writing.await.expect("it does not panic");
        let found = scene.world.found(user).await;
        if found != erased() {
            left_behind.push((name, found));
        }
    }
    assert_eq!(left_behind, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_at_the_same_time_as_an_erasure_leaves_nothing_behind() {
    for database in databases() {
        let scene = Scene::over(database).await;
        for (number, (name, deed)) in DEEDS.into_iter().cycle().take(DEEDS.len() * 5).enumerate() {
            let subject = scene.subject(number).await;
            let user = subject.user;
            let (erased_one, _) = tokio::join!(scene.world.accounts.delete(user), deed(Arc::clone(&scene), subject));
            erased_one.expect(name);
            assert_eq!(scene.world.found(user).await, erased(), "{}: {name}", scene.world.name);
        }
    }
}

#[tokio::test]
async fn what_comes_after_an_erasure_leaves_nothing_behind() {
    for database in databases() {
        let scene = Scene::over(database).await;
        for (number, (name, deed)) in DEEDS.into_iter().enumerate() {
            let subject = scene.subject(number).await;
            let user = subject.user;
            scene.world.accounts.delete(user).await.expect(name);
            let _ = deed(Arc::clone(&scene), subject).await;
            assert_eq!(scene.world.found(user).await, erased(), "{}: {name}", scene.world.name);
        }
    }
}
