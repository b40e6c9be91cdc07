//! Accounts over the client API, through the router without a socket: requests as SDKs send them, and the details of
//! answers that SDKs rely on.

use aether_api::client::{ApiKeys, ClientApi, RateSettings, RequestRates, router};
use aether_api::{PeerAddress, TrustedProxies};
use aether_metrics::Registry;
use aether_services::account::operation::{
    AuthenticateExternal, LinkExternal, RequestEmailVerification, RequestPasswordReset, ResetPassword, UnlinkExternal,
    VerifyEmail,
};
use aether_services::account::provider::{self, ExternalIdentity, Provider, ProviderProof, VerifyFuture};
use aether_services::clock::{ManualClock, WallClock};
use aether_services::session::keys::KeyRing;
use aether_services::session::tokens::{Claims, Role, Tokens};
use aether_services::{
    GrpcCode, Hooks, Operation, ServiceError, Services, ServicesExtensions, ServicesParts, ServicesSettings, account,
    http_client, purchase, session, storage, webhook,
};
use aether_store::{Store, StoreError, Transaction, outbox};
use axum::Router;
use axum::body::{Body, to_bytes};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tower::ServiceExt;

const NOW: i64 = 1_800_000_000_000;
const BASIC: &str = "Basic ZGVmYXVsdGtleTo=";

/// An identity provider that accepts every token as the user's id, except `wrong`.
struct TrustingProvider(&'static str);

impl Provider for TrustingProvider {
    fn name(&self) -> &str {
        self.0
    }

    fn verify<'a>(&'a self, proof: &'a ProviderProof) -> VerifyFuture<'a> {
        let subject = match proof {
            ProviderProof::Token(token) => token.clone(),
            ProviderProof::GameCenter(proof) => format!("{} {}", proof.player_id, proof.timestamp),
        };
        Box::pin(async move {
            match subject.as_str() {
                "wrong" => Err(ServiceError::new(GrpcCode::Unauthenticated, "It is wrong.")),
                _ => Ok(ExternalIdentity { subject, ..ExternalIdentity::default() }),
            }
        })
    }
}

/// Creates the body of a sign-in request.
type BodyOf<'a> = &'a dyn Fn(&str) -> Value;

pub struct World {
    router: Router,
    pub services: Arc<Services>,
    pub clock: Arc<ManualClock>,
    tokens: Arc<Tokens>,
    folder: PathBuf,
}

/// Answer of the API.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: http::HeaderMap,
    pub body: Value,
}

impl World {
    async fn new() -> World {
        World::with(ServicesExtensions::default()).await
    }

    /// Creates a world with extensions of the services.
    async fn with(extensions: ServicesExtensions) -> World {
        World::over(aether_testkit_store::memory().open().await, extensions).await
    }

    /// Creates a world over a database.
    pub async fn over(store: Store, extensions: ServicesExtensions) -> World {
        let registry = Registry::new();
        let folder = std::env::temp_dir().join(format!("aether-client-account-{}", uuid::Uuid::new_v4()));
        let ring = KeyRing::open(&folder, (NOW / 1_000) as u64).expect("the folder can be created");
        let manual = Arc::new(ManualClock::at(NOW));
        let clock: Arc<dyn WallClock> = manual.clone();
        let sessions = session::Settings {
            access_seconds: 900,
            refresh_seconds: 604_800,
            refresh_again_seconds: 10,
            single: false,
        };
        let webhook =
            webhook::Settings { url: "https://example.com/".to_owned(), secret: "secret".to_owned(), attempts_max: 3 };
        let settings = ServicesSettings {
            sessions,
            accounts: account::Settings::default(),
            http_client: http_client::Settings::default(),
            webhook: Some(webhook),
            providers: account::provider::ProviderSettings::default(),
            purchases: purchase::Settings::default(),
            storage: storage::Quota::default(),
            reserved_collections: std::collections::BTreeSet::new(),
            matchmaker: Default::default(),
        };
        let tokens = Arc::new(Tokens::new(ring, "aether"));
        let parts = ServicesParts { store, clock, tokens: Arc::clone(&tokens), registry: &registry };
        let services = Services::open(parts, settings, extensions).await;
        let mut services = services.expect("the services open");
        let names = [
            provider::APPLE,
            provider::FACEBOOK,
            provider::FACEBOOK_INSTANT,
            provider::GAME_CENTER,
            provider::GOOGLE,
            provider::STEAM,
            "example",
        ];
        for name in names {
            services.accounts = services.accounts.with_provider(TrustingProvider(name));
        }
        let services = Arc::new(services);
        let keys = ApiKeys::new("defaultkey", None);
        let rates = RequestRates::new(RateSettings::default());
        let desk = ClientApi::new(Arc::clone(&services), keys, rates, Arc::new(TrustedProxies::default()), &registry);
        World { router: router(desk), services, clock: manual, tokens, folder }
    }

