//! Requests read from path and query. A repeated name is a list.

use aether_services::ServiceError;
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Most values of path and query. The longest list of ids that an operation takes is shorter.
pub(super) const PAIRS_MAX: usize = 1_100;

/// Values of path and query, grouped by name.
#[derive(Default)]
pub(super) struct QueryValues<'a> {
    named: Vec<(Cow<'a, str>, Vec<Cow<'a, str>>)>,
}

impl<'a> QueryValues<'a> {
    /// Adds a value.
    pub fn add(&mut self, name: Cow<'a, str>, value: Cow<'a, str>) {
        match self.named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => self.named.push((name, vec![value])),
        }
    }

    /// Adds the values of a query.
    pub fn add_query(&mut self, query: &'a str) -> Result<(), ServiceError> {
        for (count, (name, value)) in form_urlencoded::parse(query.as_bytes()).enumerate() {
            check_count(count)?;
            if !name.is_empty() {
                self.add(name, value);
            }
        }
        Ok(())
    }

    /// Reads a request.
    pub fn read<T: DeserializeOwned + Default>(self) -> Result<T, ServiceError> {
        if self.named.is_empty() {
            return Ok(T::default());
        }
        let named = self.named.into_iter().map(|(name, values)| (name, Values(values)));
        T::deserialize(MapDeserializer::new(named)).map_err(|error: Error| ServiceError::invalid(error.to_string()))
    }
}

/// Returns the values of a query by name. Fails if there are too many.
pub(crate) fn by_name(query: &str) -> Result<BTreeMap<String, Vec<String>>, ServiceError> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (count, (name, value)) in form_urlencoded::parse(query.as_bytes()).enumerate() {
        check_count(count)?;
        if !name.is_empty() {
            values.entry(name.into_owned()).or_default().push(value.into_owned());
        }
    }
    Ok(values)
}

fn check_count(count: usize) -> Result<(), ServiceError> {
    match count < PAIRS_MAX {
        true => Ok(()),
        false => Err(ServiceError::invalid(format!("The query has more than {PAIRS_MAX} values. Send fewer at once."))),
    }
}

/// Values of one name.
struct Values<'a>(Vec<Cow<'a, str>>);

struct SingleValue<'a>(Cow<'a, str>);

impl<'de> IntoDeserializer<'de> for Values<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> IntoDeserializer<'de> for SingleValue<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Values<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.last().deserialize_any(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.last().deserialize_bool(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(SeqDeserializer::new(self.0.into_iter().map(SingleValue)))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'a> Values<'a> {
    /// Returns the last value, which counts where a single one is expected.
    fn last(mut self) -> SingleValue<'a> {
        SingleValue(self.0.pop().unwrap_or_default())
    }
}

impl<'de> Deserializer<'de> for SingleValue<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &*self.0 {
            "true" | "1" => visitor.visit_bool(true),
            "false" | "0" => visitor.visit_bool(false),
            other => Err(Error::custom(format_args!("{other:?} must be true or false"))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_messages::api::{GetUsersRequest, ListFriendsRequest, ListGroupsRequest};
    use aether_services::GrpcCode;

    fn read<T: DeserializeOwned + Default>(query: &str) -> Result<T, ServiceError> {
        let mut values = QueryValues::default();
        values.add_query(query)?;
        values.read()
    }

    #[test]
    fn a_repeated_name_is_a_list_and_a_trailing_ampersand_is_ignored() {
        let request: GetUsersRequest = read("ids=a&ids=b&usernames=n%201&facebookIds=f&").expect("the query is valid");
        assert_eq!(request.ids, ["a", "b"]);
        assert_eq!(request.usernames, ["n 1"]);
        assert_eq!(request.facebook_ids, ["f"]);
        assert_eq!(read::<GetUsersRequest>("").expect("an empty query is valid"), GetUsersRequest::default());
    }

    #[test]
    fn numbers_and_booleans_are_read_from_text() {
        let request: ListGroupsRequest = read("limit=10&open=true&members=0&unknown=1").expect("the query is valid");
        assert_eq!((request.limit, request.open, request.members), (Some(10), Some(true), Some(0)));
        let limit = read::<ListFriendsRequest>("limit=ten").expect_err("it is no number");
        assert_eq!((limit.code, &*limit.message), (GrpcCode::InvalidArgument, "expected a whole number of 32 bits"));
        let open = read::<ListGroupsRequest>("open=maybe").expect_err("it is no boolean");
        assert!(open.code == GrpcCode::InvalidArgument && open.message.contains("maybe"), "{open}");
    }

    #[test]
    fn the_number_of_values_is_limited() {
        assert!(read::<GetUsersRequest>(&"ids=a&".repeat(PAIRS_MAX)).is_ok());
        let many = read::<GetUsersRequest>(&"ids=a&".repeat(PAIRS_MAX + 1)).expect_err("it is one too many");
        assert_eq!(&*many.message, "The query has more than 1100 values. Send fewer at once.");
    }
}
