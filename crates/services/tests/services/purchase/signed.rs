//! Purchases signed by Apple and Facebook, which need no request.

use super::fake_shop::http_client;
use crate::fixture::{Fixture, START_MS, error_of};
use aether_services::GrpcCode;
use aether_services::purchase::{
    Apple, AppleSettings, Environment, FacebookInstant, FacebookInstantSettings, Purchases, Receipt, Shop,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{BasicConstraints, CertificateParams, CustomExtension, IsCa, Issuer, KeyPair};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const RECEIPT_SIGNING: &[u64] = &[1, 2, 840, 113_635, 100, 6, 11, 1];
const DEVELOPER_RELATIONS: &[u64] = &[1, 2, 840, 113_635, 100, 6, 2, 1];

/// Chain of three certificates, like Apple's.
struct Authority {
    certificates: Vec<Vec<u8>>,
    key: EcdsaKeyPair,
}

/// Variants of a chain: all but the first must be rejected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChainVariant {
    Good,
    WithoutMark,
    WithoutAuthorityMark,
    NotAnAuthority,
    Expired,
    SignedByAnother,
}

impl Authority {
    fn new(variant: ChainVariant) -> Authority {
        let years = |from, until| {
            let mut parameters = CertificateParams::new(vec![]).expect("it needs no name");
            parameters.not_before = rcgen::date_time_ymd(from, 1, 1);
            parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
            parameters
        };
        let mark = |oid: &[u64]| vec![CustomExtension::from_oid_content(oid, vec![5, 0])];
        let is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let (root_key, middle_key, key) = (generate(), generate(), generate());
        let mut root = years(2014, 2039);
        root.is_ca = is_ca;
        let root_certificate = root.self_signed(&root_key).expect("it can be signed");
        let mut middle = years(2020, 2035);
        middle.is_ca = if variant == ChainVariant::NotAnAuthority { IsCa::ExplicitNoCa } else { is_ca };
        middle.custom_extensions =
            if variant == ChainVariant::WithoutAuthorityMark { vec![] } else { mark(DEVELOPER_RELATIONS) };
        let middle_certificate = middle.signed_by(&middle_key, &Issuer::new(root, root_key)).expect("it can be signed");
        let mut signer = if variant == ChainVariant::Expired { years(2020, 2021) } else { years(2023, 2030) };
        signer.custom_extensions = if variant == ChainVariant::WithoutMark { vec![] } else { mark(RECEIPT_SIGNING) };
        let middle_key = if variant == ChainVariant::SignedByAnother { generate() } else { middle_key };
        let signer = signer.signed_by(&key, &Issuer::new(middle, middle_key)).expect("it can be signed");
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.serialized_der(), &SystemRandom::new());
        let certificates = [signer, middle_certificate, root_certificate].map(|one| one.der().to_vec()).to_vec();
        Authority { certificates, key: key.expect("it is a key") }
    }

    fn root_hash(&self) -> [u8; 32] {
        Sha256::digest(&self.certificates[2]).into()
    }

    fn sign(&self, payload: &Value) -> String {
        let chain: Vec<_> = self.certificates.iter().map(|one| STANDARD.encode(one)).collect();
        self.sign_with(&json!({ "alg": "ES256", "x5c": chain }), payload)
    }

    fn sign_with(&self, header: &Value, payload: &Value) -> String {
        let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let message = format!("{}.{}", encode(header), encode(payload));
        let signature = self.key.sign(&SystemRandom::new(), message.as_bytes()).expect("it can be signed");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn generate() -> KeyPair {
    KeyPair::generate().expect("there is chance")
}

fn transaction() -> Value {
    json!({
        "transactionId": "t1", "originalTransactionId": "t0", "bundleId": "com.example.game", "productId": "gems100",
        "purchaseDate": 1_000, "signedDate": START_MS, "type": "Consumable", "environment": "Sandbox",
    })
}

fn apple(fixture: &Fixture, root_hash: [u8; 32]) -> Purchases {
    let settings = AppleSettings {
        root_hashes: vec![root_hash],
        ..AppleSettings::new(vec!["com.example.game".to_owned()], String::new())
    };
    let apple = Apple::new(settings, http_client(), fixture.clock.clone());
    Purchases::new(fixture.store.clone(), fixture.clock.clone()).with_provider(apple)
}

fn receipt(text: String) -> Receipt {
    Receipt { text, signature: String::new() }
}

#[tokio::test]
async fn a_signed_transaction_is_a_purchase_or_a_subscription() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let (authority, user) = (Authority::new(ChainVariant::Good), fixture.user().await);
    let purchases = apple(&fixture, authority.root_hash());
    let found = purchases.validate(user, Shop::Apple, receipt(authority.sign(&transaction())), true).await;
    let found = found.expect("it is signed").remove(0).bought;
    assert_eq!((found.transaction_id.as_str(), found.product_id.as_str()), ("t1", "gems100"));
    assert_eq!((found.purchased_at, found.environment), (1_000, Environment::Sandbox));
    let mut subscription = transaction();
    subscription["expiresDate"] = json!(START_MS + 1);
    subscription["revocationDate"] = json!(START_MS);
    let signed = authority.sign(&subscription);
    let found = purchases.validate_subscription(user, Shop::Apple, receipt(signed.clone()), true).await.unwrap();
    assert_eq!((found.subscribed.original_transaction_id.as_str(), found.is_active), ("t0", false));
    assert_eq!(found.subscribed.refunded_at, Some(START_MS));
    let as_purchase = error_of(purchases.validate(user, Shop::Apple, receipt(signed), true).await);
    assert_eq!(as_purchase.0, GrpcCode::InvalidArgument);
    let as_subscription = receipt(authority.sign(&transaction()));
    let rejected = error_of(purchases.validate_subscription(user, Shop::Apple, as_subscription, true).await);
    assert_eq!(rejected.0, GrpcCode::FailedPrecondition);
}

