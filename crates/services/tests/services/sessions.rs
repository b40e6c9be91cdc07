//! Sessions: start, renewal, theft, and the end.

use aether_metrics::Registry;
use aether_services::GrpcCode;
use aether_services::clock::{ManualClock, WallClock};
use aether_services::session::keys::KeyRing;
use aether_services::session::tokens::{Claims, Role, Tokens};
use aether_services::session::{NewSession, SessionState, Sessions, Settings, TokenPair};
use aether_store::{Database, Store, StoreError, values};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use uuid::Uuid;

const NOW: i64 = 1_800_000_000_000;
const SETTINGS: Settings =
    Settings { access_seconds: 900, refresh_seconds: 604_800, refresh_again_seconds: 10, single: false };

struct World {
    store: Store,
    clock: Arc<ManualClock>,
    tokens: Arc<Tokens>,
    sessions: Sessions,
    folder: PathBuf,
}

impl World {
    async fn new(settings: Settings) -> World {
        let database = aether_store::StoreSettings::new(Database::Memory);
        let store = Store::open(&database, &Registry::new()).await.expect("memory is always there");
        World::over(store, settings).await
    }

    async fn over(store: Store, settings: Settings) -> World {
        let folder = std::env::temp_dir().join(format!("aether-sessions-{}", Uuid::new_v4()));
        let ring = KeyRing::open(&folder, (NOW / 1_000) as u64).expect("the folder can be made");
        let tokens = Arc::new(Tokens::new(ring, "aether"));
        let clock = Arc::new(ManualClock::at(NOW));
        let sessions = open(&store, &tokens, &clock, settings).await;
        World { store, clock, tokens, sessions, folder }
    }

    async fn user(&self, name: &'static str) -> Uuid {
        let id = Uuid::new_v4();
        let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)";
        let write =
            move |transaction: &mut aether_store::Transaction<'_>| transaction.execute(insert, values![id, name, NOW]);
        self.store.write(write).await.expect("the name is free");
        id
    }

    async fn start(&self, user: Uuid) -> TokenPair {
        self.sessions.start(beginning(user)).await.expect("it starts")
    }

    /// What a server has after a restart: the same database, nothing in memory.
    async fn restarted(&self) -> Sessions {
        open(&self.store, &self.tokens, &self.clock, SETTINGS).await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn open(store: &Store, tokens: &Arc<Tokens>, clock: &Arc<ManualClock>, settings: Settings) -> Sessions {
    let clock = Arc::clone(clock) as Arc<dyn WallClock>;
    Sessions::open(store.clone(), Arc::clone(tokens), clock, settings).await.expect("the tables are there")
}

fn beginning(user: Uuid) -> NewSession<'static> {
    let variables = BTreeMap::from([("team".to_owned(), "red".to_owned())]);
    NewSession { user, username: "alice", variables, address: None, method: "device" }
}

fn none() -> BTreeMap<String, String> {
    BTreeMap::new()
}

#[tokio::test]
async fn an_access_token_tells_who_someone_is_until_it_expires() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    let pair = world.start(user).await;
    let identity = world.sessions.check(&pair.access).expect("it is fresh");
    assert_eq!((identity.user, identity.username.as_str()), (user, "alice"));
    assert_eq!(identity.variables["team"], "red");
    assert!(world.sessions.check(&pair.refresh).is_err(), "a refresh token is no access token");
    world.clock.advance_ms(900_000);
    let refused = world.sessions.check(&pair.access).expect_err("it has expired");
    assert_eq!((refused.code, &*refused.message), (GrpcCode::Unauthenticated, "Auth token invalid"));
}

