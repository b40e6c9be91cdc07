//! Sign-in with Steam, Facebook and Game Center, each against a server that speaks its protocol.

use super::fake_provider::{FakeProvider, ReceivedRequest, json as answer};
use super::fixture::{Fixture, NOW, http_client};
use super::signer::{RSA_KEY, Signer};
use aether_services::account::SignInMethod;
use aether_services::account::provider::{
    FACEBOOK, FACEBOOK_INSTANT, FacebookInstantSettings, FacebookSettings, GAME_CENTER, GameCenterProof,
    GameCenterSettings, ProviderProof, ProviderSettings, STEAM, SteamSettings,
};
use aether_services::{GrpcCode, ServiceError};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use ring::hmac;
use serde_json::json;
use uuid::Uuid;

const SECONDS: i64 = NOW / 1_000;

impl Fixture {
    async fn by_token(&self, provider: &str, token: &str) -> Result<Uuid, ServiceError> {
        let proof = ProviderProof::Token(token.to_owned());
        self.sign_in(SignInMethod::External { provider: provider.to_owned(), proof })
            .await
            .map(|signed_in| signed_in.user)
    }

    async fn identity(&self, user: Uuid, provider: &str) -> Option<String> {
        self.accounts.account(user).await.expect("it is there").user.identities.remove(provider)
    }
}

fn code<T>(outcome: Result<T, ServiceError>) -> Option<GrpcCode> {
    outcome.err().map(|error| error.code)
}

/// Answers like Steam for tickets.
fn steam(asked: &ReceivedRequest) -> (u16, Vec<u8>) {
    if asked.path != "/ISteamUserAuth/AuthenticateUserTicket/v1/" || asked.query("key") != "publisher & key" {
        return (403, b"<html>Forbidden</html>".to_vec());
    }
    if asked.query("appid") != "480" || asked.query("identity") != "my game" {
        return answer(&json!({ "response": { "error": { "errorcode": 102, "errordesc": "Ticket for other app" } } }));
    }
    let found = |banned: bool, id: &str| {
        let params = json!({
            "result": "OK", "steamid": id, "ownersteamid": id, "vacbanned": false, "publisherbanned": banned,
        });
        answer(&json!({ "response": { "params": params } }))
    };
    match asked.query("ticket") {
        "0a0b0c" => found(false, "76561197960287930"),
        "0d" => found(true, "76561197960287931"),
        "0e" => found(false, "not a number"),
        "0f" => (200, b"no json".to_vec()),
        _ => answer(&json!({ "response": { "error": { "errorcode": 101, "errordesc": "Invalid ticket" } } })),
    }
}

#[tokio::test]
async fn a_steam_ticket_finds_the_account_of_its_player() {
    let fake = FakeProvider::start(steam).await;
    let with_key = |key: &str| SteamSettings {
        identity: Some("my game".to_owned()),
        base_url: fake.url.clone(),
        ..SteamSettings::new(480, key.to_owned())
    };
    let right = with_key("publisher & key");
    let settings = ProviderSettings { steam: Some(right), ..ProviderSettings::default() };
    let fixture = Fixture::with(|accounts, _| accounts.with_providers(settings, &http_client())).await;
    let user = fixture.by_token(STEAM, "0a0b0c").await.expect("the ticket is right");
    assert_eq!(fixture.identity(user, STEAM).await.as_deref(), Some("76561197960287930"));
    assert_eq!(fixture.by_token(STEAM, "0a0b0c").await, Ok(user));
    for (ticket, expected) in [
        ("0d", GrpcCode::Unauthenticated),
        ("0e", GrpcCode::Unauthenticated),
        ("0f", GrpcCode::Unavailable),
        ("ffff", GrpcCode::Unauthenticated),
        ("0a0b0", GrpcCode::Unauthenticated),
        ("0a&key=x", GrpcCode::Unauthenticated),
    ] {
        assert_eq!(code(fixture.by_token(STEAM, ticket).await), Some(expected), "{ticket}");
    }
    let before = fake.asked().len();
    assert_eq!(code(fixture.by_token(STEAM, &"ab".repeat(5_000)).await), Some(GrpcCode::Unauthenticated));
    assert_eq!(fake.asked().len(), before, "malformed tickets cause no request");
    let wrong = with_key("wrong key");
    let settings = ProviderSettings { steam: Some(wrong), ..ProviderSettings::default() };
    let fixture = Fixture::with(|accounts, _| accounts.with_providers(settings, &http_client())).await;
    assert_eq!(
        code(fixture.by_token(STEAM, "0a0b0c").await),
        Some(GrpcCode::Unavailable),
        "the key is not the player's doing"
    );
}

