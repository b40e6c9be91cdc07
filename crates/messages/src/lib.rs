//! Messages of the services API and of the realtime socket, defined once in `proto/`, in two encodings.
//!
//! - As protobuf bytes, through [`prost::Message`].
//! - As JSON, through [`serde`], by the rules of the protocol: snake_case names, fields at their zero value left out,
//!   64-bit integers as strings, enums as numbers, bytes in base64, times by RFC 3339, and optional values bare. Also
//!   accepted: lowerCamelCase names, integers as numbers or strings, enum names, and null for an absent field.
//!
//! [`api`] ignores unknown JSON fields, [`realtime`] rejects them. [`operation`] lists the operations with their
//! requests and answers, [`socket`] those of the realtime socket.
//!
//! ```
//! use aether_messages::{api::WriteStorageObject, timestamp};
//!
//! let object = WriteStorageObject { key: "save".into(), permission_read: Some(0), ..Default::default() };
//! assert_eq!(serde_json::to_string(&object).unwrap(), r#"{"key":"save","permission_read":0}"#);
//! assert_eq!(timestamp(1_500).to_string(), "1970-01-01T00:00:01.500Z");
//! ```

pub mod api;
mod empty;
mod json;
pub mod operation;
pub mod realtime;
pub mod socket;
mod time;

pub use empty::Empty;
pub use json::ELEMENTS_MAX;
pub use operation::Operation;
pub use prost;
pub use prost_types;
pub use prost_types::Timestamp;
pub use time::{timestamp, timestamp_ms};

/// Definitions of all messages with their comments, as bytes of a [`prost_types::FileDescriptorSet`].
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