    /// Sends a request from an address.
    async fn ask_from(&self, address: &str, asked: (Method, &str), authorization: &str, body: Value) -> Answer {
        let (method, path) = asked;
        let socket: SocketAddr = address.parse().expect("it is an address");
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().expect("it is a path");
        let authorization = authorization.parse().expect("it is a header");
        request.headers_mut().insert(header::AUTHORIZATION, authorization);
        request.extensions_mut().insert(PeerAddress { socket, is_http10: false });
        let response = self.router.clone().oneshot(request).await.expect("a router always answers");
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 1_048_576).await.expect("it ends");
        let body = serde_json::from_slice(&body).expect("the value is JSON");
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub async fn ask(&self, method: Method, path: &str, authorization: &str, body: Value) -> Answer {
        self.ask_from("198.51.100.7:4000", (method, path), authorization, body).await
    }

    /// Sends a request with the server key.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, BASIC, body).await
    }

    /// Signs in. Returns the authorization header of the session.
    pub async fn session(&self, path: &str, body: Value) -> String {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        bearer(&answer)
    }

    pub async fn device(&self, id: &str) -> String {
        self.session("/v2/account/authenticate/device", json!({ "id": id })).await
    }

    async fn account(&self, session: &str) -> Value {
        let answer = self.ask(Method::GET, "/v2/account", session, Value::Null).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    /// Issuer of the tokens.
    pub fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.tokens)
    }

    /// Takes the payloads of the webhook messages of a topic. Messages of other topics are dropped.
    pub async fn messages(&self, topic: &str) -> Vec<Value> {
        let operation = |transaction: &mut Transaction<'_>| {
            let messages = outbox::claim(transaction, i64::MAX - 1, i64::MAX, 100)?;
            messages.iter().try_for_each(|message| outbox::confirm(transaction, message.id))?;
            Ok::<_, StoreError>(messages)
        };
        let messages = self.services.store.write(operation).await.expect("the outbox can be read");
        let of_topic = messages.iter().filter(|message| message.topic == topic);
        of_topic.map(|message| serde_json::from_str(&message.payload).expect("the value is JSON")).collect()
    }

    /// Returns the code in the webhook message of a topic.
    pub async fn code(&self, topic: &str) -> String {
        let messages = self.messages(topic).await;
        let payload = messages.first().expect("the webhook message is queued");
        payload["code"].as_str().expect("there is a code").to_owned()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Answer {
    #[track_caller]
    fn assert_error(&self, status: u16, code: u8, message: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.body, json!({ "code": code, "message": message }));
    }
}

pub fn bearer(answer: &Answer) -> String {
    format!("Bearer {}", answer.body["token"].as_str().expect("there is a token"))
}

fn claims(token: &Value) -> Value {
    let token = token.as_str().expect("there is a token");
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).expect("it has parts")).expect("it is base64");
    serde_json::from_slice(&payload).expect("the value is JSON")
}

#[tokio::test]
async fn a_device_signs_in() {
    let world = World::new().await;
    let path = "/v2/account/authenticate/device?create=true&username=alice&";
    let body = json!({ "id": "device-id-0001", "vars": { "k": "v" } });
    let first = world.post(path, body.clone()).await;
    assert_eq!((first.status, &first.body["created"]), (StatusCode::OK, &json!(true)));
    let claims = claims(&first.body["token"]);
    assert_eq!((&claims["usn"], &claims["vrs"]), (&json!("alice"), &json!({ "k": "v" })));
    assert_eq!(claims["exp"], NOW / 1_000 + 900);
    assert!(first.body["refresh_token"].is_string());
    let again = world.post(path, body).await;
    assert_eq!(again.status, 200);
    assert!(again.body.get("created").is_none(), "false values are omitted");
    let unasked = world.post("/v2/account/authenticate/device?create=false", json!({ "id": "device-id-0002" })).await;
    unasked.assert_error(404, 5, "User account not found.");
    let taken = world.post(path, json!({ "id": "device-id-0003" })).await;
    taken.assert_error(409, 6, "Username is already in use.");
    let short = world.post("/v2/account/authenticate/device", json!({ "id": "short" })).await;
    assert_eq!((short.status, &short.body["code"]), (StatusCode::BAD_REQUEST, &json!(3)));
    let empty = world.post("/v2/account/authenticate/device", Value::Null).await;
    empty.assert_error(400, 3, "Device ID is required.");
}

