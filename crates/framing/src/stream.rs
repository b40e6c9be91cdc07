//! Framing of messages on a stream of bytes.
//!
//! ```text
//!  length of the message, unsigned LEB128, 1 to 4 bytes, shortest form | the message
//! ```

use crate::FramingError;

/// Upper bound of the bytes of a length. It allows 2²⁸, far more than the longest message of either side.
pub const LENGTH_BYTES_MAX: usize = 4;

/// Longest message with a length in this form, in bytes.
pub const MESSAGE_BYTES_MAX: usize = (1 << (7 * LENGTH_BYTES_MAX)) - 1;

const BAD_LENGTH: FramingError = FramingError::Protocol("a length is not in its shortest form");
const EMPTY: FramingError = FramingError::Protocol("a message is empty");
const TOO_LONG: FramingError = FramingError::Oversized("a message is too long");

/// Appends a message after its length.
///
/// # Panics
/// If the message is longer than [`MESSAGE_BYTES_MAX`].
pub fn append(out: &mut Vec<u8>, message: &[u8]) {
    assert!(message.len() <= MESSAGE_BYTES_MAX, "a message of {} bytes is too long", message.len());
    let mut rest = message.len();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out.extend_from_slice(message);
}

/// Decodes messages from a stream of bytes in chunks of any size.
///
/// Without a partial message it uses no heap memory, because most connections are idle at any moment. It never
/// allocates memory for an announced length.
#[derive(Debug)]
pub struct Decoder {
    partial: Vec<u8>,
    message_bytes_max: usize,
}

impl Decoder {
    /// A decoder for messages of up to `message_bytes_max` bytes.
    #[must_use]
    pub fn new(message_bytes_max: usize) -> Decoder {
        Decoder { partial: Vec::new(), message_bytes_max }
    }

    /// Upper bound of a message, in bytes.
    #[must_use]
    pub fn message_bytes_max(&self) -> usize {
        self.message_bytes_max
    }

    /// Sets the upper bound of messages from now on, in bytes.
    pub fn set_message_bytes_max(&mut self, bytes: usize) {
        self.message_bytes_max = bytes;
    }

    /// Adds bytes and calls `take` with each message that they complete. After an error, the stream cannot be decoded
    /// further.
    pub fn feed(&mut self, mut bytes: &[u8], take: &mut dyn FnMut(&[u8])) -> Result<(), FramingError> {
        while !self.partial.is_empty() && !bytes.is_empty() {
            bytes = self.complete(bytes, take)?;
        }
        while let Some((header, length)) = self.length(bytes)? {
            let Some(message) = bytes.get(header..header + length) else { break };
            take(message);
            bytes = &bytes[header + length..];
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds bytes to the partial message, and returns the rest.
    fn complete<'a>(&mut self, bytes: &'a [u8], take: &mut dyn FnMut(&[u8])) -> Result<&'a [u8], FramingError> {
        let Some((header, length)) = self.length(&self.partial)? else {
            self.partial.push(bytes[0]);
            // The length is checked as soon as it is complete, not when more bytes arrive.
            self.length(&self.partial)?;
            return Ok(&bytes[1..]);
        };
        let missing = (header + length - self.partial.len()).min(bytes.len());
        self.partial.extend_from_slice(&bytes[..missing]);
        if self.partial.len() == header + length {
            let whole = std::mem::take(&mut self.partial);
            take(&whole[header..]);
        }
        Ok(&bytes[missing..])
    }

    /// Returns the size of the length in bytes, and the length, if it is complete.
    fn length(&self, bytes: &[u8]) -> Result<Option<(usize, usize)>, FramingError> {
        let mut length = 0;
        for (index, byte) in bytes.iter().take(LENGTH_BYTES_MAX).enumerate() {
            length |= usize::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return match length {
                    _ if index > 0 && *byte == 0 => Err(BAD_LENGTH),
                    0 => Err(EMPTY),
                    _ if length > self.message_bytes_max => Err(TOO_LONG),
                    _ => Ok(Some((index + 1, length))),
                };
            }
        }
        if bytes.len() >= LENGTH_BYTES_MAX { Err(BAD_LENGTH) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(decoder: &mut Decoder, chunks: &[&[u8]]) -> Result<Vec<Vec<u8>>, FramingError> {
        let mut messages = Vec::new();
        for chunk in chunks {
            decoder.feed(chunk, &mut |message| messages.push(message.to_vec()))?;
        }
        Ok(messages)
    }

    proptest! {
        #[test]
        fn messages_survive_any_chunks(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..400), 0..20),
            cuts in prop::collection::vec(1_usize..200, 1..30),
        ) {
            let mut bytes = Vec::new();
            messages.iter().for_each(|message| append(&mut bytes, message));
            let mut decoder = Decoder::new(400);
            let mut decoded = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, after) = rest.split_at((*cut).min(rest.len()));
                decoder.feed(chunk, &mut |message| decoded.push(message.to_vec())).unwrap();
                rest = after;
            }
            prop_assert_eq!(decoded, messages);
            prop_assert_eq!(decoder.partial.capacity(), 0);
        }

        #[test]
        fn any_bytes_are_messages_or_a_violation(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
            let mut decoder = Decoder::new(512);
            let mut longest = 0;
            let _ = decoder.feed(&bytes, &mut |message| longest = longest.max(message.len()));
            prop_assert!(longest <= 512);
            prop_assert!(decoder.partial.len() <= 512 + LENGTH_BYTES_MAX);
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_an_error_before_its_message_arrives() {
        assert_eq!(decode(&mut Decoder::new(200), &[&[0xc9, 0x01]]), Err(TOO_LONG));
        assert_eq!(decode(&mut Decoder::new(200), &[&[0xc9], &[0x01]]), Err(TOO_LONG));
        assert_eq!(decode(&mut Decoder::new(200), &[&[0xc8, 0x01]]), Ok(Vec::new()));
    }

    #[test]
    fn a_length_must_be_in_its_shortest_form() {
        assert_eq!(decode(&mut Decoder::new(200), &[&[0x81, 0x00, 7]]), Err(BAD_LENGTH));
        assert_eq!(decode(&mut Decoder::new(200), &[&[0x81], &[0x80], &[0x00]]), Err(BAD_LENGTH));
        assert_eq!(decode(&mut Decoder::new(usize::MAX), &[&[0xff, 0xff, 0xff, 0xff]]), Err(BAD_LENGTH));
        assert_eq!(decode(&mut Decoder::new(usize::MAX), &[&[0xff], &[0xff, 0xff], &[0x80]]), Err(BAD_LENGTH));
    }

    #[test]
    fn an_empty_message_is_a_violation() {
        assert_eq!(decode(&mut Decoder::new(200), &[&[0]]), Err(EMPTY));
    }

    #[test]
    fn a_new_limit_applies_to_the_next_message() {
        let mut decoder = Decoder::new(10);
        assert_eq!(decode(&mut decoder, &[&[2, 1, 2]]), Ok(vec![vec![1, 2]]));
        decoder.set_message_bytes_max(1);
        assert_eq!(decode(&mut decoder, &[&[2, 1, 2]]), Err(TOO_LONG));
    }
}
