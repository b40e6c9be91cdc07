//! Sign-in with tokens of OpenID Connect providers.

use super::fake_provider::{FakeProvider, ReceivedRequest, json as answer};
use super::fixture::{Fixture, NOW, assert_rejected, by_device, http_client, sign_in};
use super::signer::{Signer, base64};
use aether_services::account::provider::{OpenId, OpenIdSettings, ProviderProof, SessionStatus};
use aether_services::account::{SignIn, SignInMethod, SignedIn};
use aether_services::{GrpcCode, ServiceError};
use serde_json::{Value, json};
use std::sync::Arc;

const SECONDS: i64 = NOW / 1_000;

/// Provider, its keys, and accounts that use it.
struct ProviderFixture {
    fixture: Fixture,
    provider: FakeProvider,
    signer: Arc<Signer>,
}

impl ProviderFixture {
    async fn new(signer: Signer) -> ProviderFixture {
        ProviderFixture::with(signer, None).await
    }

    /// Creates a provider with a session status endpoint at this path.
    async fn with(signer: Signer, status_path: Option<&str>) -> ProviderFixture {
        let signer = Arc::new(signer);
        let keys = json!({ "keys": [{ "kty": "of another kind" }, signer.published("key-1")] });
        let provider = FakeProvider::start(move |asked| at_keys(asked, &keys)).await;
        let status = |path| SessionStatus { url: format!("{}{path}", provider.url), bearer: "secret".to_owned() };
        let settings = OpenIdSettings {
            name: "example".to_owned(),
            issuers: vec!["https://id.example.com".to_owned()],
            audiences: vec!["game-1".to_owned(), "game-2".to_owned()],
            authorized_parties: vec!["https://game.example.com".to_owned()],
            keys_url: format!("{}/keys", provider.url),
            session_status: status_path.map(status),
        };
        let fixture = Fixture::with(|accounts, clock| {
            accounts.with_provider(OpenId::new(settings, http_client(), Arc::clone(clock)))
        })
        .await;
        ProviderFixture { fixture, provider, signer }
    }

    fn token(&self, claims: &Value) -> String {
        self.signer.token("key-1", claims)
    }

    async fn sign_in(&self, token: &str) -> Result<SignedIn, ServiceError> {
        self.fixture.sign_in(by_token(token)).await
    }

    /// Returns the number of reads of the keys.
    fn reads(&self) -> usize {
        self.provider.asked().iter().filter(|asked| asked.path == "/keys").count()
    }
}

fn at_keys(asked: &ReceivedRequest, keys: &Value) -> (u16, Vec<u8>) {
    if asked.path == "/keys" { answer(keys) } else { (404, Vec::new()) }
}

fn by_token(token: &str) -> SignInMethod {
    SignInMethod::External { provider: "example".to_owned(), proof: ProviderProof::Token(token.to_owned()) }
}

/// Returns valid claims with changes; null removes a claim.
fn claims(changes: &Value) -> Value {
    let mut claims = json!({
        "iss": "https://id.example.com", "aud": "game-1", "sub": "user-1", "iat": SECONDS, "exp": SECONDS + 60,
        "name": "Ann", "email": "ann@example.com",
    });
    for (name, value) in changes.as_object().expect("changes are an object") {
        claims[name] = value.clone();
        if value.is_null() {
            claims.as_object_mut().expect("claims are an object").remove(name);
        }
    }
    claims
}

#[track_caller]
fn assert_not_accepted(outcome: Result<SignedIn, ServiceError>, what: &str) {
    assert_eq!(outcome.expect_err(what).code, GrpcCode::Unauthenticated, "{what}");
}

#[tokio::test]
async fn tokens_of_each_algorithm_find_the_account_of_their_subject() {
    for signer in [Signer::rsa(), Signer::elliptic(), Signer::edwards()] {
        let setting = ProviderFixture::new(signer).await;
        let first = setting.sign_in(&setting.token(&claims(&json!({})))).await.expect("it is right");
        assert!(first.created);
        let account = setting.fixture.accounts.account(first.user).await.expect("it is there");
        assert_eq!(account.user.identities.get("example").map(String::as_str), Some("user-1"));
        assert_eq!(account.user.display_name, "Ann");
        assert_eq!(account.email, None, "an address that somebody else vouches for opens no account");
        let later = claims(&json!({ "exp": SECONDS + 90, "aud": ["other", "game-2"] }));
        let again = setting.sign_in(&setting.token(&later)).await.expect("it is right");
        assert_eq!((again.user, again.created), (first.user, false));
        let other = setting.sign_in(&setting.token(&claims(&json!({ "sub": "user-2" })))).await.expect("it is right");
        assert_ne!(other.user, first.user);
        assert_eq!(setting.reads(), 1, "the keys are remembered");
    }
}

