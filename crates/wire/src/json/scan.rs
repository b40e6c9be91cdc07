//! Checks the bounds of JSON before a parser uses memory or stack.

use crate::error::DecodeError;
use crate::limits::{
    JSON_CLIENT_VALUES_MAX, JSON_DEPTH_MAX, JSON_SERVER_MESSAGE_BYTES_MAX, JSON_SERVER_VALUES_MAX,
    RELIABLE_MESSAGE_BYTES_MAX,
};

/// Limits of a JSON message.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    bytes_max: usize,
    values_max: usize,
}

impl Bounds {
    /// Limits of messages from a client.
    pub const CLIENT: Bounds = Bounds { bytes_max: RELIABLE_MESSAGE_BYTES_MAX, values_max: JSON_CLIENT_VALUES_MAX };

    /// Limits of messages from a server.
    pub const SERVER: Bounds = Bounds { bytes_max: JSON_SERVER_MESSAGE_BYTES_MAX, values_max: JSON_SERVER_VALUES_MAX };

    /// Rejects text that is too long, too deep or has too many values. The parser checks the syntax.
    pub fn check(self, bytes: &[u8]) -> Result<(), DecodeError> {
        if bytes.len() > self.bytes_max {
            return Err(DecodeError::TooLong { bytes: bytes.len(), limit: self.bytes_max });
        }
        let mut depth = 0_usize;
        let mut values = 1_usize;
        let mut rest = bytes.iter();
        while let Some(byte) = rest.next() {
            match byte {
                b'"' => skip_text(&mut rest),
                // A bracket may be followed by a first value, and each comma by another one.
                b'{' | b'[' => {
                    depth += 1;
                    values += 1;
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' => values += 1,
                _ => {}
            }
            if depth > JSON_DEPTH_MAX {
                return Err(DecodeError::TooDeep { limit: JSON_DEPTH_MAX });
            }
            if values > self.values_max {
                return Err(DecodeError::TooMany { field: "values", limit: self.values_max });
            }
        }
        Ok(())
    }
}

/// Skips a text after its opening quote.
fn skip_text(rest: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => return,
            // An escaped character, such as a quote, does not end the text.
            b'\\' => {
                rest.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_within_text_do_not_count() {
        let text = format!(r#"{{"a":"{}\"{}\\"}}"#, "[".repeat(100), "{,".repeat(2_000));
        assert_eq!(Bounds::CLIENT.check(text.as_bytes()), Ok(()));
    }

    #[test]
    fn depth_is_counted_exactly() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(Bounds::CLIENT.check(nested(JSON_DEPTH_MAX).as_bytes()), Ok(()));
        assert_eq!(
            Bounds::CLIENT.check(nested(JSON_DEPTH_MAX + 1).as_bytes()),
            Err(DecodeError::TooDeep { limit: JSON_DEPTH_MAX })
        );
    }

    #[test]
    fn values_are_counted() {
        let list = format!("[{}0]", "0,".repeat(JSON_CLIENT_VALUES_MAX));
        assert_eq!(
            Bounds::CLIENT.check(list.as_bytes()),
            Err(DecodeError::TooMany { field: "values", limit: JSON_CLIENT_VALUES_MAX })
        );
        assert_eq!(Bounds::SERVER.check(list.as_bytes()), Ok(()));
    }
}
