//! Sessions: start, refresh, stolen tokens, and end.

use aether_metrics::Registry;
use aether_services::clock::{ManualClock, WallClock};
use aether_services::session::keys::KeyRing;
use aether_services::session::tokens::{Claims, Role, Tokens};
use aether_services::session::{NewSession, SessionState, Sessions, Settings, TokenPair};
use aether_services::{GrpcCode, ServiceError};
use aether_store::{Database, Store, StoreError, values};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use uuid::Uuid;

const NOW: i64 = 1_800_000_000_000;
const SETTINGS: Settings =
    Settings { access_seconds: 900, refresh_seconds: 604_800, refresh_again_seconds: 10, single: false };

struct Fixture {
    store: Store,
    clock: Arc<ManualClock>,
    tokens: Arc<Tokens>,
    sessions: Sessions,
    folder: PathBuf,
}

impl Fixture {
    async fn new(settings: Settings) -> Fixture {
        let database = aether_store::StoreSettings::new(Database::Memory);
        let store = Store::open(&database, &Registry::new()).await.expect("memory is always there");
        Fixture::over(store, settings).await
    }

    async fn over(store: Store, settings: Settings) -> Fixture {
        let folder = std::env::temp_dir().join(format!("aether-sessions-{}", Uuid::new_v4()));
        let ring = KeyRing::open(&folder, (NOW / 1_000) as u64).expect("the folder can be made");
        let tokens = Arc::new(Tokens::new(ring, "aether"));
        let clock = Arc::new(ManualClock::at(NOW));
        let sessions = open(&store, &tokens, &clock, settings).await;
        Fixture { store, clock, tokens, sessions, folder }
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
        self.sessions.start(new_session(user)).await.expect("it starts")
    }

    /// Returns the service after a restart: the same database, empty memory.
    async fn restarted(&self) -> Sessions {
        open(&self.store, &self.tokens, &self.clock, SETTINGS).await
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn open(store: &Store, tokens: &Arc<Tokens>, clock: &Arc<ManualClock>, settings: Settings) -> Sessions {
    let clock = Arc::clone(clock) as Arc<dyn WallClock>;
    Sessions::open(store.clone(), Arc::clone(tokens), clock, settings).await.expect("the tables are there")
}

fn new_session(user: Uuid) -> NewSession<'static> {
    let variables = BTreeMap::from([("team".to_owned(), "red".to_owned())]);
    NewSession { user, username: "alice", variables, address: None, method: "device" }
}

fn none() -> BTreeMap<String, String> {
    BTreeMap::new()
}

/// Asserts that an access token is rejected as invalid, and for no other reason.
#[track_caller]
fn assert_access_rejected<T: std::fmt::Debug>(checked: Result<T, ServiceError>, why: &str) {
    let error = checked.expect_err(why);
    assert_eq!((error.code, &*error.message), (GrpcCode::Unauthenticated, "Auth token invalid"), "{why}");
}

/// Asserts that a refresh token is rejected as invalid, and for no other reason.
#[track_caller]
fn assert_refresh_rejected<T: std::fmt::Debug>(refreshed: Result<T, ServiceError>, why: &str) {
    let error = refreshed.expect_err(why);
    let expected = (GrpcCode::Unauthenticated, "Refresh token invalid or expired.");
    assert_eq!((error.code, &*error.message), expected, "{why}");
}

#[tokio::test]
async fn an_access_token_identifies_a_user_until_it_expires() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    let pair = fixture.start(user).await;
    let identity = fixture.sessions.check(&pair.access).expect("it is fresh");
    assert_eq!((identity.user, identity.username.as_str()), (user, "alice"));
    assert_eq!(identity.variables["team"], "red");
    assert_access_rejected(fixture.sessions.check(&pair.refresh), "a refresh token is no access token");
    fixture.clock.advance_ms(900_000);
    let rejected = fixture.sessions.check(&pair.access).expect_err("it has expired");
    assert_eq!((rejected.code, &*rejected.message), (GrpcCode::Unauthenticated, "Auth token invalid"));
}

