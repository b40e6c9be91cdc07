//! JSON form of the messages.
//!
//! A message is an [`Object`]: `build.rs` generates its implementation, which knows the names of the fields. A field
//! holds a [`Value`]: its Rust type defines its JSON form. Reading goes directly from the text into the message. The
//! outermost message decides if unknown fields are rejected.

mod scalar;

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
    ser::SerializeMap,
};

/// Maximum elements of a list or map in JSON. An element takes two bytes of text but may take two hundred of memory, so
/// the size of the text does not limit the cost of reading it. The longest page of the protocol has 1,000 records.
pub const ELEMENTS_MAX: usize = 10_000;

/// Handling of fields that the message does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Unknown fields are skipped.
    Ignored,
    /// Unknown fields are an error.
    Rejected,
}

/// Message with a JSON object as its form. The defaults are those of a message without fields.
pub(crate) trait Object: Default {
    /// Handling of unknown fields if this message is the outermost.
    const UNKNOWN: Unknown;

    /// Returns the index of the field with this name, less than 64.
    fn field(_name: &str) -> Option<u8> {
        None
    }

    /// Reads the value of the field with this index.
    fn read<'de, A: MapAccess<'de>>(&mut self, _field: u8, _values: &mut Values<'_, A>) -> Result<(), A::Error> {
        Ok(())
    }

    /// Writes the fields that are set.
    fn write<M: SerializeMap>(&self, _map: &mut M) -> Result<(), M::Error> {
        Ok(())
    }
}

/// Value of a field, a list element or a map entry.
pub(crate) trait Value: Sized {
    /// Returns true if a field with this value is omitted.
    fn is_unset(&self) -> bool;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    fn read<'de, D: Deserializer<'de>>(deserializer: D, unknown: Unknown) -> Result<Self, D::Error>;
}

/// Implements the serde traits of a message through [`Object`].
macro_rules! implement_serde {
    ($message:ty) => {
        impl serde::Serialize for $message {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                crate::json::Value::write(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $message {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::json::Value::read(deserializer, <Self as crate::json::Object>::UNKNOWN)
            }
        }
    };
}
pub(crate) use implement_serde;

/// Writes a field, unless it has its zero value.
pub(crate) fn write<M: SerializeMap, V: Value>(map: &mut M, name: &'static str, value: &V) -> Result<(), M::Error> {
    if value.is_unset() { Ok(()) } else { write_present(map, name, value) }
}

/// Writes a field, also with its zero value.
pub(crate) fn write_present<M, V>(map: &mut M, name: &'static str, value: &V) -> Result<(), M::Error>
where
    M: SerializeMap,
    V: Value,
{
    map.serialize_entry(name, &Written(value))
}

/// Values of an object that is being read.
pub(crate) struct Values<'a, A> {
    map: &'a mut A,
    unknown: Unknown,
}

impl<'de, A: MapAccess<'de>> Values<'_, A> {
    /// Reads a value into its field. Null leaves the field unchanged.
    pub(crate) fn read<V: Value>(&mut self, field: &mut V) -> Result<(), A::Error> {
        if let Some(value) = self.next()? {
            *field = value;
        }
        Ok(())
    }

    /// Reads a value of a oneof.
    pub(crate) fn read_one_of<V: Value, O>(
        &mut self,
        field: &mut Option<O>,
        variant: impl Fn(V) -> O,
    ) -> Result<(), A::Error> {
        if let Some(value) = self.next()?
            && field.replace(variant(value)).is_some()
        {
            return Err(A::Error::custom("two fields of a oneof are set; send only one"));
        }
        Ok(())
    }

    /// Reads an enum by its number, or by its name through `number`.
    pub(crate) fn read_enum(&mut self, field: &mut i32, number: impl Fn(&str) -> Option<i32>) -> Result<(), A::Error> {
        if let Some(value) = self.map.next_value_seed(scalar::Enum(number))? {
            *field = value;
        }
        Ok(())
    }

    fn next<V: Value>(&mut self) -> Result<Option<V>, A::Error> {
        self.map.next_value_seed(Nullable(Read::new(self.unknown)))
    }
}

