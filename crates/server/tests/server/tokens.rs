//! Valid tokens, and every reason of rejection.

use aether_server::keys::{DEVELOPMENT_KEY_ID, KeyRing};
use aether_server::tokens::{Claims, Role, TokenError, Tokens};
use aether_wire::Permissions;
use aether_wire::SessionId;
use aether_wire::limits::TOKEN_BYTES_MAX;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use uuid::Uuid;

const NOW: u64 = 1_900_000_000;
const USER: Uuid = Uuid::from_u128(0x0123_4567_89ab_4def_8123_4567_89ab_cdef);

/// The tokens of a server, and its keys as an attacker would read them.
struct Server {
    data_dir: PathBuf,
    ring: KeyRing,
    tokens: Tokens,
}

impl Server {
    fn start(test: &str) -> Self {
        let data_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tokens").join(test);
        let _ = std::fs::remove_dir_all(&data_dir);
        let ring = KeyRing::open(&data_dir, NOW).expect("the keys can be made");
        let tokens = Tokens::new(ring.clone(), "aether");
        Self { data_dir, ring, tokens }
    }

    fn secret(&self, id: &str) -> Vec<u8> {
        let text = std::fs::read_to_string(self.data_dir.join(format!("keys/{id}.key"))).expect("the key is there");
        let digits = text.trim_end().rsplit(' ').next().expect("it ends with the secret");
        (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).expect("digits")).collect()
    }

    /// Signs any claims with the right key, so that only the claims can be invalid.
    fn sign_any(&self, id: &str, claims: &Value) -> String {
        let header = Header { kid: Some(id.to_owned()), ..Header::new(Algorithm::HS256) };
        jsonwebtoken::encode(&header, claims, &EncodingKey::from_secret(&self.secret(id))).expect("it can be signed")
    }

    fn verify(&self, token: &str) -> Result<Role, TokenError> {
        self.tokens.verify(token, NOW, true).map(|identity| identity.role)
    }

    fn own_id(&self) -> &str {
        self.ring.signing().id()
    }
}

fn claims() -> Value {
    json!({
        "tid": Uuid::from_u128(7), "uid": USER, "usn": "someone", "exp": NOW + 900, "iat": NOW, "aud": "aether",
    })
}

fn without(claim: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().expect("claims are an object").remove(claim);
    claims
}

fn with(claim: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[claim] = value;
    claims
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[test]
fn a_signed_token_is_verified() {
    let server = Server::start("signed");
    let claims = Claims::new(USER, "someone", NOW, 900);
    let token = server.tokens.sign(&claims);
    let identity = server.tokens.verify(&token, NOW, false).unwrap();
    assert_eq!(identity.session, SessionId(claims.session.as_u128()));
    assert_eq!(identity.session.to_string(), claims.session.to_string());
    assert_eq!(identity.user, "01234567-89ab-4def-8123-456789abcdef");
    assert_eq!((identity.name.as_str(), identity.role, identity.expires_at), ("someone", Role::Player, NOW + 900));
}

#[test]
fn a_token_has_the_header_and_claims_that_are_documented() {
    let server = Server::start("documented");
    let read = |token: &str| {
        let parts: Vec<&str> = token.split('.').collect();
        [0, 1].map(|part| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[part]).unwrap()).unwrap() })
    };
    let session = Uuid::from_u128(7);
    let claims = Claims { session, ..Claims::new(USER, "someone", NOW, 900) };
    let [header, body] = read(&server.tokens.sign(&claims));
    assert_eq!(header, json!({"typ": "JWT", "alg": "HS256", "kid": server.own_id()}));
    assert_eq!(body, self::claims());
    let variables = [("colour".to_owned(), "red".to_owned())].into();
    let [header, body] = read(&server.tokens.sign(&Claims { variables, ..claims }.with_role(Role::ReadOnly)));
    assert_eq!(header["kid"], "development");
    assert_eq!((&body["vrs"], &body["role"]), (&json!({"colour": "red"}), &json!("read-only")));
}

#[test]
fn only_the_development_key_grants_a_role() {
    let server = Server::start("role");
    for role in Role::ALL {
        let token = server.tokens.sign(&Claims::new(USER, "someone", NOW, 900).with_role(role));
        assert_eq!(server.verify(&token), Ok(role));
        assert_eq!(server.tokens.verify(&token, NOW, false), Err(TokenError::DevelopmentKey));
        let forged = server.sign_any(server.own_id(), &with("role", json!(role.to_string())));
        assert_eq!(server.verify(&forged), Ok(Role::Player));
    }
    assert_eq!(server.verify(&server.sign_any(DEVELOPMENT_KEY_ID, &claims())), Ok(Role::Player));
    let unknown = server.sign_any(DEVELOPMENT_KEY_ID, &with("role", json!("owner")));
    assert_eq!(server.verify(&unknown), Err(TokenError::Malformed));
}

