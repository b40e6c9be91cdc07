//! Why bytes are not a message, and why a message cannot become bytes.

use std::fmt;

use crate::PROTOCOL_VERSION;

/// Why bytes are not a message. Each variant is one label of a counter; the peer that sent the
/// bytes is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The message as a whole has too many bytes.
    TooLong {
        /// How many it has.
        bytes: usize,
        /// How many it may have.
        limit: usize,
    },
    /// The bytes are not well-formed protobuf or JSON, or a field has the wrong type.
    Malformed,
    /// JSON is nested too deeply.
    TooDeep {
        /// How deep it may be.
        limit: usize,
    },
    /// The peer speaks another version of the protocol.
    Version {
        /// The version it speaks.
        found: u32,
    },
    /// No message of this kind exists, or the frame is empty.
    UnknownMessage,
    /// A field that must be there is not.
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A text or byte field is too long.
    FieldTooLong {
        /// The field.
        field: &'static str,
        /// How many bytes it may have.
        limit: usize,
    },
    /// A list has too many elements.
    TooMany {
        /// The list.
        field: &'static str,
        /// How many it may have.
        limit: usize,
    },
    /// A number is not finite, or larger than anything in a world can be.
    BadNumber {
        /// The field.
        field: &'static str,
    },
    /// A field has a value that it can never have.
    BadValue {
        /// The field.
        field: &'static str,
    },
}

impl DecodeError {
    /// All labels, so that counters can be made once.
    pub const LABELS: [&'static str; 10] = [
        "too_long",
        "malformed",
        "too_deep",
        "version",
        "unknown_message",
        "missing",
        "field_too_long",
        "too_many",
        "bad_number",
        "bad_value",
    ];

    /// The name under which this is counted.
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
                write!(f, "The peer speaks protocol version {found}; version {PROTOCOL_VERSION} is expected.")
            }
            DecodeError::UnknownMessage => write!(f, "There is no message of this kind."),
            DecodeError::Missing { field } => write!(f, "The field `{field}` is missing."),
            DecodeError::FieldTooLong { field, limit } => {
                write!(f, "The field `{field}` has more than {limit} bytes.")
            }
            DecodeError::TooMany { field, limit } => {
                write!(f, "The list `{field}` has more than {limit} elements.")
            }
            DecodeError::BadNumber { field } => {
                write!(f, "The number `{field}` is not finite or too large.")
            }
            DecodeError::BadValue { field } => {
                write!(f, "The field `{field}` has a value that it cannot have.")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// Why a message cannot become bytes. This is a mistake of the sender, found before a peer
/// finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// Protobuf carries packed content only; values by name must be packed with the schema.
    NotPacked,
    /// The other side would refuse the message for this reason.
    Refused(DecodeError),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::NotPacked => {
                write!(f, "Values by name must be packed before protobuf can carry them.")
            }
            EncodeError::Refused(reason) => {
                write!(f, "The other side would refuse the message: {reason}")
            }
        }
    }
}

impl std::error::Error for EncodeError {}

impl From<DecodeError> for EncodeError {
    fn from(reason: DecodeError) -> EncodeError {
        EncodeError::Refused(reason)
    }
}
