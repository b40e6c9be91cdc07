//! `proto/aether.proto` matches the code: the file describes every byte that the code writes, and the code writes every
//! field of the file.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::examples;
use aether_wire::{ClientMessage, ServerMessage};
use prost_reflect::{DescriptorPool, DynamicMessage, Kind, MessageDescriptor, Value};

const GOLDEN_TEXT: &str = include_str!("golden/proto_text.txt");

#[test]
fn the_proto_file_describes_every_byte_and_every_field_is_used() {
    let pool = pool();
    let mut used = BTreeSet::new();
    for (title, message) in examples::client_examples() {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        collect_fields(title, &dynamic(&pool, "ClientFrame", &bytes), &mut used);
    }
    for (title, message) in examples::server_examples() {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        collect_fields(title, &dynamic(&pool, "ServerFrame", &bytes), &mut used);
    }
    let stated: BTreeSet<String> = pool
        .all_messages()
        .flat_map(|message| message.fields().map(|field| field.full_name().to_owned()).collect::<Vec<_>>())
        .collect();
    assert_eq!(stated, used);
}

/// A number with another type in the file would have another value.
#[test]
fn the_file_reads_the_values_that_were_written() {
    let pool = pool();
    let mut actual = String::new();
    for (title, message) in examples::client_examples() {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        let read = dynamic(&pool, "ClientFrame", &bytes);
        writeln!(actual, "client {title}: {}", read.to_text_format()).unwrap();
    }
    for (title, message) in examples::server_examples() {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        let read = dynamic(&pool, "ServerFrame", &bytes);
        writeln!(actual, "server {title}: {}", read.to_text_format()).unwrap();
    }
    assert!(actual == GOLDEN_TEXT, "the file now reads:\n{actual}");
}

#[test]
fn the_names_of_the_messages_are_those_of_the_file() {
    let pool = pool();
    let names = |frame: &str| -> Vec<String> {
        let mut fields: Vec<_> =
            descriptor(&pool, frame).fields().filter(|field| field.containing_oneof().is_some()).collect();
        fields.sort_by_key(|field| field.number());
        fields.iter().map(|field| field.name().to_owned()).collect()
    };
    assert_eq!(names("ClientFrame"), ClientMessage::NAMES);
    assert_eq!(names("ServerFrame"), ServerMessage::NAMES);
}

fn pool() -> DescriptorPool {
    let files = protox::compile(["aether.proto"], [concat!(env!("CARGO_MANIFEST_DIR"), "/proto")])
        .expect("the file is valid protobuf");
    DescriptorPool::from_file_descriptor_set(files).expect("the file is complete")
}

fn descriptor(pool: &DescriptorPool, frame: &str) -> MessageDescriptor {
    pool.get_message_by_name(&format!("aether.v2.{frame}")).expect("the file has this frame")
}

fn dynamic(pool: &DescriptorPool, frame: &str, bytes: &[u8]) -> DynamicMessage {
    DynamicMessage::decode(descriptor(pool, frame), bytes).expect("the file reads the bytes")
}

/// Collects the names of all fields that are set, and fails on bytes that are not in the file.
fn collect_fields(title: &str, message: &DynamicMessage, used: &mut BTreeSet<String>) {
    assert_eq!(message.unknown_fields().count(), 0, "{title} has bytes that are not in the file");
    for (field, value) in message.fields() {
        used.insert(field.full_name().to_owned());
        if let Value::Message(inner) = value {
            collect_fields(title, inner, used);
        }
        if let (Value::Map(_), Kind::Message(entry)) = (value, field.kind()) {
            used.extend(entry.fields().map(|field| field.full_name().to_owned()));
        }
    }
}
