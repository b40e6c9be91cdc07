//! Macros that declare operations beyond the Nakama protocol, and their messages, so that hooks, routes and the API
//! description treat them like the others.

/// Protobuf package of these messages.
pub const PACKAGE: &str = "aether.api";

/// Implements the full protobuf names of messages.
macro_rules! names {
    ($($message:ident)+) => {$(
        impl ::aether_messages::prost::Name for $message {
            const PACKAGE: &'static str = $crate::PACKAGE;
            const NAME: &'static str = stringify!($message);
        }
    )+};
}

/// Declares operations with the request and the answer of each.
macro_rules! operations {
    ($($(#[doc = $what:literal])+ $name:ident: $request:ty => $answer:ty,)+) => {
        /// Names of these operations, in the order of the table.
        pub const NAMES: &[&str] = &[$(<$name as ::aether_messages::Operation>::NAME,)+];

        $(
        $(#[doc = $what])+
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl ::aether_messages::Operation for $name {
            const NAME: &'static str = stringify!($name);
            type Request = $request;
            type Answer = $answer;
        }
        )+
    };
}

pub(crate) use {names, operations};

/// Fields that carry JSON as text: embedded as JSON in the JSON form of the message. For `#[serde(with = …)]`.
pub(crate) mod json_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::value::RawValue;

    /// Writes text that is not valid JSON as an empty object. Only a change to the database outside the server can
    /// cause it.
    pub fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => raw.serialize(serializer),
            Err(_) => serializer.collect_map(std::iter::empty::<((), ())>()),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| raw.get().to_owned())
    }

    /// Like the outer module, for optional fields.
    pub mod optional {
        use super::{Deserialize, Deserializer, RawValue, Serializer};

        pub fn serialize<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
            match text {
                Some(text) => super::serialize(text, serializer),
                None => serializer.serialize_none(),
            }
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
            let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
            Ok(raw.map(|raw| raw.get().to_owned()))
        }
    }
}

/// Optional numbers that may be text in the JSON form of the message, because in a query they are. For
/// `#[serde(deserialize_with = …)]`.
pub(crate) fn optional_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<i32>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Number {
        Number(i32),
        Text(String),
    }
    match <Option<Number> as serde::Deserialize>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Number::Number(number)) => Ok(Some(number)),
        Some(Number::Text(text)) => text.parse().map(Some).map_err(|_| serde::de::Error::custom("not a 32-bit number")),
    }
}
