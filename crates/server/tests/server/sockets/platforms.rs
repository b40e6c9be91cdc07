//! Configured identity providers and shops, over HTTP.

use aether_server::config::{Config, ConfigFile, Secret, Sources};
use aether_server::{Server, StartError};
use aether_testkit_server::{ApiClient, HttpAnswer, TestServer, unix_seconds};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Key of test 1 in section 7.1 of RFC 8032: the secret part as PKCS #8, and the public one.
const SECRET_KEY: [u8; 48] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20, 0x9d, 0x61, 0xb1,
    0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32,
    0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
];
const PUBLIC_KEY: [u8; 32] = [
    0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1, 0x72,
    0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
];

const ISSUER: &str = "https://id.example.com";
const GAME: &str = "game-of-the-tests";
const INSTANT_SECRET: &str = "a secret of the tests alone";

/// Starts a server with the text of a configuration file.
async fn server(text: String) -> TestServer {
    let file = Some(ConfigFile { path: "aether.toml".to_owned(), text });
    let (environment, flags) = (Vec::new(), Vec::new());
    let sources = Sources { file, environment, flags, read_file: &|path| std::fs::read_to_string(path) };
    let loaded = Config::load(&sources).unwrap_or_else(|error| panic!("{error}"));
    TestServer::start(|config| {
        let (data_dir, http) = (config.data_dir.clone(), config.http.clone());
        *config = loaded;
        (config.data_dir, config.http) = (data_dir, http);
    })
    .await
}

/// Starts a local server that publishes the key. Returns its address and the number of requests.
async fn key_server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("ports are free");
    let url = format!("http://{}/keys", listener.local_addr().expect("it listens"));
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            publish(stream).await;
        }
    });
    (url, asked)
}

async fn publish(mut stream: TcpStream) {
    let mut request = Vec::new();
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut request).await.expect("it can be read") > 0);
    }
    assert!(request.starts_with(b"GET /keys HTTP/1.1\r\n"), "{}", String::from_utf8_lossy(&request));
    let key = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "1", "x": URL_SAFE_NO_PAD.encode(PUBLIC_KEY) });
    let body = json!({ "keys": [key] }).to_string();
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await.expect("it can be answered");
}

/// Returns the section of a provider with its keys at an address.
fn provider(keys_url: &str) -> String {
    format!(
        "[provider.example]\nissuers = [\"{ISSUER}\"]\naudiences = [\"{GAME}\"]\nkeys_url = \"{keys_url}\"\n\
         [outgoing]\nallowed_networks = [\"127.0.0.1\"]\n"
    )
}

/// Signs a token of the provider for a game.
fn token(subject: &str, audience: &str) -> String {
    let header = Header { kid: Some("1".to_owned()), ..Header::new(Algorithm::EdDSA) };
    let now = unix_seconds();
    let claims = json!({ "iss": ISSUER, "sub": subject, "aud": audience, "iat": now, "exp": now + 60, "name": "Ann" });
    jsonwebtoken::encode(&header, &claims, &EncodingKey::from_ed_der(&SECRET_KEY)).expect("it can be signed")
}

/// Signs a request of an Instant Game as Facebook does: signature, dot, payload.
fn signed_by_facebook(said: &Value) -> String {
    let said = URL_SAFE_NO_PAD.encode(said.to_string());
    let key = EncodingKey::from_secret(INSTANT_SECRET.as_bytes());
    let signature = jsonwebtoken::crypto::sign(said.as_bytes(), &key, Algorithm::HS256).expect("it can be signed");
    format!("{signature}.{said}")
}

async fn sign_in(server: &TestServer, provider: &str, token: &str) -> HttpAnswer {
    let path = format!("/v2/account/authenticate/external/{provider}");
    let answer = ApiClient::new(server.http).post(&path, &json!({ "token": token })).await;
    answer.expect("the server answers")
}