#[tokio::test]
async fn only_receipt_certificates_of_the_trusted_root_are_accepted() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let user = fixture.user().await;
    let ways = [
        ChainVariant::WithoutMark,
        ChainVariant::WithoutAuthorityMark,
        ChainVariant::NotAnAuthority,
        ChainVariant::Expired,
        ChainVariant::SignedByAnother,
    ];
    for (number, variant) in ways.into_iter().enumerate() {
        let authority = Authority::new(variant);
        let purchases = apple(&fixture, authority.root_hash());
        let rejected =
            error_of(purchases.validate(user, Shop::Apple, receipt(authority.sign(&transaction())), true).await);
        assert_eq!(rejected.0, GrpcCode::FailedPrecondition, "variant {number}");
    }
    let (known, other) = (Authority::new(ChainVariant::Good), Authority::new(ChainVariant::Good));
    let purchases = apple(&fixture, known.root_hash());
    // A foreign chain with the trusted root at its end.
    let mut mixed = Authority { certificates: other.certificates.clone(), key: other.key };
    mixed.certificates[2] = known.certificates[2].clone();
    for signed in [mixed.sign(&transaction()), Authority::new(ChainVariant::Good).sign(&transaction())] {
        let rejected = error_of(purchases.validate(user, Shop::Apple, receipt(signed), true).await);
        assert_eq!(rejected.0, GrpcCode::FailedPrecondition);
    }
    let real = AppleSettings::new(vec![], String::new()).root_hashes;
    assert_eq!(real.len(), 1, "by default only Apple's root is trusted");
}

#[tokio::test]
async fn an_altered_transaction_is_rejected() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let (authority, user) = (Authority::new(ChainVariant::Good), fixture.user().await);
    let purchases = apple(&fixture, authority.root_hash());
    let chain: Vec<_> = authority.certificates.iter().map(|one| STANDARD.encode(one)).collect();
    let signed = authority.sign(&transaction());
    let (header, rest) = signed.split_once('.').unwrap();
    let signature = rest.split_once('.').unwrap().1;
    let mut dearer = transaction();
    dearer["productId"] = json!("gems100000");
    let mut foreign = transaction();
    foreign["bundleId"] = json!("com.example.other");
    let mut undated = transaction();
    undated["signedDate"] = Value::Null;
    let wrong = [
        format!("{header}.{}.{signature}", URL_SAFE_NO_PAD.encode(dearer.to_string())),
        format!("{header}.{}.", URL_SAFE_NO_PAD.encode(transaction().to_string())),
        authority.sign_with(&json!({ "alg": "none", "x5c": chain }), &transaction()),
        authority.sign_with(&json!({ "alg": "HS256", "x5c": chain }), &transaction()),
        authority.sign_with(&json!({ "alg": "ES256", "x5c": chain[..2] }), &transaction()),
        authority.sign_with(&json!({ "alg": "ES256", "x5c": ["", "", ""] }), &transaction()),
        authority.sign_with(&json!({ "alg": "ES256" }), &transaction()),
        authority.sign(&foreign),
        authority.sign(&undated),
        authority.sign(&json!([])),
        "a.b.c".to_owned(),
        "..".to_owned(),
    ];
    for wrong in wrong {
        let rejected = error_of(purchases.validate(user, Shop::Apple, receipt(wrong.clone()), true).await);
        assert!(
            matches!(rejected.0, GrpcCode::FailedPrecondition | GrpcCode::InvalidArgument),
            "{wrong}: {rejected:?}"
        );
    }
}

fn settings(secret: &str) -> FacebookInstantSettings {
    FacebookInstantSettings { app_secret: secret.to_owned() }
}

fn facebook(payload: &Value, secret: &str) -> Receipt {
    let payload = URL_SAFE_NO_PAD.encode(payload.to_string());
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), payload.as_bytes());
    receipt(format!("{}.{payload}", URL_SAFE_NO_PAD.encode(signature)))
}

#[tokio::test]
async fn a_purchase_signed_by_facebook_is_accepted() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let user = fixture.user().await;
    let provider = FacebookInstant::new(&settings("secret")).expect("there is a secret");
    let purchases = Purchases::new(fixture.store.clone(), fixture.clock.clone()).with_provider(provider);
    let payload = json!({
        "algorithm": "HMAC-SHA256", "issued_at": 1_700_000_000, "payment_id": "1", "product_id": "gems100",
        "purchase_time": 1_600_000_000, "purchase_token": "token1",
    });
    let shop = Shop::FacebookInstant;
    let found =
        purchases.validate(user, shop, facebook(&payload, "secret"), true).await.expect("it is signed").remove(0);
    assert_eq!((found.bought.transaction_id.as_str(), found.bought.purchased_at), ("token1", 1_600_000_000_000));
    let mut other = payload.clone();
    other["algorithm"] = json!("none");
    let altered = receipt(facebook(&payload, "secret").text.replace('.', ".e"));
    for wrong in [
        facebook(&payload, "guess"),
        facebook(&other, "secret"),
        facebook(&json!({}), "secret"),
        altered,
        receipt("x".to_owned()),
    ] {
        let rejected = error_of(purchases.validate(user, shop, wrong, true).await);
        assert!(matches!(rejected.0, GrpcCode::FailedPrecondition | GrpcCode::InvalidArgument), "{rejected:?}");
    }
    let subscription = purchases.validate_subscription(user, shop, facebook(&payload, "secret"), true).await;
    assert_eq!(error_of(subscription).0, GrpcCode::Unimplemented);
    assert!(FacebookInstant::new(&settings("")).is_err(), "anybody could sign with no secret");
}
