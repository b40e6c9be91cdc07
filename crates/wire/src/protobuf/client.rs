//! Client messages to and from their protobuf structures.

use super::frames::{self, Client};
use super::{entity, small};
use crate::ack::StateAck;
use crate::client::{
    ClientMessage, Hello, MovementDelta, Ping, PlaygroundClear, PlaygroundSpawn, PlaygroundStress, RoomSelector,
    SpawnRequest,
};
use crate::error::{DecodeError, EncodeError};
use crate::game::{GameBody, GameMessage};
use crate::ids::{ClientTime, CommandSeq, InputSeq, PacketSeq, RoomId, SchemaHash, Tick, ViewTick};
use crate::input::{InputBytes, InputPayload, InputPayloads, Inputs};
use crate::limits::{INPUT_BYTES_MAX, INPUTS_PER_MESSAGE_MAX};
use crate::metadata::JoinMetadata;
use crate::{PROTOCOL_VERSION, Token, Vector2};

impl ClientMessage {
    pub(super) fn to_proto(&self) -> Result<Client, EncodeError> {
        Ok(match self {
            ClientMessage::Hello(hello) => Client::Hello(hello_to_proto(hello)),
            ClientMessage::Inputs(inputs) => Client::Inputs(inputs_to_proto(inputs)?),
            ClientMessage::Ack(ack) => Client::Ack(frames::StateAck { latest: ack.latest().0, missing: ack.missing() }),
            ClientMessage::Ping(ping) => {
                Client::Ping(frames::Ping { client_time_us: ping.client_time.0, tick: ping.tick.0 })
            }
            ClientMessage::Heartbeat => Client::Heartbeat(frames::Empty {}),
            ClientMessage::Game(game) => Client::Game(game_to_proto(game)?),
            ClientMessage::MovementDelta(delta) => Client::MovementDelta(frames::MovementDelta {
                entity: delta.entity.to_bits(),
                seq: delta.seq.0,
                dx: delta.dx,
                dy: delta.dy,
                client_time_us: delta.client_time.0,
            }),
            ClientMessage::SpawnRequest(request) => Client::SpawnRequest(frames::SpawnRequest {
                seq: request.seq.0,
                position: request.position.map(Into::into),
            }),
            ClientMessage::PlaygroundSpawn(spawn) => Client::PlaygroundSpawn(frames::PlaygroundSpawn {
                seq: spawn.seq.0,
                kind: spawn.kind.clone(),
                x: spawn.x,
                y: spawn.y,
                rotation: spawn.rotation,
            }),
            ClientMessage::PlaygroundClear(clear) => {
                Client::PlaygroundClear(frames::PlaygroundClear { seq: clear.seq.0 })
            }
            ClientMessage::PlaygroundStress(stress) => Client::PlaygroundStress(frames::PlaygroundStress {
                seq: stress.seq.0,
                count: stress.count,
                rotate: stress.rotate,
            }),
            ClientMessage::ManifestRequest => Client::ManifestRequest(frames::Empty {}),
            ClientMessage::SchemaRequest => Client::SchemaRequest(frames::Empty {}),
            ClientMessage::Leave => Client::Leave(frames::Empty {}),
            ClientMessage::Fragment(fragment) => Client::Fragment(fragment.into()),
        })
    }

    pub(super) fn from_proto(message: Client) -> Result<ClientMessage, DecodeError> {
        Ok(match message {
            Client::Hello(hello) => ClientMessage::Hello(hello_from_proto(hello)?),
            Client::Inputs(inputs) => ClientMessage::Inputs(inputs_from_proto(&inputs)?),
            Client::Ack(ack) => ClientMessage::Ack(StateAck::from_missing(PacketSeq(ack.latest), ack.missing)),
            Client::Ping(ping) => {
                ClientMessage::Ping(Ping { client_time: ClientTime(ping.client_time_us), tick: Tick(ping.tick) })
            }
            Client::Heartbeat(_) => ClientMessage::Heartbeat,
            Client::Game(game) => ClientMessage::Game(GameMessage {
                seq: CommandSeq(game.seq),
                body: GameBody::Packed { code: small(game.code, "code")?, payload: game.payload },
            }),
            Client::MovementDelta(delta) => ClientMessage::MovementDelta(MovementDelta {
                entity: entity(delta.entity)?,
                seq: InputSeq(delta.seq),
                dx: delta.dx,
                dy: delta.dy,
                client_time: ClientTime(delta.client_time_us),
            }),
            Client::SpawnRequest(request) => ClientMessage::SpawnRequest(SpawnRequest {
                seq: CommandSeq(request.seq),
                position: request.position.map(Into::into),
            }),
            Client::PlaygroundSpawn(spawn) => ClientMessage::PlaygroundSpawn(PlaygroundSpawn {
                seq: CommandSeq(spawn.seq),
                kind: spawn.kind,
                x: spawn.x,
                y: spawn.y,
                rotation: spawn.rotation,
            }),
            Client::PlaygroundClear(clear) => {
                ClientMessage::PlaygroundClear(PlaygroundClear { seq: CommandSeq(clear.seq) })
            }
            Client::PlaygroundStress(stress) => ClientMessage::PlaygroundStress(PlaygroundStress {
                seq: CommandSeq(stress.seq),
                count: stress.count,
                rotate: stress.rotate,
            }),
            Client::ManifestRequest(_) => ClientMessage::ManifestRequest,
            Client::SchemaRequest(_) => ClientMessage::SchemaRequest,
            Client::Leave(_) => ClientMessage::Leave,
            Client::Fragment(fragment) => ClientMessage::Fragment(fragment.try_into()?),
        })
    }
}

