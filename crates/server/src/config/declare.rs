//! Macros that declare settings: name, type, default, bounds and description.
//!
//! A declaration yields the struct field with its documentation, the key of the TOML file, the environment variable, the
//! `--set` flag, the validation of the value and the row of the reference page.

use super::dotted;
use super::value::{RawValue, SettingValue};

/// Description of a setting, for the reference page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) meaning: String,
    /// Formatted as TOML; empty if it is not set.
    pub(crate) default: String,
    pub(crate) expected: String,
    pub(crate) is_secret: bool,
}

/// A section of fixed keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FixedSection {
    pub(crate) name: &'static str,
    pub(crate) purpose: String,
    pub(crate) keys: Vec<Key>,
}

/// Sections with the same keys and a name that the operator chooses, such as `[room.<type>]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// First part of the section names, before the dot.
    pub(crate) name: &'static str,
    /// Placeholder of the chosen part of the name, such as `type`.
    pub(crate) placeholder: &'static str,
    /// Meaning of the chosen part, such as "the name of a room type".
    pub(crate) name_meaning: &'static str,
    /// Allows `-` in the name. It counts as `_`, because environment variables cannot contain it.
    pub(crate) allows_dashes: bool,
    pub(crate) purpose: String,
    pub(crate) keys: Vec<Key>,
}

/// Reason why a setting was not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SetError {
    /// No setting has this key.
    UnknownKey,
    /// The value is invalid; the text says what was expected.
    InvalidValue(String),
}

/// A group of settings.
pub(crate) trait Section: Default {
    /// Settings in the order of declaration.
    fn keys() -> Vec<Key>;

    /// Sets one setting.
    fn set(&mut self, key: &str, raw: &RawValue) -> Result<(), SetError>;

    /// Returns all values, formatted as TOML.
    fn values(&self) -> Vec<(&'static str, String)>;
}

/// Declares a section.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        pub struct $section:ident {$(
            $(#[doc = $meaning:literal])+
            $key:ident: $type:ty = $default:expr $(, within $low:literal..=$high:literal)?;
        )+}
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $section {$(
            $(#[doc = $meaning])+
            pub $key: $type,
        )+}

        impl Default for $section {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }

        impl $crate::config::declare::Section for $section {
            fn keys() -> Vec<$crate::config::declare::Key> {
                let default = Self::default();
                vec![$($crate::config::declare::key(
                    stringify!($key),
                    &[$($meaning),+],
                    &default.$key,
                    <[(f64, f64)]>::first(&[$(($low as f64, $high as f64))?]),
                )),+]
            }

            fn set(
                &mut self,
                key: &str,
                raw: &$crate::config::value::RawValue,
            ) -> Result<(), $crate::config::declare::SetError> {
                match key {
                    $(stringify!($key) => $crate::config::declare::assign(
                        &mut self.$key,
                        raw,
                        <[(f64, f64)]>::first(&[$(($low as f64, $high as f64))?]),
                    ),)+
                    _ => Err($crate::config::declare::SetError::UnknownKey),
                }
            }

            fn values(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($key), $crate::config::value::SettingValue::to_toml(&self.$key))),+]
            }
        }
    };
}