#[tokio::test]
async fn signing_in_requires_the_server_key() {
    let world = World::new().await;
    let wrong = format!("Basic {}", STANDARD.encode("another:"));
    for path in ["device", "email", "custom", "steam", "external/example"] {
        let path = format!("/v2/account/authenticate/{path}");
        let answer = world.ask(Method::POST, &path, &wrong, json!({ "id": "device-id-0001" })).await;
        answer.assert_error(401, 16, "Server key invalid");
        assert_eq!(answer.headers[header::WWW_AUTHENTICATE], "Server key invalid");
    }
    for path in ["/v2/account/password/reset", "/v2/account/password/confirm", "/v2/account/email/verify/confirm"] {
        world.ask(Method::POST, path, &wrong, json!({})).await.assert_error(401, 16, "Server key invalid");
    }
}

#[tokio::test]
async fn email_or_username_with_password_sign_in() {
    let world = World::new().await;
    let email = "/v2/account/authenticate/email";
    let body = json!({ "email": "A@Example.com", "password": "password1" });
    let first = world.post(&format!("{email}?create=true&username=alice"), body).await;
    assert_eq!((first.status, &first.body["created"]), (StatusCode::OK, &json!(true)));
    let by_name = world.post(&format!("{email}?username=alice"), json!({ "password": "password1" })).await;
    assert_eq!(claims(&by_name.body["token"])["uid"], claims(&first.body["token"])["uid"]);
    for body in [
        json!({ "email": "a@example.com", "password": "password2" }),
        json!({ "email": "nobody@example.com", "password": "password2" }),
    ] {
        world.post(&format!("{email}?create=false"), body).await.assert_error(401, 16, "Invalid credentials.");
    }
    let long = json!({ "email": "a@example.com", "password": "x".repeat(1_048_576) });
    assert_eq!(world.post(email, long).await.status, 400);
    let longish = json!({ "email": "a@example.com", "password": "x".repeat(200_000) });
    assert_eq!(world.post(email, longish).await.status, 400);
}

#[tokio::test]
async fn too_many_wrong_passwords_are_429() {
    let world = World::new().await;
    let guess = json!({ "email": "a@example.com", "password": "password2" });
    for attempt in 0..7 {
        let answer = world.post("/v2/account/authenticate/email?create=false", guess.clone()).await;
        let expected = if attempt < 5 { (401, 16) } else { (429, 8) };
        assert_eq!((answer.status.as_u16(), answer.body["code"].as_u64()), (expected.0, Some(expected.1)));
    }
}

