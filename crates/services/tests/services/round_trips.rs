//! Round trips to PostgreSQL of each operation. A player waits for every one of them.

use crate::fixture::START_MS;
use crate::objects::{by, id, write};
use aether_metrics::Registry;
use aether_services::ServiceError;
use aether_services::account::{Accounts, Settings, SignIn, SignInMethod, Update};
use aether_services::clock::{ManualClock, WallClock};
use aether_services::leaderboard::{Definition, Leaderboards, Operator, RankOrder, RecordQuery, RecordWrite, Score};
use aether_services::profile::Profiles;
use aether_services::session::keys::KeyRing;
use aether_services::session::tokens::Tokens;
use aether_services::session::{self, NewSession, Sessions};
use aether_services::storage::{Delete, Quota, Storage};
use aether_services::wallet::{WalletUpdate, Wallets};
use aether_testkit_store::TestDatabase;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use uuid::Uuid;

/// Number of attempts at an operation. A connection that runs it for the first time prepares its statements before.
const ATTEMPTS: usize = 12;

/// Returns the round trips and statements of an operation: the fewest of some attempts.
async fn fewest(registry: &Registry, mut operation: impl AsyncFnMut(usize)) -> (u64, u64) {
    let count = |name: &str| {
        let text = registry.render();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        value.expect("it is counted").parse::<f64>().expect("it is a number") as u64
    };
    let counts = || (count("aether_database_round_trips_total"), count("aether_database_statements_total"));
    let mut fewest = (u64::MAX, u64::MAX);
    for attempt in 0..ATTEMPTS {
        let before = counts();
        operation(attempt).await;
        let after = counts();
        fewest = fewest.min((after.0 - before.0, after.1 - before.1));
    }
    fewest
}

fn sign_in(method: SignInMethod) -> SignIn {
    SignIn { method, username: None, create: true, address: None }
}

/// Services on PostgreSQL, and the metrics of their database.
struct Counted {
    registry: Registry,
    sessions: Sessions,
    accounts: Accounts,
    storage: Storage,
    wallets: Wallets,
    profiles: Profiles,
    boards: Leaderboards,
    folder: PathBuf,
}

/// Round trips and statements by operation.
type Counts = BTreeMap<&'static str, (u64, u64)>;

/// Counts an operation.
macro_rules! count {
    ($counted:ident, $seen:ident, $name:literal, |$number:ident| $operation:expr) => {
        let fewest = fewest(&$counted.registry, async |$number| {
            let _ = $operation.await.expect($name);
        })
        .await;
        $seen.insert($name, fewest);
    };
}

impl Counted {
    async fn open(database: &TestDatabase) -> Counted {
        let registry = Registry::new();
        let store = database.open_with(&registry).await;
        let clock: Arc<dyn WallClock> = Arc::new(ManualClock::at(START_MS));
        let folder = std::env::temp_dir().join(format!("aether-round-trips-{}", Uuid::new_v4()));
        let ring = KeyRing::open(&folder, (START_MS / 1_000) as u64).expect("a folder");
        let settings =
            session::Settings { access_seconds: 900, refresh_seconds: 9_000, refresh_again_seconds: 10, single: false };
        let tokens = Arc::new(Tokens::new(ring, "aether"));
        let sessions = Sessions::open(store.clone(), tokens, Arc::clone(&clock), settings).await.expect("sessions");
        let revocations = Arc::clone(sessions.revocations());
        let quota = Quota { objects_max: Some(10_000), bytes_max: Some(1 << 26) };
        Counted {
            registry,
            accounts: Accounts::new(store.clone(), Arc::clone(&clock), revocations, Settings::default()),
            storage: Storage::new(store.clone(), Arc::clone(&clock)).with_quota(quota),
            wallets: Wallets::new(store.clone(), Arc::clone(&clock)),
            profiles: Profiles::new(store.clone(), Arc::clone(&clock)),
            boards: Leaderboards::open(store, clock).await.expect("boards"),
            sessions,
            folder,
        }
    }

