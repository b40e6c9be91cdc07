//! Signatures of the packets of a server.

use aether_wire::lan::ServerKey;
use ring::signature::{Ed25519KeyPair, KeyPair};
use std::fmt;

/// Signs packets. The public key is the identity of the server on the local network.
pub struct ServerSigner {
    pair: Ed25519KeyPair,
    key: ServerKey,
}

impl ServerSigner {
    /// Creates a signer from a secret of 32 random bytes. The same secret has the same public key.
    ///
    /// # Panics
    /// Does not panic: every secret of this length is a key.
    #[must_use]
    pub fn from_secret(secret: &[u8; 32]) -> ServerSigner {
        let pair = Ed25519KeyPair::from_seed_unchecked(secret).expect("32 bytes are a key");
        let key = ServerKey(pair.public_key().as_ref().try_into().expect("a public key has 32 bytes"));
        ServerSigner { pair, key }
    }

    /// Returns the public key.
    #[must_use]
    pub fn key(&self) -> ServerKey {
        self.key
    }

    /// Appends the signature of a packet to it.
    pub fn sign(&self, packet: &mut Vec<u8>) {
        let signature = self.pair.sign(packet);
        packet.extend_from_slice(signature.as_ref());
    }
}

impl fmt::Debug for ServerSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerSigner({})", self.key)
    }
}
