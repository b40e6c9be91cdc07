//! Client messages to and from their JSON envelopes.

use serde::{Deserialize, Serialize};

use super::base64::Base64;
use super::envelope::Envelope;
use super::{JsonFragment, PackedBody};
use crate::ack::StateAck;
use crate::check::RESERVED_FEATURES;
use crate::client::{
    ClientMessage, MovementDelta, Ping, PlaygroundClear, PlaygroundSpawn, PlaygroundStress, SpawnRequest,
};
use crate::error::DecodeError;
use crate::game::{FieldValues, GameBody, GameMessage};
use crate::ids::{InputSeq, PacketSeq, ViewTick};
use crate::input::{InputBytes, InputPayload, InputPayloads, Inputs};
use crate::limits::{ACK_WINDOW_PACKETS, INPUT_BYTES_MAX};

/// Steps of the fraction of a view tick.
const VIEW_STEPS: f64 = 256.0;

pub(super) fn write(message: &ClientMessage, out: &mut Vec<u8>) {
    match message {
        ClientMessage::Hello(hello) => Envelope::of("hello").write_with(hello, out),
        ClientMessage::Inputs(inputs) => {
            Envelope::command("movement", "input_batch").write_with(InputBatch::from(inputs), out);
        }
        ClientMessage::Ack(ack) => Envelope::of("ack").write_with(JsonAck::from(*ack), out),
        ClientMessage::Ping(ping) => {
            Envelope::of("ping").time(ping.client_time).write_with(ping, out);
        }
        ClientMessage::Heartbeat => Envelope::of("heartbeat").write(out),
        ClientMessage::Game(game) => write_game(game, out),
        ClientMessage::MovementDelta(delta) => {
            Envelope::command("movement", "delta").seq(delta.seq.0).time(delta.client_time).write_with(delta, out)
        }
        ClientMessage::SpawnRequest(request) => {
            Envelope::command("movement", "spawn_request").seq(request.seq.0).write_with(request, out)
        }
        ClientMessage::PlaygroundSpawn(spawn) => {
            Envelope::command("playground", "spawn").seq(spawn.seq.0).write_with(spawn, out);
        }
        ClientMessage::PlaygroundClear(clear) => {
            Envelope::command("playground", "clear").seq(clear.seq.0).write(out);
        }
        ClientMessage::PlaygroundStress(stress) => {
            Envelope::command("playground", "stress").seq(stress.seq.0).write_with(stress, out);
        }
        ClientMessage::ManifestRequest => Envelope::command("system", "manifest").write(out),
        ClientMessage::SchemaRequest => Envelope::command("system", "schema").write(out),
        ClientMessage::Leave => Envelope::of("leave").write(out),
        ClientMessage::Fragment(fragment) => {
            Envelope::of("fragment").write_with(JsonFragment::from(fragment), out);
        }
    }
}