#[tokio::test]
async fn a_refresh_keeps_the_session_and_reads_the_name_anew() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    let first = world.start(user).await;
    let before = world.sessions.check(&first.access).expect("it is fresh");
    let rename = move |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("UPDATE users SET username = 'alicia' WHERE id = ?1", values![user])
    };
    world.store.write(rename).await.expect("the user is there");
    let second = world.sessions.refresh(&first.refresh, none()).await.expect("it is the first time");
    let after = world.sessions.check(&second.access).expect("it is fresh");
    assert_eq!((after.session, after.username.as_str()), (before.session, "alicia"));
    assert_eq!(after.variables, before.variables, "they stay unless others are given");
    let others = BTreeMap::from([("team".to_owned(), "blue".to_owned())]);
    let third = world.sessions.refresh(&second.refresh, others).await.expect("it is the first time");
    assert_eq!(world.sessions.check(&third.access).expect("it is fresh").variables["team"], "blue");
    assert!(world.sessions.refresh(&first.access, none()).await.is_err(), "an access token is no refresh token");
}

#[tokio::test]
async fn a_refresh_token_that_is_used_twice_ends_the_session_for_both() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    let first = world.start(user).await;
    let second = world.sessions.refresh(&first.refresh, none()).await.expect("it is the first time");
    world.clock.advance_ms(11_000);
    let refused = world.sessions.refresh(&first.refresh, none()).await.expect_err("it was used");
    assert_eq!(refused.code, GrpcCode::Unauthenticated);
    assert!(world.sessions.check(&second.access).is_err(), "nobody can tell who is the thief");
    assert!(world.sessions.refresh(&second.refresh, none()).await.is_err());
    assert!(world.restarted().await.check(&second.access).is_err(), "nor after a restart");
}

#[tokio::test]
async fn a_client_that_missed_the_answer_may_ask_again_for_a_moment() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    let first = world.start(user).await;
    world.sessions.refresh(&first.refresh, none()).await.expect("it is the first time");
    world.clock.advance_ms(9_000);
    let again = world.sessions.refresh(&first.refresh, none()).await.expect("the answer may have been lost");
    let third = world.sessions.refresh(&again.refresh, none()).await;
    assert!(third.is_ok(), "what it got is as good as what was lost");
}

#[tokio::test]
async fn of_a_hundred_refreshes_at_once_with_no_grace_one_wins() {
    let world = World::new(Settings { refresh_again_seconds: 0, ..SETTINGS }).await;
    let user = world.user("alice").await;
    let token = world.start(user).await.refresh;
    let attempts = (0..100).map(|_| world.sessions.refresh(&token, BTreeMap::new()));
    let outcomes = futures_util::future::join_all(attempts).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
}

#[tokio::test]
async fn logging_out_ends_the_session_that_a_token_names_also_after_a_restart() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    let (mine, other) = (world.start(user).await, world.start(user).await);
    world.sessions.log_out(user, &mine.access, &mine.refresh).await.expect("it is mine");
    for sessions in [&world.sessions, &world.restarted().await] {
        assert!(sessions.check(&mine.access).is_err());
        assert!(sessions.refresh(&mine.refresh, none()).await.is_err());
        assert!(sessions.check(&other.access).is_ok());
    }
    let stranger = world.user("bob").await;
    let refused = world.sessions.log_out(stranger, &other.access, "").await.expect_err("it is another's");
    assert_eq!(refused.code, GrpcCode::InvalidArgument);
    assert!(world.sessions.check(&other.access).is_ok());
}

#[tokio::test]
async fn logging_out_without_a_token_ends_all_and_the_next_login_counts_at_once() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    let (one, two) = (world.start(user).await, world.start(user).await);
    world.sessions.log_out(user, "", "").await.expect("it is the user");
    let later = world.start(user).await;
    for sessions in [&world.sessions, &world.restarted().await] {
        assert!(sessions.check(&one.access).is_err() && sessions.check(&two.access).is_err());
        assert!(sessions.check(&later.access).is_ok(), "it began in the same second, and after");
    }
}

#[tokio::test]
async fn a_banned_user_gets_no_new_tokens() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    let pair = world.start(user).await;
    let ban = move |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("UPDATE users SET disabled_at = ?2 WHERE id = ?1", values![user, NOW])
    };
    world.store.write(ban).await.expect("the user is there");
    let refused = world.sessions.refresh(&pair.refresh, none()).await.expect_err("the user is banned");
    assert_eq!((refused.code, &*refused.message), (GrpcCode::PermissionDenied, "User account banned."));
}

