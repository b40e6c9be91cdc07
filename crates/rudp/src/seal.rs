//! Sealing of packets: encryption and authentication with one key per direction.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, Tag, UnboundKey};

/// Length of a key of packets.
pub(crate) const KEY_BYTES: usize = 16;

/// Length of the tag at the end of each packet.
pub(crate) const TAG_BYTES: usize = 16;

/// Key of one direction of one connection. The nonce is the packet number, which is never used twice.
pub(crate) struct PacketKey(LessSafeKey);

impl PacketKey {
    pub(crate) fn new(bytes: &[u8; KEY_BYTES]) -> PacketKey {
        PacketKey(LessSafeKey::new(UnboundKey::new(&AES_128_GCM, bytes).expect("the key has the algorithm's length")))
    }

    /// Seals `packet` from `payload_at` on and appends the tag. The bytes before it are authenticated as they are.
    pub(crate) fn seal(&self, number: u64, packet: &mut Vec<u8>, start: usize, payload_at: usize) {
        let (header, payload) = packet[start..].split_at_mut(payload_at - start);
        let tag = self.0.seal_in_place_separate_tag(nonce(number), Aad::from(&*header), payload);
        packet.extend_from_slice(tag.expect("a packet is far shorter than the algorithm's limit").as_ref());
    }

    /// Opens a packet in place and returns its payload.
    pub(crate) fn open<'a>(&self, number: u64, packet: &'a mut [u8], payload_at: usize) -> Option<&'a mut [u8]> {
        let (header, sealed) = packet.split_at_mut_checked(payload_at)?;
        let (payload, tag) = sealed.split_at_mut_checked(sealed.len().checked_sub(TAG_BYTES)?)?;
        let tag = Tag::try_from(&*tag).ok()?;
        self.0.open_in_place_separate_tag(nonce(number), Aad::from(&*header), tag, payload, 0..).ok()
    }
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[NONCE_LEN - 8..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}