#[tokio::test]
async fn claims_of_other_audiences_or_times_are_rejected() {
    let setting = ProviderFixture::new(Signer::elliptic()).await;
    let wrong = [
        json!({ "iss": "https://id.example.org" }),
        json!({ "iss": null }),
        json!({ "aud": "game-3" }),
        json!({ "aud": [] }),
        json!({ "aud": null }),
        json!({ "aud": null, "azp": "https://other.example.com" }),
        json!({ "sub": null }),
        json!({ "sub": "" }),
        json!({ "exp": null }),
        json!({ "exp": SECONDS - 60 }),
        json!({ "exp": "soon" }),
        json!({ "iat": null }),
        json!({ "iat": SECONDS + 61 }),
        json!({ "nbf": SECONDS + 61 }),
    ];
    for changes in wrong {
        let outcome = setting.sign_in(&setting.token(&claims(&changes))).await;
        assert_not_accepted(outcome, &changes.to_string());
    }
    let right = [
        json!({ "exp": SECONDS - 59 }),
        json!({ "iat": SECONDS + 60 }),
        json!({ "nbf": SECONDS + 60 }),
        json!({ "aud": null, "azp": "https://game.example.com" }),
        json!({ "exp": SECONDS as f64 + 0.5 }),
    ];
    for changes in right {
        setting.sign_in(&setting.token(&claims(&changes))).await.expect("clocks differ a little");
    }
    let long = setting.sign_in(&setting.token(&claims(&json!({ "sub": "s".repeat(256) })))).await;
    assert_eq!(long.expect_err("it cannot be kept").code, GrpcCode::InvalidArgument);
}

#[tokio::test]
async fn tokens_not_signed_by_the_provider_are_rejected() {
    let setting = ProviderFixture::new(Signer::rsa()).await;
    let right = setting.token(&claims(&json!({})));
    let claims = claims(&json!({}));
    let header = |alg: &str| json!({ "alg": alg, "typ": "JWT", "kid": "key-1" });
    let unsigned =
        format!("{}.{}.", base64(header("none").to_string().as_bytes()), base64(claims.to_string().as_bytes()));
    let published = setting.signer.published("key-1").to_string();
    let by_secret = {
        // A verifier that takes the public key for a secret would accept this.
        let signed =
            format!("{}.{}", base64(header("HS256").to_string().as_bytes()), base64(claims.to_string().as_bytes()));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, published.as_bytes());
        format!("{signed}.{}", base64(ring::hmac::sign(&key, signed.as_bytes()).as_ref()))
    };
    let parts: Vec<&str> = right.split('.').collect();
    let altered =
        format!("{}.{}.{}", parts[0], base64(claims.to_string().replace("user-1", "user-2").as_bytes()), parts[2]);
    let critical = json!({ "alg": "RS256", "kid": "key-1", "crit": ["exp"] });
    let wrong = [
        ("without a signature", unsigned),
        ("under a secret", by_secret),
        ("altered", altered),
        ("under another key", Signer::elliptic().token("key-1", &claims)),
        ("under another kind of key", Signer::edwards().token_with(&header("RS256"), &claims)),
        ("under another algorithm of the same kind", setting.signer.token_with(&header("RS512"), &claims)),
        ("with an extension that must be understood", setting.signer.token_with(&critical, &claims)),
        ("without a key's id", setting.signer.token_with(&json!({ "alg": "RS256" }), &claims)),
        ("with a path for a key's id", setting.signer.token("../../key-1", &claims)),
        ("with a long id", setting.signer.token(&"k".repeat(300), &claims)),
        ("without its end", right[..right.len() - 10].to_owned()),
        ("with one part", parts[0].to_owned()),
        ("with four parts", format!("{right}.{}", parts[2])),
        ("that is none", "\0é.{}.[]".to_owned()),
        ("that is long", "a".repeat(100_000)),
    ];
    for (what, token) in wrong {
        assert_not_accepted(setting.sign_in(&token).await, what);
    }
    let empty = setting.sign_in("").await.expect_err("there is none");
    assert_eq!(empty.code, GrpcCode::InvalidArgument);
    setting.sign_in(&right).await.expect("the right one is still right");
}