#[tokio::test]
async fn a_refresh_continues_the_session_and_updates_the_username() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    let first = fixture.start(user).await;
    let before = fixture.sessions.check(&first.access).expect("it is fresh");
    let rename = move |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("UPDATE users SET username = 'alicia' WHERE id = ?1", values![user])
    };
    fixture.store.write(rename).await.expect("the user is there");
    let second = fixture.sessions.refresh(&first.refresh, none()).await.expect("it is the first time");
    let after = fixture.sessions.check(&second.access).expect("it is fresh");
    assert_eq!((after.session, after.username.as_str()), (before.session, "alicia"));
    assert_eq!(after.variables, before.variables, "variables stay unless new ones are given");
    let others = BTreeMap::from([("team".to_owned(), "blue".to_owned())]);
    let third = fixture.sessions.refresh(&second.refresh, others).await.expect("it is the first time");
    assert_eq!(fixture.sessions.check(&third.access).expect("it is fresh").variables["team"], "blue");
    assert_refresh_rejected(
        fixture.sessions.refresh(&first.access, none()).await,
        "an access token is no refresh token",
    );
}

#[tokio::test]
async fn a_refresh_token_used_twice_ends_the_session() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    let first = fixture.start(user).await;
    let second = fixture.sessions.refresh(&first.refresh, none()).await.expect("it is the first time");
    fixture.clock.advance_ms(11_000);
    let rejected = fixture.sessions.refresh(&first.refresh, none()).await.expect_err("it was used");
    assert_eq!(rejected.code, GrpcCode::Unauthenticated);
    assert_access_rejected(fixture.sessions.check(&second.access), "client and thief cannot be told apart");
    assert_refresh_rejected(fixture.sessions.refresh(&second.refresh, none()).await, "it was revoked");
    assert_access_rejected(fixture.restarted().await.check(&second.access), "also after a restart");
}

#[tokio::test]
async fn a_client_that_lost_the_answer_may_retry_within_the_grace_time() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    let first = fixture.start(user).await;
    fixture.sessions.refresh(&first.refresh, none()).await.expect("it is the first time");
    fixture.clock.advance_ms(9_000);
    let again = fixture.sessions.refresh(&first.refresh, none()).await.expect("the answer may have been lost");
    let third = fixture.sessions.refresh(&again.refresh, none()).await;
    assert!(third.is_ok(), "the second answer is as valid as the lost one");
}

#[tokio::test]
async fn one_of_a_hundred_concurrent_refreshes_wins_without_grace_time() {
    let fixture = Fixture::new(Settings { refresh_again_seconds: 0, ..SETTINGS }).await;
    let user = fixture.user("alice").await;
    let token = fixture.start(user).await.refresh;
    let attempts = (0..100).map(|_| fixture.sessions.refresh(&token, BTreeMap::new()));
    let outcomes = futures_util::future::join_all(attempts).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
}

#[tokio::test]
async fn logging_out_ends_the_session_of_the_token_also_after_a_restart() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    let (mine, other) = (fixture.start(user).await, fixture.start(user).await);
    fixture.sessions.log_out(user, &mine.access, &mine.refresh).await.expect("it is mine");
    for sessions in [&fixture.sessions, &fixture.restarted().await] {
        assert_access_rejected(sessions.check(&mine.access), "it was revoked");
        assert_refresh_rejected(sessions.refresh(&mine.refresh, none()).await, "it was revoked");
        assert!(sessions.check(&other.access).is_ok());
    }
    let stranger = fixture.user("bob").await;
    let rejected = fixture.sessions.log_out(stranger, &other.access, "").await.expect_err("it is another's");
    assert_eq!(rejected.code, GrpcCode::InvalidArgument);
    assert!(fixture.sessions.check(&other.access).is_ok());
}

#[tokio::test]
async fn logging_out_without_a_token_ends_all_and_the_next_login_is_valid_at_once() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    let (one, two) = (fixture.start(user).await, fixture.start(user).await);
    fixture.sessions.log_out(user, "", "").await.expect("it is the user");
    let later = fixture.start(user).await;
    for sessions in [&fixture.sessions, &fixture.restarted().await] {
        for ended in [&one, &two] {
            assert_access_rejected(sessions.check(&ended.access), "all were ended");
        }
        assert!(sessions.check(&later.access).is_ok(), "it started in the same second, but later");
    }
}

#[tokio::test]
async fn a_banned_user_gets_no_new_tokens() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    let pair = fixture.start(user).await;
    let ban = move |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("UPDATE users SET disabled_at = ?2 WHERE id = ?1", values![user, NOW])
    };
    fixture.store.write(ban).await.expect("the user is there");
    let rejected = fixture.sessions.refresh(&pair.refresh, none()).await.expect_err("the user is banned");
    assert_eq!((rejected.code, &*rejected.message), (GrpcCode::PermissionDenied, "User account banned."));
}