pub(super) fn read(envelope: Envelope<'_>) -> Result<ClientMessage, DecodeError> {
    match envelope.kind.as_ref() {
        "hello" => Ok(ClientMessage::Hello(envelope.payload()?)),
        "ack" => Ok(ClientMessage::Ack(envelope.payload::<JsonAck>()?.try_into()?)),
        "ping" => {
            let client_time = envelope.client_time()?;
            Ok(ClientMessage::Ping(Ping { client_time, ..envelope.payload()? }))
        }
        "heartbeat" => Ok(ClientMessage::Heartbeat),
        "leave" => Ok(ClientMessage::Leave),
        "fragment" => Ok(ClientMessage::Fragment(envelope.payload::<JsonFragment<'_>>()?.into())),
        "command" => read_command(envelope),
        _ => Err(DecodeError::UnknownMessage),
    }
}

fn read_command(mut envelope: Envelope<'_>) -> Result<ClientMessage, DecodeError> {
    let feature = envelope.feature.take().ok_or(DecodeError::Missing { field: "feature" })?;
    let action = envelope.action.take().ok_or(DecodeError::Missing { field: "action" })?;
    let seq = envelope.command_seq();
    Ok(match (feature.as_ref(), action.as_ref()) {
        ("movement", "input_batch") => ClientMessage::Inputs(envelope.payload::<InputBatch<'_>>()?.try_into()?),
        ("movement", "delta") => ClientMessage::MovementDelta(MovementDelta {
            seq: InputSeq(seq.0),
            client_time: envelope.client_time()?,
            ..envelope.payload()?
        }),
        ("movement", "spawn_request") => ClientMessage::SpawnRequest(SpawnRequest { seq, ..envelope.payload()? }),
        ("playground", "spawn") => ClientMessage::PlaygroundSpawn(PlaygroundSpawn { seq, ..envelope.payload()? }),
        ("playground", "clear") => ClientMessage::PlaygroundClear(PlaygroundClear { seq }),
        ("playground", "stress") => ClientMessage::PlaygroundStress(PlaygroundStress { seq, ..envelope.payload()? }),
        ("system", "manifest") => ClientMessage::ManifestRequest,
        ("system", "schema") => ClientMessage::SchemaRequest,
        ("game", "message") => {
            let PackedBody { code, data } = envelope.payload()?;
            let body = GameBody::Packed { code, payload: data.into_bytes() };
            ClientMessage::Game(GameMessage { seq, body })
        }
        (reserved, _) if RESERVED_FEATURES.contains(&reserved) => {
            return Err(DecodeError::UnknownMessage);
        }
        (feature, action) => {
            let (feature, action) = (feature.to_owned(), action.to_owned());
            let body = GameBody::Named { feature, action, fields: envelope.payload()? };
            ClientMessage::Game(GameMessage { seq, body })
        }
    })
}

fn write_game(game: &GameMessage, out: &mut Vec<u8>) {
    let seq = game.seq.0;
    match &game.body {
        GameBody::Packed { code, payload } => {
            let body = PackedBody { code: *code, data: Base64::of(payload) };
            Envelope::command("game", "message").seq(seq).write_with(body, out);
        }
        GameBody::Named { feature, action, fields } => {
            Envelope::command(feature, action).seq(seq).write_with(fields, out);
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputBatch<'a> {
    inputs: Vec<JsonInput<'a>>,
    #[serde(default, skip_serializing_if = "JsonAck::is_none")]
    ack: JsonAck,
    #[serde(default, skip_serializing_if = "is_zero")]
    view_tick: f64,
}

/// An input: `keys` by name, or `packed` as base64.
#[derive(Serialize, Deserialize)]
struct JsonInput<'a> {
    seq: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys: Option<FieldValues>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packed: Option<Base64<'a>>,
}

/// Acknowledgement with the numbers of the missing packets, which is short and readable.
#[derive(Default, Serialize, Deserialize)]
struct JsonAck {
    latest: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<u32>,
}

impl JsonAck {
    fn is_none(&self) -> bool {
        self.latest == 0
    }
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl From<StateAck> for JsonAck {
    fn from(ack: StateAck) -> JsonAck {
        let latest = ack.latest().0;
        let missing = (1..=ACK_WINDOW_PACKETS)
            .filter(|age| ack.missing() >> (age - 1) & 1 == 1)
            .map(|age| latest - age)
            .collect();
        JsonAck { latest, missing }
    }
}

impl TryFrom<JsonAck> for StateAck {
    type Error = DecodeError;

    fn try_from(ack: JsonAck) -> Result<StateAck, DecodeError> {
        let mut missing = 0;
        for packet in ack.missing {
            let age = ack.latest.checked_sub(packet).filter(|age| (1..=ACK_WINDOW_PACKETS).contains(age));
            missing |= 1 << (age.ok_or(DecodeError::BadValue { field: "missing" })? - 1);
        }
        Ok(StateAck::from_missing(PacketSeq(ack.latest), missing))
    }
}

impl<'a> From<&'a Inputs> for InputBatch<'a> {
    fn from(inputs: &'a Inputs) -> InputBatch<'a> {
        let json = inputs.iter().map(|(seq, payload)| match payload {
            InputPayload::Packed(input) => {
                JsonInput { seq: seq.0, keys: None, packed: Some(Base64::of(input.as_slice())) }
            }
            InputPayload::Fields(fields) => JsonInput { seq: seq.0, keys: Some(fields.clone()), packed: None },
        });
        InputBatch {
            inputs: json.collect(),
            ack: inputs.ack.into(),
            view_tick: inputs.view.to_bits() as f64 / VIEW_STEPS,
        }
    }
}

impl TryFrom<InputBatch<'_>> for Inputs {
    type Error = DecodeError;

    fn try_from(batch: InputBatch<'_>) -> Result<Inputs, DecodeError> {
        let first_seq = batch.inputs.first().ok_or(DecodeError::Missing { field: "inputs" })?.seq;
        let mut payloads = InputPayloads::with_capacity(batch.inputs.len());
        for (input, expected) in batch.inputs.into_iter().zip(u64::from(first_seq)..) {
            if u64::from(input.seq) != expected {
                return Err(DecodeError::BadValue { field: "seq" });
            }
            payloads.push(input.payload()?);
        }
        Ok(Inputs {
            first_seq: InputSeq(first_seq),
            payloads,
            ack: batch.ack.try_into()?,
            view: view(batch.view_tick)?,
        })
    }
}

impl JsonInput<'_> {
    fn payload(self) -> Result<InputPayload, DecodeError> {
        match (self.keys, self.packed) {
            (Some(keys), None) => Ok(InputPayload::Fields(keys)),
            (None, Some(packed)) => InputBytes::new(&packed.into_bytes())
                .map(InputPayload::Packed)
                .ok_or(DecodeError::FieldTooLong { field: "input", limit: INPUT_BYTES_MAX }),
            _ => Err(DecodeError::Missing { field: "keys" }),
        }
    }
}

fn view(view_tick: f64) -> Result<ViewTick, DecodeError> {
    let bits = view_tick * VIEW_STEPS;
    // A number that is too large saturates, and `from_bits` rejects it.
    let view = if bits >= 0.0 { ViewTick::from_bits(bits as u64) } else { None };
    view.ok_or(DecodeError::BadNumber { field: "viewTick" })
}
