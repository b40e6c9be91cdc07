//! Signing keys of a fake provider, and tokens signed with them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

/// RSA key for tests only, because generating one is slow.
pub const RSA_KEY: &[u8] = include_bytes!("rsa-test-key.der");

/// Signing key.
pub enum Signer {
    Rsa(RsaKeyPair),
    Elliptic(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
}

impl Signer {
    pub fn rsa() -> Signer {
        Signer::Rsa(RsaKeyPair::from_pkcs8(RSA_KEY).expect("it is a key"))
    }

    pub fn elliptic() -> Signer {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("there is chance");
        Signer::Elliptic(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("it is a key"))
    }

    pub fn edwards() -> Signer {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("there is chance");
        Signer::Edwards(Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("it is a key"))
    }

    pub fn algorithm(&self) -> &'static str {
        match self {
            Signer::Rsa(_) => "RS256",
            Signer::Elliptic(_) => "ES256",
            Signer::Edwards(_) => "EdDSA",
        }
    }

    /// Returns the key as a provider publishes it.
    pub fn published(&self, id: &str) -> Value {
        match self {
            Signer::Rsa(key) => {
                let PublicKeyComponents::<Vec<u8>> { n, e } = PublicKeyComponents::from(key.public_key());
                json!({ "kty": "RSA", "kid": id, "use": "sig", "alg": "RS256", "n": base64(&n), "e": base64(&e) })
            }
            Signer::Elliptic(key) => {
                let point = key.public_key().as_ref();
                let (x, y) = (base64(&point[1..33]), base64(&point[33..]));
                json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y })
            }
            Signer::Edwards(key) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "alg": "EdDSA", "x": base64(key.public_key().as_ref()) })
            }
        }
    }

    /// Returns a token with these claims.
    pub fn token(&self, id: &str, claims: &Value) -> String {
        self.token_with(&json!({ "alg": self.algorithm(), "typ": "JWT", "kid": id }), claims)
    }

    /// Returns a token with this header, valid or not.
    pub fn token_with(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", base64(header.to_string().as_bytes()), base64(claims.to_string().as_bytes()));
        format!("{signed}.{}", base64(&self.sign(signed.as_bytes())))
    }

    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Signer::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, bytes, &mut signature).expect("it fits");
                signature
            }
            Signer::Elliptic(key) => key.sign(&random, bytes).expect("there is chance").as_ref().to_vec(),
            Signer::Edwards(key) => key.sign(bytes).as_ref().to_vec(),
        }
    }
}

pub fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