#[tokio::test]
async fn a_new_session_ends_the_others_with_single_session() {
    let fixture = Fixture::new(Settings { single: true, ..SETTINGS }).await;
    let user = fixture.user("alice").await;
    let first = fixture.start(user).await;
    let second = fixture.start(user).await;
    let third = fixture.start(user).await;
    assert_access_rejected(fixture.sessions.check(&first.access), "it was revoked");
    assert_access_rejected(fixture.sessions.check(&second.access), "all of it within one second");
    assert!(fixture.sessions.check(&third.access).is_ok());
    let restarted = fixture.restarted().await;
    assert_access_rejected(restarted.check(&second.access), "it was revoked");
    assert!(restarted.check(&third.access).is_ok());
}

#[tokio::test]
async fn the_history_is_written_and_shows_session_states() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    let first = fixture.start(user).await;
    fixture.clock.advance_ms(1_000);
    let second = fixture.start(user).await;
    fixture.sessions.flush().await.expect("the database is there");
    let session = |pair: &TokenPair| fixture.sessions.check(&pair.access).expect("it is fresh").session;
    let (first_id, second_id) = (session(&first), session(&second));
    fixture.sessions.note(second_id, SessionState::Active);
    fixture.sessions.log_out(user, &first.access, "").await.expect("it is mine");
    fixture.sessions.flush().await.expect("the database is there");
    let history = fixture.sessions.history(user, 10).await.expect("the database is there");
    let shown: Vec<_> = history.iter().map(|past| (past.session, past.state.as_str(), past.method.as_str())).collect();
    assert_eq!(shown, [(second_id, "active", "device"), (first_id, "closed", "device")]);
    assert_eq!(history[1].reason, "logged out");
    fixture.clock.advance_ms(15 * 86_400_000);
    assert_eq!(fixture.sessions.prune(NOW + 700_000_000).await.expect("the database is there"), 2);
}

#[tokio::test]
async fn variables_are_limited() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    let many = (0..33).map(|index| (index.to_string(), String::new())).collect();
    let long = BTreeMap::from([("long".to_owned(), "x".repeat(1_025))]);
    for variables in [many, long] {
        let rejected = fixture.sessions.start(NewSession { variables, ..new_session(user) }).await;
        assert_eq!(rejected.expect_err("it is too much").code, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn all_allowed_variables_and_names_make_valid_tokens() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    let letters = ["\"", "\\", "\u{1}", "é", "名", "🎮", "~"];
    for letter in letters {
        // As many as the limits allow.
        let variables = (0..600).rev().map(|count| BTreeMap::from([("v".to_owned(), letter.repeat(count))]));
        let username = letter.repeat(128 / letter.len());
        for variables in variables {
            let beginning = NewSession { variables: variables.clone(), username: &username, ..new_session(user) };
            let Ok(pair) = fixture.sessions.start(beginning).await else { continue };
            let identity = fixture.sessions.check(&pair.access).expect("a token that was given out counts");
            assert_eq!((identity.variables, identity.username), (variables, username));
            let again = fixture.sessions.refresh(&pair.refresh, BTreeMap::new()).await;
            again.expect("so does the one to refresh it");
            break;
        }
    }
}

#[tokio::test]
async fn a_failed_flush_is_reported_and_retried() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("alice").await;
    fixture.start(user).await;
    let drop_table = |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("ALTER TABLE sessions RENAME TO elsewhere", &[]).map(|_| ())
    };
    fixture.store.write(drop_table).await.expect("it can be renamed");
    let failed = fixture.sessions.flush().await.expect_err("the table is missing");
    assert_eq!(failed.code, GrpcCode::Internal, "{failed}");
    let back = |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("ALTER TABLE elsewhere RENAME TO sessions", &[]).map(|_| ())
    };
    fixture.store.write::<_, StoreError>(back).await.expect("it can be renamed");
    fixture.sessions.flush().await.expect("the table is back");
    assert_eq!(fixture.sessions.history(user, 10).await.expect("the table is back").len(), 1);
}

/// Erases a user, as far as sessions are concerned.
async fn erase(fixture: &Fixture, user: Uuid) {
    let operation = move |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("DELETE FROM users WHERE id = ?1", values![user])?;
        let remember = "INSERT INTO erasures (user_id, erased_at) VALUES (?1, ?2)";
        transaction.execute(remember, values![user, NOW]).map(|_| ())
    };
    fixture.store.write::<_, StoreError>(operation).await.expect("the user is there");
}