#[tokio::test]
async fn where_one_session_is_allowed_a_new_one_ends_the_others() {
    let world = World::new(Settings { single: true, ..SETTINGS }).await;
    let user = world.user("alice").await;
    let first = world.start(user).await;
    let second = world.start(user).await;
    let third = world.start(user).await;
    assert!(world.sessions.check(&first.access).is_err());
    assert!(world.sessions.check(&second.access).is_err(), "all of it within one second");
    assert!(world.sessions.check(&third.access).is_ok());
    let restarted = world.restarted().await;
    assert!(restarted.check(&second.access).is_err());
    assert!(restarted.check(&third.access).is_ok());
}

#[tokio::test]
async fn the_history_is_written_and_shows_how_far_each_session_is() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    let first = world.start(user).await;
    world.clock.advance_ms(1_000);
    let second = world.start(user).await;
    world.sessions.flush().await.expect("the database is there");
    let session = |pair: &TokenPair| world.sessions.check(&pair.access).expect("it is fresh").session;
    let (first_id, second_id) = (session(&first), session(&second));
    world.sessions.note(second_id, SessionState::Active);
    world.sessions.log_out(user, &first.access, "").await.expect("it is mine");
    world.sessions.flush().await.expect("the database is there");
    let history = world.sessions.history(user, 10).await.expect("the database is there");
    let shown: Vec<_> = history.iter().map(|past| (past.session, past.state.as_str(), past.method.as_str())).collect();
    assert_eq!(shown, [(second_id, "active", "device"), (first_id, "closed", "device")]);
    assert_eq!(history[1].reason, "logged out");
    assert_eq!(world.sessions.prune(NOW + 700_000_000).await.expect("the database is there"), 2);
}

#[tokio::test]
async fn variables_have_limits() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    let many = (0..33).map(|index| (index.to_string(), String::new())).collect();
    let long = BTreeMap::from([("long".to_owned(), "x".repeat(1_025))]);
    for variables in [many, long] {
        let refused = world.sessions.start(NewSession { variables, ..beginning(user) }).await;
        assert_eq!(refused.expect_err("it is too much").code, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn whatever_variables_and_names_are_allowed_make_tokens_that_count() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    let letters = ["\"", "\\", "\u{1}", "é", "名", "🎮", "~"];
    for letter in letters {
        // As many as are taken.
        let variables = (0..600).rev().map(|count| BTreeMap::from([("v".to_owned(), letter.repeat(count))]));
        let username = letter.repeat(128 / letter.len());
        for variables in variables {
            let beginning = NewSession { variables: variables.clone(), username: &username, ..beginning(user) };
            let Ok(pair) = world.sessions.start(beginning).await else { continue };
            let identity = world.sessions.check(&pair.access).expect("a token that was given out counts");
            assert_eq!((identity.variables, identity.username), (variables, username));
            let again = world.sessions.refresh(&pair.refresh, BTreeMap::new()).await;
            again.expect("so does the one to refresh it");
            break;
        }
    }
}

#[tokio::test]
async fn a_lost_database_is_told_and_nothing_is_forgotten() {
    let world = World::new(SETTINGS).await;
    let user = world.user("alice").await;
    world.start(user).await;
    let drop_table = |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("ALTER TABLE sessions RENAME TO elsewhere", &[]).map(|_| ())
    };
    world.store.write(drop_table).await.expect("it can be renamed");
    assert!(world.sessions.flush().await.is_err());
    let back = |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("ALTER TABLE elsewhere RENAME TO sessions", &[]).map(|_| ())
    };
    world.store.write::<_, StoreError>(back).await.expect("it can be renamed");
    world.sessions.flush().await.expect("the table is back");
    assert_eq!(world.sessions.history(user, 10).await.expect("the table is back").len(), 1);
}

