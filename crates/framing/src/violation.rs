//! Violations of a transport's framing.

use std::fmt;

/// Bytes of a peer that are no messages, by kind, each with a sentence for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingError {
    /// Frames or lengths that break the rules of the transport.
    Protocol(&'static str),
    /// Text where bytes are agreed on, or the reverse.
    WrongKind(&'static str),
    /// Text that is not UTF-8.
    NotText(&'static str),
    /// More streams, or more bytes beside the messages, than the transport takes.
    Excess(&'static str),
    /// A message longer than allowed.
    Oversized(&'static str),
}

impl FramingError {
    /// The sentence.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            FramingError::Protocol(text)
            | FramingError::WrongKind(text)
            | FramingError::NotText(text)
            | FramingError::Excess(text)
            | FramingError::Oversized(text) => text,
        }
    }
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for FramingError {}