fn hello_to_proto(hello: &Hello) -> frames::Hello {
    frames::Hello {
        protocol: PROTOCOL_VERSION,
        token: hello.token.as_ref().map(|token| token.reveal().to_owned()),
        room: hello.room.clone().map(|room| match room {
            RoomSelector::Id(id) => frames::Room::Id(id.0),
            RoomSelector::Code(code) => frames::Room::Code(code),
            RoomSelector::Type { name, label } => frames::Room::Type(frames::RoomType { name, label }),
            RoomSelector::NewPrivate { name, label } => frames::Room::NewPrivate(frames::RoomType { name, label }),
        }),
        resume_token: hello.resume_token.as_ref().map(|token| token.reveal().to_owned()),
        schema_hash: hello.schema_hash.map(|hash| hash.0),
        metadata: hello.metadata.iter().map(|(key, value)| entry_to_proto(key, value)).collect(),
    }
}

fn entry_to_proto(key: &str, value: &str) -> frames::MetadataEntry {
    frames::MetadataEntry { key: key.to_owned(), value: value.to_owned() }
}

fn hello_from_proto(hello: frames::Hello) -> Result<Hello, DecodeError> {
    if hello.protocol != PROTOCOL_VERSION {
        return Err(DecodeError::Version { found: hello.protocol });
    }
    Ok(Hello {
        token: hello.token.map(Token::new),
        room: hello.room.map(|room| match room {
            frames::Room::Id(id) => RoomSelector::Id(RoomId(id)),
            frames::Room::Code(code) => RoomSelector::Code(code),
            frames::Room::Type(kind) => RoomSelector::Type { name: kind.name, label: kind.label },
            frames::Room::NewPrivate(kind) => RoomSelector::NewPrivate { name: kind.name, label: kind.label },
        }),
        resume_token: hello.resume_token.map(Token::new),
        schema_hash: hello.schema_hash.map(SchemaHash),
        metadata: JoinMetadata::from_received(hello.metadata.into_iter().map(|it| (it.key, it.value)).collect()),
    })
}

fn inputs_to_proto(inputs: &Inputs) -> Result<frames::Inputs, EncodeError> {
    let mut packed = Vec::with_capacity(inputs.payloads.len() * (INPUT_BYTES_MAX + 1));
    for payload in &inputs.payloads {
        let InputPayload::Packed(input) = payload else {
            return Err(EncodeError::NotPacked);
        };
        packed.push(input.as_slice().len() as u8);
        packed.extend_from_slice(input.as_slice());
    }
    Ok(frames::Inputs {
        first_seq: inputs.first_seq.0,
        inputs: packed,
        ack_latest: inputs.ack.latest().0,
        ack_missing: inputs.ack.missing(),
        view: inputs.view.to_bits(),
    })
}

fn inputs_from_proto(inputs: &frames::Inputs) -> Result<Inputs, DecodeError> {
    Ok(Inputs {
        first_seq: InputSeq(inputs.first_seq),
        payloads: split_inputs(&inputs.inputs)?,
        ack: StateAck::from_missing(PacketSeq(inputs.ack_latest), inputs.ack_missing),
        view: ViewTick::from_bits(inputs.view).ok_or(DecodeError::BadValue { field: "view" })?,
    })
}

fn split_inputs(mut packed: &[u8]) -> Result<InputPayloads, DecodeError> {
    let mut payloads = InputPayloads::new();
    while let Some((&length, rest)) = packed.split_first() {
        if payloads.len() == INPUTS_PER_MESSAGE_MAX {
            let limit = INPUTS_PER_MESSAGE_MAX;
            return Err(DecodeError::TooMany { field: "inputs", limit });
        }
        let (input, rest) = rest.split_at_checked(usize::from(length)).ok_or(DecodeError::Malformed)?;
        let input =
            InputBytes::new(input).ok_or(DecodeError::FieldTooLong { field: "input", limit: INPUT_BYTES_MAX })?;
        payloads.push(InputPayload::Packed(input));
        if payloads.len() == 1 && !rest.is_empty() {
            // Each input takes at least one byte.
            payloads.reserve(rest.len().min(INPUTS_PER_MESSAGE_MAX));
        }
        packed = rest;
    }
    Ok(payloads)
}

fn game_to_proto(game: &GameMessage) -> Result<frames::Game, EncodeError> {
    let GameBody::Packed { code, payload } = &game.body else {
        return Err(EncodeError::NotPacked);
    };
    Ok(frames::Game { seq: game.seq.0, code: u32::from(*code), payload: payload.clone() })
}

impl From<Vector2> for frames::Vector2 {
    fn from(vector: Vector2) -> frames::Vector2 {
        frames::Vector2 { x: vector.x, y: vector.y }
    }
}

impl From<frames::Vector2> for Vector2 {
    fn from(vector: frames::Vector2) -> Vector2 {
        Vector2 { x: vector.x, y: vector.y }
    }
}
