//! Imports of friends from Facebook and Steam, each against a server that speaks its protocol.

use super::{World, ids};
use crate::account::fake_provider::{FakeProvider, ReceivedRequest, json as answer};
use crate::account::fixture::http_client;
use crate::audit::services_with;
use aether_messages::api::{AccountFacebook, AuthenticateFacebookRequest};
use aether_messages::operation::AuthenticateFacebook;
use aether_metrics::Registry;
use aether_services::account::provider::{
    FACEBOOK, FacebookSettings, ProviderProof, ProviderSettings, STEAM, SteamSettings,
};
use aether_services::account::{Accounts, Settings, SignIn, SignInMethod};
use aether_services::clock::ManualClock;
use aether_services::friend::FriendState;
use aether_services::session::Revocations;
use aether_services::{CallContext, GrpcCode, Services};
use aether_store::{StoreError, Transaction, values};
use aether_testkit_store::databases;
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

fn accounts(world: &World, settings: ProviderSettings) -> Accounts {
    let (store, clock) = (world.fixture.store.clone(), world.fixture.clock.clone());
    let accounts = Accounts::new(store, clock, Arc::new(Revocations::default()), Settings::default());
    accounts.with_providers(settings, &http_client())
}

fn token(text: &str) -> ProviderProof {
    ProviderProof::Token(text.to_owned())
}

impl World {
    /// Gives a user an identity of a provider.
    async fn identify(&self, user: Uuid, provider: &'static str, subject: &'static str) {
        let insert = "INSERT INTO user_identities (provider, subject, user_id, created_at) VALUES (?1, ?2, ?3, 1)";
        let done = self.fixture.store.write::<_, StoreError>(move |transaction: &mut Transaction<'_>| {
            transaction.execute(insert, values![provider, subject, user])
        });
        done.await.expect("it is new");
    }
}

/// Answers like Facebook: two pages of friends, and errors for tokens without the permission.
fn facebook(asked: &ReceivedRequest) -> (u16, Vec<u8>) {
    let input = asked.query("access_token");
    match (asked.path.as_str(), asked.query("after")) {
        ("/v1/debug_token", _) => answer(&json!({ "data": { "app_id": "app", "is_valid": true, "user_id": "1001" } })),
        ("/v1/me", _) => answer(&json!({ "id": "1001", "name": "Ann" })),
        ("/v1/me/friends", _) if input == "no friends" => {
            (400, json!({ "error": { "message": "Requires user_friends" } }).to_string().into())
        }
        ("/v1/me/friends", _) if input == "broken" => (500, Vec::new()),
        ("/v1/me/friends", "") => answer(&json!({
            "data": [{ "id": "1002" }, { "id": "1003" }, { "id": "9999" }],
            "paging": { "cursors": { "before": "a", "after": "b" }, "next": "https://example.com/?after=b" },
        })),
        ("/v1/me/friends", "b") => answer(&json!({
            "data": [{ "id": "1004" }, { "id": "1001" }],
            "paging": { "cursors": { "before": "a", "after": "c" } },
        })),
        _ => (404, Vec::new()),
    }
}

async fn facebook_accounts(world: &World, fake: &FakeProvider) -> Accounts {
    let mut settings = FacebookSettings::new("app".to_owned(), "secret".to_owned());
    settings.graph_url = format!("{}/v1", fake.url);
    accounts(world, ProviderSettings { facebook: Some(settings), ..ProviderSettings::default() })
}

#[tokio::test]
async fn friends_at_facebook_become_friends_and_are_told() {
    let fake = FakeProvider::start(facebook).await;
    for world in World::all().await {
        let accounts = facebook_accounts(&world, &fake).await;
        let [ann, bob, cid, dan] = world.users().await;
        for (user, subject) in [(ann, "1001"), (bob, "1002"), (cid, "1003"), (dan, "1004")] {
            world.identify(user, FACEBOOK, subject).await;
        }
        world.add(bob, ann).await;
        world.block(dan, ann).await;
        let imported = world.friends.import(&accounts, ann, FACEBOOK, &token("right"), false).await;
        assert_eq!(imported, Ok(2), "{}: an invite is accepted, and a block stays", world.fixture.name);
        for friend in [bob, cid] {
            assert_eq!(world.state(ann, friend).await, Some(FriendState::Friend));
            assert_eq!(world.codes(friend).await, [-6]);
        }
        assert_eq!((world.state(ann, dan).await, world.codes(dan).await.len()), (None, 0));
        let again = world.friends.import(&accounts, ann, FACEBOOK, &token("right"), false).await;
        assert_eq!((again, world.codes(bob).await.len()), (Ok(0), 1), "nobody is told twice");
        world.check_counts().await;
    }
}

#[tokio::test]
async fn a_reset_ends_friendships_with_users_who_are_no_friends_there() {
    let fake = FakeProvider::start(facebook).await;
    for world in World::all().await {
        let accounts = facebook_accounts(&world, &fake).await;
        let [ann, bob, former, other] = world.users().await;
        for (user, subject) in [(ann, "1001"), (bob, "1002"), (former, "2000")] {
            world.identify(user, FACEBOOK, subject).await;
        }
        for friend in [bob, former, other] {
            world.befriend(ann, friend).await;
        }
        world.friends.import(&accounts, ann, FACEBOOK, &token("right"), true).await.expect("the token is right");
        assert_eq!(world.state(ann, former).await, None, "{}", world.fixture.name);
        assert_eq!(world.state(ann, other).await, Some(FriendState::Friend), "not from Facebook");
        assert_eq!(world.state(ann, bob).await, Some(FriendState::Friend), "still a friend there");
        assert_eq!(world.codes(bob).await, [-2], "nothing changed for this friend");
        world.check_counts().await;
    }
}

