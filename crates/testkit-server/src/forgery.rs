//! Invalid tokens, one for each reason.

use crate::{TestServer, unix_seconds};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Signs tokens with the key of a server.
pub struct Forger {
    id: String,
    secret: Vec<u8>,
}

impl Forger {
    /// Reads the key of a server.
    ///
    /// # Panics
    /// Panics if it has none.
    #[must_use]
    pub fn of(server: &TestServer) -> Forger {
        let keys = server.data_dir().join("keys").read_dir().expect("the server has keys");
        let mut names = keys.map(|entry| entry.expect("the folder can be listed").path());
        let is_own = |path: &std::path::PathBuf| path.file_stem().is_some_and(|stem| stem != "development");
        let path = names.find(is_own).expect("the server has its own key");
        let text = std::fs::read_to_string(&path).expect("the key can be read");
        let secret = text.lines().find_map(|line| line.strip_prefix("secret ")).expect("the file has a secret");
        let byte = |at: usize| u8::from_str_radix(&secret[at..at + 2], 16).expect("the secret is hexadecimal");
        let id = path.file_stem().expect("the file has a name").to_string_lossy().into_owned();
        Forger { id, secret: (0..secret.len()).step_by(2).map(byte).collect() }
    }

    /// Signs a valid token after `change` to its claims.
    #[must_use]
    pub fn sign(&self, change: impl FnOnce(&mut Map<String, Value>)) -> String {
        let mut claims = claims();
        change(claims.as_object_mut().expect("claims are an object"));
        sign(Algorithm::HS256, &self.id, &self.secret, &claims)
    }

    /// Returns one token for each reason of rejection, with the label of the reason in metrics.
    #[must_use]
    pub fn bad_tokens(&self) -> Vec<(&'static str, String)> {
        let Forger { id, secret } = self;
        let set = |name: &'static str, value: Value| self.sign(move |claims| drop(claims.insert(name.into(), value)));
        let without = |name: &'static str| self.sign(move |claims| drop(claims.remove(name)));
        vec![
            ("signature", altered(&self.sign(|_| {}))),
            ("signature", sign(Algorithm::HS256, id, b"another secret of somebody else!", &claims())),
            ("expired", set("exp", json!(unix_seconds() - 1))),
            ("algorithm", unsigned("none", id)),
            ("algorithm", unsigned("None", id)),
            ("algorithm", unsigned("RS256", id)),
            ("algorithm", sign(Algorithm::HS512, id, secret, &claims())),
            ("unknown_key", sign(Algorithm::HS256, "0123456789abcdef", secret, &claims())),
            ("unknown_key", sign(Algorithm::HS256, "../keys/development", secret, &claims())),
            ("audience", set("aud", json!("another"))),
            ("audience", without("aud")),
            ("no_expiry", without("exp")),
            ("malformed", "nonsense".to_owned()),
            ("malformed", String::new()),
        ]
    }
}

fn claims() -> Value {
    let id = || Uuid::new_v4().to_string();
    let now = unix_seconds();
    json!({ "tid": id(), "uid": id(), "usn": "ann", "iat": now, "exp": now + 600, "aud": "aether" })
}

fn sign(algorithm: Algorithm, key_id: &str, secret: &[u8], claims: &Value) -> String {
    let header = Header { kid: Some(key_id.to_owned()), ..Header::new(algorithm) };
    jsonwebtoken::encode(&header, claims, &EncodingKey::from_secret(secret)).expect("the token can be signed")
}

fn unsigned(algorithm: &str, key_id: &str) -> String {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.", part(json!({ "alg": algorithm, "typ": "JWT", "kid": key_id })), part(claims()))
}

/// Changes the name in a token and leaves the signature.
fn altered(token: &str) -> String {
    let parts: Vec<&str> = token.split('.').collect();
    let claims = URL_SAFE_NO_PAD.decode(parts[1]).expect("claims are base64");
    let claims = String::from_utf8(claims).expect("claims are text").replace("ann", "eve");
    format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(claims), parts[2])
}
