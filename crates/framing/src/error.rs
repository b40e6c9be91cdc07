//! Errors of framing.

use std::fmt;

/// Framing violation of a peer, with a sentence for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingError {
    /// Frames or lengths that violate the protocol of the transport.
    Protocol(&'static str),
    /// A text message instead of a binary one, or the reverse.
    WrongKind(&'static str),
    /// A text that is not UTF-8.
    NotText(&'static str),
    /// More streams, or more bytes besides messages, than the transport accepts.
    Excess(&'static str),
    /// A message longer than allowed.
    Oversized(&'static str),
}

impl FramingError {
    /// Sentence for people.
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