#[tokio::test]
async fn a_provider_that_refuses_changes_nothing() {
    let fake = FakeProvider::start(facebook).await;
    let world = World::all().await.remove(0);
    let accounts = facebook_accounts(&world, &fake).await;
    let [ann, friend] = world.users().await;
    world.identify(friend, FACEBOOK, "2000").await;
    world.befriend(ann, friend).await;
    for (text, code) in [
        ("no friends", GrpcCode::FailedPrecondition),
        ("broken", GrpcCode::Unavailable),
        ("a.signed.token", GrpcCode::FailedPrecondition),
        ("", GrpcCode::InvalidArgument),
    ] {
        let outcome = world.friends.import(&accounts, ann, FACEBOOK, &token(text), true).await;
        assert_eq!(outcome.expect_err("it is refused").code, code, "{text}");
    }
    let outcome = world.friends.import(&accounts, ann, STEAM, &token("0a"), true).await;
    assert_eq!(outcome.expect_err("it is not configured").code, GrpcCode::FailedPrecondition);
    assert_eq!(world.state(ann, friend).await, Some(FriendState::Friend));
}

#[tokio::test]
async fn sync_of_a_sign_in_or_link_imports_friends_and_never_fails_it() {
    let fake = FakeProvider::start(facebook).await;
    let url = format!("{}/v1", fake.url);
    for database in databases() {
        let (clock, registry) = (Arc::new(ManualClock::at(1_700_000_000_000)), Registry::new());
        let services = services_with(database.open().await, &clock, &registry, |settings| {
            let mut facebook = FacebookSettings::new("app".to_owned(), "secret".to_owned());
            facebook.graph_url = url.clone();
            settings.providers.facebook = Some(facebook);
            settings.http_client.allowed = vec!["127.0.0.0/8".parse().expect("it is a network")];
        });
        let services = services.await;
        let friend = device(&services, "device-of-the-friend").await;
        let link = "INSERT INTO user_identities (provider, subject, user_id, created_at) VALUES (?1, ?2, ?3, 1)";
        let linked = services.store.write::<_, StoreError>(move |transaction: &mut Transaction<'_>| {
            transaction.execute(link, values![FACEBOOK, "1002", friend])
        });
        linked.await.expect("it is new");
        let count = async || services.accounts.account(friend).await.expect("it exists").user.edge_count;
        let sign_in = async |token: &str, sync: Option<bool>| {
            let account = AccountFacebook { token: token.to_owned(), ..AccountFacebook::default() };
            let request = AuthenticateFacebookRequest { account: Some(account), sync, ..Default::default() };
            let context = Arc::new(CallContext::server());
            services.call::<AuthenticateFacebook>(&context, request).await.expect("the token is right")
        };
        for (token, sync, expected) in [
            ("right", None, 0),
            ("right", Some(false), 0),
            ("no friends", Some(true), 0),
            ("broken", Some(true), 0),
            ("right", Some(true), 1),
        ] {
            sign_in(token, sync).await;
            assert_eq!(count().await, expected, "{}: {token} {sync:?}", database.name);
        }
        let page = services.notifications.list(friend, Some(10), "").await.expect("the query is valid");
        assert_eq!(page.notifications.iter().map(|one| one.code).collect::<Vec<_>>(), [-6]);
    }
}

/// Creates an account with a device.
async fn device(services: &Services, id: &str) -> Uuid {
    let method = SignInMethod::Device(id.to_owned());
    let sign_in = SignIn { method, username: None, create: true, address: None };
    services.accounts.authenticate(sign_in).await.expect("it is new").user
}

/// Answers like Steam for tickets and friends.
fn steam(asked: &ReceivedRequest) -> (u16, Vec<u8>) {
    let id = match asked.query("ticket") {
        "0b" => "76561197960287999",
        _ => "76561197960287930",
    };
    match (asked.path.as_str(), asked.query("steamid")) {
        ("/ISteamUserAuth/AuthenticateUserTicket/v1/", _) => {
            answer(&json!({ "response": { "params": { "result": "OK", "steamid": id } } }))
        }
        ("/ISteamUser/GetFriendList/v1/", "76561197960287930") if asked.query("relationship") == "friend" => {
            let friend = |id: &str| json!({ "steamid": id, "relationship": "friend", "friend_since": 0 });
            let friends = [friend("76561197960287931"), friend("no id"), friend("76561197960287932")];
            answer(&json!({ "friendslist": { "friends": friends } }))
        }
        // The profile is private.
        ("/ISteamUser/GetFriendList/v1/", _) => (401, b"<html>Unauthorized</html>".to_vec()),
        _ => (404, Vec::new()),
    }
}

#[tokio::test]
async fn friends_at_steam_become_friends() {
    let fake = FakeProvider::start(steam).await;
    for world in World::all().await {
        let settings = SteamSettings { base_url: fake.url.clone(), ..SteamSettings::new(480, "key".to_owned()) };
        let accounts = accounts(&world, ProviderSettings { steam: Some(settings), ..ProviderSettings::default() });
        let [ann, bob] = world.users().await;
        world.identify(bob, STEAM, "76561197960287931").await;
        let imported = world.friends.import(&accounts, ann, STEAM, &token("0a"), false).await;
        assert_eq!(imported, Ok(1), "{}", world.fixture.name);
        assert_eq!(world.state(bob, ann).await, Some(FriendState::Friend));
        let private = world.friends.import(&accounts, ann, STEAM, &token("0b"), true).await;
        assert_eq!(private.expect_err("its list is private").code, GrpcCode::FailedPrecondition);
        assert_eq!(world.state(bob, ann).await, Some(FriendState::Friend));
        world.friends.delete(ann, ids(&[bob])).await.expect("they are friends");
        world.check_counts().await;
    }
}
