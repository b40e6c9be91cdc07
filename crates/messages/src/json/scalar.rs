//! JSON form of scalar values: text, numbers, bytes and times.

use std::{fmt, marker::PhantomData, str::FromStr};

use base64::{
    Engine as _, alphabet,
    display::Base64Display,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use bytes::Bytes;
use prost_types::Timestamp;
use serde::{
    Deserialize as _, Deserializer, Serializer,
    de::{DeserializeSeed, Error, Visitor},
    ser::Error as _,
};

use super::{Unknown, Value};

/// Limit below which every integer has its own float; from here on a float may represent several integers.
const EXACT_FLOAT_END: f64 = 9_007_199_254_740_992.0;

/// Seconds of the years 1 to 9999, the range of RFC 3339.
const TIMESTAMP_SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

impl Value for String {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, _: Unknown) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Value for bool {
    fn is_unset(&self) -> bool {
        !self
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, _: Unknown) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Value for i32 {
    fn is_unset(&self) -> bool {
        *self == 0
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(*self)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, _: Unknown) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Integer::new("a whole number of 32 bits"))
    }
}

impl Value for u32 {
    fn is_unset(&self) -> bool {
        *self == 0
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(*self)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, _: Unknown) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Integer::new("a whole number of 32 bits that is not negative"))
    }
}

/// Written as a string, since a client may hold its numbers in floats.
impl Value for i64 {
    fn is_unset(&self) -> bool {
        *self == 0
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(itoa::Buffer::new().format(*self))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, _: Unknown) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Integer::new("a whole number of 64 bits"))
    }
}

/// Written without a fraction if it is an integer. Values that JSON lacks are written by name.
impl Value for f64 {
    fn is_unset(&self) -> bool {
        self.to_bits() == 0
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = *self;
        if value.is_nan() {
            serializer.serialize_str("NaN")
        } else if value.is_infinite() {
            serializer.serialize_str(if value > 0.0 { "Infinity" } else { "-Infinity" })
        } else if let Some(whole) = exact_integer(value).filter(|whole| *whole != 0 || value.is_sign_positive()) {
            serializer.serialize_i64(whole)
        } else {
            serializer.serialize_f64(value)
        }
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, _: Unknown) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Float)
    }
}

/// Written in base64.
impl Value for Bytes {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self, &STANDARD))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, _: Unknown) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Base64)
    }
}

/// Written by RFC 3339, with 0, 3, 6 or 9 digits after the second, as needed.
impl Value for Timestamp {
    fn is_unset(&self) -> bool {
        false
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let timestamp = self.normalized();
        if !TIMESTAMP_SECONDS.contains(&timestamp.seconds) {
            return Err(S::Error::custom("a time outside the years 1 to 9999 has no JSON form"));
        }
        serializer.collect_str(&timestamp)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, _: Unknown) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Rfc3339)
    }
}

/// Seed that reads an enum by number or name, or null.
pub(super) struct Enum<F>(pub F);

impl<'de, F: Fn(&str) -> Option<i32>> DeserializeSeed<'de> for Enum<F> {
    type Value = Option<i32>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<i32>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<F: Fn(&str) -> Option<i32>> Visitor<'_> for Enum<F> {
    type Value = Option<i32>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("one of the names or numbers of the enum")
    }

    fn visit_unit<E: Error>(self) -> Result<Option<i32>, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Option<i32>, E> {
        i32::try_from(value).map(Some).map_err(|_| unexpected(&self))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Option<i32>, E> {
        i32::try_from(value).map(Some).map_err(|_| unexpected(&self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<i32>, E> {
        (self.0)(text).or_else(|| text.parse().ok()).map(Some).ok_or_else(|| unexpected(&self))
    }
}

/// Integer, written as a number or as a string.
struct Integer<T> {
    expected: &'static str,
    value: PhantomData<T>,
}

impl<T> Integer<T> {
    fn new(expected: &'static str) -> Self {
        Self { expected, value: PhantomData }
    }
}

impl<T: TryFrom<i64> + TryFrom<u64> + FromStr> Visitor<'_> for Integer<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.expected)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        T::try_from(value).map_err(|_| unexpected(&self))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        T::try_from(value).map_err(|_| unexpected(&self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        exact_integer(value).and_then(|value| T::try_from(value).ok()).ok_or_else(|| unexpected(&self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        if let Ok(value) = text.parse() {
            return Ok(value);
        }
        match text.parse() {
            Ok(value) => self.visit_f64(value),
            Err(_) => Err(unexpected(&self)),
        }
    }
}

struct Float;

impl Visitor<'_> for Float {
    type Value = f64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number of 64 bits")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        match text {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            // For a number that is too large, and for other spellings of these names, the parser returns a non-finite
            // float.
            _ => text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| unexpected(&self)),
        }
    }
}

/// Base64 of either alphabet, with or without padding.
struct Base64;

const TOLERANT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
static TOLERANT_STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, TOLERANT);
static TOLERANT_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, TOLERANT);

impl Visitor<'_> for Base64 {
    type Value = Bytes;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("bytes in base64")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
        let alphabet = if text.contains(['-', '_']) { &TOLERANT_URL_SAFE } else { &TOLERANT_STANDARD };
        alphabet.decode(text).map(Bytes::from).map_err(|_| unexpected(&self))
    }
}

struct Rfc3339;

impl Visitor<'_> for Rfc3339 {
    type Value = Timestamp;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a time such as 2020-01-01T00:00:00Z, within the years 1 to 9999")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
        let timestamp = text.parse().ok();
        timestamp.filter(|time: &Timestamp| TIMESTAMP_SECONDS.contains(&time.seconds)).ok_or_else(|| unexpected(&self))
    }
}

/// Returns the integer equal to the float, if there is one.
fn exact_integer(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() < EXACT_FLOAT_END).then_some(value as i64)
}

/// Names the expected type without repeating the peer's text, which may be long.
fn unexpected<'de, V: Visitor<'de>, E: Error>(expected: &V) -> E {
    E::custom(format_args!("expected {}", expected as &dyn serde::de::Expected))
}