#[tokio::test]
async fn weak_keys_and_keys_of_other_purposes_are_ignored() {
    let setting = ProviderFixture::new(Signer::rsa()).await;
    let published = setting.signer.published("key-1");
    let changes = [
        json!({ "use": "enc" }),
        json!({ "alg": "RS512" }),
        json!({ "kty": "EC" }),
        json!({ "n": base64(&[0xff; 128]) }),
        json!({ "n": "not base64!" }),
        json!({ "kid": null }),
    ];
    for change in changes {
        let mut key = published.clone();
        change.as_object().expect("it is one").iter().for_each(|(name, value)| key[name] = value.clone());
        let keys = json!({ "keys": [key] });
        setting.provider.answer(move |asked| at_keys(asked, &keys));
        setting.fixture.clock.advance_ms(86_400_000);
        let now = json!({ "exp": SECONDS + 10 * 86_400 });
        assert_not_accepted(setting.sign_in(&setting.token(&claims(&now))).await, &change.to_string());
    }
}

#[tokio::test]
async fn new_keys_are_found_and_unknown_ones_do_not_cause_repeated_reads() {
    let setting = ProviderFixture::new(Signer::elliptic()).await;
    let lasting = claims(&json!({ "exp": SECONDS + 86_400 }));
    setting.sign_in(&setting.token(&lasting)).await.expect("it is right");
    for number in 0..50 {
        let token = setting.signer.token(&format!("unknown-{number}"), &lasting);
        assert_not_accepted(setting.sign_in(&token).await, "there is no such key");
    }
    assert_eq!(setting.reads(), 1, "the keys were read just now");
    let second = Signer::edwards();
    let keys = json!({ "keys": [setting.signer.published("key-1"), second.published("key-2")] });
    setting.provider.answer(move |asked| at_keys(asked, &keys));
    let token = second.token("key-2", &lasting);
    assert_not_accepted(setting.sign_in(&token).await, "it is too early to ask again");
    setting.fixture.clock.advance_ms(30_000);
    setting.sign_in(&token).await.expect("the key is published");
    assert_eq!(setting.reads(), 2);
}

#[tokio::test]
async fn a_withdrawn_key_is_rejected_within_an_hour() {
    let setting = ProviderFixture::new(Signer::elliptic()).await;
    let token = setting.token(&claims(&json!({ "exp": SECONDS + 86_400 })));
    setting.sign_in(&token).await.expect("it is right");
    let keys = json!({ "keys": [] });
    setting.provider.answer(move |asked| at_keys(asked, &keys));
    setting.fixture.clock.advance_ms(3_599_999);
    setting.sign_in(&token).await.expect("the keys are fresh");
    setting.fixture.clock.advance_ms(1);
    assert_not_accepted(setting.sign_in(&token).await, "the key is gone");
}

#[tokio::test]
async fn known_keys_stay_valid_for_a_day_while_the_provider_is_down() {
    let setting = ProviderFixture::new(Signer::elliptic()).await;
    let lasting = claims(&json!({ "exp": SECONDS + 10 * 86_400 }));
    setting.provider.answer(|_| (503, Vec::new()));
    for _ in 0..3 {
        let outcome = setting.sign_in(&setting.token(&lasting)).await;
        assert_eq!(outcome.expect_err("no key is known").code, GrpcCode::Unavailable);
    }
    assert_eq!(setting.reads(), 1, "it is not asked again at once");
    let keys = json!({ "keys": [setting.signer.published("key-1")] });
    setting.provider.answer(move |asked| at_keys(asked, &keys));
    setting.fixture.clock.advance_ms(30_000);
    setting.sign_in(&setting.token(&lasting)).await.expect("it is up again");
    setting.provider.answer(|_| (503, Vec::new()));
    setting.fixture.clock.advance_ms(86_399_999);
    setting.sign_in(&setting.token(&lasting)).await.expect("the key was good a day ago");
    setting.fixture.clock.advance_ms(30_000);
    let outcome = setting.sign_in(&setting.token(&lasting)).await;
    assert_eq!(outcome.expect_err("that is too long ago").code, GrpcCode::Unavailable);
}

