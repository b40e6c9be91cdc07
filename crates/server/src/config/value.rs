//! Parsing and formatting of setting values.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// A value before it is parsed. An environment variable or flag is always text, while TOML has types: `"5"` is not a
/// number there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RawValue {
    /// Text of an environment variable or flag. The type of the setting decides how it is parsed.
    Untyped(String),
    /// A TOML string.
    String(String),
    /// A TOML number or boolean.
    Literal(String),
    /// A TOML array.
    List(Vec<RawValue>),
    /// A TOML type that no setting has, by name.
    Unsupported(&'static str),
}

/// A type of setting.
pub(crate) trait SettingValue: Sized {
    /// True if the value must never be printed.
    const IS_SECRET: bool = false;

    /// Description of valid values, to complete the sentence "expected …".
    fn expected() -> String;

    /// Parses a value. Returns `None` if it is not of this type.
    fn parse_raw(raw: &RawValue) -> Option<Self>;

    /// Formats the value as TOML; empty if it is not set.
    fn to_toml(&self) -> String;

    /// Returns true if the value is within bounds. Only numbers have bounds.
    fn is_within(&self, _low: f64, _high: f64) -> bool {
        true
    }
}

impl RawValue {
    /// Returns the text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Untyped(text) | Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text of a number or boolean.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self {
            Self::Untyped(text) | Self::Literal(text) => Some(text.trim()),
            _ => None,
        }
    }

    /// Returns the elements of a list. In variables and flags they are separated by commas.
    pub(crate) fn elements(&self) -> Option<Vec<Self>> {
        match self {
            Self::List(elements) => Some(elements.clone()),
            Self::Untyped(text) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Some(parts.map(|part| Self::Untyped(part.to_owned())).collect())
            }
            _ => None,
        }
    }

    /// Formats the value for an error message.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Untyped(text) | Self::String(text) => format!("{text:?}"),
            Self::Literal(text) => text.clone(),
            Self::List(elements) => {
                format!("[{}]", elements.iter().map(Self::describe).collect::<Vec<_>>().join(", "))
            }
            Self::Unsupported(name) => (*name).to_owned(),
        }
    }
}

impl SettingValue for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        raw.literal()?.parse().ok()
    }

    fn to_toml(&self) -> String {
        self.to_string()
    }
}

macro_rules! numbers {
    ($($number:ty: $expected:literal,)+) => {$(
        impl SettingValue for $number {
            fn expected() -> String {
                $expected.to_owned()
            }

            fn parse_raw(raw: &RawValue) -> Option<Self> {
                raw.literal()?.parse().ok()
            }

            fn to_toml(&self) -> String {
                self.to_string()
            }

            fn is_within(&self, low: f64, high: f64) -> bool {
                (low..=high).contains(&(*self as f64))
            }
        }
    )+};
}

numbers! {
    u32: "a whole number",
    u64: "a whole number",
    usize: "a whole number",
    f32: "a number",
}

impl SettingValue for String {
    fn expected() -> String {
        "a non-empty string".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        raw.text().filter(|text| !text.trim().is_empty()).map(str::to_owned)
    }

    fn to_toml(&self) -> String {
        format!("{self:?}")
    }
}

impl SettingValue for PathBuf {
    fn expected() -> String {
        "a path".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        String::parse_raw(raw).map(PathBuf::from)
    }

    fn to_toml(&self) -> String {
        format!("{:?}", self.display().to_string())
    }
}

impl SettingValue for Ipv4Addr {
    fn expected() -> String {
        "an IPv4 address, such as 192.168.1.20".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        raw.text()?.trim().parse().ok()
    }

    fn to_toml(&self) -> String {
        format!("\"{self}\"")
    }
}

impl SettingValue for SocketAddr {
    fn expected() -> String {
        "an IP address and a port, such as 127.0.0.1:7350 or [::1]:7350".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        raw.text()?.trim().parse().ok()
    }

    fn to_toml(&self) -> String {
        format!("\"{self}\"")
    }
}

impl<T: SettingValue> SettingValue for Vec<T> {
    const IS_SECRET: bool = T::IS_SECRET;

    fn expected() -> String {
        format!("a list, each element {}", T::expected())
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        raw.elements()?.iter().map(T::parse_raw).collect()
    }

    fn to_toml(&self) -> String {
        format!("[{}]", self.iter().map(T::to_toml).collect::<Vec<_>>().join(", "))
    }
}

impl<T: SettingValue> SettingValue for Option<T> {
    const IS_SECRET: bool = T::IS_SECRET;

    fn expected() -> String {
        T::expected()
    }

    /// An empty variable or flag unsets the setting. TOML has no null: there the key is left out.
    fn parse_raw(raw: &RawValue) -> Option<Self> {
        match raw {
            RawValue::Untyped(text) if text.is_empty() => Some(None),
            _ => T::parse_raw(raw).map(Some),
        }
    }

    fn to_toml(&self) -> String {
        self.as_ref().map(T::to_toml).unwrap_or_default()
    }

    fn is_within(&self, low: f64, high: f64) -> bool {
        self.as_ref().is_none_or(|value| value.is_within(low, high))
    }
}