/// Declares the configuration: settings outside any section, sections, groups of sections (in the order of the reference
/// page), and fields that are not settings.
macro_rules! configuration {
    (
        $(#[doc = $about:literal])+
        pub struct $config:ident {
            settings {$(
                $(#[doc = $meaning:literal])+
                $key:ident: $type:ty = $default:expr;
            )+}
            sections {$(
                $(#[doc = $purpose:literal])+
                $section:ident: $section_type:ty,
            )+}
            groups {$(
                $(#[doc = $group_purpose:literal])+
                $group:ident.<$placeholder:ident>: $group_type:ty, each $one:literal, dashes $allows_dashes:literal;
            )+}
            others {$(
                $(#[doc = $other_about:literal])+
                $visibility:vis $other:ident: $other_type:ty,
            )+}
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $config {
            $($(#[doc = $meaning])+ pub $key: $type,)+
            $($(#[doc = $purpose])+ pub $section: $section_type,)+
            $($(#[doc = $group_purpose])+ pub(crate) $group: ::std::collections::BTreeMap<String, $group_type>,)+
            $($(#[doc = $other_about])+ $visibility $other: $other_type,)+
        }

        impl Default for $config {
            fn default() -> Self {
                Self {
                    $($key: $default,)+
                    $($section: Default::default(),)+
                    $($group: Default::default(),)+
                    $($other: Default::default(),)+
                }
            }
        }

        impl $config {
            /// Returns the sections. The first has no name: its settings are outside any section.
            pub(crate) fn sections() -> Vec<$crate::config::declare::FixedSection> {
                let default = Self::default();
                vec![
                    $crate::config::declare::FixedSection {
                        name: "",
                        purpose: String::new(),
                        keys: vec![$($crate::config::declare::key(
                            stringify!($key), &[$($meaning),+], &default.$key, None,
                        )),+],
                    },
                    $($crate::config::declare::FixedSection {
                        name: stringify!($section),
                        purpose: $crate::config::declare::joined(&[$($purpose),+]),
                        keys: <$section_type as $crate::config::declare::Section>::keys(),
                    },)+
                ]
            }

            /// Returns the groups of sections.
            pub(crate) fn groups() -> Vec<$crate::config::declare::Group> {
                vec![$($crate::config::declare::Group {
                    name: stringify!($group),
                    placeholder: stringify!($placeholder),
                    name_meaning: $one,
                    allows_dashes: $allows_dashes,
                    purpose: $crate::config::declare::joined(&[$($group_purpose),+]),
                    keys: <$group_type as $crate::config::declare::Section>::keys(),
                },)+]
            }

            /// Sets a key of a section or of a section in a group.
            pub(crate) fn set(
                &mut self,
                section: &str,
                key: &str,
                raw: &$crate::config::value::RawValue,
            ) -> Result<(), $crate::config::declare::SetError> {
                match (section, key) {
                    $(("", stringify!($key)) => {
                        return $crate::config::declare::assign(&mut self.$key, raw, None);
                    })+
                    $((stringify!($section), _) => {
                        return $crate::config::declare::Section::set(&mut self.$section, key, raw);
                    })+
                    _ => {}
                }
                match section.split_once('.') {
                    $(Some((stringify!($group), name)) => {
                        let section = self.$group.entry(name.to_owned()).or_default();
                        $crate::config::declare::Section::set(section, key, raw)
                    })+
                    _ => Err($crate::config::declare::SetError::UnknownKey),
                }
            }

            /// Adds a section to a group, unless it exists.
            pub(crate) fn add_section(&mut self, group: &str, name: &str) {
                match group {
                    $(stringify!($group) => {
                        self.$group.entry(name.to_owned()).or_default();
                    })+
                    _ => {}
                }
            }

            /// Returns the full name of every key and its value, formatted as TOML.
            pub(crate) fn values(&self) -> Vec<(String, String)> {
                let mut values = vec![$((
                    stringify!($key).to_owned(), $crate::config::value::SettingValue::to_toml(&self.$key),
                )),+];
                $(values.extend($crate::config::declare::full_names(stringify!($section), &self.$section));)+
                $(for (name, section) in &self.$group {
                    let name = format!("{}.{name}", stringify!($group));
                    values.extend($crate::config::declare::full_names(&name, section));
                })+
                values
            }
        }
    };
}

pub(crate) use {configuration, section};

impl Group {
    /// Returns the heading of its sections, such as `[room.<type>]`.
    pub(crate) fn heading(&self) -> String {
        format!("[{}.<{}>]", self.name, self.placeholder)
    }

    /// Returns true if a section can have this name.
    pub(crate) fn accepts_name(&self, name: &str) -> bool {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        !name.is_empty() && name.chars().all(|c| is_letter(c) || (c == '-' && self.allows_dashes))
    }

    /// Returns the error text for an invalid section name.
    pub(crate) fn invalid_name(&self, name: &str) -> String {
        let dash = if self.allows_dashes { ", -" } else { "" };
        format!("{name:?} cannot be {}: use lowercase letters, digits{dash} and _.", self.name_meaning)
    }
}

/// Describes a setting.
pub(crate) fn key<T: SettingValue>(
    name: &'static str,
    meaning: &[&str],
    default: &T,
    bounds: Option<&(f64, f64)>,
) -> Key {
    Key {
        name,
        meaning: joined(meaning),
        default: default.to_toml(),
        expected: expected::<T>(bounds),
        is_secret: T::IS_SECRET,
    }
}

/// Parses a value and assigns it to a setting.
pub(crate) fn assign<T: SettingValue>(
    setting: &mut T,
    raw: &RawValue,
    bounds: Option<&(f64, f64)>,
) -> Result<(), SetError> {
    let in_bounds = |value: &T| bounds.is_none_or(|(low, high)| value.is_within(*low, *high));
    match T::parse_raw(raw).filter(in_bounds) {
        Some(value) => {
            *setting = value;
            Ok(())
        }
        None if T::IS_SECRET => Err(SetError::InvalidValue(format!("expected {}", expected::<T>(bounds)))),
        None => Err(SetError::InvalidValue(format!("expected {}, found {}", expected::<T>(bounds), raw.describe()))),
    }
}

/// Returns the values of a section with their full names.
pub(crate) fn full_names(name: &str, section: &impl Section) -> impl Iterator<Item = (String, String)> {
    section.values().into_iter().map(move |(key, value)| (dotted(name, key), value))
}

/// Joins the lines of a doc comment.
pub(crate) fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

fn expected<T: SettingValue>(bounds: Option<&(f64, f64)>) -> String {
    match bounds {
        Some((low, high)) => format!("{} from {low} to {high}", T::expected()),
        None => T::expected(),
    }
}
