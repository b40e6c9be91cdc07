//! Every message has fixed bytes in both encodings.
//!
//! A difference is a change of the wire. If it is intended, copy the text that the test prints to
//! `golden/messages.txt`.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::examples;
use aether_wire::{ClientMessage, DecodeError, EncodeError, ServerMessage};

const GOLDEN: &str = include_str!("golden/messages.txt");

#[test]
fn every_message_has_its_golden_bytes_in_both_encodings() {
    let actual = write_all();
    let readable = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(
        actual == GOLDEN,
        "the wire changed; it is now:\n{actual}\nfirst difference: {:?}",
        readable(&actual).into_iter().zip(readable(GOLDEN)).find(|(now, golden)| now != golden)
    );
}

#[test]
fn golden_bytes_decode_to_their_message() {
    let mut checked = 0;
    for block in GOLDEN.split("\n\n") {
        let mut lines = block.trim().lines();
        let title = lines.next().expect("a block begins with a title");
        for line in lines {
            let (encoding, text) = line.split_once(' ').expect("a line begins with its encoding");
            assert_eq!(decode(title, encoding, text), expected(title), "{title} {encoding}");
            checked += 1;
        }
    }
    assert!(checked > 60, "only {checked} golden lines");
}

#[test]
fn the_examples_cover_every_message_and_every_name() {
    let client: BTreeSet<_> = examples::client_examples().iter().map(|(_, m)| m.name()).collect();
    assert_eq!(client, BTreeSet::from(ClientMessage::NAMES));
    let server: BTreeSet<_> = examples::server_examples().iter().map(|(_, m)| m.name()).collect();
    assert_eq!(server, BTreeSet::from(ServerMessage::NAMES));
}

#[test]
fn protobuf_rejects_values_by_name_and_appends_nothing() {
    let mut out = vec![1, 2, 3];
    for (title, message) in examples::readable_client_examples() {
        assert_eq!(message.encode(&mut out), Err(EncodeError::NotPacked), "{title}");
    }
    for (title, message) in examples::readable_server_examples() {
        assert_eq!(message.encode(&mut out), Err(EncodeError::NotPacked), "{title}");
    }
    assert_eq!(out, [1, 2, 3]);
}

#[derive(Debug, PartialEq)]
enum Either {
    Client(Result<ClientMessage, DecodeError>),
    Server(Result<ServerMessage, DecodeError>),
}

fn decode(title: &str, encoding: &str, text: &str) -> Either {
    let client = title.starts_with("client ");
    match (client, encoding) {
        (true, "protobuf") => Either::Client(ClientMessage::decode(&from_hex(text))),
        (true, "json") => Either::Client(ClientMessage::decode_json(text.as_bytes())),
        (false, "protobuf") => Either::Server(ServerMessage::decode(&from_hex(text))),
        (false, "json") => Either::Server(ServerMessage::decode_json(text.as_bytes())),
        _ => panic!("{title}: unknown encoding {encoding}"),
    }
}

fn expected(title: &str) -> Either {
    let (side, name) = title.split_once(' ').expect("a title has a side and a name");
    if side == "client" {
        let mut all = examples::client_examples();
        all.extend(examples::readable_client_examples());
        Either::Client(Ok(all.into_iter().find(|(title, _)| *title == name).expect(name).1))
    } else {
        let mut all = examples::server_examples();
        all.extend(examples::readable_server_examples());
        Either::Server(Ok(all.into_iter().find(|(title, _)| *title == name).expect(name).1))
    }
}

fn write_all() -> String {
    let mut blocks = Vec::new();
    for (title, message) in examples::client_examples() {
        let (mut bytes, mut json) = (Vec::new(), Vec::new());
        message.encode(&mut bytes).unwrap();
        message.encode_json(&mut json).unwrap();
        blocks.push(block(&format!("client {title}"), Some(&bytes), json));
    }
    for (title, message) in examples::readable_client_examples() {
        let mut json = Vec::new();
        message.encode_json(&mut json).unwrap();
        blocks.push(block(&format!("client {title}"), None, json));
    }
    for (title, message) in examples::server_examples() {
        let (mut bytes, mut json) = (Vec::new(), Vec::new());
        message.encode(&mut bytes).unwrap();
        message.encode_json(&mut json).unwrap();
        blocks.push(block(&format!("server {title}"), Some(&bytes), json));
    }
    for (title, message) in examples::readable_server_examples() {
        let mut json = Vec::new();
        message.encode_json(&mut json).unwrap();
        blocks.push(block(&format!("server {title}"), None, json));
    }
    blocks.join("\n")
}

fn block(title: &str, bytes: Option<&[u8]>, json: Vec<u8>) -> String {
    let mut text = format!("{title}\n");
    if let Some(bytes) = bytes {
        writeln!(text, "protobuf {}", to_hex(bytes)).unwrap();
    }
    writeln!(text, "json {}", String::from_utf8(json).unwrap()).unwrap();
    text
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
