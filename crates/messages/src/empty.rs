//! The empty message.

/// Request or answer without contents: no bytes, or `{}`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Empty {}

crate::json::implement_serde!(Empty);

impl crate::json::Object for Empty {
    const UNKNOWN: crate::json::Unknown = crate::json::Unknown::Ignored;
}

impl prost::Name for Empty {
    const NAME: &'static str = "Empty";
    const PACKAGE: &'static str = "google.protobuf";
}
