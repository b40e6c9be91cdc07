//! Frames written by hand, which no encoder of this crate writes.

use aether_wire::{ClientMessage, DecodeError};

pub fn decode_json(json: &str) -> Result<ClientMessage, DecodeError> {
    ClientMessage::decode_json(json.as_bytes())
}

pub fn command(feature: &str, action: &str, payload: &str) -> String {
    format!(
        r#"{{"v":2,"kind":"command","seq":1,"feature":"{feature}","action":"{action}","clientTime":0,"payload":{payload}}}"#
    )
}

pub fn frame(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    push_length(&mut bytes, content.len());
    bytes.extend_from_slice(content);
    bytes
}

pub fn push_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}
