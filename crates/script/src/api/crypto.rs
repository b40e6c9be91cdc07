//! Hashes, signatures and encryption.

use super::encoding::hexadecimal;
use super::utility::random_bytes;
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use crate::vm::VmState;
use aes::cipher::{BlockEncrypt, KeyInit};
use aes::{Aes128, Aes256, Block};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use md5::{Digest as _, Md5};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use ring::{digest, hmac};
use tokio::sync::Semaphore;

/// Cost of new bcrypt hashes: 2^10 rounds, about 50 ms.
const BCRYPT_COST: u32 = 10;
/// Greatest cost of a hash that is compared: each further one doubles the time, and 14 takes about a second.
const BCRYPT_COST_MAX: u32 = 14;
/// bcrypt hashes that are computed at once. Each occupies a core.
static BCRYPT_PLACES: Semaphore = Semaphore::const_new(2);
/// Most bytes of a private key in PEM.
const KEY_BYTES_MAX: usize = 16_384;
/// Bytes of a block of AES, and of the initialization vector before the encrypted bytes.
const BLOCK_BYTES: usize = 16;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

const INPUT: Parameter = required("input", "string", "Bytes.");
const KEY_128: Parameter = required("key", "string", "Key of 16 bytes.");
const KEY_256: Parameter = required("key", "string", "Key of 32 bytes.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::local("jwt_generate", |_, args| generate_token(&args))
        .about("Returns a signed JSON Web Token.")
        .parameters(&[
            required("signingMethod", "string", "`HS256` or `RS256`."),
            required("signingKey", "string", "Secret, or RSA private key in PEM."),
            required("claims", "{[string]: any}", "Claims of the token."),
        ])
        .returns("string"),
    Function::local("aes128_encrypt", |state, args| encrypt::<Aes128>(state, &args, 16))
        .about("Encrypts bytes with AES-128 in CFB mode. The result begins with the initialization vector.")
        .parameters(&[INPUT, KEY_128])
        .returns("string"),
    Function::local("aes128_decrypt", |_, args| decrypt::<Aes128>(&args, 16))
        .about("Decrypts the result of aes128_encrypt.")
        .parameters(&[INPUT, KEY_128])
        .returns("string"),
    Function::local("aes256_encrypt", |state, args| encrypt::<Aes256>(state, &args, 32))
        .about("Encrypts bytes with AES-256 in CFB mode. The result begins with the initialization vector.")
        .parameters(&[INPUT, KEY_256])
        .returns("string"),
    Function::local("aes256_decrypt", |_, args| decrypt::<Aes256>(&args, 32))
        .about("Decrypts the result of aes256_encrypt.")
        .parameters(&[INPUT, KEY_256])
        .returns("string"),
    Function::local("md5_hash", |_, args| Ok(vec![Value::from(hexadecimal(&Md5::digest(args.bytes(0)?)))]))
        .about("Returns the MD5 hash in hexadecimal. It is no protection against manipulation.")
        .parameters(&[INPUT])
        .returns("string"),
    Function::local("sha256_hash", |_, args| {
        Ok(vec![Value::from(hexadecimal(digest::digest(&digest::SHA256, args.bytes(0)?).as_ref()))])
    })
    .about("Returns the SHA-256 hash in hexadecimal.")
    .parameters(&[INPUT])
    .returns("string"),
    Function::local("rsa_sha256_hash", |_, args| Ok(vec![Value::from(sign(&args, 1, args.bytes(0)?)?)]))
        .about("Returns the RSA signature (PKCS #1 v1.5) of the SHA-256 hash, as bytes.")
        .parameters(&[INPUT, required("key", "string", "RSA private key of 2,048 to 4,096 bits, in PEM.")])
        .returns("string"),
    Function::local("hmac_sha256_hash", |_, args| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, args.bytes(1)?);
        Ok(vec![Value::from(hmac::sign(&key, args.bytes(0)?).as_ref().to_vec())])
    })
    .about("Returns the HMAC-SHA256, as bytes.")
    .parameters(&[INPUT, required("key", "string", "Secret.")])
    .returns("string"),
    Function::service("bcrypt_hash", |used, args| Box::pin(hash(used, args)))
        .about("Returns the bcrypt hash of a password.")
        .parameters(&[required("input", "string", "Password. Its first 72 bytes count.")])
        .returns("string"),
    Function::service("bcrypt_compare", |used, args| Box::pin(compare(used, args)))
        .about("Returns true if a password has a bcrypt hash.")
        .parameters(&[required("hash", "string", "Hash of bcrypt_hash."), required("plaintext", "string", "Password.")])
        .returns("boolean"),
];

fn generate_token(args: &Arguments) -> Outcome {
    let algorithm = args.text(0)?;
    let claims = args.optional_object_text(2)?.ok_or_else(|| args.expected(2, "a table"))?;
    let header = serde_json::json!({ "alg": algorithm, "typ": "JWT" });
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header.to_string()), URL_SAFE_NO_PAD.encode(claims));
    let signature = match algorithm {
        "HS256" if args.bytes(1)?.is_empty() => return Err(args.expected(1, "a string that is not empty")),
        "HS256" => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, args.bytes(1)?);
            hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
        }
        "RS256" => sign(args, 1, message.as_bytes())?,
        _ => return Err(args.expected(0, "`HS256` or `RS256`")),
    };
    Ok(vec![Value::from(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))])
}

