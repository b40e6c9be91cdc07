//! Validation of messages, for both encodings and both directions.
//!
//! Decoding validates after parsing, and encoding before writing. So the other side accepts every message that is sent.

use crate::client::{ClientMessage, Hello, RoomSelector};
use crate::error::DecodeError;
use crate::fragment::Fragment;
use crate::game::GameBody;
use crate::ids::ClientTime;
use crate::input::Inputs;
use crate::limits::{
    CLIENT_TIME_US_MAX, CONNECTION_ID_MAX, FRAGMENT_BYTES_MAX, FRAGMENTS_PER_MESSAGE_MAX, GAME_PAYLOAD_BYTES_MAX,
    INPUTS_PER_MESSAGE_MAX, LABEL_BYTES_MAX, METADATA_BYTES_MAX, METADATA_ENTRIES_MAX, METADATA_KEY_BYTES_MAX,
    METADATA_VALUE_BYTES_MAX, NAME_BYTES_MAX, NUMBER_SIZE_MAX, ROOM_CODE_BYTES_MAX, ROOM_ID_BYTES_MAX,
    SCHEMA_BYTES_MAX, STATE_PACKET_BYTES_MAX, TEXT_BYTES_MAX, TOKEN_BYTES_MAX, VERSION_BYTES_MAX,
};
use crate::metadata::JoinMetadata;
use crate::server::{ServerMessage, Welcome};
use crate::snapshot::{JsonSnapshot, Snapshot};
use crate::{Token, Vector2};

type Check = Result<(), DecodeError>;

/// Features with their own messages. A game cannot use these names.
pub(crate) const RESERVED_FEATURES: [&str; 4] = ["movement", "playground", "system", "game"];

pub(crate) fn client_message(message: &ClientMessage) -> Check {
    match message {
        ClientMessage::Hello(message) => hello(message),
        ClientMessage::Inputs(inputs) => check_inputs(inputs),
        ClientMessage::Ping(ping) => time(ping.client_time),
        ClientMessage::Game(game) => {
            if let GameBody::Named { feature, .. } = &game.body
                && RESERVED_FEATURES.contains(&feature.as_str())
            {
                return Err(DecodeError::UnknownMessage);
            }
            game_body(&game.body)
        }
        ClientMessage::MovementDelta(delta) => {
            number("dx", delta.dx)?;
            number("dy", delta.dy)?;
            nonzero("seq", delta.seq.0)?;
            time(delta.client_time)
        }
        ClientMessage::SpawnRequest(request) => {
            request.position.map_or(Ok(()), |position| vector("position", position))
        }
        ClientMessage::PlaygroundSpawn(spawn) => {
            text("kind", &spawn.kind, NAME_BYTES_MAX)?;
            number("x", spawn.x)?;
            number("y", spawn.y)?;
            number("rotation", spawn.rotation)
        }
        ClientMessage::Fragment(fragment) => check_fragment(fragment),
        ClientMessage::Ack(_)
        | ClientMessage::Heartbeat
        | ClientMessage::PlaygroundClear(_)
        | ClientMessage::PlaygroundStress(_)
        | ClientMessage::ManifestRequest
        | ClientMessage::SchemaRequest
        | ClientMessage::Leave => Ok(()),
    }
}

pub(crate) fn server_message(message: &ServerMessage) -> Check {
    match message {
        ServerMessage::Welcome(welcome) => check_welcome(welcome),
        ServerMessage::Snapshot(Snapshot::Packed(packet)) => bytes("snapshot", &packet.bytes, STATE_PACKET_BYTES_MAX),
        ServerMessage::Snapshot(Snapshot::Readable(snapshot)) => check_readable(snapshot),
        ServerMessage::Event(event) => game_body(&event.body),
        ServerMessage::Correction(correction) => {
            vector("position", correction.position)?;
            vector("velocity", correction.velocity)
        }
        ServerMessage::Ack(ack) => {
            ack.error.as_ref().map_or(Ok(()), |error| text("message", &error.message, TEXT_BYTES_MAX))
        }
        ServerMessage::Pong(pong) => time(pong.client_time),
        ServerMessage::Error(error) => text("message", &error.message, TEXT_BYTES_MAX),
        ServerMessage::Manifest(manifest) => text("version_server", &manifest.version_server, VERSION_BYTES_MAX),
        ServerMessage::Schema(schema) => bytes("schema", schema, SCHEMA_BYTES_MAX),
        ServerMessage::Closing(closing) => text("text", &closing.text, TEXT_BYTES_MAX),
        ServerMessage::Fragment(fragment) => check_fragment(fragment),
        ServerMessage::Possession(_) | ServerMessage::Cleared(_) => Ok(()),
    }
}

pub(crate) fn hello(hello: &Hello) -> Check {
    token("token", hello.token.as_ref())?;
    token("resume_token", hello.resume_token.as_ref())?;
    check_metadata(&hello.metadata)?;
    match &hello.room {
        None => Ok(()),
        Some(RoomSelector::Id(id)) => text("room id", &id.0, ROOM_ID_BYTES_MAX),
        Some(RoomSelector::Code(code)) => text("room code", code, ROOM_CODE_BYTES_MAX),
        Some(RoomSelector::Type { name, label } | RoomSelector::NewPrivate { name, label }) => {
            text("room type", name, NAME_BYTES_MAX)?;
            text("room label", label.as_deref().unwrap_or_default(), LABEL_BYTES_MAX)
        }
    }
}

