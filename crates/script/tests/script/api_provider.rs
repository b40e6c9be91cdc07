//! Sign-in and links with identity providers, each against a local server that speaks its protocol.
//!
//! The addresses of providers are no settings of a server, so these tests open the services themselves.

use crate::api_support::{CALLER, payload};
use crate::fake_provider::{FakeProvider, ReceivedRequest, json as answer};
use crate::signer::{RSA_KEY, Signer};
use aether_metrics::Registry;
use aether_script::{ScriptSettings, Scripts};
use aether_services::account::provider::{
    FacebookSettings, GameCenterSettings, OpenIdSettings, ProviderSettings, SteamSettings,
};
use aether_services::clock::ManualClock;
use aether_services::session::keys::KeyRing;
use aether_services::session::{self, tokens::Tokens};
use aether_services::{
    CallContext, Services, ServicesExtensions, ServicesParts, ServicesSettings, http_client, purchase,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use uuid::Uuid;

/// Time of the tests, in milliseconds since 1970: the 15th of January 2027.
pub const NOW: i64 = 1_800_000_000_000;

/// Services with scripts, without a server.
pub struct ServiceCalls {
    services: Arc<Services>,
    scripts: Arc<Scripts>,
    folder: PathBuf,
}

impl Drop for ServiceCalls {
    fn drop(&mut self) {
        self.scripts.stop(&self.services);
        // A folder that cannot be removed stays in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl ServiceCalls {
    pub async fn start(providers: ProviderSettings, purchases: purchase::Settings) -> ServiceCalls {
        let folder = std::env::temp_dir().join(format!("aether-lua-{}", Uuid::new_v4().simple()));
        std::fs::create_dir_all(&folder).expect("the folder is created");
        std::fs::write(folder.join("caller.lua"), CALLER).expect("the module is written");
        let ring = KeyRing::open(&folder.join("keys"), 0).expect("the keys are created");
        let sessions =
            session::Settings { access_seconds: 900, refresh_seconds: 900, refresh_again_seconds: 10, single: false };
        let allowed = vec!["127.0.0.0/8".parse().expect("it is a network")];
        let settings = ServicesSettings {
            sessions,
            accounts: Default::default(),
            http_client: http_client::Settings { allowed, ..Default::default() },
            webhook: None,
            providers,
            purchases,
            storage: Default::default(),
            reserved_collections: Default::default(),
            matchmaker: Default::default(),
        };
        let parts = ServicesParts {
            store: aether_testkit_store::memory().open().await,
            clock: Arc::new(ManualClock::at(NOW)),
            tokens: Arc::new(Tokens::new(ring, "aether")),
            registry: &Registry::new(),
        };
        let services = Services::open(parts, settings, ServicesExtensions::default()).await;
        let services = Arc::new(services.expect("the services open"));
        let scripts = Scripts::new(ScriptSettings { folder: folder.clone(), ..ScriptSettings::default() });
        scripts.load(&services).await.expect("the module loads");
        ServiceCalls { services, scripts, folder }
    }

    /// Returns the results of a function, or its error.
    pub async fn call(&self, name: &str, arguments: &[Value]) -> Value {
        let context = Arc::new(CallContext::server());
        let answer = self.services.call_function("call", &context, payload(name, arguments).to_string()).await;
        serde_json::from_str(&answer.expect("the function answers")).expect("the answer is JSON")
    }

    pub async fn ok(&self, name: &str, arguments: &[Value]) -> Value {
        let answer = self.call(name, arguments).await;
        assert_eq!(answer.get("error"), None, "{name} {arguments:?}: {answer}");
        answer
    }

    pub async fn fails(&self, name: &str, arguments: &[Value], with: &str) {
        let answer = self.call(name, arguments).await;
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(with)), "{name}: {answer}");
    }

    /// Signs a user in by device, and returns the id.
    pub async fn user(&self, device: &str) -> Value {
        self.ok("authenticate_device", &[json!(device)]).await["a"].clone()
    }
}

/// Signs in, links another account, unlinks it, and checks the field of the user.
///
/// `tokens` are two valid ones of different users at the provider, `wrong` is none.
async fn check_token_provider(calls: &ServiceCalls, names: [&str; 3], field: &str, tokens: [&str; 2], wrong: &str) {
    let [authenticate, link, unlink] = names;
    let signed_in = calls.ok(authenticate, &[json!(tokens[0])]).await;
    assert_eq!(signed_in["c"], json!(true), "{authenticate}");
    assert_eq!(calls.ok(authenticate, &[json!(tokens[0])]).await["a"], signed_in["a"]);
    let user = calls.ok("users_get_id", &[json!([signed_in["a"]])]).await["a"][0].clone();
    assert!(user[field].is_string(), "{user}");
    let other = calls.user("device-of-another").await;
    calls.ok(link, &[other.clone(), json!(tokens[1])]).await;
    assert_eq!(calls.ok(authenticate, &[json!(tokens[1])]).await["a"], other);
    calls.ok(unlink, std::slice::from_ref(&other)).await;
    let account = calls.ok("account_get_id", std::slice::from_ref(&other)).await;
    assert_eq!(account["a"][field], Value::Null);
    calls.fails(unlink, &[signed_in["a"].clone()], "last account identifier").await;
    calls.fails(authenticate, &[json!(wrong)], "not valid").await;
    calls.fails(link, &[other.clone(), json!(wrong)], "not valid").await;
    calls.fails(unlink, &[other.clone(), json!(wrong)], "not valid").await;
    calls.fails(authenticate, &[], "argument 1").await;
    calls.fails(link, &[other], "argument 2").await;
}

