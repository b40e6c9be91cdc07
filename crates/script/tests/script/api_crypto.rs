//! Hashes, signatures and encryption, with the results of other implementations.

use crate::api_support::{CALLER, Calls};
use crate::fake_shop::{RSA_KEY, pem};
use crate::support::rpc;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn hashes_are_those_of_their_standards() {
    let mut calls = Calls::start().await;
    assert_eq!(calls.first("md5_hash", &[json!("abc")]).await, json!("900150983cd24fb0d6963f7d28e17f72"));
    let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(calls.first("sha256_hash", &[json!("abc")]).await, json!(sha));
    // Test case 2 of RFC 4231. It is no text, so it arrives in base64.
    let mac = calls.first("hmac_sha256_hash", &[json!("what do ya want for nothing?"), json!("Jefe")]).await;
    let mac = STANDARD.decode(mac.as_str().expect("a text")).expect("base64");
    assert_eq!(mac[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    assert_eq!((mac.len(), mac[31]), (32, 0x43));
    calls.fails("md5_hash", &[json!(1)], "argument 1 (`input`)").await;
    calls.fails("sha256_hash", &[], "argument 1 (`input`)").await;
    calls.fails("hmac_sha256_hash", &[json!("a")], "argument 2 (`key`)").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_match_their_bcrypt_hash() {
    let mut calls = Calls::start().await;
    let hash = calls.first("bcrypt_hash", &[json!("secret")]).await;
    assert!(hash.as_str().is_some_and(|hash| hash.starts_with("$2b$10$") && hash.len() == 60), "{hash}");
    assert_eq!(calls.first("bcrypt_compare", &[hash.clone(), json!("secret")]).await, json!(true));
    assert_eq!(calls.first("bcrypt_compare", &[hash, json!("Secret")]).await, json!(false));
    let costly = "$2a$31$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy";
    calls.fails("bcrypt_compare", &[json!(costly), json!("x")], "a cost of at most 14").await;
    calls.fails("bcrypt_compare", &[json!("x"), json!("x")], "argument 1 (`hash`)").await;
    calls.fails("bcrypt_hash", &[json!(1)], "argument 1 (`input`)").await;
    calls.stop().await;
}

/// Verifies a signature of the test key.
fn verify(message: &[u8], signature: &[u8]) -> bool {
    let key = RsaKeyPair::from_pkcs8(RSA_KEY).expect("it is a key");
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref().to_vec());
    public.verify(message, signature).is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_signatures_verify() {
    let mut calls = Calls::start().await;
    let claims = json!({ "sub": "ann", "exp": 1_800_000_000 });
    let token = calls.first("jwt_generate", &[json!("HS256"), json!("secret"), claims.clone()]).await;
    let token = token.as_str().expect("a text").to_owned();
    let parts: Vec<&str> = token.split('.').collect();
    assert_eq!(URL_SAFE_NO_PAD.decode(parts[0]).expect("base64"), br#"{"alg":"HS256","typ":"JWT"}"#);
    let said: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).expect("base64")).expect("JSON");
    assert_eq!(said, claims);
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"secret");
    let signature = URL_SAFE_NO_PAD.decode(parts[2]).expect("base64");
    ring::hmac::verify(&key, format!("{}.{}", parts[0], parts[1]).as_bytes(), &signature).expect("it is signed");
    let key = json!(pem(RSA_KEY));
    let token = calls.first("jwt_generate", &[json!("RS256"), key.clone(), claims.clone()]).await;
    let token = token.as_str().expect("a text").to_owned();
    let (message, signature) = token.rsplit_once('.').expect("three parts");
    assert!(verify(message.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).expect("base64")));
    let signature = calls.first("rsa_sha256_hash", &[json!("abc"), key]).await;
    assert!(verify(b"abc", &STANDARD.decode(signature.as_str().expect("a text")).expect("base64")));
    // The key inside a PKCS #8 document is one in the older form.
    let older = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n",
        STANDARD.encode(&RSA_KEY[26..])
    );
    let signature = calls.first("rsa_sha256_hash", &[json!("abc"), json!(older)]).await;
    assert!(verify(b"abc", &STANDARD.decode(signature.as_str().expect("a text")).expect("base64")));
    calls.fails("jwt_generate", &[json!("none"), json!("x"), claims.clone()], "`HS256` or `RS256`").await;
    calls.fails("jwt_generate", &[json!("HS256"), json!(""), claims.clone()], "argument 2 (`signingKey`)").await;
    calls.fails("jwt_generate", &[json!("HS256"), json!("x")], "argument 3 (`claims`)").await;
    let error = calls.error("jwt_generate", &[json!("RS256"), json!("my secret key"), claims]).await;
    assert!(error.contains("no RSA private key") && !error.contains("my secret"), "{error}");
    calls.fails("rsa_sha256_hash", &[json!("abc"), json!("x")], "no RSA private key").await;
    let long = format!("{}{}", pem(RSA_KEY), " ".repeat(16_384));
    calls.fails("rsa_sha256_hash", &[json!("abc"), json!(long)], "no RSA private key").await;
    calls.stop().await;
}

const AES: &str = r#"
local nk = require("nakama")

nk.register_rpc(function()
    local short, long = string.rep("k", 16), string.rep("k", 32)
    local plain = "the quick brown fox jumps over the lazy dog"
    local first, second = nk.aes128_encrypt(plain, short), nk.aes128_encrypt(plain, short)
    -- Section F.3.13 of NIST SP 800-38A: CFB128-AES128.
    local key = nk.base16_decode("2b7e151628aed2a6abf7158809cf4f3c")
    local message = nk.base16_decode("000102030405060708090a0b0c0d0e0f3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b")
    -- Section F.3.17: CFB128-AES256.
    local long_key = nk.base16_decode("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    local long_message = nk.base16_decode("000102030405060708090a0b0c0d0e0fdc7e84bfda79164b7ecd8486985d3860")
    return nk.json_encode({
        length = #first - #plain,
        differ = first ~= second,
        short = nk.aes128_decrypt(first, short) == plain,
        long = nk.aes256_decrypt(nk.aes256_encrypt(plain, long), long) == plain,
        known = nk.base16_encode(nk.aes128_decrypt(message, key)),
        long_known = nk.base16_encode(nk.aes256_decrypt(long_message, long_key)),
    })
end, "aes")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn encrypted_bytes_begin_with_the_vector_and_decrypt() {
    let mut calls = Calls::with_modules(&[("caller", CALLER), ("aes", AES)], |_| {}).await;
    let (status, answer) = rpc(&mut calls.client, "aes", &json!({})).await;
    assert_eq!(status, 200, "{answer}");
    let expected = json!({
        "length": 16, "differ": true, "short": true, "long": true,
        "known": "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
        "long_known": "6bc1bee22e409f96e93d7e117393172a",
    });
    assert_eq!(answer, expected);
    for name in ["aes128_encrypt", "aes256_encrypt", "aes128_decrypt", "aes256_decrypt"] {
        let error = calls.error(name, &[json!("a"), json!("my secret")]).await;
        assert!(error.contains("the key must have") && !error.contains("my secret"), "{name}: {error}");
    }
    calls.fails("aes128_decrypt", &[json!("short"), json!("k".repeat(16))], "at least 16 bytes").await;
    calls.stop().await;
}