pub(crate) fn check_metadata(metadata: &JoinMetadata) -> Check {
    if metadata.len() > METADATA_ENTRIES_MAX {
        return Err(DecodeError::TooMany { field: "metadata", limit: METADATA_ENTRIES_MAX });
    }
    if metadata.has_repeated_key() {
        return Err(DecodeError::Repeated { field: "metadata" });
    }
    let mut bytes = 0;
    for (key, value) in metadata.iter() {
        nonempty("metadata key", key)?;
        text("metadata key", key, METADATA_KEY_BYTES_MAX)?;
        text("metadata value", value, METADATA_VALUE_BYTES_MAX)?;
        bytes += key.len() + value.len();
    }
    if bytes > METADATA_BYTES_MAX {
        return Err(DecodeError::FieldTooLong { field: "metadata", limit: METADATA_BYTES_MAX });
    }
    Ok(())
}

fn check_inputs(inputs: &Inputs) -> Check {
    nonzero("seq", inputs.first_seq.0)?;
    let count = inputs.payloads.len();
    if count == 0 {
        return Err(DecodeError::Missing { field: "inputs" });
    }
    if count > INPUTS_PER_MESSAGE_MAX {
        return Err(DecodeError::TooMany { field: "inputs", limit: INPUTS_PER_MESSAGE_MAX });
    }
    let last_index = count as u32 - 1;
    if inputs.first_seq.0.checked_add(last_index).is_none() {
        return Err(DecodeError::BadValue { field: "seq" });
    }
    Ok(())
}

fn check_welcome(welcome: &Welcome) -> Check {
    text("room", &welcome.room.0, ROOM_ID_BYTES_MAX)?;
    text("room_code", &welcome.room_code, ROOM_CODE_BYTES_MAX)?;
    token("resume_token", welcome.resume_token.as_ref())?;
    vector("world min", welcome.world.min)?;
    vector("world max", welcome.world.max)?;
    number("interest_radius", welcome.world.interest_radius)?;
    // A relay room has neither rate; any other room has both.
    if (welcome.tick_hz == 0) != (welcome.snapshot_hz == 0) {
        return Err(DecodeError::BadValue { field: "tick_hz" });
    }
    if welcome.connection.0 > CONNECTION_ID_MAX {
        return Err(DecodeError::BadValue { field: "connection" });
    }
    Ok(())
}

/// Checks that no field is named `id`: in JSON, fields are beside the entity's id. The size is bounded for the whole
/// message.
fn check_readable(snapshot: &JsonSnapshot) -> Check {
    let mut entities = snapshot.features.values().flatten();
    if entities.any(|entity| entity.fields.0.contains_key("id")) {
        return Err(DecodeError::BadValue { field: "id" });
    }
    Ok(())
}

fn check_fragment(fragment: &Fragment) -> Check {
    // The reassembler checks index and total, because it knows the other parts.
    if fragment.total > FRAGMENTS_PER_MESSAGE_MAX {
        return Err(DecodeError::TooMany { field: "fragments", limit: usize::from(FRAGMENTS_PER_MESSAGE_MAX) });
    }
    bytes("fragment", &fragment.bytes, FRAGMENT_BYTES_MAX)
}

fn game_body(body: &GameBody) -> Check {
    match body {
        GameBody::Packed { payload, .. } => bytes("payload", payload, GAME_PAYLOAD_BYTES_MAX),
        GameBody::Named { feature, action, .. } => {
            nonempty("feature", feature)?;
            nonempty("action", action)?;
            text("feature", feature, NAME_BYTES_MAX)?;
            text("action", action, NAME_BYTES_MAX)
        }
    }
}

fn token(field: &'static str, token: Option<&Token>) -> Check {
    token.map_or(Ok(()), |token| text(field, token.reveal(), TOKEN_BYTES_MAX))
}

fn text(field: &'static str, text: &str, limit: usize) -> Check {
    bytes(field, text.as_bytes(), limit)
}

fn bytes(field: &'static str, bytes: &[u8], limit: usize) -> Check {
    if bytes.len() > limit {
        return Err(DecodeError::FieldTooLong { field, limit });
    }
    Ok(())
}

fn nonempty(field: &'static str, text: &str) -> Check {
    if text.is_empty() {
        return Err(DecodeError::Missing { field });
    }
    Ok(())
}

fn nonzero(field: &'static str, number: u32) -> Check {
    if number == 0 {
        return Err(DecodeError::BadValue { field });
    }
    Ok(())
}

fn vector(field: &'static str, vector: Vector2) -> Check {
    number(field, vector.x)?;
    number(field, vector.y)
}

fn number(field: &'static str, number: f32) -> Check {
    // This comparison is false for NaN, so NaN is rejected too.
    if number.abs() <= NUMBER_SIZE_MAX {
        return Ok(());
    }
    Err(DecodeError::BadNumber { field })
}

fn time(time: ClientTime) -> Check {
    if time.0 > CLIENT_TIME_US_MAX {
        return Err(DecodeError::BadNumber { field: "client_time" });
    }
    Ok(())
}