/// Signs with the RSA key of an argument.
fn sign(args: &Arguments, index: usize, message: &[u8]) -> Result<Vec<u8>, ScriptError> {
    // The key itself is not part of the error.
    let invalid = || {
        let sentence = "the key is no RSA private key of 2,048 to 4,096 bits in PEM (PKCS #1 or PKCS #8)";
        ScriptError::invalid(sentence)
    };
    let text = args.bytes(index)?;
    let parsed = (text.len() <= KEY_BYTES_MAX).then(|| pem::parse(text).ok()).flatten().ok_or_else(invalid)?;
    let key = match parsed.tag() {
        "RSA PRIVATE KEY" => RsaKeyPair::from_der(parsed.contents()),
        _ => RsaKeyPair::from_pkcs8(parsed.contents()),
    };
    let key = key.map_err(|_| invalid())?;
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).map_err(|_| invalid())?;
    Ok(signature)
}

fn encrypt<C: KeyInit + BlockCipher>(state: &VmState, args: &Arguments, key_bytes: usize) -> Outcome {
    let cipher = cipher::<C>(args, key_bytes)?;
    let mut bytes = random_bytes(state, BLOCK_BYTES);
    let mut former = block(&bytes);
    for plain in args.bytes(0)?.chunks(BLOCK_BYTES) {
        let mask = cipher.encrypt(former);
        let start = bytes.len();
        bytes.extend(plain.iter().zip(&mask).map(|(byte, mask)| byte ^ mask));
        former = block(&bytes[start..]);
    }
    Ok(vec![Value::from(bytes)])
}

fn decrypt<C: KeyInit + BlockCipher>(args: &Arguments, key_bytes: usize) -> Outcome {
    let cipher = cipher::<C>(args, key_bytes)?;
    let Some((vector, encrypted)) = args.bytes(0)?.split_at_checked(BLOCK_BYTES) else {
        return Err(args.expected(0, "at least 16 bytes, of which the first are the initialization vector"));
    };
    let mut former = block(vector);
    let mut bytes = Vec::with_capacity(encrypted.len());
    for part in encrypted.chunks(BLOCK_BYTES) {
        let mask = cipher.encrypt(former);
        bytes.extend(part.iter().zip(&mask).map(|(byte, mask)| byte ^ mask));
        former = block(part);
    }
    Ok(vec![Value::from(bytes)])
}

/// Returns a block of bytes. Only the last part of a message is shorter, and nothing follows it.
fn block(bytes: &[u8]) -> [u8; BLOCK_BYTES] {
    bytes.try_into().unwrap_or_default()
}

/// Cipher with the block size of AES.
trait BlockCipher {
    fn encrypt(&self, block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES];
}

impl BlockCipher for Aes128 {
    fn encrypt(&self, block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
        let mut block = Block::from(block);
        self.encrypt_block(&mut block);
        block.into()
    }
}

impl BlockCipher for Aes256 {
    fn encrypt(&self, block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
        let mut block = Block::from(block);
        self.encrypt_block(&mut block);
        block.into()
    }
}

fn cipher<C: KeyInit>(args: &Arguments, key_bytes: usize) -> Result<C, ScriptError> {
    // The key itself is not part of the error.
    C::new_from_slice(args.bytes(1)?).map_err(|_| {
        let found = args.bytes(1).map_or(0, <[u8]>::len);
        ScriptError::invalid(format!("the key must have {key_bytes} bytes, got {found}"))
    })
}

async fn hash(_used: ScriptServices, args: Arguments) -> Outcome {
    let password = args.bytes(0)?.to_vec();
    let hashed = bcrypt_task(move || bcrypt::hash(password, BCRYPT_COST)).await?;
    Ok(vec![Value::from(hashed.map_err(|error| ScriptError::invalid(format!("bcrypt failed: {error}")))?)])
}

async fn compare(_used: ScriptServices, args: Arguments) -> Outcome {
    let (hash, password) = (args.text(0)?.to_owned(), args.bytes(1)?.to_vec());
    let cost = hash.split('$').nth(2).and_then(|cost| cost.parse::<u32>().ok());
    if cost.is_none_or(|cost| cost > BCRYPT_COST_MAX) {
        return Err(args.expected(0, &format!("a bcrypt hash with a cost of at most {BCRYPT_COST_MAX}")));
    }
    let compared = bcrypt_task(move || bcrypt::verify(password, &hash)).await?;
    Ok(vec![Value::from(compared.map_err(|error| ScriptError::invalid(format!("bcrypt failed: {error}")))?)])
}

/// Runs a computation on the blocking pool, of which a few run at once.
async fn bcrypt_task<T: Send + 'static>(compute: impl FnOnce() -> T + Send + 'static) -> Result<T, ScriptError> {
    let _place = BCRYPT_PLACES.acquire().await.map_err(|error| ScriptError::invalid(error.to_string()))?;
    tokio::task::spawn_blocking(compute).await.map_err(|error| ScriptError::invalid(error.to_string()))
}