#[tokio::test]
async fn every_provider_of_the_protocol_signs_in_links_and_unlinks() {
    let world = World::new().await;
    let token = |token: &str| json!({ "token": token });
    let instant = |info: &str| json!({ "signed_player_info": info });
    let game_center = |player: &str| {
        json!({
            "player_id": player, "bundle_id": "b", "timestamp_seconds": "1800000000000", "salt": "s",
            "signature": "s", "public_key_url": "u",
        })
    };
    let steam = |token: &str| json!({ "account": { "token": token }, "sync": true });
    let ways: [(&str, BodyOf<'_>, BodyOf<'_>, &str, &str); 7] = [
        ("apple", &token, &token, "apple_id", ""),
        ("facebook", &token, &token, "facebook_id", ""),
        ("facebookinstantgame", &instant, &instant, "facebook_instant_game_id", ""),
        ("gamecenter", &game_center, &game_center, "gamecenter_id", " 1800000000000"),
        ("google", &token, &token, "google_id", ""),
        ("steam", &token, &steam, "steam_id", ""),
        ("external/example", &token, &token, "", ""),
    ];
    for (name, body, link_body, field, suffix) in ways {
        let first = world.post(&format!("/v2/account/authenticate/{name}?create=true&"), body("one")).await;
        assert_eq!((first.status, &first.body["created"]), (StatusCode::OK, &json!(true)), "{name}");
        if !field.is_empty() {
            assert_eq!(world.account(&bearer(&first)).await["user"][field], json!(format!("one{suffix}")), "{name}");
        }
        let session = world.device(&format!("device of {name}")).await;
        let link = format!("/v2/account/link/{name}");
        let taken = world.ask(Method::POST, &link, &session, link_body("one")).await;
        assert_eq!((taken.status, &taken.body["code"]), (StatusCode::CONFLICT, &json!(6)), "{name}");
        let linked = world.ask(Method::POST, &link, &session, link_body("two")).await;
        assert_eq!((linked.status, linked.body), (StatusCode::OK, json!({})), "{name}");
        let again = world.post(&format!("/v2/account/authenticate/{name}"), body("two")).await;
        assert_eq!(claims(&again.body["token"])["uid"], world.account(&session).await["user"]["id"], "{name}");
        let unlink = format!("/v2/account/unlink/{name}");
        let unlinked = world.ask(Method::POST, &unlink, &session, body("two")).await;
        assert_eq!((unlinked.status, unlinked.body), (StatusCode::OK, json!({})), "{name}");
    }
    let wrong = world.post("/v2/account/authenticate/google", token("wrong")).await;
    wrong.assert_error(401, 16, "It is wrong.");
    let unknown = world.post("/v2/account/authenticate/external/unknown", token("one")).await;
    assert_eq!((unknown.status, &unknown.body["code"]), (StatusCode::BAD_REQUEST, &json!(9)));
    let unasked = world.post("/v2/account/authenticate/external/example?create=false", token("new")).await;
    unasked.assert_error(404, 5, "User account not found.");
    assert_eq!(world.post("/v2/account/authenticate/external/example?create=maybe", token("new")).await.status, 400);
}

#[tokio::test]
async fn sign_in_methods_are_linked_and_unlinked_except_the_last() {
    let world = World::new().await;
    let session = world.device("device-id-0001").await;
    let ways = [
        ("device", json!({ "id": "device-id-0002" })),
        ("custom", json!({ "id": "customid12" })),
        ("email", json!({ "email": "a@example.com", "password": "password1" })),
    ];
    for (name, body) in &ways {
        let linked = world.ask(Method::POST, &format!("/v2/account/link/{name}"), &session, body.clone()).await;
        assert_eq!((linked.status, linked.body), (StatusCode::OK, json!({})), "{name}");
    }
    let account = world.account(&session).await;
    assert_eq!(account["devices"], json!([{ "id": "device-id-0001" }, { "id": "device-id-0002" }]));
    assert_eq!((&account["custom_id"], &account["email"]), (&json!("customid12"), &json!("a@example.com")));
    for (name, body) in &ways {
        let unlinked = world.ask(Method::POST, &format!("/v2/account/unlink/{name}"), &session, body.clone()).await;
        assert_eq!(unlinked.status, 200, "{name}");
    }
    let body = json!({ "id": "device-id-0001" });
    let last = world.ask(Method::POST, "/v2/account/unlink/device", &session, body).await;
    let sentence = "Cannot unlink last account identifier. Check profile exists and is not last link.";
    last.assert_error(403, 7, sentence);
}