#[tokio::test]
async fn a_late_flush_skips_erased_users() {
    let fixture = Fixture::new(SETTINGS).await;
    let (alice, bob) = (fixture.user("alice").await, fixture.user("bob").await);
    // More than one statement takes, and not a power of two.
    for _ in 0..700 {
        fixture.start(alice).await;
        fixture.start(bob).await;
    }
    erase(&fixture, bob).await;
    fixture.sessions.flush().await.expect("the database is there");
    let count = "SELECT count(*) FROM sessions WHERE user_id = ?1";
    for (user, expected) in [(alice, 700), (bob, 0)] {
        let read = move |transaction: &mut aether_store::Transaction<'_>| {
            transaction.row(count, values![user], |row| row.get::<i64>(0))
        };
        assert_eq!(fixture.store.read::<_, StoreError>(read).await.expect("it can be counted"), Some(expected));
    }
}

#[tokio::test]
async fn states_are_written_in_batches_with_a_limit_per_second() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::over(database.open().await, SETTINGS).await;
        let user = fixture.user("alice").await;
        let mut sessions = Vec::new();
        for _ in 0..2_500 {
            let pair = fixture.start(user).await;
            sessions.push(fixture.sessions.check(&pair.access).expect("it is fresh").session);
        }
        fixture.sessions.flush().await.expect("the database is there");
        let count = async |state: &'static str, at: i64| {
            let select = "SELECT count(*) FROM sessions WHERE state = ?1 AND last_seen_at = ?2";
            let read = move |transaction: &mut aether_store::Transaction<'_>| {
                transaction.row(select, values![state, at], |row| row.get::<i64>(0))
            };
            fixture.store.read::<_, StoreError>(read).await.expect("it can be counted")
        };
        fixture.clock.advance_ms(5_000);
        for session in &sessions {
            fixture.sessions.note(*session, SessionState::Active);
        }
        fixture.sessions.flush().await.expect("the database is there");
        assert_eq!(count("active", NOW + 5_000).await, Some(2_000), "{}", database.name);
        fixture.sessions.note(sessions[0], SessionState::Resuming);
        fixture.sessions.note(sessions[1], SessionState::Active);
        fixture.sessions.flush_all().await.expect("the database is there");
        assert_eq!(count("active", NOW + 5_000).await, Some(2_499), "{}", database.name);
        assert_eq!(count("resuming", NOW + 5_000).await, Some(1), "the newest state is stored");
    }
}

#[tokio::test]
async fn a_history_of_any_length_is_written() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::over(database.open().await, SETTINGS).await;
        for (round, length) in [1, 2, 3, 511, 512, 513].into_iter().enumerate() {
            let user = fixture.user(["a", "b", "c", "d", "e", "f"][round]).await;
            let started_at = fixture.clock.now_ms();
            for _ in 0..length {
                fixture.start(user).await;
            }
            fixture.sessions.flush().await.expect("the database is there");
            let history = fixture.sessions.history(user, 100).await.expect("the database is there");
            assert_eq!(history.len(), length.min(100), "{}", database.name);
            assert!(history.iter().all(|past| past.created_at == started_at && past.method == "device"));
            fixture.clock.advance_ms(15 * 86_400_000);
            let pruned = fixture.sessions.prune(i64::MAX).await.expect("the database is there");
            assert_eq!(pruned, length as u64, "{}", database.name);
        }
    }
}

#[tokio::test]
async fn tokens_of_an_erased_user_stay_invalid_after_a_restart() {
    let fixture = Fixture::new(SETTINGS).await;
    let (alice, bob) = (fixture.user("alice").await, fixture.user("bob").await);
    // The second login is distinguished from the first, ended one by an issue time in the next second.
    fixture.start(alice).await;
    fixture.sessions.log_out(alice, "", "").await.expect("it is the user");
    let (gone, stays) = (fixture.start(alice).await, fixture.start(bob).await);
    erase(&fixture, alice).await;
    let restarted = fixture.restarted().await;
    assert_access_rejected(restarted.check(&gone.access), "the account is erased");
    assert!(restarted.check(&stays.access).is_ok());
    fixture.clock.advance_ms(604_801_000);
    let epoch = fixture.restarted().await.revocations().epoch();
    assert_eq!(epoch, 0, "all their tokens have expired, so nothing is remembered");
}

/// Settings with a shorter lifetime of tokens than [`SETTINGS`].
const LOWERED: Settings = Settings { access_seconds: 60, refresh_seconds: 60, refresh_again_seconds: 0, single: false };

