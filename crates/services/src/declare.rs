//! Operations that the protocol has nothing of: how they and their messages are declared, so that hooks, routes and the
//! description of the API treat them like all others.

/// The package of their messages.
pub const PACKAGE: &str = "aether.api";

/// Gives messages their full names.
macro_rules! names {
    ($($message:ident)+) => {$(
        impl ::aether_messages::prost::Name for $message {
            const PACKAGE: &'static str = $crate::PACKAGE;
            const NAME: &'static str = stringify!($message);
        }
    )+};
}

/// Says which request belongs to which answer.
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

/// JSON that messages carry as text: in their own JSON it stands as what it is. For `#[serde(with = …)]`.
pub(crate) mod json_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::value::RawValue;

    /// What is no JSON, which only someone who changed it past the server can have made, is written as an object without
    /// anything in it.
    pub fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => raw.serialize(serializer),
            Err(_) => serializer.collect_map(std::iter::empty::<((), ())>()),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| raw.get().to_owned())
    }

    /// The same where it may be absent.
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