#[tokio::test]
async fn an_account_is_read_changed_and_deleted_by_its_owner() {
    let world = World::new().await;
    let session = world.device("device-id-0001").await;
    let account = world.account(&session).await;
    let user = &account["user"];
    assert_eq!((&account["wallet"], &user["metadata"]), (&json!("{}"), &json!("{}")));
    assert_eq!((&user["lang_tag"], &user["create_time"]), (&json!("en"), &json!("2027-01-15T08:00:00Z")));
    for absent in ["email", "custom_id", "verify_time", "disable_time"] {
        assert!(account.get(absent).is_none(), "{absent} is left out");
    }
    for absent in ["display_name", "online", "edge_count", "facebook_id"] {
        assert!(user.get(absent).is_none(), "{absent} is left out");
    }
    let update = json!({ "username": "bob", "displayName": "B", "avatar_url": "x", "location": "l", "unknown": 1 });
    let updated = world.ask(Method::PUT, "/v2/account", &session, update).await;
    assert_eq!((updated.status, updated.body), (StatusCode::OK, json!({})));
    let cleared = world.ask(Method::PUT, "/v2/account", &session, json!({ "location": "" })).await;
    assert_eq!(cleared.status, 200);
    let user = world.account(&session).await["user"].clone();
    assert_eq!((&user["username"], &user["display_name"]), (&json!("bob"), &json!("B")));
    assert!(user.get("location").is_none());
    let metadata = world.ask(Method::PUT, "/v2/account", &session, json!({ "metadata": "{\"a\":1}" })).await;
    assert_eq!(metadata.status, 200);
    assert_eq!(world.account(&session).await["user"]["metadata"], "{}", "clients cannot set it");
    let deleted = world.ask(Method::DELETE, "/v2/account", &session, Value::Null).await;
    assert_eq!((deleted.status, deleted.body), (StatusCode::OK, json!({})));
    let gone = world.ask(Method::GET, "/v2/account", &session, Value::Null).await;
    gone.assert_error(401, 16, "Auth token invalid");
}

