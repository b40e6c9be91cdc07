//! Connect tokens: issued by the server's API, sealed so that only the server can read them.
//!
//! ```text
//!  sealed part:   nonce 12   ( expires 8   secret 32   account length 1   account, zeros to 64 )   tag 16
//!  token:         version 1   expires 8   secret 32   sealed part
//! ```

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

use crate::bytes::Reader;
use crate::limits::ACCOUNT_BYTES_MAX;
use crate::packet::VERSION;
use crate::seal::TAG_BYTES;

/// Length of a token's secret.
pub(crate) const SECRET_BYTES: usize = 32;

/// Length of a token's sealed part.
pub(crate) const SEALED_BYTES: usize = NONCE_LEN + OPENED_BYTES + TAG_BYTES;

const OPENED_BYTES: usize = 8 + SECRET_BYTES + 1 + ACCOUNT_BYTES_MAX;
const KEY_BYTES: usize = 32;
const TOKEN_BYTES: usize = 1 + 8 + SECRET_BYTES + SEALED_BYTES;

/// Identifier of a token, by which it is remembered once it was used. It is the nonce of the sealed part.
pub(crate) type TokenId = [u8; NONCE_LEN];

/// Secret shared by client and server through a token.
pub(crate) type Secret = [u8; SECRET_BYTES];

/// The system has no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomError;

impl fmt::Display for RandomError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the system's random number generator failed")
    }
}

impl std::error::Error for RandomError {}

/// Bytes that are no connect token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadConnectToken;

impl fmt::Display for BadConnectToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the bytes are not a connect token of this version")
    }
}

impl std::error::Error for BadConnectToken {}

/// Key that seals connect tokens. Every start of a server has a key of its own, so that tokens end with it.
///
/// A key belongs to one [`Acceptor`](crate::Acceptor), which remembers the used tokens; a new acceptor needs a new key.
pub struct TokenKey {
    bytes: [u8; KEY_BYTES],
    key: LessSafeKey,
    random: SystemRandom,
}

/// Permission that a token carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenGrant {
    /// Account that may connect, at most [`ACCOUNT_BYTES_MAX`] bytes; longer ones are cut at a character.
    pub account: String,
    /// Moment from which the token is refused, in Unix seconds.
    pub expires: u64,
}

impl TokenKey {
    /// Length of the key's bytes.
    pub const BYTES: usize = KEY_BYTES;

    /// Creates a new key.
    ///
    /// # Errors
    /// Fails if the system has no randomness.
    pub fn random() -> Result<TokenKey, RandomError> {
        let mut bytes = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| RandomError)?;
        Ok(TokenKey::from_bytes(bytes))
    }

    /// Restores a key in another process of the same server.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> TokenKey {
        let key = UnboundKey::new(&AES_256_GCM, &bytes).expect("the key has the algorithm's length");
        TokenKey { bytes, key: LessSafeKey::new(key), random: SystemRandom::new() }
    }

    /// Returns the key's bytes, for another process of the same server. They are secret.
    pub fn to_bytes(&self) -> [u8; KEY_BYTES] {
        self.bytes
    }

    /// Issues a token.
    ///
    /// # Errors
    /// Fails if the system has no randomness.
    pub fn issue(&self, grant: &TokenGrant) -> Result<ConnectToken, RandomError> {
        let mut id = [0; NONCE_LEN];
        let mut secret = [0; SECRET_BYTES];
        self.random.fill(&mut id).map_err(|_| RandomError)?;
        self.random.fill(&mut secret).map_err(|_| RandomError)?;

        let account = &grant.account[..grant.account.floor_char_boundary(ACCOUNT_BYTES_MAX)];
        let mut sealed = [0; SEALED_BYTES];
        let (nonce, rest) = sealed.split_at_mut(NONCE_LEN);
        let (opened, tag) = rest.split_at_mut(OPENED_BYTES);
        nonce.copy_from_slice(&id);
        opened[..8].copy_from_slice(&grant.expires.to_be_bytes());
        opened[8..8 + SECRET_BYTES].copy_from_slice(&secret);
        opened[8 + SECRET_BYTES] = account.len() as u8;
        opened[8 + SECRET_BYTES + 1..][..account.len()].copy_from_slice(account.as_bytes());
        let nonce = Nonce::assume_unique_for_key(id);
        let seal = self.key.seal_in_place_separate_tag(nonce, Aad::from([VERSION]), opened);
        tag.copy_from_slice(seal.map_err(|_| RandomError)?.as_ref());
        Ok(ConnectToken { expires: grant.expires, secret, sealed })
    }

    /// Opens the sealed part of a token. `None` if it was altered or sealed with another key.
    pub(crate) fn open(&self, sealed: &[u8; SEALED_BYTES]) -> Option<OpenedToken> {
        let (id, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut bytes = [0; OPENED_BYTES + TAG_BYTES];
        bytes.copy_from_slice(rest);
        let nonce = Nonce::assume_unique_for_key(*id);
        let mut reader = Reader(self.key.open_in_place(nonce, Aad::from([VERSION]), &mut bytes).ok()?);
        let (expires, secret) = (reader.u64()?, reader.array()?);
        let account_bytes = usize::from(reader.u8()?);
        let account = reader.array()?;
        str::from_utf8(account.get(..account_bytes)?).ok()?;
        Some(OpenedToken { id: *id, secret, expires, account, account_bytes })
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TokenKey").finish_non_exhaustive()
    }
}

/// Content of a token, read by the server. It allocates nothing: a token may come from anybody until it is accepted.
pub(crate) struct OpenedToken {
    pub id: TokenId,
    pub secret: Secret,
    pub expires: u64,
    account: [u8; ACCOUNT_BYTES_MAX],
    account_bytes: usize,
}

impl OpenedToken {
    /// Account that may connect.
    pub(crate) fn account(&self) -> String {
        String::from_utf8_lossy(&self.account[..self.account_bytes]).into_owned()
    }
}

/// Token with which a client connects once.
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectToken {
    expires: u64,
    pub(crate) secret: Secret,
    pub(crate) sealed: [u8; SEALED_BYTES],
}

impl ConnectToken {
    /// Moment from which the token is refused, in Unix seconds.
    pub fn expires(&self) -> u64 {
        self.expires
    }

    /// Returns the token's bytes, for the client over an encrypted path. They are secret.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(TOKEN_BYTES);
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.expires.to_be_bytes());
        bytes.extend_from_slice(&self.secret);
        bytes.extend_from_slice(&self.sealed);
        bytes
    }

    /// Reads a token.
    ///
    /// # Errors
    /// Fails if the bytes have another length or version.
    pub fn from_bytes(bytes: &[u8]) -> Result<ConnectToken, BadConnectToken> {
        let mut reader = Reader(bytes);
        let version = reader.u8().ok_or(BadConnectToken)?;
        let expires = reader.u64().ok_or(BadConnectToken)?;
        let secret = reader.array().ok_or(BadConnectToken)?;
        let sealed = reader.array().ok_or(BadConnectToken)?;
        if version != VERSION || !reader.is_empty() {
            return Err(BadConnectToken);
        }
        Ok(ConnectToken { expires, secret, sealed })
    }
}

impl fmt::Debug for ConnectToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ConnectToken").field("expires", &self.expires).finish_non_exhaustive()
    }
}
