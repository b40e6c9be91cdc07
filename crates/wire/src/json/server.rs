//! Server messages to and from their JSON envelopes.

use serde::{Deserialize, Serialize};

use super::JsonFragment;
use super::base64::Base64;
use super::envelope::Envelope;
use crate::error::DecodeError;
use crate::game::{FieldValues, GameBody};
use crate::ids::{PlayerId, Tick};
use crate::server::{Ack, Event, Pong, ServerMessage};
use crate::snapshot::{Snapshot, StatePacket};

pub(super) fn write(message: &ServerMessage, out: &mut Vec<u8>) {
    let envelope = Envelope::of(message.name());
    match message {
        ServerMessage::Welcome(welcome) => envelope.write_with(welcome, out),
        ServerMessage::Snapshot(Snapshot::Packed(packet)) => {
            envelope.write_with(PackedSnapshot { packed: Base64::of(&packet.bytes), after: packet.after }, out);
        }
        ServerMessage::Snapshot(Snapshot::Readable(snapshot)) => envelope.write_with(snapshot, out),
        ServerMessage::Event(event) => write_event(event, out),
        ServerMessage::Possession(possession) => envelope.write_with(possession, out),
        ServerMessage::Correction(correction) => envelope.write_with(correction, out),
        ServerMessage::Ack(ack) => envelope.seq(ack.seq.0).write_with(ack, out),
        ServerMessage::Pong(pong) => envelope.time(pong.client_time).write_with(pong, out),
        ServerMessage::Error(error) => envelope.write_with(error, out),
        ServerMessage::Manifest(manifest) => envelope.write_with(manifest, out),
        ServerMessage::Schema(schema) => {
            envelope.write_with(JsonSchema { data: Base64::of(schema) }, out);
        }
        ServerMessage::Cleared(cleared) => envelope.write_with(cleared, out),
        ServerMessage::Closing(closing) => envelope.write_with(closing, out),
        ServerMessage::Fragment(fragment) => {
            envelope.write_with(JsonFragment::from(fragment), out);
        }
    }
}

pub(super) fn read(envelope: Envelope<'_>) -> Result<ServerMessage, DecodeError> {
    Ok(match envelope.kind.as_ref() {
        "welcome" => ServerMessage::Welcome(envelope.payload()?),
        "snapshot" => ServerMessage::Snapshot(read_snapshot(&envelope)?),
        "event" => ServerMessage::Event(read_event(envelope)?),
        "possession" => ServerMessage::Possession(envelope.payload()?),
        "correction" => ServerMessage::Correction(envelope.payload()?),
        "ack" => ServerMessage::Ack(Ack { seq: envelope.command_seq(), ..envelope.payload()? }),
        "pong" => {
            let client_time = envelope.client_time()?;
            ServerMessage::Pong(Pong { client_time, ..envelope.payload()? })
        }
        "error" => ServerMessage::Error(envelope.payload()?),
        "manifest" => ServerMessage::Manifest(envelope.payload()?),
        "schema" => ServerMessage::Schema(envelope.payload::<JsonSchema<'_>>()?.data.into_bytes()),
        "cleared" => ServerMessage::Cleared(envelope.payload()?),
        "closing" => ServerMessage::Closing(envelope.payload()?),
        "fragment" => ServerMessage::Fragment(envelope.payload::<JsonFragment<'_>>()?.into()),
        _ => return Err(DecodeError::UnknownMessage),
    })
}

#[derive(Serialize)]
struct PackedSnapshot<'a> {
    packed: Base64<'a>,
    #[serde(skip_serializing_if = "is_zero")]
    after: u32,
}

#[derive(Deserialize)]
struct PerhapsPacked<'a> {
    packed: Option<Base64<'a>>,
    #[serde(default)]
    after: u32,
}

#[derive(Serialize, Deserialize)]
struct JsonSchema<'a> {
    data: Base64<'a>,
}

#[derive(Serialize, Deserialize)]
struct PackedEvent<'a> {
    tick: Tick,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sender: Option<PlayerId>,
    code: u16,
    data: Base64<'a>,
}

#[derive(Deserialize)]
struct NamedEvent {
    tick: Tick,
    sender: Option<PlayerId>,
    fields: FieldValues,
}

#[derive(Serialize)]
struct NamedEventRef<'a> {
    tick: Tick,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<PlayerId>,
    fields: &'a FieldValues,
}

fn read_snapshot(envelope: &Envelope<'_>) -> Result<Snapshot, DecodeError> {
    let PerhapsPacked { packed, after } = envelope.payload()?;
    match packed {
        Some(packed) => Ok(Snapshot::Packed(StatePacket { bytes: packed.into_bytes(), after })),
        None => Ok(Snapshot::Readable(envelope.payload()?)),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn write_event(event: &Event, out: &mut Vec<u8>) {
    let (tick, sender) = (event.tick, event.sender);
    match &event.body {
        GameBody::Packed { code, payload } => {
            let packed = PackedEvent { tick, sender, code: *code, data: Base64::of(payload) };
            Envelope::of("event").write_with(packed, out);
        }
        GameBody::Named { feature, action, fields } => {
            let named = NamedEventRef { tick, sender, fields };
            Envelope::of("event").named(feature, action).write_with(named, out);
        }
    }
}

fn read_event(mut envelope: Envelope<'_>) -> Result<Event, DecodeError> {
    let Some(feature) = envelope.feature.take() else {
        let PackedEvent { tick, sender, code, data } = envelope.payload()?;
        return Ok(Event { tick, sender, body: GameBody::Packed { code, payload: data.into_bytes() } });
    };
    let action = envelope.action.take().ok_or(DecodeError::Missing { field: "action" })?;
    let NamedEvent { tick, sender, fields } = envelope.payload()?;
    let (feature, action) = (feature.into_owned(), action.into_owned());
    Ok(Event { tick, sender, body: GameBody::Named { feature, action, fields } })
}