/// Tokens of the longer lifetime are valid for another six days, and no way of ending a session forgets that.
#[tokio::test]
async fn a_revocation_outlives_tokens_that_were_issued_before_the_lifetime_was_lowered() {
    let fixture = Fixture::new(SETTINGS).await;
    let (alice, bob) = (fixture.user("alice").await, fixture.user("bob").await);
    let [one, twice, pending, stays] = [
        fixture.start(alice).await,
        fixture.start(alice).await,
        fixture.start(alice).await,
        fixture.start(alice).await,
    ];
    let all = fixture.start(bob).await;
    let lowered = open(&fixture.store, &fixture.tokens, &fixture.clock, LOWERED).await;
    lowered.log_out(alice, "", &one.refresh).await.expect("it is hers");
    lowered.refresh(&twice.refresh, none()).await.expect("it is valid");
    fixture.clock.advance_ms(1_000);
    assert_refresh_rejected(lowered.refresh(&twice.refresh, none()).await, "it was used before");
    let session = lowered.check(&pending.access).expect("it is valid").session;
    lowered.revoke_at_once(session, alice, "a resume token was used twice").await.expect("the database answers");
    lowered.log_out(bob, "", "").await.expect("it is him");
    for _ in 0..6 {
        fixture.clock.advance_ms(86_400_000);
        let now = fixture.clock.now_ms();
        lowered.revocations().sweep(now / 1_000);
        lowered.prune(now - 1_000).await.expect("the database answers");
        let restarted = open(&fixture.store, &fixture.tokens, &fixture.clock, LOWERED).await;
        for sessions in [&lowered, &restarted] {
            for (name, token) in [("one", &one), ("twice", &twice), ("pending", &pending), ("all", &all)] {
                assert_refresh_rejected(sessions.refresh(&token.refresh, none()).await, &format!("{name} was revoked"));
            }
        }
    }
    assert!(lowered.refresh(&stays.refresh, none()).await.is_ok(), "tokens of that lifetime are still valid");
}

#[tokio::test]
async fn a_used_refresh_token_stays_used_after_its_history_was_pruned() {
    let fixture = Fixture::new(SETTINGS).await;
    let alice = fixture.user("alice").await;
    let tokens = fixture.start(alice).await;
    let lowered = open(&fixture.store, &fixture.tokens, &fixture.clock, LOWERED).await;
    lowered.refresh(&tokens.refresh, none()).await.expect("it is valid");
    fixture.clock.advance_ms(3 * 86_400_000);
    lowered.prune(fixture.clock.now_ms() - 86_400_000).await.expect("the database answers");
    assert_refresh_rejected(lowered.refresh(&tokens.refresh, none()).await, "it was used before");
}

#[tokio::test]
async fn guests_and_development_tokens_must_sign_in() {
    let fixture = Fixture::new(SETTINGS).await;
    let claims = Claims::new(Uuid::new_v4(), "guest-1", (NOW / 1_000) as u64, 900);
    let guest = fixture.tokens.sign(&claims.clone().of_guest());
    let local_guest = fixture.tokens.sign(&claims.clone().of_guest().with_role(Role::Developer));
    let developer = fixture.tokens.sign(&claims.with_role(Role::Admin));
    for token in [&guest, &local_guest, &developer] {
        let rejected = fixture.sessions.check(token).expect_err("there is no account");
        assert_eq!(rejected.code, GrpcCode::Unauthenticated);
        assert!(rejected.message.ends_with("Sign in first."), "{rejected}");
    }
    let identity = fixture.tokens.verify(&guest, (NOW / 1_000) as u64, false).expect("to play, it is good");
    assert!(identity.is_guest);
    let user = fixture.user("alice").await;
    let pair = fixture.start(user).await;
    assert!(!fixture.tokens.verify(&pair.access, (NOW / 1_000) as u64, false).expect("it is fresh").is_guest);
}

#[tokio::test]
async fn an_issued_token_expires_when_server_code_says() {
    let fixture = Fixture::new(SETTINGS).await;
    let user = fixture.user("ann").await;
    let seconds = (NOW / 1_000) as u64;
    let (token, expires_at) = fixture.sessions.issue(new_session(user), Some(seconds + 60)).await.expect("it is valid");
    assert_eq!(expires_at, seconds + 60);
    let identity = fixture.sessions.check(&token).expect("it is valid");
    assert_eq!((identity.user, identity.expires_at), (user, seconds + 60));
    let (_, usual) = fixture.sessions.issue(new_session(user), None).await.expect("it is valid");
    assert_eq!(usual, seconds + 900);
    for wrong in [0, seconds, seconds + 7 * 86_400 + 1] {
        let outcome = fixture.sessions.issue(new_session(user), Some(wrong)).await;
        assert_eq!(outcome.expect_err("it is out of range").code, GrpcCode::InvalidArgument, "{wrong}");
    }
    fixture.clock.advance_ms(61_000);
    assert!(fixture.sessions.check(&token).is_err());
}