/// Answers like Facebook for tokens.
fn facebook(asked: &ReceivedRequest) -> (u16, Vec<u8>) {
    let about = |valid: bool, app: &str, user: &str| {
        answer(&json!({ "data": { "app_id": app, "type": "USER", "is_valid": valid, "user_id": user } }))
    };
    match (asked.path.as_str(), asked.query("input_token"), asked.query("access_token")) {
        ("/v1/debug_token", token, "app|secret") => match token {
            "right" | "unproved" => about(true, "app", "1001"),
            "expired" => about(false, "app", "1001"),
            "others" => about(true, "another app", "1001"),
            "mixed" => about(true, "app", "1002"),
            _ => (400, json!({ "error": { "message": "Invalid OAuth access token", "code": 190 } }).to_string().into()),
        },
        ("/v1/me", _, token @ ("right" | "others" | "mixed")) => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, b"secret");
            let proof: String =
                hmac::sign(&key, token.as_bytes()).as_ref().iter().map(|b| format!("{b:02x}")).collect();
            match asked.query("appsecret_proof") == proof && asked.query("fields") == "id,name,email" {
                true => answer(&json!({ "id": "1001", "name": "Ann Example" })),
                false => (400, json!({ "error": { "message": "Invalid appsecret_proof" } }).to_string().into()),
            }
        }
        ("/v1/me", _, "unproved") => (400, json!({ "error": { "code": 100 } }).to_string().into()),
        _ => (404, Vec::new()),
    }
}

#[tokio::test]
async fn a_facebook_token_finds_the_account_of_its_user() {
    let signer = Signer::rsa();
    let keys = json!({ "keys": [signer.published("key-1")] });
    let fake =
        FakeProvider::start(move |asked| if asked.path == "/keys" { answer(&keys) } else { facebook(asked) }).await;
    let mut settings = FacebookSettings::new("app".to_owned(), "secret".to_owned());
    settings.graph_url = format!("{}/v1", fake.url);
    settings.limited.keys_url = format!("{}/keys", fake.url);
    let settings = ProviderSettings { facebook: Some(settings), ..ProviderSettings::default() };
    let fixture = Fixture::with(|accounts, _| accounts.with_providers(settings, &http_client())).await;
    let user = fixture.by_token(FACEBOOK, "right").await.expect("the token is right");
    assert_eq!(fixture.identity(user, FACEBOOK).await.as_deref(), Some("1001"));
    assert_eq!(fixture.accounts.account(user).await.expect("it is there").user.display_name, "Ann Example");
    let found = fixture.accounts.users(vec![], vec![], vec!["1001".to_owned()]).await.expect("these are few");
    assert_eq!(found.iter().map(|user| user.id).collect::<Vec<_>>(), [user]);
    for token in ["expired", "others", "mixed", "unproved", "unknown", "right&input_token=x"] {
        assert_eq!(code(fixture.by_token(FACEBOOK, token).await), Some(GrpcCode::Unauthenticated), "{token}");
    }
    let claims = |audience: &str| {
        json!({
            "iss": "https://www.facebook.com", "aud": audience, "sub": "1001", "iat": SECONDS, "exp": SECONDS + 60,
        })
    };
    assert_eq!(fixture.by_token(FACEBOOK, &signer.token("key-1", &claims("app"))).await, Ok(user), "by limited login");
    let others = signer.token("key-1", &claims("another app"));
    assert_eq!(code(fixture.by_token(FACEBOOK, &others).await), Some(GrpcCode::Unauthenticated));
}

