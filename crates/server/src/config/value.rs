//! How a setting's value is written and read.

use std::net::SocketAddr;
use std::path::PathBuf;

/// A value as it was written. What a text may mean depends on where it stands: an environment variable is always
/// text, while in TOML `"5"` is no number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    /// From the environment or a flag: whatever the setting makes of it.
    Loose(String),
    /// A string of TOML.
    Text(String),
    /// A number or boolean of TOML.
    Bare(String),
    /// An array of TOML.
    List(Vec<Written>),
    /// Something no setting takes, by its name.
    Other(&'static str),
}

/// A type that a setting can have.
pub(crate) trait Value: Sized {
    /// Whether the value must never be shown.
    const IS_SECRET: bool = false;

    /// What is expected, to finish the sentence "expected …".
    fn expected() -> String;

    /// Reads it, if it is one.
    fn read(written: &Written) -> Option<Self>;

    /// Writes it as TOML does; an unset one as nothing.
    fn shown(&self) -> String;

    /// Whether it lies within bounds. Only numbers can lie outside.
    fn is_within(&self, _low: f64, _high: f64) -> bool {
        true
    }
}

impl Written {
    /// The text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Loose(text) | Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a number or boolean.
    pub(crate) fn bare(&self) -> Option<&str> {
        match self {
            Self::Loose(text) | Self::Bare(text) => Some(text.trim()),
            _ => None,
        }
    }

    /// The elements of a list; outside TOML they are separated by commas.
    pub(crate) fn elements(&self) -> Option<Vec<Self>> {
        match self {
            Self::List(elements) => Some(elements.clone()),
            Self::Loose(text) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Some(parts.map(|part| Self::Loose(part.to_owned())).collect())
            }
            _ => None,
        }
    }

    /// How to speak of it in a message.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Loose(text) | Self::Text(text) => format!("{text:?}"),
            Self::Bare(text) => text.clone(),
            Self::List(elements) => {
                format!("[{}]", elements.iter().map(Self::described).collect::<Vec<_>>().join(", "))
            }
            Self::Other(name) => (*name).to_owned(),
        }
    }
}

impl Value for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }

    fn read(written: &Written) -> Option<Self> {
        written.bare()?.parse().ok()
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

macro_rules! numbers {
    ($($number:ty: $expected:literal,)+) => {$(
        impl Value for $number {
            fn expected() -> String {
                $expected.to_owned()
            }

            fn read(written: &Written) -> Option<Self> {
                written.bare()?.parse().ok()
            }

            fn shown(&self) -> String {
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

impl Value for String {
    fn expected() -> String {
        "a text that is not empty".to_owned()
    }

    fn read(written: &Written) -> Option<Self> {
        written.text().filter(|text| !text.trim().is_empty()).map(str::to_owned)
    }

    fn shown(&self) -> String {
        format!("{self:?}")
    }
}

impl Value for PathBuf {
    fn expected() -> String {
        "a path".to_owned()
    }

    fn read(written: &Written) -> Option<Self> {
        String::read(written).map(PathBuf::from)
    }

    fn shown(&self) -> String {
        format!("{:?}", self.display().to_string())
    }
}

impl Value for SocketAddr {
    fn expected() -> String {
        "an IP address and a port, such as 127.0.0.1:7350 or [::1]:7350".to_owned()
    }

    fn read(written: &Written) -> Option<Self> {
        written.text()?.trim().parse().ok()
    }

    fn shown(&self) -> String {
        format!("\"{self}\"")
    }
}

impl<T: Value> Value for Vec<T> {
    const IS_SECRET: bool = T::IS_SECRET;

    fn expected() -> String {
        format!("a list of which each is {}", T::expected())
    }

    fn read(written: &Written) -> Option<Self> {
        written.elements()?.iter().map(T::read).collect()
    }

    fn shown(&self) -> String {
        format!("[{}]", self.iter().map(T::shown).collect::<Vec<_>>().join(", "))
    }
}

impl<T: Value> Value for Option<T> {
    const IS_SECRET: bool = T::IS_SECRET;

    fn expected() -> String {
        T::expected()
    }

    /// TOML has no word for "not set", so there the key is left out; outside, an empty text unsets it.
    fn read(written: &Written) -> Option<Self> {
        match written {
            Written::Loose(text) if text.is_empty() => Some(None),
            _ => T::read(written).map(Some),
        }
    }

    fn shown(&self) -> String {
        self.as_ref().map(T::shown).unwrap_or_default()
    }

    fn is_within(&self, low: f64, high: f64) -> bool {
        self.as_ref().is_none_or(|value| value.is_within(low, high))
    }
}