#[test]
fn another_algorithm_is_rejected_even_with_a_valid_signature() {
    let server = Server::start("algorithm");
    for alg in ["none", "None", "NONE", "hs256", "HS999", "RS256", "ES256", ""] {
        let header = json!({"typ": "JWT", "alg": alg, "kid": server.own_id()});
        for signature in ["", "AAAA"] {
            let token = format!("{}.{}.{signature}", part(&header), part(&claims()));
            assert_eq!(server.verify(&token), Err(TokenError::Algorithm), "{alg}");
        }
    }
    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        let header = Header { kid: Some(server.own_id().to_owned()), ..Header::new(algorithm) };
        let key = EncodingKey::from_secret(&server.secret(server.own_id()));
        let token = jsonwebtoken::encode(&header, &claims(), &key).unwrap();
        assert_eq!(server.verify(&token), Err(TokenError::Algorithm));
    }
}

#[test]
fn a_key_id_is_never_used_as_a_path() {
    let server = Server::start("kid");
    let secret = server.secret(server.own_id());
    let paths = ["../keys/development", "/dev/null", "", "development.key", "..\\development", "development\0"];
    let header = Header::new(Algorithm::HS256);
    let ids = paths.map(|path| Some(path.to_owned())).into_iter().chain([None]);
    for kid in ids {
        let header = Header { kid, ..header.clone() };
        for secret in [&secret[..], b"", b"\0"] {
            let token = jsonwebtoken::encode(&header, &claims(), &EncodingKey::from_secret(secret)).unwrap();
            assert_eq!(server.verify(&token), Err(TokenError::UnknownKey), "{:?}", header.kid);
        }
    }
}

#[test]
fn a_token_of_another_server_is_rejected() {
    let (server, other) = (Server::start("here"), Server::start("there"));
    let token = other.tokens.sign(&Claims::new(USER, "someone", NOW, 900));
    assert_eq!(server.verify(&token), Err(TokenError::UnknownKey));
    let token = other.tokens.sign(&Claims::new(USER, "someone", NOW, 900).with_role(Role::Admin));
    assert_eq!(server.verify(&token), Err(TokenError::Signature));
}

#[test]
fn a_changed_token_is_rejected() {
    let server = Server::start("altered");
    let token = server.tokens.sign(&Claims::new(USER, "someone", NOW, 900));
    let [header, _, signature] = token.split('.').collect::<Vec<_>>()[..] else { panic!("a token has three parts") };
    let other = part(&with("uid", json!(Uuid::from_u128(1))));
    assert_eq!(server.verify(&format!("{header}.{other}.{signature}")), Err(TokenError::Signature));
    assert_eq!(server.verify(&format!("{header}.{}.", part(&claims()))), Err(TokenError::Signature));
    // A change of any character is rejected.
    for index in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
        let altered = String::from_utf8(bytes).unwrap();
        assert!(server.verify(&altered).is_err(), "{index}");
    }
    for end in 0..token.len() {
        assert!(server.verify(&token[..end]).is_err(), "{end}");
    }
}

#[test]
fn expiry_is_required_and_exact_to_the_second() {
    let server = Server::start("expiry");
    let id = server.own_id();
    assert_eq!(server.verify(&server.sign_any(id, &without("exp"))), Err(TokenError::NoExpiry));
    assert_eq!(server.verify(&server.sign_any(id, &with("exp", Value::Null))), Err(TokenError::NoExpiry));
    assert_eq!(server.verify(&server.sign_any(id, &with("exp", json!(NOW)))), Err(TokenError::Expired));
    assert_eq!(server.verify(&server.sign_any(id, &with("exp", json!(NOW + 1)))), Ok(Role::Player));
    for exp in [json!("never"), json!(-1), json!(1e300), json!([NOW + 900])] {
        assert_eq!(server.verify(&server.sign_any(id, &with("exp", exp))), Err(TokenError::Malformed));
    }
}

#[test]
fn a_token_from_the_future_is_rejected_beyond_the_clock_tolerance() {
    let server = Server::start("future");
    let at = |iat: u64| server.verify(&server.sign_any(server.own_id(), &with("iat", json!(iat))));
    assert_eq!(at(NOW + 60), Ok(Role::Player));
    assert_eq!(at(NOW + 61), Err(TokenError::NotYetValid));
    assert_eq!(at(u64::MAX), Err(TokenError::NotYetValid));
}

#[test]
fn another_audience_or_none_is_rejected() {
    let server = Server::start("audience");
    let id = server.own_id();
    assert_eq!(server.verify(&server.sign_any(id, &with("aud", json!("other")))), Err(TokenError::Audience));
    assert_eq!(server.verify(&server.sign_any(id, &with("aud", json!("")))), Err(TokenError::Audience));
    assert_eq!(server.verify(&server.sign_any(id, &without("aud"))), Err(TokenError::Audience));
    let other = Tokens::new(server.ring.clone(), "other");
    let token = other.sign(&Claims::new(USER, "someone", NOW, 900));
    assert_eq!(server.verify(&token), Err(TokenError::Audience));
}