    /// Counts the operations of accounts and sessions. Returns a user.
    async fn count_accounts(&self, seen: &mut Counts) -> Uuid {
        let device = |number: usize| sign_in(SignInMethod::Device(format!("device-{number:010}")));
        let custom = |number: usize| sign_in(SignInMethod::Custom(format!("custom-{number:010}")));
        let user = self.accounts.authenticate(device(1_000)).await.expect("an account").user;
        self.accounts.authenticate(custom(1_000)).await.expect("an account");
        count!(self, seen, "sign in by device", |_number| self.accounts.authenticate(device(1_000)));
        count!(self, seen, "sign in by custom id", |_number| self.accounts.authenticate(custom(1_000)));
        count!(self, seen, "new account by device", |number| self.accounts.authenticate(device(number)));
        count!(self, seen, "new account by custom id", |number| self.accounts.authenticate(custom(number)));
        count!(self, seen, "account", |_number| self.accounts.account(user));
        count!(self, seen, "update of an account", |_number| self.accounts.update(user, Update::default()));
        let variables = BTreeMap::new();
        let new_session = NewSession { user, username: "name", variables, address: None, method: "device" };
        let pair = Mutex::new(self.sessions.start(new_session).await.expect("a session"));
        count!(self, seen, "session refresh", |_number| async {
            let token = pair.lock().expect("no panic").refresh.clone();
            let renewed = self.sessions.refresh(&token, BTreeMap::new()).await?;
            *pair.lock().expect("no panic") = renewed;
            Ok::<_, ServiceError>(())
        });
        user
    }

    async fn count_storage(&self, user: Uuid, seen: &mut Counts) {
        let (storage, caller) = (&self.storage, by(user));
        let slot = |number: usize| format!("slot-{}", number % 2);
        let three =
            |number: usize| ["a", "b", "c"].map(|key| write("saves", &format!("{key}{number}"), user, "{}")).to_vec();
        let one = |number: usize| vec![write("saves", &slot(number), user, "{}")];
        count!(self, seen, "storage write", |number| storage.write(&caller, one(number)));
        count!(self, seen, "storage write of three", |number| storage.write(&caller, three(number)));
        count!(self, seen, "storage read", |number| storage.read(&caller, vec![id("saves", &slot(number), user)]));
        count!(self, seen, "storage list", |_number| storage.list(&caller, "saves", Some(user), 10, ""));
        let delete = |number: usize| vec![Delete::new(id("saves", &format!("a{number}"), user))];
        count!(self, seen, "storage delete", |number| storage.delete(&caller, delete(number)));
    }

    async fn count_others(&self, user: Uuid, seen: &mut Counts) {
        let board = Definition {
            id: "board".to_owned(),
            authoritative: false,
            order: RankOrder::Descending,
            operator: Operator::Best,
            reset_schedule: String::new(),
            metadata: "{}".to_owned(),
            tournament: None,
        };
        self.boards.create(board).await.expect("a board");
        let score = |number: usize| RecordWrite {
            owner: user,
            username: "name".to_owned(),
            score: Score { score: number as i64, subscore: 0 },
            operator: None,
            metadata: None,
        };
        count!(self, seen, "leaderboard write", |number| self.boards.write(&by(user), "board", score(number + 1)));
        count!(self, seen, "leaderboard list", |_number| self.boards.records("board", &[], &RecordQuery::default()));
        count!(self, seen, "wallet", |_number| self.wallets.amounts(user));
        let gold = || WalletUpdate { user, changes: BTreeMap::from([("gold".to_owned(), 1)]), metadata: String::new() };
        count!(self, seen, "wallet update", |_number| self.wallets.update(vec![gold()], true));
        self.profiles.list(user).await.expect("profiles");
        count!(self, seen, "profiles", |_number| self.profiles.list(user));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_of_players_need_one_round_trip() {
    let Some(database) = aether_testkit_store::postgres() else { return };
    let counted = Counted::open(&database).await;
    let mut seen = Counts::new();
    let user = counted.count_accounts(&mut seen).await;
    counted.count_storage(user, &mut seen).await;
    counted.count_others(user, &mut seen).await;
    let _ = std::fs::remove_dir_all(&counted.folder);

    let expected = BTreeMap::from([
        ("account", (1, 1)),
        ("leaderboard list", (1, 1)),
        ("leaderboard write", (1, 1)),
        // The account is looked for before. A device is a second row, so there are a begin and a commit.
        ("new account by custom id", (2, 2)),
        ("new account by device", (2, 5)),
        ("profiles", (1, 1)),
        ("session refresh", (1, 1)),
        ("sign in by custom id", (1, 1)),
        ("sign in by device", (1, 1)),
        ("storage delete", (1, 1)),
        ("storage list", (1, 1)),
        ("storage read", (1, 1)),
        ("storage write", (1, 1)),
        // With a begin, the check of the quota, and a commit.
        ("storage write of three", (3, 6)),
        ("update of an account", (1, 1)),
        ("wallet", (1, 1)),
        // The amounts are added up by the server.
        ("wallet update", (3, 5)),
    ]);
    assert_eq!(seen, expected, "round trips and statements of each operation");
}