impl<O: Object> Value for O {
    fn is_unset(&self) -> bool {
        false
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        Object::write(self, &mut map)?;
        map.end()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, unknown: Unknown) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Read::<Self>::new(unknown))
    }
}

impl<V: Value> Value for Option<V> {
    fn is_unset(&self) -> bool {
        self.is_none()
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.write(serializer),
            None => serializer.serialize_none(),
        }
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, unknown: Unknown) -> Result<Self, D::Error> {
        V::read(deserializer, unknown).map(Some)
    }
}

impl<V: Value> Value for Vec<V> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Written))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, unknown: Unknown) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(Read::new(unknown)))
    }
}

impl<V: Value> Value for BTreeMap<String, V> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(key, value)| (key, Written(value))))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, unknown: Unknown) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor(Read::new(unknown)))
    }
}

/// Adapter that serializes a value.
struct Written<'a, V>(&'a V);

impl<V: Value> Serialize for Written<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

/// Seed that deserializes a value.
struct Read<V> {
    unknown: Unknown,
    value: PhantomData<V>,
}

impl<V> Read<V> {
    fn new(unknown: Unknown) -> Self {
        Self { unknown, value: PhantomData }
    }
}

impl<V> Clone for Read<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Read<V> {}

impl<'de, V: Value> DeserializeSeed<'de> for Read<V> {
    type Value = V;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V, D::Error> {
        V::read(deserializer, self.unknown)
    }
}

impl<'de, O: Object> Visitor<'de> for Read<O> {
    type Value = O;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<O, A::Error> {
        let mut object = O::default();
        let mut seen = 0_u64;
        while let Some(field) = map.next_key_seed(FieldName(self))? {
            let Some(field) = field else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if seen & (1 << field) != 0 {
                return Err(A::Error::custom("an object has the same field twice; send it once"));
            }
            seen |= 1 << field;
            object.read(field, &mut Values { map: &mut map, unknown: self.unknown })?;
        }
        Ok(object)
    }
}

/// Seed that reads the name of a field as its index.
struct FieldName<O>(Read<O>);

impl<'de, O: Object> DeserializeSeed<'de> for FieldName<O> {
    type Value = Option<u8>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<u8>, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<O: Object> Visitor<'_> for FieldName<O> {
    type Value = Option<u8>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<u8>, E> {
        match O::field(name) {
            // The precision limits how much of a peer's text the error repeats.
            None if self.0.unknown == Unknown::Rejected => Err(E::custom(format_args!("unknown field {name:.64}"))),
            field => Ok(field),
        }
    }
}

/// Seed that reads a value or null.
struct Nullable<V>(Read<V>);

impl<'de, V: Value> DeserializeSeed<'de> for Nullable<V> {
    type Value = Option<V>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<V>, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, V: Value> Visitor<'de> for Nullable<V> {
    type Value = Option<V>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value or null")
    }

    fn visit_none<E: Error>(self) -> Result<Option<V>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<V>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<V>, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

struct ListVisitor<V>(Read<V>);

impl<'de, V: Value> Visitor<'de> for ListVisitor<V> {
    type Value = Vec<V>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<V>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self.0)? {
            check_count(list.len())?;
            list.push(element);
        }
        Ok(list)
    }
}

struct MapVisitor<V>(Read<V>);

impl<'de, V: Value> Visitor<'de> for MapVisitor<V> {
    type Value = BTreeMap<String, V>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            check_count(map.len())?;
            if map.insert(key, entries.next_value_seed(self.0)?).is_some() {
                return Err(A::Error::custom("a map has the same key twice; send it once"));
            }
        }
        Ok(map)
    }
}

fn check_count<E: Error>(count: usize) -> Result<(), E> {
    if count < ELEMENTS_MAX {
        return Ok(());
    }
    Err(E::custom(format_args!("a list or map has more than {ELEMENTS_MAX} elements; send fewer")))
}
