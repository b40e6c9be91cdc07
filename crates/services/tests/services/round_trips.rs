//! Round trips to PostgreSQL of each operation. A player waits for every one of them.

use crate::fixture::START_MS;
use crate::objects::{by, id, write};
use aether_metrics::Registry;
use aether_services::account::{Accounts, Settings, SignIn, SignInMethod, Update};
use aether_services::clock::{ManualClock, WallClock};
use aether_services::leaderboard::{Definition, Leaderboards, Operator, RankOrder, RecordQuery, RecordWrite, Score};
use aether_services::profile::Profiles;
use aether_services::session::keys::KeyRing;
use aether_services::session::tokens::Tokens;
use aether_services::session::{self, NewSession, Sessions};
use aether_services::storage::{Delete, Quota, Storage};
use aether_services::wallet::{WalletUpdate, Wallets};
use std::collections::BTreeMap;
use std::sync::Arc;
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

#[tokio::test(flavor = "multi_thread")]
async fn operations_of_players_need_one_round_trip() {
    let Some(database) = aether_testkit_store::postgres() else { return };
    let registry = Registry::new();
    let store = database.open_with(&registry).await;
    let clock: Arc<dyn WallClock> = Arc::new(ManualClock::at(START_MS));
    let folder = std::env::temp_dir().join(format!("aether-round-trips-{}", Uuid::new_v4()));
    let tokens = Arc::new(Tokens::new(KeyRing::open(&folder, (START_MS / 1_000) as u64).expect("a folder"), "aether"));
    let settings =
        session::Settings { access_seconds: 900, refresh_seconds: 9_000, refresh_again_seconds: 10, single: false };
    let sessions = Sessions::open(store.clone(), tokens, Arc::clone(&clock), settings).await.expect("sessions");
    let accounts =
        Accounts::new(store.clone(), Arc::clone(&clock), Arc::clone(sessions.revocations()), Settings::default());
    let quota = Quota { objects_max: Some(10_000), bytes_max: Some(1 << 26) };
    let storage = Storage::new(store.clone(), Arc::clone(&clock)).with_quota(quota);
    let wallets = Wallets::new(store.clone(), Arc::clone(&clock));
    let profiles = Profiles::new(store.clone(), Arc::clone(&clock));
    let boards = Leaderboards::open(store.clone(), Arc::clone(&clock)).await.expect("boards");
    let board = Definition {
        id: "board".to_owned(),
        authoritative: false,
        order: RankOrder::Descending,
        operator: Operator::Best,
        reset_schedule: String::new(),
        metadata: "{}".to_owned(),
    };
    boards.create(board).await.expect("a board");

    let device = |number: usize| SignInMethod::Device(format!("device-{number:010}"));
    let custom = |number: usize| SignInMethod::Custom(format!("custom-{number:010}"));
    let user = accounts.authenticate(sign_in(device(1_000))).await.expect("an account").user;
    accounts.authenticate(sign_in(custom(1_000))).await.expect("an account");
    let mut seen = BTreeMap::new();
    macro_rules! count {
        ($name:literal, |$number:ident| $operation:expr) => {
            let counted = fewest(&registry, async |$number| {
                let _ = $operation.await.expect($name);
            })
            .await;
            seen.insert($name, counted);
        };
    }
    count!("sign in by device", |_number| accounts.authenticate(sign_in(device(1_000))));
    count!("sign in by custom id", |_number| accounts.authenticate(sign_in(custom(1_000))));
    count!("new account by device", |number| accounts.authenticate(sign_in(device(number))));
    count!("new account by custom id", |number| accounts.authenticate(sign_in(custom(number))));
    count!("account", |_number| accounts.account(user));
    count!("update of an account", |_number| accounts.update(user, Update::default()));
    let first = |number: usize| format!("slot-{}", number % 2);
    count!("storage write", |number| storage.write(&by(user), vec![write("saves", &first(number), user, "{}")]));
    count!("storage write of three", |number| storage
        .write(&by(user), ["a", "b", "c"].map(|key| write("saves", &format!("{key}{number}"), user, "{}")).to_vec()));
    count!("storage read", |number| storage.read(&by(user), vec![id("saves", &first(number), user)]));
    count!("storage list", |_number| storage.list(&by(user), "saves", Some(user), 10, ""));
    count!("storage delete", |number| storage
        .delete(&by(user), vec![Delete::new(id("saves", &format!("a{number}"), user))]));
    let score = |number: usize| RecordWrite {
        owner: user,
        username: "name".to_owned(),
        score: Score { score: number as i64, subscore: 0 },
        operator: None,
        metadata: None,
    };
    count!("leaderboard write", |number| boards.write(&by(user), "board", score(number + 1)));
    count!("leaderboard list", |_number| boards.records("board", &[], &RecordQuery::default()));
    count!("wallet", |_number| wallets.amounts(user));
    let gold = || WalletUpdate { user, changes: BTreeMap::from([("gold".to_owned(), 1)]), metadata: String::new() };
    count!("wallet update", |_number| wallets.update(vec![gold()], true));
    profiles.list(user).await.expect("profiles");
    count!("profiles", |_number| profiles.list(user));
    let variables = BTreeMap::new();
    let new_session = NewSession { user, username: "name", variables, address: None, method: "device" };
    let pair = std::sync::Mutex::new(sessions.start(new_session).await.expect("a session"));
    count!("session refresh", |_number| async {
        let token = pair.lock().expect("no panic").refresh.clone();
        let renewed = sessions.refresh(&token, BTreeMap::new()).await?;
        *pair.lock().expect("no panic") = renewed;
        Ok::<_, aether_services::ServiceError>(())
    });
    let _ = std::fs::remove_dir_all(&folder);

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
