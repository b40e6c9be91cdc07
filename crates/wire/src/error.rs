//! Errors of decoding and encoding.

use std::fmt;

use crate::PROTOCOL_VERSION;

/// Error when decoding a message. Each variant is a label of a counter. The connection that sent the bytes is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The message as a whole has too many bytes.
    TooLong {
        /// Length of the message.
        bytes: usize,
        /// Limit of the length.
        limit: usize,
    },
    /// The bytes are not well-formed protobuf or JSON, or a field has the wrong type.
    Malformed,
    /// JSON is nested too deeply.
    TooDeep {
        /// Limit of the depth.
        limit: usize,
    },
    /// The peer uses another version of the protocol.
    Version {
        /// Version of the peer.
        found: u32,
    },
    /// No message of this kind exists, or the frame is empty.
    UnknownMessage,
    /// A required field is missing.
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A text or byte field is too long.
    FieldTooLong {
        /// The field.
        field: &'static str,
        /// Limit of its bytes.
        limit: usize,
    },
    /// A list has too many elements.
    TooMany {
        /// The list.
        field: &'static str,
        /// Limit of its elements.
        limit: usize,
    },
    /// A key occurs twice.
    Repeated {
        /// The field with the keys.
        field: &'static str,
    },
    /// A number is not finite or too large.
    BadNumber {
        /// The field.
        field: &'static str,
    },
    /// A field has an invalid value.
    BadValue {
        /// The field.
        field: &'static str,
    },
}

impl DecodeError {
    /// All labels, so that counters can be created once.
    pub const LABELS: [&'static str; 11] = [
        "too_long",
        "malformed",
        "too_deep",
        "version",
        "unknown_message",
        "missing",
        "field_too_long",
        "too_many",
        "repeated",
        "bad_number",
        "bad_value",
    ];

    /// Label of the counter.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            DecodeError::TooLong { .. } => "too_long",
            DecodeError::Malformed => "malformed",
            DecodeError::TooDeep { .. } => "too_deep",
            DecodeError::Version { .. } => "version",
            DecodeError::UnknownMessage => "unknown_message",
            DecodeError::Missing { .. } => "missing",
            DecodeError::FieldTooLong { .. } => "field_too_long",
            DecodeError::TooMany { .. } => "too_many",
            DecodeError::Repeated { .. } => "repeated",
            DecodeError::BadNumber { .. } => "bad_number",
            DecodeError::BadValue { .. } => "bad_value",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::TooLong { bytes, limit } => {
                write!(f, "The message has {bytes} bytes; at most {limit} are allowed.")
            }
            DecodeError::Malformed => write!(f, "The message is not well-formed."),
            DecodeError::TooDeep { limit } => {
                write!(f, "The message is nested more than {limit} deep.")
            }
            DecodeError::Version { found } => {
                write!(f, "The peer uses protocol version {found}; version {PROTOCOL_VERSION} is required.")
            }
            DecodeError::UnknownMessage => write!(f, "The kind of message is unknown."),
            DecodeError::Missing { field } => write!(f, "The field `{field}` is missing."),
            DecodeError::FieldTooLong { field, limit } => {
                write!(f, "The field `{field}` has more than {limit} bytes.")
            }
            DecodeError::TooMany { field, limit } => {
                write!(f, "The list `{field}` has more than {limit} elements.")
            }
            DecodeError::Repeated { field } => write!(f, "A key of `{field}` occurs twice."),
            DecodeError::BadNumber { field } => {
                write!(f, "The number `{field}` is not finite or too large.")
            }
            DecodeError::BadValue { field } => {
                write!(f, "The field `{field}` has an invalid value.")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// Error when encoding a message. It is a bug of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The encoding has no form for this message.
    Unsupported,
    /// Protobuf carries packed content only. Pack values by name with the schema first.
    NotPacked,
    /// The receiver would reject the message for this reason.
    Rejected(DecodeError),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::Unsupported => write!(f, "The encoding has no form for this message."),
            EncodeError::NotPacked => {
                write!(f, "Protobuf cannot carry values by name; pack them with the schema first.")
            }
            EncodeError::Rejected(reason) => {
                write!(f, "The receiver would reject the message: {reason}")
            }
        }
    }
}

impl std::error::Error for EncodeError {}

impl From<DecodeError> for EncodeError {
    fn from(reason: DecodeError) -> EncodeError {
        EncodeError::Rejected(reason)
    }
}
