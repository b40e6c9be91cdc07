//! A stolen access token does not take over an account: changes of login identities need the owner.

use crate::client_account::{Answer, World, bearer};
use aether_services::ServicesExtensions;
use aether_services::session::{Sessions, Settings};
use aether_testkit_store::{TestDatabase, databases};
use http::Method;
use serde_json::{Value, json};

const OLD: &str = "old@example.com";
const NEW: &str = "new@example.com";
const PASSWORD: &str = "correct horse";
const OTHER: &str = "battery staple";
const DEVICE: &str = "device-of-the-owner";

/// A sign-in is recent for five minutes, and an access token is valid for fifteen.
const LATER_MS: i64 = 300_000;

async fn world(database: &TestDatabase) -> World {
    World::over(database.open().await, ServicesExtensions::default()).await
}

fn email(address: &str, password: &str) -> Value {
    json!({ "email": address, "password": password })
}

async fn link(world: &World, session: &str, kind: &str, body: Value) -> Answer {
    world.ask(Method::POST, &format!("/v2/account/link/{kind}"), session, body).await
}

async fn unlink(world: &World, session: &str, kind: &str, body: Value) -> Answer {
    world.ask(Method::POST, &format!("/v2/account/unlink/{kind}"), session, body).await
}

async fn account(world: &World, session: &str) -> Answer {
    world.ask(Method::GET, "/v2/account", session, Value::Null).await
}

/// Creates an account with a device and an email address. Returns a session of each, no longer recent.
async fn protected(world: &World) -> (String, String) {
    let first = world.device(DEVICE).await;
    assert_eq!(link(world, &first, "email", email(OLD, PASSWORD)).await.status, 200);
    let second = world.session("/v2/account/authenticate/email", email(OLD, PASSWORD)).await;
    world.clock.advance_ms(LATER_MS);
    world.messages("").await;
    (first, second)
}

#[tokio::test]
async fn a_first_link_needs_no_recent_sign_in() {
    for database in databases() {
        let world = world(&database).await;
        let session = world.device(DEVICE).await;
        world.clock.advance_ms(LATER_MS);
        for (kind, body) in [("device", json!({ "id": "device-number-2" })), ("email", email(OLD, PASSWORD))] {
            assert_eq!(link(&world, &session, kind, body).await.status, 200, "{kind} {}", database.name);
        }
        assert_eq!(account(&world, &session).await.body["email"], OLD);
        assert!(world.messages("account.changed").await.is_empty(), "nobody is informed of a first link");
    }
}

#[tokio::test]
async fn replacing_the_password_needs_the_old_one_ends_other_sessions_and_informs_the_old_address() {
    for database in databases() {
        let world = world(&database).await;
        let (own, other) = protected(&world).await;
        for stolen in [email(NEW, OTHER), email(OLD, OTHER)] {
            let refused = link(&world, &own, "email", stolen).await;
            assert_eq!((refused.status.as_u16(), &refused.body["code"]), (403, &json!(7)), "{refused:?}");
        }
        assert_eq!(account(&world, &own).await.body["email"], OLD, "nothing changed");
        assert_eq!(account(&world, &other).await.status, 200);
        let mut owners = email(NEW, OTHER);
        owners["vars"] = json!({ "current_password": PASSWORD });
        assert_eq!(link(&world, &own, "email", owners).await.status, 200, "{}", database.name);
        assert_eq!(account(&world, &own).await.status, 200, "the session of the change goes on");
        assert_eq!(account(&world, &other).await.status, 401, "the others end");
        let messages = world.messages("account.changed").await;
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert_eq!(messages[0]["email"], OLD);
        assert_eq!((&messages[0]["change"], &messages[0]["identity"]), (&json!("replaced"), &json!("email")));
        let by_new = world.post("/v2/account/authenticate/email?create=false", email(NEW, OTHER)).await;
        assert_eq!(by_new.status, 200);
        let by_old = world.post("/v2/account/authenticate/email?create=false", email(OLD, PASSWORD)).await;
        assert_eq!(by_old.status, 401);
        restarted(&world, &own, &other).await;
    }
}

/// Checks that after a restart one session goes on and the other is ended.
async fn restarted(world: &World, own: &str, other: &str) {
    let settings = Settings { access_seconds: 900, refresh_seconds: 604_800, refresh_again_seconds: 10, single: false };
    let services = &world.services;
    let (store, clock) = (services.store.clone(), world.clock.clone());
    let sessions = Sessions::open(store, world.tokens(), clock, settings).await.expect("it opens");
    let token = |session: &str| session.strip_prefix("Bearer ").expect("it is a token").to_owned();
    assert!(sessions.check(&token(own)).is_ok(), "the session of the change goes on");
    assert!(sessions.check(&token(other)).is_err(), "the others stay ended");
}

#[tokio::test]
async fn no_change_of_a_protected_account_works_with_an_old_session() {
    for database in databases() {
        let world = world(&database).await;
        let (own, other) = protected(&world).await;
        let (post, google) = (Method::POST, json!({ "token": "stranger" }));
        let calls = [
            (post.clone(), "/v2/account/link/device", json!({ "id": "device-of-the-thief" })),
            (post.clone(), "/v2/account/link/custom", json!({ "id": "custom-of-the-thief" })),
            (post.clone(), "/v2/account/link/google", google.clone()),
            (post.clone(), "/v2/account/link/external/example", google),
            (post.clone(), "/v2/account/unlink/device", json!({ "id": DEVICE })),
            (post.clone(), "/v2/account/unlink/email", json!({})),
            (post, "/v2/account/unlink/email", email(OLD, OTHER)),
            (Method::GET, "/v2/account/export", Value::Null),
            (Method::DELETE, "/v2/account", Value::Null),
        ];
        for (method, path, body) in calls {
            let answer = world.ask(method, path, &own, body).await;
            assert_eq!(answer.status, 403, "{path}: {answer:?}");
        }
        let unchanged = account(&world, &own).await.body;
        assert_eq!((&unchanged["email"], unchanged["devices"].as_array().map(Vec::len)), (&json!(OLD), Some(1)));
        assert_eq!(account(&world, &other).await.status, 200);
    }
}