/// Returns Facebook's message for an instant game, signed with this secret.
fn signed(secret: &str, info: &serde_json::Value) -> String {
    let payload = URL_SAFE_NO_PAD.encode(info.to_string());
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    format!("{}.{payload}", URL_SAFE.encode(hmac::sign(&key, payload.as_bytes())))
}

/// Returns Facebook's data of a player of an instant game.
fn info(id: &str, issued_at: i64) -> serde_json::Value {
    json!({ "algorithm": "HMAC-SHA256", "issued_at": issued_at, "player_id": id, "request_payload": "x" })
}

async fn instant_game(secret: &str) -> Fixture {
    let facebook_instant = Some(FacebookInstantSettings { app_secret: secret.to_owned() });
    let settings = ProviderSettings { facebook_instant, ..ProviderSettings::default() };
    Fixture::with(|accounts, _| accounts.with_providers(settings, &http_client())).await
}

#[tokio::test]
async fn instant_games_need_a_secret() {
    let fixture = instant_game("").await;
    let signed_with_nothing = signed("", &info("5001", SECONDS));
    assert_eq!(code(fixture.by_token(FACEBOOK_INSTANT, &signed_with_nothing).await), Some(GrpcCode::Unauthenticated));
}

#[tokio::test]
async fn signed_instant_game_info_finds_the_account_of_its_player() {
    let fixture = instant_game("secret").await;
    let right = signed("secret", &info("5001", SECONDS));
    let user = fixture.by_token(FACEBOOK_INSTANT, &right).await.expect("it is signed");
    assert_eq!(fixture.identity(user, FACEBOOK_INSTANT).await.as_deref(), Some("5001"));
    let (signature, _) = right.split_once('.').expect("it has two parts");
    let wrong = [
        signed("other", &info("5001", SECONDS)),
        signed("secret", &info("5001", SECONDS - 86_401)),
        signed("secret", &info("5001", SECONDS + 61)),
        signed("secret", &info("", SECONDS)),
        signed("secret", &json!({ "algorithm": "none", "issued_at": SECONDS, "player_id": "5001" })),
        signed("secret", &json!({ "algorithm": "HMAC-SHA256", "player_id": "5001" })),
        format!("{signature}.{}", URL_SAFE_NO_PAD.encode(info("5002", SECONDS).to_string())),
        "no dot".to_owned(),
        ".".to_owned(),
        "!.!".to_owned(),
    ];
    for signed in wrong {
        assert_eq!(
            code(fixture.by_token(FACEBOOK_INSTANT, &signed).await),
            Some(GrpcCode::Unauthenticated),
            "{signed}"
        );
    }
}

/// Returns a signed proof of Game Center.
fn game_center_proof(url: &str, change: impl FnOnce(&mut GameCenterProof)) -> GameCenterProof {
    let mut proof = GameCenterProof {
        player_id: "T:_player".to_owned(),
        bundle_id: "com.example.game".to_owned(),
        timestamp: NOW,
        salt: STANDARD.encode([1, 2, 3, 4]),
        signature: String::new(),
        public_key_url: format!("{url}/public-key/gc-prod-10.cer"),
    };
    change(&mut proof);
    let time = (proof.timestamp as u64).to_be_bytes();
    let signed = [proof.player_id.as_bytes(), proof.bundle_id.as_bytes(), &time, &[1, 2, 3, 4]].concat();
    proof.signature = STANDARD.encode(Signer::rsa().sign(&signed));
    proof
}