#[tokio::test]
async fn concurrent_sign_ins_read_the_keys_once() {
    let setting = ProviderFixture::new(Signer::elliptic()).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let accounts = setting.fixture.accounts.clone();
        let token = setting.token(&claims(&json!({ "sub": format!("user-{number}") })));
        tasks.spawn(async move { accounts.authenticate(sign_in(by_token(&token))).await.expect("it is right") });
    }
    assert_eq!(tasks.join_all().await.len(), 20);
    assert_eq!(setting.reads(), 1);
}

#[tokio::test]
async fn the_session_status_is_checked_if_configured() {
    let setting = ProviderFixture::with(Signer::elliptic(), Some("/sessions/{session}")).await;
    let keys = json!({ "keys": [setting.signer.published("key-1")] });
    setting.provider.answer(move |asked| match asked.path.as_str() {
        "/sessions/lasts" if asked.header("authorization") == "Bearer secret" => answer(&json!({ "status": "active" })),
        "/sessions/is-active" => answer(&json!({ "active": true })),
        "/sessions/ended" => answer(&json!({ "status": "ended" })),
        "/sessions/fails" => (500, Vec::new()),
        "/sessions/..%2Fkeys" => answer(&json!({ "status": "ended" })),
        _ => at_keys(asked, &keys),
    });
    let with = |session: Value| setting.token(&claims(&json!({ "sid": session })));
    for session in ["lasts", "is-active"] {
        setting.sign_in(&with(json!(session))).await.expect("it lasts");
    }
    for session in [json!("ended"), json!("missing"), json!("../keys"), json!(""), json!("s".repeat(200)), json!(null)]
    {
        assert_not_accepted(setting.sign_in(&with(session.clone())).await, &session.to_string());
    }
    let unknown = setting.sign_in(&with(json!("fails"))).await;
    assert_eq!(unknown.expect_err("it cannot be message").code, GrpcCode::Unavailable);
}

#[tokio::test]
async fn an_identity_is_linked_and_unlinked_by_its_token() {
    let setting = ProviderFixture::new(Signer::elliptic()).await;
    let fixture = &setting.fixture;
    let token = |subject: &str| by_token(&setting.token(&claims(&json!({ "sub": subject }))));
    let user = fixture.user("device-0001").await;
    fixture.accounts.link(user, token("user-1")).await.expect("it is nobody's");
    fixture.accounts.link(user, token("user-1")).await.expect("it is theirs already");
    assert_eq!(fixture.sign_in(token("user-1")).await.expect("it leads there").user, user);
    let other = fixture.user("device-0002").await;
    let taken = fixture.accounts.link(other, token("user-1")).await;
    assert_rejected(taken, GrpcCode::AlreadyExists, "The provider's user is already linked to another account.");
    fixture.accounts.link(user, token("user-2")).await.expect("it takes the place of the first");
    assert_eq!(fixture.sign_in(token("user-2")).await.expect("it leads there").user, user);
    assert_ne!(fixture.sign_in(token("user-1")).await.expect("it is free").user, user);
    let wrong = fixture.accounts.unlink(user, token("user-3")).await;
    assert_eq!(wrong.expect_err("it is not theirs").code, GrpcCode::PermissionDenied);
    fixture.accounts.unlink(user, by_token("")).await.expect("there is one, and a device");
    assert!(fixture.accounts.account(user).await.expect("it is there").user.identities.is_empty());
}

#[tokio::test]
async fn unconfigured_providers_are_rejected_and_accounts_are_not_created_unasked() {
    let setting = ProviderFixture::new(Signer::elliptic()).await;
    let token = setting.token(&claims(&json!({})));
    let method = SignInMethod::External { provider: "unknown".to_owned(), proof: ProviderProof::Token(token.clone()) };
    assert_eq!(setting.fixture.sign_in(method).await.expect_err("it is rejected").code, GrpcCode::FailedPrecondition);
    let unasked = SignIn { create: false, ..sign_in(by_token(&token)) };
    let outcome = setting.fixture.accounts.authenticate(unasked).await;
    assert_rejected(outcome, GrpcCode::NotFound, "User account not found.");
    assert!(setting.fixture.sign_in(by_device("device-0001")).await.expect("others are not concerned").created);
}
