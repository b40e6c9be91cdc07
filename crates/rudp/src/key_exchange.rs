//! Keys of a connection, from a key exchange and the token's secret.
//!
//! X25519 with keys that both sides make for this connection gives forward secrecy. The token's secret salts the
//! derivation, so nobody without the token can stand between the two.

use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SystemRandom;

use crate::seal::{KEY_BYTES, PacketKey};
use crate::token::{RandomError, Secret};

/// Length of a public key.
pub(crate) const PUBLIC_BYTES: usize = 32;

/// Public key of one side.
pub(crate) type PublicKey = [u8; PUBLIC_BYTES];

/// Own keys of one handshake.
pub(crate) struct KeyPair {
    private: EphemeralPrivateKey,
    pub public: PublicKey,
}

/// Keys of the two directions of a connection.
pub(crate) struct PacketKeys {
    pub to_server: PacketKey,
    pub to_client: PacketKey,
}

impl KeyPair {
    pub(crate) fn new(random: &SystemRandom) -> Result<KeyPair, RandomError> {
        let private = EphemeralPrivateKey::generate(&X25519, random).map_err(|_| RandomError)?;
        let computed = private.compute_public_key().map_err(|_| RandomError)?;
        let public = computed.as_ref().try_into().map_err(|_| RandomError)?;
        Ok(KeyPair { private, public })
    }

    /// Derives the keys of a connection. `None` if the peer's public key is unusable.
    pub(crate) fn agree(self, peer: &PublicKey, secret: &Secret, client: &PublicKey) -> Option<PacketKeys> {
        let server = if *client == self.public { *peer } else { self.public };
        agree_ephemeral(self.private, &UnparsedPublicKey::new(&X25519, peer), |shared| {
            let derived = Salt::new(HKDF_SHA256, secret).extract(shared);
            let key = |direction: &[u8]| {
                let mut bytes = [0; KEY_BYTES];
                let info = [b"aether rudp 1".as_slice(), direction, client, &server];
                let expanded = derived.expand(&info, KeyBytes).and_then(|expanded| expanded.fill(&mut bytes));
                expanded.expect("the length is far below the limit of HKDF");
                PacketKey::new(&bytes)
            };
            PacketKeys { to_server: key(b"to server"), to_client: key(b"to client") }
        })
        .ok()
    }
}

struct KeyBytes;

impl KeyType for KeyBytes {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}
