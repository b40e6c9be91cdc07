//! The message that says nothing.

/// The request or the answer of an operation that has none: no bytes, or `{}`.
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