/// Returns the user of a session.
fn user(server: &TestServer, session: &Value) -> String {
    let mut client = ApiClient::new(server.http);
    client.adopt(session);
    client.user
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_configured_provider_sign_in_to_the_same_account() {
    let (keys_url, asked) = key_server().await;
    let server = server(provider(&keys_url)).await;
    let first = sign_in(&server, "example", &token("ann", GAME)).await;
    assert_eq!(first.status, 200, "{}", first.body);
    assert_eq!(first.json()["created"], true);
    let mut client = ApiClient::new(server.http);
    client.adopt(&first.json());
    let account = client.get("/v2/account").await.expect("the server answers").json();
    assert_eq!(account["user"]["display_name"], "Ann", "{account}");
    let again = sign_in(&server, "example", &token("ann", GAME)).await;
    assert_eq!((again.status, again.json()["created"].as_bool().unwrap_or(false)), (200, false), "{}", again.body);
    assert_eq!(user(&server, &again.json()), client.user);
    let other = sign_in(&server, "example", &token("ben", GAME)).await;
    assert_ne!(user(&server, &other.json()), client.user);
    assert_eq!(asked.load(Ordering::Relaxed), 1, "the keys are remembered");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_another_game_and_a_changed_token_are_rejected() {
    let (keys_url, _) = key_server().await;
    let server = server(provider(&keys_url)).await;
    let good = token("ann", GAME);
    let (before, after) = good.split_at(good.len() - 20);
    let other = if after.starts_with('A') { "B" } else { "A" };
    let altered = format!("{before}{other}{}", &after[1..]);
    for bad in [token("ann", "another-game"), altered] {
        let answer = sign_in(&server, "example", &bad).await;
        assert_eq!(answer.status, 401, "{}", answer.body);
        assert_eq!(
            answer.json()["message"],
            "The provider's token is not valid here. Sign in there again and use the new one."
        );
    }
    assert_eq!(sign_in(&server, "example", &good).await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_to_an_unconfigured_provider_or_shop_fail_with_a_reason() {
    let server = TestServer::start(|_| {}).await;
    let answer = sign_in(&server, "example", &token("ann", GAME)).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert_eq!(answer.json()["message"], "Signing in with \"example\" is not configured on this server.");
    for (path, body, name) in [
        ("apple", json!({ "token": "a.b.c" }), "apple"),
        ("google", json!({ "token": "a.b.c" }), "google"),
        ("steam", json!({ "token": "00" }), "steam"),
        ("facebook", json!({ "token": "a" }), "facebook"),
    ] {
        let path = format!("/v2/account/authenticate/{path}");
        let answer = ApiClient::new(server.http).post(&path, &body).await.expect("the server answers");
        assert_eq!(answer.json()["message"], format!("Signing in with {name:?} is not configured on this server."));
    }
    let mut client = ApiClient::new_user(server.http).await;
    let bought = json!({ "signed_request": "a.b" });
    let answer = client.post("/v2/iap/purchase/facebookinstant", &bought).await.expect("the server answers");
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert!(answer.body.contains("are not configured on this server."), "{}", answer.body);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_secret_enables_sign_in_and_purchases_of_an_instant_game() {
    let server = server(format!("[facebook]\ninstant_app_secret = \"{INSTANT_SECRET}\"\n")).await;
    let player = json!({ "algorithm": "HMAC-SHA256", "issued_at": unix_seconds(), "player_id": "1" });
    let body = json!({ "signed_player_info": signed_by_facebook(&player) });
    let path = "/v2/account/authenticate/facebookinstantgame";
    let mut client = ApiClient::new(server.http);
    let answer = client.post(path, &body).await.expect("the server answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    client.adopt(&answer.json());
    let bought = json!({
        "algorithm": "HMAC-SHA256", "product_id": "coins", "purchase_token": "7", "purchase_time": unix_seconds(),
    });
    let signed = json!({ "signed_request": signed_by_facebook(&bought) });
    let answer = client.post("/v2/iap/purchase/facebookinstant", &signed).await.expect("the server answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json()["validated_purchases"][0]["product_id"], "coins", "{}", answer.body);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_an_invalid_key_does_not_start() {
    let mut config = Config::default();
    config.data_dir = std::env::temp_dir().join(format!("aether-platforms-{}", uuid::Uuid::new_v4().simple()));
    let folder = config.data_dir.clone();
    config.database.url = Some(Secret::new("memory"));
    config.google.package_names = vec!["com.example.game".to_owned()];
    config.google.service_email = Some("shop@example.com".to_owned());
    config.google.service_key = Some(Secret::new("-----BEGIN PRIVATE KEY-----\nMII=\n-----END PRIVATE KEY-----"));
    let outcome = Server::new("test", "1.2.3").start(config).await;
    let _ = std::fs::remove_dir_all(folder);
    match outcome.err().expect("it does not start") {
        StartError::Config(why) => assert!(why.contains("copy private_key from its key file"), "{why}"),
        other => panic!("{other}"),
    }
}