#[tokio::test]
async fn users_are_found_by_repeated_names_in_the_query() {
    let world = World::new().await;
    let session =
        world.session("/v2/account/authenticate/device?username=alice", json!({ "id": "device-id-0001" })).await;
    let other = world.session("/v2/account/authenticate/device?username=bob", json!({ "id": "device-id-0002" })).await;
    world.ask(Method::POST, "/v2/account/link/facebook", &other, json!({ "token": "fb1" })).await;
    let id = world.account(&session).await["user"]["id"].as_str().expect("there is an id").to_owned();
    let path = format!("/v2/user?ids={id}&ids={id}&usernames=alice&usernames=nobody&facebook_ids=fb1&");
    let found = world.ask(Method::GET, &path, &session, Value::Null).await;
    let mut names: Vec<&str> =
        found.body["users"].as_array().expect("a list").iter().filter_map(|user| user["username"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["alice", "bob"]);
    let users = found.body["users"].as_array().expect("a list");
    assert!(users.iter().all(|user| user.get("email").is_none() && user.get("devices").is_none()));
    let none = world.ask(Method::GET, "/v2/user?", &session, Value::Null).await;
    assert_eq!((none.status, none.body), (StatusCode::OK, json!({})));
    let wrong = world.ask(Method::GET, "/v2/user?ids=1", &session, Value::Null).await;
    assert_eq!((wrong.status, &wrong.body["code"]), (StatusCode::BAD_REQUEST, &json!(3)));
}

#[tokio::test]
async fn a_password_is_reset_by_a_code_and_ends_sessions() {
    let world = World::new().await;
    let email = "/v2/account/authenticate/email";
    let old = json!({ "email": "a@example.com", "password": "password1" });
    let session = world.session(email, old.clone()).await;
    let known = world.post("/v2/account/password/reset", json!({ "email": "a@example.com" })).await;
    let unknown = world.post("/v2/account/password/reset", json!({ "email": "nobody@example.com" })).await;
    assert_eq!((known.status, &known.body), (StatusCode::OK, &json!({})));
    assert_eq!((unknown.status, &unknown.body), (known.status, &known.body));
    let code = world.code("account.password_reset").await;
    let confirm = json!({ "code": code, "password": "password2" });
    assert_eq!(world.post("/v2/account/password/confirm", confirm.clone()).await.status, 200);
    let again = world.post("/v2/account/password/confirm", confirm).await;
    assert_eq!((again.status, &again.body["code"]), (StatusCode::BAD_REQUEST, &json!(3)));
    let ended = world.ask(Method::GET, "/v2/account", &session, Value::Null).await;
    ended.assert_error(401, 16, "Auth token invalid");
    assert_eq!(world.post(email, old).await.status, 401);
    let new = world.post(email, json!({ "email": "a@example.com", "password": "password2" })).await;
    assert_eq!(new.status, 200);
    assert_eq!(world.ask(Method::GET, "/v2/account", &bearer(&new), Value::Null).await.status, 200, "at once");
}

#[tokio::test]
async fn an_email_address_is_confirmed_by_a_code() {
    let world = World::new().await;
    let body = json!({ "email": "a@example.com", "password": "password1" });
    let session = world.session("/v2/account/authenticate/email", body).await;
    let asked = world.ask(Method::POST, "/v2/account/email/verify", &session, Value::Null).await;
    assert_eq!((asked.status, asked.body), (StatusCode::OK, json!({})));
    let code = world.code("account.email_verification").await;
    let wrong = world.post("/v2/account/email/verify/confirm", json!({ "code": "wrong" })).await;
    assert_eq!((wrong.status, &wrong.body["code"]), (StatusCode::BAD_REQUEST, &json!(3)));
    assert_eq!(world.post("/v2/account/email/verify/confirm", json!({ "code": code })).await.status, 200);
    assert_eq!(world.account(&session).await["verify_time"], "2027-01-15T08:00:00Z");
}

#[tokio::test]
async fn invalid_messages_are_400() {
    let world = World::new().await;
    let session = world.device("device-id-0001").await;
    let paths = [
        "/v2/account/authenticate/device",
        "/v2/account/authenticate/external/example",
        "/v2/account/password/reset",
        "/v2/account/password/confirm",
        "/v2/account/email/verify/confirm",
    ];
    for path in paths {
        for body in [json!([]), json!("text"), json!({ "id": {}, "token": 1, "email": [], "code": {} })] {
            assert_eq!(world.post(path, body.clone()).await.status, 400, "{path} {body}");
        }
    }
    for (method, path) in [(Method::PUT, "/v2/account"), (Method::POST, "/v2/account/link/device")] {
        for body in
            [json!([]), json!({ "username": 1, "id": 1 }), json!({ "username": "\0", "id": "\0\0\0\0\0\0\0\0\0\0" })]
        {
            assert_eq!(world.ask(method.clone(), path, &session, body.clone()).await.status, 400, "{path} {body}");
        }
    }
}

#[tokio::test]
async fn an_address_with_many_failed_sign_ins_is_blocked() {
    let world = World::new().await;
    world.session("/v2/account/authenticate/email", json!({ "email": "a@example.com", "password": "password1" })).await;
    let path = "/v2/account/authenticate/email?create=false";
    for number in 0..10 {
        let guess = json!({ "email": format!("nobody-{number}@example.com"), "password": "password2" });
        assert_eq!(world.ask_from("203.0.113.5:1", (Method::POST, path), BASIC, guess).await.status, 401);
    }
    let right = json!({ "email": "a@example.com", "password": "password1" });
    assert_eq!(world.ask_from("203.0.113.5:2", (Method::POST, path), BASIC, right.clone()).await.status, 429);
    assert_eq!(world.ask_from("203.0.113.6:1", (Method::POST, path), BASIC, right).await.status, 200);
}

#[tokio::test]
async fn variables_beyond_the_limits_of_a_session_are_rejected_before_the_account_is_created() {
    let world = World::new().await;
    for (path, mut body) in [
        ("/v2/account/authenticate/device", json!({ "id": "device-id-0001" })),
        ("/v2/account/authenticate/external/example", json!({ "token": "one" })),
    ] {
        body["vars"] = json!({ "long": "x".repeat(1_025) });
        let refused = world.post(path, body.clone()).await;
        assert_eq!((refused.status, &refused.body["code"]), (StatusCode::BAD_REQUEST, &json!(3)), "{path}");
        body["vars"] = json!({});
        let unasked = world.post(&format!("{path}?create=false"), body).await;
        unasked.assert_error(404, 5, "User account not found.");
    }
}

#[tokio::test]
async fn a_guest_has_to_sign_in() {
    let world = World::new().await;
    let claims = || Claims::new(uuid::Uuid::new_v4(), "guest-1", (NOW / 1_000) as u64, 900).of_guest();
    for claims in [claims(), claims().with_role(Role::Developer)] {
        let guest = format!("Bearer {}", world.tokens.sign(&claims));
        let sentence = "Guests and development tokens have no account here. Sign in first.";
        for (method, path) in [(Method::GET, "/v2/account"), (Method::PUT, "/v2/storage"), (Method::GET, "/v2/profile")]
        {
            world.ask(method, path, &guest, Value::Null).await.assert_error(401, 16, sentence);
        }
    }
}

/// Adds hooks that note the start and the end of an operation.
fn note<O: Operation>(hooks: &mut Hooks, noted: &Arc<Mutex<Vec<String>>>) {
    let before = Arc::clone(noted);
    hooks.before::<O, _>(move |_, request| {
        before.lock().expect("the lock is not poisoned").push(format!("before {}", O::NAME));
        async { Ok(Some(request)) }
    });
    let after = Arc::clone(noted);
    hooks.after::<O, _>(move |_, _, _| {
        after.lock().expect("the lock is not poisoned").push(format!("after {}", O::NAME));
        async {}
    });
}

#[tokio::test]
async fn hooks_run_for_extensions_of_the_protocol() {
    let noted: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut hooks = Hooks::default();
    note::<AuthenticateExternal>(&mut hooks, &noted);
    note::<LinkExternal>(&mut hooks, &noted);
    note::<UnlinkExternal>(&mut hooks, &noted);
    note::<RequestPasswordReset>(&mut hooks, &noted);
    note::<ResetPassword>(&mut hooks, &noted);
    note::<RequestEmailVerification>(&mut hooks, &noted);
    note::<VerifyEmail>(&mut hooks, &noted);
    hooks.before::<AuthenticateExternal, _>(|context, mut request| async move {
        assert_eq!(request.provider, "example", "the provider is from the path");
        assert!(context.address.is_some());
        request.username = "chosen".to_owned();
        Ok(Some(request))
    });
    let world = World::with(ServicesExtensions { hooks, ..ServicesExtensions::default() }).await;
    let external = world.post("/v2/account/authenticate/external/example", json!({ "token": "one" })).await;
    assert_eq!(claims(&external.body["token"])["usn"], "chosen", "a hook may change the request");
    let email = json!({ "email": "a@example.com", "password": "password1" });
    let session = world.session("/v2/account/authenticate/email", email).await;
    for change in ["link", "unlink"] {
        let path = format!("/v2/account/{change}/external/example");
        assert_eq!(world.ask(Method::POST, &path, &session, json!({ "token": "two" })).await.status, 200, "{change}");
    }
    assert_eq!(world.ask(Method::POST, "/v2/account/email/verify", &session, Value::Null).await.status, 200);
    let code = world.code("account.email_verification").await;
    assert_eq!(world.post("/v2/account/email/verify/confirm", json!({ "code": code })).await.status, 200);
    assert_eq!(world.post("/v2/account/password/reset", json!({ "email": "a@example.com" })).await.status, 200);
    let confirm = json!({ "code": world.code("account.password_reset").await, "password": "password2" });
    assert_eq!(world.post("/v2/account/password/confirm", confirm).await.status, 200);
    let expected = [
        "AuthenticateExternal",
        "LinkExternal",
        "UnlinkExternal",
        "RequestEmailVerification",
        "VerifyEmail",
        "RequestPasswordReset",
        "ResetPassword",
    ];
    let expected: Vec<String> =
        expected.iter().flat_map(|name| [format!("before {name}"), format!("after {name}")]).collect();
    assert_eq!(*noted.lock().expect("the lock is not poisoned"), expected);
}

#[tokio::test]
async fn extensions_of_the_protocol_are_described() {
    let world = World::new().await;
    let document = world.ask(Method::GET, "/openapi.json", BASIC, Value::Null).await.body;
    let sign_in = &document["paths"]["/v2/account/authenticate/external/{provider}"]["post"];
    assert_eq!(sign_in["operationId"], "AuthenticateExternal");
    assert_eq!(sign_in["security"], json!([{ "serverKey": [] }]));
    let parameters = sign_in["parameters"].as_array().expect("a list");
    let named = |name: &str| parameters.iter().find(|parameter| parameter["name"] == name).expect("it is there");
    assert_eq!((&named("provider")["in"], &named("provider")["required"]), (&json!("path"), &json!(true)));
    assert_eq!((&named("create")["in"], &named("create")["schema"]["type"]), (&json!("query"), &json!("boolean")));
    let vars = &document["components"]["schemas"]["AccountExternal"]["properties"]["vars"];
    assert_eq!(vars["additionalProperties"]["type"], "string");
    assert_eq!(document["paths"]["/v2/account/email/verify"]["post"]["security"], json!([{ "session": [] }]));
}