#[tokio::test]
async fn a_refresh_is_not_a_sign_in_but_a_new_sign_in_is() {
    let world = world(&aether_testkit_store::memory()).await;
    protected(&world).await;
    let signed_in = world.post("/v2/account/authenticate/device", json!({ "id": DEVICE })).await;
    world.clock.advance_ms(LATER_MS - 1);
    let body = json!({ "token": signed_in.body["refresh_token"] });
    let refreshed = bearer(&world.post("/v2/account/session/refresh", body).await);
    let google = |token: &str| json!({ "token": token });
    assert_eq!(link(&world, &refreshed, "google", google("one")).await.status, 200, "still recent");
    world.clock.advance_ms(1);
    assert_eq!(link(&world, &refreshed, "google", google("one")).await.status, 200, "it is linked already");
    assert_eq!(link(&world, &refreshed, "google", google("two")).await.status, 403, "no longer recent");
    let new = world.device(DEVICE).await;
    assert_eq!(link(&world, &new, "google", google("two")).await.status, 200);
    assert_eq!(account(&world, &refreshed).await.status, 401, "a replaced identity ends the other sessions");
    assert_eq!(unlink(&world, &new, "google", google("two")).await.status, 200);
    let changes: Vec<_> = world.messages("account.changed").await;
    let changes: Vec<_> = changes.iter().map(|message| message["change"].as_str().expect("it is a text")).collect();
    assert_eq!(changes, ["linked", "replaced", "unlinked"]);
}

#[tokio::test]
async fn guesses_of_the_current_password_are_limited_like_those_of_a_sign_in() {
    let world = world(&aether_testkit_store::memory()).await;
    let (own, _) = protected(&world).await;
    let guess = |number: usize| {
        let mut body = email(NEW, OTHER);
        body["vars"] = json!({ "current_password": format!("wrong guess {number}") });
        body
    };
    for number in 0..5 {
        assert_eq!(link(&world, &own, "email", guess(number)).await.status, 403);
    }
    assert_eq!(link(&world, &own, "email", guess(5)).await.status, 429);
    let mut right = email(NEW, OTHER);
    right["vars"] = json!({ "current_password": PASSWORD });
    assert_eq!(link(&world, &own, "email", right).await.status, 429, "also with the right one");
}

#[tokio::test]
async fn changes_of_one_account_are_limited_to_twenty_in_ten_minutes() {
    let world = world(&aether_testkit_store::memory()).await;
    protected(&world).await;
    let session = world.device(DEVICE).await;
    for number in 0..20 {
        let device = json!({ "id": format!("device-number-{number}") });
        assert_eq!(link(&world, &session, "device", device).await.status, 200, "{number}");
    }
    let one_more = link(&world, &session, "device", json!({ "id": "device-number-20" })).await;
    assert_eq!(one_more.status, 429);
    assert_eq!(world.messages("account.changed").await.len(), 20);
}

#[tokio::test]
async fn a_password_reset_removes_what_was_linked_before_the_address_was_verified() {
    for database in databases() {
        let world = world(&database).await;
        let thief = world.device("device-of-the-thief").await;
        for (kind, body) in [
            ("custom", json!({ "id": "custom-of-the-thief" })),
            ("google", json!({ "token": "thief" })),
            ("email", email(OLD, PASSWORD)),
        ] {
            assert_eq!(link(&world, &thief, kind, body).await.status, 200, "{kind}");
        }
        world.clock.advance_ms(1);
        reset(&world, OTHER).await;
        assert_eq!(account(&world, &thief).await.status, 401);
        for (kind, body) in [
            ("device", json!({ "id": "device-of-the-thief" })),
            ("custom", json!({ "id": "custom-of-the-thief" })),
            ("google", json!({ "token": "thief" })),
        ] {
            let path = format!("/v2/account/authenticate/{kind}?create=false");
            assert_eq!(world.post(&path, body).await.status, 404, "{kind} {}", database.name);
        }
        let owner = world.session("/v2/account/authenticate/email", email(OLD, OTHER)).await;
        let shown = account(&world, &owner).await.body;
        assert!(shown["verify_time"].is_string(), "the code proved access to the address: {shown}");
        // What is linked after the verification stays.
        world.clock.advance_ms(1);
        assert_eq!(link(&world, &owner, "device", json!({ "id": DEVICE })).await.status, 200);
        assert_eq!(link(&world, &owner, "custom", json!({ "id": "custom-of-the-owner" })).await.status, 200);
        world.clock.advance_ms(1);
        reset(&world, PASSWORD).await;
        let device = world.post("/v2/account/authenticate/device?create=false", json!({ "id": DEVICE })).await;
        assert_eq!(device.status, 200, "{}", database.name);
        let custom = json!({ "id": "custom-of-the-owner" });
        assert_eq!(world.post("/v2/account/authenticate/custom?create=false", custom).await.status, 200);
    }
}

/// Sets a new password with a code.
async fn reset(world: &World, password: &str) {
    world.messages("").await;
    assert_eq!(world.post("/v2/account/password/reset", json!({ "email": OLD })).await.status, 200);
    let code = world.code("account.password_reset").await;
    let confirmed = world.post("/v2/account/password/confirm", json!({ "code": code, "password": password })).await;
    assert_eq!(confirmed.status, 200, "{confirmed:?}");
}