fn open_id(name: &str, url: &str) -> OpenIdSettings {
    OpenIdSettings {
        name: name.to_owned(),
        issuers: vec!["https://id.example.com".to_owned()],
        audiences: vec!["game".to_owned()],
        authorized_parties: Vec::new(),
        keys_url: format!("{url}/keys"),
        session_status: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_apple_and_google() {
    let signer = Signer::rsa();
    let keys = json!({ "keys": [signer.published("key-1")] });
    let fake = FakeProvider::start(move |_| answer(&keys)).await;
    let seconds = NOW / 1_000;
    let token = |subject: &str| {
        let claims = json!({
            "iss": "https://id.example.com", "aud": "game", "sub": subject, "iat": seconds, "exp": seconds + 600,
        });
        signer.token("key-1", &claims)
    };
    for (provider, field) in [("apple", "apple_id"), ("google", "google_id")] {
        let providers = ProviderSettings { open_id: vec![open_id(provider, &fake.url)], ..Default::default() };
        let calls = ServiceCalls::start(providers, Default::default()).await;
        let names = ["authenticate", "link", "unlink"].map(|action| format!("{action}_{provider}"));
        let names = names.each_ref().map(String::as_str);
        let (one, other) = (token("1"), token("2"));
        check_token_provider(&calls, names, field, [&one, &other], "a.b.c").await;
        let named = calls.ok(names[0], &[json!(token("3")), json!("named"), json!(true)]).await;
        assert_eq!((&named["b"], &named["c"]), (&json!("named"), &json!(true)));
        calls.fails(names[0], &[json!(token("4")), Value::Null, json!(false)], "not found").await;
    }
    let calls = ServiceCalls::start(Default::default(), Default::default()).await;
    calls.fails("authenticate_apple", &[json!("a.b.c")], "not configured on this server").await;
    calls.fails("authenticate_google", &[json!("a.b.c")], "not configured on this server").await;
}

/// Answers like Steam: tickets of two players, who are friends.
fn steam(asked: &ReceivedRequest) -> (u16, Vec<u8>) {
    let player = |id: &str| {
        let params = json!({ "result": "OK", "steamid": id, "vacbanned": false, "publisherbanned": false });
        answer(&json!({ "response": { "params": params } }))
    };
    match (asked.path.as_str(), asked.query("ticket"), asked.query("steamid")) {
        ("/ISteamUserAuth/AuthenticateUserTicket/v1/", "0a", _) => player("76561197960287930"),
        ("/ISteamUserAuth/AuthenticateUserTicket/v1/", "0b", _) => player("76561197960287931"),
        ("/ISteamUserAuth/AuthenticateUserTicket/v1/", _, _) => {
            answer(&json!({ "response": { "error": { "errorcode": 101, "errordesc": "Invalid ticket" } } }))
        }
        (_, _, "76561197960287931") => {
            let friends = json!([{ "steamid": "76561197960287930", "relationship": "friend", "friend_since": 1 }]);
            answer(&json!({ "friendslist": { "friends": friends } }))
        }
        _ => answer(&json!({ "friendslist": { "friends": [] } })),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_of_steam_import_friends() {
    let fake = FakeProvider::start(steam).await;
    let settings = SteamSettings { base_url: fake.url.clone(), ..SteamSettings::new(480, "key".to_owned()) };
    let providers = ProviderSettings { steam: Some(settings), ..Default::default() };
    let calls = ServiceCalls::start(providers, Default::default()).await;
    let one = calls.ok("authenticate_steam", &[json!("0a"), json!("one"), json!(true)]).await;
    assert_eq!((&one["b"], &one["c"]), (&json!("one"), &json!(true)));
    let other = calls.user("device-of-another").await;
    calls.ok("link_steam", &[other.clone(), Value::Null, json!("0b"), json!(true)]).await;
    let states = calls.ok("users_get_friend_status", &[other.clone(), json!([one["a"]])]).await;
    assert_eq!(states["a"][0]["state"], json!(0), "they are friends at Steam: {states}");
    assert_eq!(states["a"][0]["user"]["steam_id"], json!("76561197960287930"));
    assert_eq!(calls.ok("authenticate_steam", &[json!("0b")]).await["a"], other);
    calls.ok("unlink_steam", &[other.clone(), json!("0b")]).await;
    calls.fails("unlink_steam", std::slice::from_ref(&other), "Cannot unlink").await;
    calls.fails("authenticate_steam", &[json!("ff")], "not valid").await;
    calls.fails("link_steam", &[other, Value::Null, json!("ff")], "not valid").await;
}

/// Answers like Facebook: tokens `one` and `two` of two users, who are friends.
fn facebook(asked: &ReceivedRequest) -> (u16, Vec<u8>) {
    let id = |token: &str| match token {
        "one" => Some("1001"),
        "two" => Some("1002"),
        _ => None,
    };
    match asked.path.as_str() {
        "/v1/debug_token" => match id(asked.query("input_token")) {
            Some(user) => answer(&json!({ "data": { "app_id": "app", "is_valid": true, "user_id": user } })),
            None => (400, json!({ "error": { "code": 190 } }).to_string().into()),
        },
        "/v1/me" => answer(&json!({ "id": id(asked.query("access_token")), "name": "Ann" })),
        _ => answer(&json!({ "data": [{ "id": "1001" }] })),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_facebook_import_friends() {
    let fake = FakeProvider::start(facebook).await;
    let mut settings = FacebookSettings::new("app".to_owned(), "secret".to_owned());
    settings.graph_url = format!("{}/v1", fake.url);
    let providers = ProviderSettings { facebook: Some(settings), ..Default::default() };
    let calls = ServiceCalls::start(providers, Default::default()).await;
    let one = calls.ok("authenticate_facebook", &[json!("one"), json!(false), json!("one")]).await;
    assert_eq!((&one["b"], &one["c"]), (&json!("one"), &json!(true)));
    let found = calls.ok("users_get_id", &[json!([]), json!(["1001"])]).await;
    assert_eq!((&found["a"][0]["user_id"], &found["a"][0]["facebook_id"]), (&one["a"], &json!("1001")));
    let other = calls.user("device-of-another").await;
    calls.ok("link_facebook", &[other.clone(), json!("name"), json!("two")]).await;
    let states = calls.ok("users_get_friend_status", &[other.clone(), json!([one["a"]])]).await;
    assert_eq!(states["a"][0]["state"], json!(0), "they are friends at Facebook: {states}");
    calls.ok("unlink_facebook", &[other.clone(), json!("two")]).await;
    calls.fails("unlink_facebook", std::slice::from_ref(&other), "Cannot unlink").await;
    calls.fails("authenticate_facebook", &[json!("wrong")], "not valid").await;
    calls.fails("link_facebook", &[other, json!(""), json!("wrong")], "not valid").await;
}

fn certificate() -> Vec<u8> {
    let key = rcgen::KeyPair::try_from(RSA_KEY).expect("it is a key");
    let mut parameters = rcgen::CertificateParams::new(vec![]).expect("it needs no name");
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2030, 1, 1);
    parameters.self_signed(&key).expect("it can be signed").der().to_vec()
}

/// Returns the arguments of a proof of Game Center.
fn game_center(url: &str, player: &str) -> Vec<Value> {
    let signed = [player.as_bytes(), b"com.example.game", &(NOW as u64).to_be_bytes(), &[1, 2, 3, 4]].concat();
    vec![
        json!(player),
        json!("com.example.game"),
        json!(NOW),
        json!(STANDARD.encode([1, 2, 3, 4])),
        json!(STANDARD.encode(Signer::rsa().sign(&signed))),
        json!(format!("{url}/key.cer")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn proofs_of_game_center() {
    let certificate = certificate();
    let fake = FakeProvider::start(move |_| (200, certificate.clone())).await;
    let bundles = vec!["com.example.game".to_owned()];
    let settings = GameCenterSettings { key_origins: vec![fake.url.clone()], ..GameCenterSettings::new(bundles) };
    let providers = ProviderSettings { game_center: Some(settings), ..Default::default() };
    let calls = ServiceCalls::start(providers, Default::default()).await;
    let proof = |player: &str| game_center(&fake.url, player);
    let one = calls.ok("authenticate_game_center", &[proof("T:_1"), vec![json!("one")]].concat()).await;
    assert_eq!((&one["b"], &one["c"]), (&json!("one"), &json!(true)));
    let user = calls.ok("users_get_id", &[json!([one["a"]])]).await;
    assert_eq!(user["a"][0]["gamecenter_id"], json!("T:_1"));
    let other = calls.user("device-of-another").await;
    let of_other = |player: &str| [vec![other.clone()], proof(player)].concat();
    calls.ok("link_gamecenter", &of_other("T:_2")).await;
    calls.ok("unlink_gamecenter", &of_other("T:_2")).await;
    calls.ok("link_gamecenter", &of_other("T:_2")).await;
    calls.fails("unlink_gamecenter", &[other.clone(), json!("T:_1")], "the linked player").await;
    calls.ok("unlink_gamecenter", &[other.clone(), json!("T:_2")]).await;
    calls.fails("unlink_gamecenter", std::slice::from_ref(&other), "Cannot unlink").await;
    let mut altered = proof("T:_1");
    altered[0] = json!("T:_3");
    calls.fails("authenticate_game_center", &altered, "not valid").await;
    calls.fails("link_gamecenter", &[vec![other], altered].concat(), "not valid").await;
    calls.fails("authenticate_game_center", &[json!("T:_1")], "argument 2 (`bundleID`)").await;
}
