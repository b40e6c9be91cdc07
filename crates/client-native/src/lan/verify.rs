//! Signatures of servers.

use aether_wire::lan::{ServerKey, signed_part};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, UnparsedPublicKey};

/// Returns true if a packet ends with the signature of a server.
pub(super) fn is_signed(packet: &[u8], key: &ServerKey) -> bool {
    let Some((signed, signature)) = signed_part(packet) else { return false };
    UnparsedPublicKey::new(&ED25519, &key.0).verify(signed, signature).is_ok()
}

/// Random number that an answer must repeat.
pub(super) fn nonce() -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| std::io::Error::other("the system has no random bytes"))?;
    // 0 stands for an announcement.
    Ok(u64::from_le_bytes(bytes).max(1))
}
