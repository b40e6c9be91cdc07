//! Every message agrees with another implementation of the same definitions, in bytes and in JSON.

use std::collections::{BTreeSet, HashMap};

use aether_messages::{
    DESCRIPTORS,
    operation::{self, Operation},
    prost::{Message, Name},
    realtime::Envelope,
};
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, ReflectMessage, SerializeOptions, Value,
};
use serde::{Serialize, de::DeserializeOwned};

#[test]
fn requests_and_answers_agree() {
    let mut comparison = Comparison::new(10);
    operation::visit_all(&mut comparison);
    assert!(comparison.names.len() > operation::NAMES.len(), "most operations have messages of their own");
}

#[test]
fn frames_agree() {
    Comparison::new(1_000).compare::<Envelope>();
}

/// Fills messages at random, and compares both implementations.
struct Comparison {
    pool: DescriptorPool,
    random: u64,
    rounds: usize,
    names: BTreeSet<String>,
}

impl operation::Visitor for Comparison {
    fn visit<O: Operation>(&mut self) {
        self.compare::<O::Request>();
        self.compare::<O::Answer>();
    }
}

impl Comparison {
    fn new(rounds: usize) -> Self {
        let pool = DescriptorPool::decode(DESCRIPTORS).expect("the descriptors are whole");
        Self { pool, random: 0x9e37_79b9_7f4a_7c15, rounds, names: BTreeSet::new() }
    }

    fn compare<M: Message + Name + Default + Serialize + DeserializeOwned>(&mut self) {
        if M::PACKAGE == "google.protobuf" || !self.names.insert(M::full_name()) {
            return;
        }
        for _ in 0..self.rounds {
            let mut other = DynamicMessage::new(self.pool.get_message_by_name(&M::full_name()).expect(M::NAME));
            self.fill(&mut other);
            let message = M::decode(&other.encode_to_vec()[..]).expect(M::NAME);
            let again = DynamicMessage::decode(other.descriptor(), &message.encode_to_vec()[..]).expect(M::NAME);
            let options = SerializeOptions::new().use_proto_field_name(true).use_enum_numbers(true);
            let expected = json(&other, &options);
            assert_eq!(json(&again, &options), expected, "{}", M::NAME);
            assert_eq!(serde_json::to_value(&message).expect(M::NAME), expected, "{}", M::NAME);
            for options in [options, SerializeOptions::new(), SerializeOptions::new().skip_default_fields(false)] {
                let text = json(&other, &options).to_string();
                let read: M = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!(read.encode_to_vec(), message.encode_to_vec(), "{text}");
            }
        }
    }

    fn fill(&mut self, message: &mut DynamicMessage) {
        let descriptor = message.descriptor();
        for field in descriptor.fields().filter(|field| field.containing_oneof().is_none()) {
            if self.below(3) > 0 {
                let value = self.field_value(&field);
                message.set_field(&field, value);
            }
        }
        for oneof in descriptor.oneofs() {
            let choice = self.below(oneof.fields().len());
            let field = oneof.fields().nth(choice).expect("the choice is among the fields");
            let value = self.field_value(&field);
            message.set_field(&field, value);
        }
        if descriptor.full_name() == "google.protobuf.Timestamp" {
            let seconds = i64::try_from(self.below(4_000_000_000)).expect("it fits") - 1_000_000_000;
            message.set_field_by_name("seconds", Value::I64(seconds));
            let nanoseconds = self.below(1_000_000_000) / [1, 1_000_000, 1_000_000_000][self.below(3)];
            message.set_field_by_name("nanos", Value::I32(i32::try_from(nanoseconds).expect("it fits")));
        }
    }

    fn field_value(&mut self, field: &FieldDescriptor) -> Value {
        let count = self.below(3);
        if let Kind::Message(entry) = field.kind()
            && field.is_map()
        {
            let value = entry.map_entry_value_field().kind();
            let entries = (0..count).map(|index| (MapKey::String(format!("k{index}")), self.value(&value)));
            return Value::Map(entries.collect::<HashMap<_, _>>());
        }
        if field.is_list() {
            return Value::List((0..count).map(|_| self.value(&field.kind())).collect());
        }
        self.value(&field.kind())
    }

    fn value(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Bool => Value::Bool(self.below(2) == 0),
            Kind::Int32 => Value::I32([0, 1, -1, i32::MAX, i32::MIN][self.below(5)]),
            Kind::Uint32 => Value::U32([0, 1, u32::MAX][self.below(3)]),
            Kind::Int64 => Value::I64([0, 1, -1, i64::MAX, i64::MIN][self.below(5)]),
            Kind::Double => Value::F64([0.5, -1.25, 1e300, f64::INFINITY][self.below(4)]),
            Kind::String => Value::String(["", "text", "\"é\\\u{1}\u{1f600}"][self.below(3)].to_owned()),
            Kind::Bytes => Value::Bytes(vec![0xfb; self.below(5)].into()),
            Kind::Enum(kind) => {
                let choice = self.below(kind.values().len());
                Value::EnumNumber(kind.values().nth(choice).expect("the choice is among the values").number())
            }
            Kind::Message(kind) => {
                let mut message = DynamicMessage::new(kind.clone());
                self.fill(&mut message);
                Value::Message(message)
            }
            other => panic!("fill in {other:?} as well"),
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random >> 20).expect("a usize has 64 bits") % end
    }
}

fn json(message: &DynamicMessage, options: &SerializeOptions) -> serde_json::Value {
    message.serialize_with_options(serde_json::value::Serializer, options).expect("the message has a JSON form")
}