/// What an erasure does to a user, as far as sessions are concerned.
async fn erase(world: &World, user: Uuid) {
    let operation = move |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("DELETE FROM users WHERE id = ?1", values![user])?;
        let remember = "INSERT INTO erasures (user_id, erased_at) VALUES (?1, ?2)";
        transaction.execute(remember, values![user, NOW]).map(|_| ())
    };
    world.store.write::<_, StoreError>(operation).await.expect("the user is there");
}

#[tokio::test]
async fn a_late_history_knows_nothing_of_users_who_were_erased_meanwhile() {
    let world = World::new(SETTINGS).await;
    let (alice, bob) = (world.user("alice").await, world.user("bob").await);
    // More than one statement takes, and no round number.
    for _ in 0..700 {
        world.start(alice).await;
        world.start(bob).await;
    }
    erase(&world, bob).await;
    world.sessions.flush().await.expect("the database is there");
    let count = "SELECT count(*) FROM sessions WHERE user_id = ?1";
    for (user, expected) in [(alice, 700), (bob, 0)] {
        let read = move |transaction: &mut aether_store::Transaction<'_>| {
            transaction.row(count, values![user], |row| row.get::<i64>(0))
        };
        assert_eq!(world.store.read::<_, StoreError>(read).await.expect("it can be counted"), Some(expected));
    }
}

#[tokio::test]
async fn a_history_of_any_length_is_written_whole() {
    for database in aether_testkit_store::databases() {
        let world = World::over(database.open().await, SETTINGS).await;
        for (round, length) in [1, 2, 3, 511, 512, 513].into_iter().enumerate() {
            let user = world.user(["a", "b", "c", "d", "e", "f"][round]).await;
            for _ in 0..length {
                world.start(user).await;
            }
            world.sessions.flush().await.expect("the database is there");
            let history = world.sessions.history(user, 100).await.expect("the database is there");
            assert_eq!(history.len(), length.min(100), "{}", database.name);
            assert!(history.iter().all(|past| past.created_at == NOW && past.method == "device"));
            let pruned = world.sessions.prune(i64::MAX).await.expect("the database is there");
            assert_eq!(pruned, length as u64, "{}", database.name);
        }
    }
}

#[tokio::test]
async fn tokens_of_an_erased_user_do_not_come_back_with_a_restart() {
    let world = World::new(SETTINGS).await;
    let (alice, bob) = (world.user("alice").await, world.user("bob").await);
    // The second login is told apart from the first, which was ended, by a second that is yet to come.
    world.start(alice).await;
    world.sessions.log_out(alice, "", "").await.expect("it is the user");
    let (gone, stays) = (world.start(alice).await, world.start(bob).await);
    erase(&world, alice).await;
    let restarted = world.restarted().await;
    assert!(restarted.check(&gone.access).is_err(), "the account is no more");
    assert!(restarted.check(&stays.access).is_ok());
    world.clock.advance_ms(604_801_000);
    let epoch = world.restarted().await.revocations().epoch();
    assert_eq!(epoch, 0, "by then no token of theirs can be left, so nothing is remembered");
}

#[tokio::test]
async fn whoever_has_no_account_is_told_to_sign_in() {
    let world = World::new(SETTINGS).await;
    let claims = Claims::new(Uuid::new_v4(), "guest-1", (NOW / 1_000) as u64, 900);
    let guest = world.tokens.sign(&claims.clone().of_guest());
    let local_guest = world.tokens.sign(&claims.clone().of_guest().with_role(Role::Developer));
    let developer = world.tokens.sign(&claims.with_role(Role::Admin));
    for token in [&guest, &local_guest, &developer] {
        let refused = world.sessions.check(token).expect_err("there is no account");
        assert_eq!(refused.code, GrpcCode::Unauthenticated);
        assert!(refused.message.ends_with("Sign in first."), "{refused}");
    }
    let identity = world.tokens.verify(&guest, (NOW / 1_000) as u64, false).expect("to play, it is good");
    assert!(identity.is_guest);
    let user = world.user("alice").await;
    let pair = world.start(user).await;
    assert!(!world.tokens.verify(&pair.access, (NOW / 1_000) as u64, false).expect("it is fresh").is_guest);
}