#[test]
fn a_token_that_is_too_long_is_rejected_before_parsing() {
    let server = Server::start("long");
    let padded = |bytes| server.sign_any(server.own_id(), &with("vrs", json!({"pad": "x".repeat(bytes)})));
    assert_eq!(server.verify(&padded(1_500)), Ok(Role::Player));
    assert_eq!(server.verify(&padded(TOKEN_BYTES_MAX)), Err(TokenError::TooLong));
    assert_eq!(server.verify(&".".repeat(1_000_000)), Err(TokenError::TooLong));
}

#[test]
fn malformed_tokens_are_rejected() {
    let server = Server::start("malformed");
    let header = part(&json!({"alg": "HS256", "kid": server.own_id()}));
    let body = part(&claims());
    let cases = [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "a.b.c".to_owned(),
        "ünï.cö.de".to_owned(),
        format!("{header}.{body}"),
        format!("{header}.{body}.AAAA.AAAA"),
        format!("{}.{body}.AAAA", part(&json!([]))),
        format!("{}.{body}.AAAA", part(&json!({"kid": "development"}))),
        format!("{}.{body}.AAAA", URL_SAFE_NO_PAD.encode("[".repeat(2_000))),
    ];
    for token in cases {
        assert_eq!(server.verify(&token), Err(TokenError::Malformed), "{token}");
    }
}

#[test]
fn malformed_claims_and_extensions_are_rejected() {
    let server = Server::start("claims");
    let id = server.own_id();
    for claim in ["tid", "uid", "usn", "iat"] {
        assert_eq!(server.verify(&server.sign_any(id, &without(claim))), Err(TokenError::Malformed), "{claim}");
    }
    let bad = [("tid", json!("x")), ("uid", json!(5)), ("usn", json!("x".repeat(129))), ("vrs", json!([]))];
    for (claim, value) in bad {
        assert_eq!(server.verify(&server.sign_any(id, &with(claim, value))), Err(TokenError::Malformed), "{claim}");
    }
    let header =
        Header { kid: Some(id.to_owned()), crit: Some(vec!["b64".to_owned()]), ..Header::new(Algorithm::HS256) };
    let token = jsonwebtoken::encode(&header, &claims(), &EncodingKey::from_secret(&server.secret(id))).unwrap();
    assert_eq!(server.verify(&token), Err(TokenError::Malformed));
}

#[test]
fn tokens_stay_valid_after_key_rotation_but_not_after_key_retirement() {
    let server = Server::start("rotation");
    let token = server.tokens.sign(&Claims::new(USER, "someone", NOW, 900));
    let mut ring = server.ring.clone();
    let rotated = ring.rotate(NOW).unwrap().id().to_owned();
    let tokens = Tokens::new(ring, "aether");
    assert!(tokens.verify(&token, NOW, false).is_ok());
    let newer = tokens.sign(&Claims::new(USER, "someone", NOW, 900));
    assert_eq!(server.verify(&newer), Err(TokenError::UnknownKey));
    std::fs::remove_file(server.data_dir.join(format!("keys/{}.key", server.own_id()))).unwrap();
    let tokens = Tokens::new(KeyRing::open(&server.data_dir, NOW).unwrap(), "aether");
    assert_eq!(tokens.verify(&token, NOW, false), Err(TokenError::UnknownKey));
    assert!(tokens.verify(&newer, NOW, false).is_ok(), "{rotated} verifies");
}

#[test]
fn every_error_has_its_label_and_all_have_the_same_message() {
    let kinds = [
        TokenError::TooLong,
        TokenError::Malformed,
        TokenError::Algorithm,
        TokenError::UnknownKey,
        TokenError::DevelopmentKey,
        TokenError::Signature,
        TokenError::Audience,
        TokenError::NoExpiry,
        TokenError::Expired,
        TokenError::NotYetValid,
    ];
    let labels: std::collections::BTreeSet<&str> = kinds.iter().map(|kind| kind.label()).collect();
    let sentences: std::collections::BTreeSet<String> = kinds.iter().map(ToString::to_string).collect();
    assert_eq!((labels.len(), sentences.len()), (kinds.len(), 1));
}

#[test]
fn roles_are_ordered_and_parse_from_their_names() {
    let permissions = |playground, inspect, manage| Permissions { playground, inspect, manage };
    let expected = [
        (Role::Player, "player", permissions(false, false, false)),
        (Role::ReadOnly, "read-only", permissions(false, true, false)),
        (Role::Moderator, "moderator", permissions(false, true, false)),
        (Role::Developer, "developer", permissions(true, true, false)),
        (Role::Admin, "admin", permissions(true, true, true)),
    ];
    for (role, name, permissions) in expected {
        assert_eq!((role.to_string().as_str(), role.permissions()), (name, permissions));
        assert_eq!(name.parse(), Ok(role));
    }
    assert!(Role::ALL.is_sorted());
    assert!("Admin".parse::<Role>().is_err());
}
