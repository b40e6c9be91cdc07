//! Base64, in the standard alphabet.

use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PAD: char = '=';

/// Bytes that are base64 with padding in JSON.
pub(super) struct Base64<'a>(Cow<'a, [u8]>);

impl<'a> Base64<'a> {
    pub fn of(bytes: &'a [u8]) -> Base64<'a> {
        Base64(Cow::Borrowed(bytes))
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_owned()
    }
}

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = decode(text.as_bytes()).ok_or_else(|| D::Error::custom("not base64"))?;
        Ok(Base64(Cow::Owned(bytes)))
    }
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            if digit <= group.len() {
                let index = bits >> (18 - 6 * digit) & 0x3f;
                text.push(char::from(ALPHABET[index as usize]));
            } else {
                text.push(PAD);
            }
        }
    }
    text
}

/// Accepts only the output of `encode`: one text for each sequence of bytes.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            bits = bits << 6 | u32::from(value_of(*digit)?);
        }
        let bits = bits << (6 * (4 - group.len()));
        // A group of n digits has n - 1 bytes, and the bits below them must be zero.
        let byte_count = group.len() - 1;
        if byte_count == 0 || bits & (0xff_ffff >> (8 * byte_count)) != 0 {
            return None;
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..=byte_count]);
    }
    Some(bytes)
}

fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn every_byte_survives() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..=bytes.len() {
            assert_eq!(decode(encode(&bytes[..length]).as_bytes()).as_deref(), Some(&bytes[..length]));
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in
            ["A", "AA", "AAA", "A===", "====", "=", "Zg=A", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "Zm-_", "Zg==Zg=="]
        {
            assert_eq!(decode(text.as_bytes()), None, "{text:?}");
        }
    }
}
