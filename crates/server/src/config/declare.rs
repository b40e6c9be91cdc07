//! The one declaration of each setting: its name, type, default, bounds and meaning.
//!
//! From it come the field of the struct with its documentation, the key in the TOML file, the environment variable,
//! the `--set` flag, the check of the value and the row of the reference page.

use super::dotted;
use super::value::{Value, Written};

/// What the reference says of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) meaning: String,
    /// As written in TOML; empty when it is not set.
    pub(crate) default: String,
    pub(crate) expected: String,
    pub(crate) is_secret: bool,
}

/// Sections of the same keys under names that the configuration chooses, such as `[room.<type>]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// What the names of its sections begin with, before the point.
    pub(crate) name: &'static str,
    /// What stands for the chosen part of the name, such as `type`.
    pub(crate) placeholder: &'static str,
    /// What the chosen part of the name is, such as "a room type".
    pub(crate) one: &'static str,
    /// Whether it may have a `-`, which counts as `_`, because environment variables know no other.
    pub(crate) takes_dashes: bool,
    pub(crate) purpose: String,
    pub(crate) keys: Vec<Key>,
}

/// Why a value was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There is no such key.
    UnknownKey,
    /// It is not what the setting expects; the sentence says what is.
    BadValue(String),
}

/// A group of settings.
pub(crate) trait Section: Default {
    /// Its settings, in the order of their declaration.
    fn keys() -> Vec<Key>;

    /// Sets one.
    fn set(&mut self, key: &str, written: &Written) -> Result<(), Refused>;

    /// What each is set to, as TOML.
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
                written: &$crate::config::value::Written,
            ) -> Result<(), $crate::config::declare::Refused> {
                match key {
                    $(stringify!($key) => $crate::config::declare::assign(
                        &mut self.$key,
                        written,
                        <[(f64, f64)]>::first(&[$(($low as f64, $high as f64))?]),
                    ),)+
                    _ => Err($crate::config::declare::Refused::UnknownKey),
                }
            }

            fn values(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($key), $crate::config::value::Value::shown(&self.$key))),+]
            }
        }
    };
}

/// Declares the configuration: the settings outside any section, the sections and the groups of sections in the order of
/// the reference page, and what is no setting.
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
                $group:ident.<$placeholder:ident>: $group_type:ty, each $one:literal, dashes $takes_dashes:literal;
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
            /// All sections of fixed keys: name, what it is for, keys. The first, without a name, is outside any.
            pub(crate) fn sections() -> Vec<(&'static str, String, Vec<$crate::config::declare::Key>)> {
                let default = Self::default();
                vec![
                    (
                        "",
                        String::new(),
                        vec![$($crate::config::declare::key(
                            stringify!($key), &[$($meaning),+], &default.$key, None,
                        )),+],
                    ),
                    $((
                        stringify!($section),
                        $crate::config::declare::joined(&[$($purpose),+]),
                        <$section_type as $crate::config::declare::Section>::keys(),
                    ),)+
                ]
            }

            /// All groups of sections.
            pub(crate) fn groups() -> Vec<$crate::config::declare::Group> {
                vec![$($crate::config::declare::Group {
                    name: stringify!($group),
                    placeholder: stringify!($placeholder),
                    one: $one,
                    takes_dashes: $takes_dashes,
                    purpose: $crate::config::declare::joined(&[$($group_purpose),+]),
                    keys: <$group_type as $crate::config::declare::Section>::keys(),
                },)+]
            }

            /// Sets a key of a section, or of one in a group.
            pub(crate) fn set(
                &mut self,
                section: &str,
                key: &str,
                written: &$crate::config::value::Written,
            ) -> Result<(), $crate::config::declare::Refused> {
                match (section, key) {
                    $(("", stringify!($key)) => {
                        return $crate::config::declare::assign(&mut self.$key, written, None);
                    })+
                    $((stringify!($section), _) => {
                        return $crate::config::declare::Section::set(&mut self.$section, key, written);
                    })+
                    _ => {}
                }
                match section.split_once('.') {
                    $(Some((stringify!($group), name)) => {
                        let section = self.$group.entry(name.to_owned()).or_default();
                        $crate::config::declare::Section::set(section, key, written)
                    })+
                    _ => Err($crate::config::declare::Refused::UnknownKey),
                }
            }

            /// Makes a section of a group, if there is none of its name.
            pub(crate) fn open_section(&mut self, group: &str, name: &str) {
                match group {
                    $(stringify!($group) => {
                        self.$group.entry(name.to_owned()).or_default();
                    })+
                    _ => {}
                }
            }

            /// What each key is set to: its full name, and the value as TOML.
            pub(crate) fn values(&self) -> Vec<(String, String)> {
                let mut values = vec![$((
                    stringify!($key).to_owned(), $crate::config::value::Value::shown(&self.$key),
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
    /// Its heading, such as `[room.<type>]`.
    pub(crate) fn heading(&self) -> String {
        format!("[{}.<{}>]", self.name, self.placeholder)
    }

    /// Whether a section can have this name.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        !name.is_empty() && name.chars().all(|c| is_letter(c) || (c == '-' && self.takes_dashes))
    }

    /// Says of a name that no section can have it.
    pub(crate) fn refusal(&self, name: &str) -> String {
        let letters = if self.takes_dashes { "small letters, digits, - and _" } else { "small letters, digits and _" };
        format!("{name:?} cannot be {}: use {letters}.", self.one)
    }
}

/// Describes a setting.
pub(crate) fn key<T: Value>(name: &'static str, meaning: &[&str], default: &T, bounds: Option<&(f64, f64)>) -> Key {
    Key {
        name,
        meaning: joined(meaning),
        default: default.shown(),
        expected: expected::<T>(bounds),
        is_secret: T::IS_SECRET,
    }
}

/// Reads a value into a setting, if it is a right one.
pub(crate) fn assign<T: Value>(setting: &mut T, written: &Written, bounds: Option<&(f64, f64)>) -> Result<(), Refused> {
    let in_bounds = |value: &T| bounds.is_none_or(|(low, high)| value.is_within(*low, *high));
    match T::read(written).filter(in_bounds) {
        Some(value) => {
            *setting = value;
            Ok(())
        }
        None if T::IS_SECRET => Err(Refused::BadValue(format!("expected {}", expected::<T>(bounds)))),
        None => Err(Refused::BadValue(format!("expected {}, found {}", expected::<T>(bounds), written.described()))),
    }
}

/// The values of a section under their full names.
pub(crate) fn full_names(name: &str, section: &impl Section) -> impl Iterator<Item = (String, String)> {
    section.values().into_iter().map(move |(key, value)| (dotted(name, key), value))
}

/// Lines of a documentation comment as one text.
pub(crate) fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

fn expected<T: Value>(bounds: Option<&(f64, f64)>) -> String {
    match bounds {
        Some((low, high)) => format!("{} from {low} to {high}", T::expected()),
        None => T::expected(),
    }
}