fn certificate(until: (i32, u8, u8)) -> Vec<u8> {
    let key = rcgen::KeyPair::try_from(RSA_KEY).expect("it is a key");
    let mut parameters = rcgen::CertificateParams::new(vec![]).expect("it needs no name");
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(until.0, until.1, until.2);
    parameters.self_signed(&key).expect("it can be signed").der().to_vec()
}

#[tokio::test]
async fn a_game_center_proof_finds_the_account_of_its_player() {
    // The clock of the tests shows the 15th of January 2027.
    let (good, old) = (certificate((2030, 1, 1)), certificate((2026, 12, 31)));
    let fake = FakeProvider::start(move |asked| match asked.path.as_str() {
        "/public-key/gc-prod-10.cer" => (200, good.clone()),
        "/public-key/gc-prod-1.cer" => (200, old.clone()),
        "/public-key/text.cer" => (200, b"no certificate".to_vec()),
        _ => (404, Vec::new()),
    })
    .await;
    let key_origins = vec![fake.url.clone()];
    let settings = GameCenterSettings { key_origins, ..GameCenterSettings::new(vec!["com.example.game".to_owned()]) };
    let settings = ProviderSettings { game_center: Some(settings), ..ProviderSettings::default() };
    let fixture = Fixture::with(|accounts, _| accounts.with_providers(settings, &http_client())).await;
    let sign_in = async |proof: GameCenterProof| {
        let method =
            SignInMethod::External { provider: GAME_CENTER.to_owned(), proof: ProviderProof::GameCenter(proof) };
        fixture.sign_in(method).await.map(|signed_in| signed_in.user)
    };
    let url = &fake.url;
    let user = sign_in(game_center_proof(url, |_| {})).await.expect("it is signed");
    assert_eq!(fixture.identity(user, GAME_CENTER).await.as_deref(), Some("T:_player"));
    assert_eq!(sign_in(game_center_proof(url, |proof| proof.timestamp -= 1_000)).await, Ok(user));
    assert_eq!(fake.asked().len(), 1, "the certificate is remembered");

    let at = |path: &str| game_center_proof(url, |proof| proof.public_key_url = format!("{url}/public-key/{path}"));
    let mut altered = game_center_proof(url, |_| {});
    altered.player_id = "T:_another".to_owned();
    let mut shifted = game_center_proof(url, |_| {});
    shifted.player_id = "T:_playerc".to_owned();
    shifted.bundle_id = "om.example.game".to_owned();
    let elsewhere = |address: &str| game_center_proof(url, |proof| proof.public_key_url = address.to_owned());
    let wrong = [
        ("altered", altered),
        ("shifted between its fields", shifted),
        ("for another game", game_center_proof(url, |proof| proof.bundle_id = "com.example.other".to_owned())),
        ("of the day before yesterday", game_center_proof(url, |proof| proof.timestamp -= 86_401_000)),
        ("of tomorrow", game_center_proof(url, |proof| proof.timestamp += 61_000)),
        ("without a player", game_center_proof(url, |proof| proof.player_id.clear())),
        ("with a certificate that has expired", at("gc-prod-1.cer")),
        ("with a text for a certificate", at("text.cer")),
        ("with no certificate", at("missing.cer")),
        ("with a certificate from elsewhere", elsewhere("https://apple.example.com/public-key/gc-prod-10.cer")),
        ("with a certificate from nowhere", elsewhere("public-key/gc-prod-10.cer")),
        ("with a host in disguise", elsewhere(&format!("{}@evil.example.com/x.cer", fake.url))),
        ("with a long address", elsewhere(&format!("{url}/{}", "a".repeat(2_000)))),
    ];
    for (what, proof) in wrong {
        assert_eq!(code(sign_in(proof).await), Some(GrpcCode::Unauthenticated), "{what}");
    }
    let token = fixture.by_token(GAME_CENTER, "a token").await;
    assert_eq!(code(token), Some(GrpcCode::Unauthenticated));
}
