//! Server messages to and from their protobuf structures.

use super::frames::{self, Server};
use super::{entity, required, small};
use crate::PROTOCOL_VERSION;
use crate::code::{CloseReason, ErrorCode};
use crate::error::{DecodeError, EncodeError};
use crate::game::GameBody;
use crate::ids::{ClientTime, CommandSeq, ConnectionId, InputSeq, PlayerId, RoomId, SchemaHash, SessionId, Tick};
use crate::server::{
    Ack, Cleared, Closing, CommandError, Correction, ErrorNotice, Event, Manifest, Pong, Possession, ServerMessage,
    Welcome, WorldParameters,
};
use crate::snapshot::Snapshot;
use crate::token::Token;

impl ServerMessage {
    pub(super) fn to_proto(&self) -> Result<Server, EncodeError> {
        Ok(match self {
            ServerMessage::Welcome(welcome) => Server::Welcome(welcome_to_proto(welcome)),
            ServerMessage::Snapshot(Snapshot::Packed(packet)) => Server::Snapshot(packet.bytes.clone()),
            ServerMessage::Snapshot(Snapshot::Readable(_)) => return Err(EncodeError::NotPacked),
            ServerMessage::Event(event) => Server::Event(event_to_proto(event)?),
            ServerMessage::Possession(possession) => {
                Server::Possession(frames::Possession { tick: possession.tick.0, entity: possession.entity.to_bits() })
            }
            ServerMessage::Correction(correction) => Server::Correction(frames::Correction {
                entity: correction.entity.to_bits(),
                position: Some(correction.position.into()),
                velocity: Some(correction.velocity.into()),
                ack_seq: correction.ack_seq.0,
            }),
            ServerMessage::Ack(ack) => Server::Ack(frames::CommandAck {
                seq: ack.seq.0,
                error: ack
                    .error
                    .as_ref()
                    .map(|error| frames::CommandError { code: error.code.number(), message: error.message.clone() }),
            }),
            ServerMessage::Pong(pong) => Server::Pong(frames::Pong {
                client_time_us: pong.client_time.0,
                tick: pong.tick.0,
                server_tick: pong.server_tick.0,
                hold_us: pong.hold_us,
                overload_rung: pong.overload_rung,
                slowdown_percent: pong.slowdown_percent,
            }),
            ServerMessage::Error(error) => Server::Error(frames::ErrorNotice {
                code: error.code.number(),
                message: error.message.clone(),
                fatal: error.fatal,
            }),
            ServerMessage::Manifest(manifest) => Server::Manifest(manifest_to_proto(manifest)),
            ServerMessage::Schema(schema) => Server::Schema(schema.clone()),
            ServerMessage::Cleared(cleared) => Server::Cleared(frames::Cleared { tick: cleared.tick.0 }),
            ServerMessage::Closing(closing) => Server::Closing(frames::Closing {
                reason: closing.reason.number(),
                text: closing.text.clone(),
                deadline_ms: closing.deadline_ms,
                may_resume: closing.may_resume,
            }),
            ServerMessage::Fragment(fragment) => Server::Fragment(fragment.into()),
        })
    }

    pub(super) fn from_proto(message: Server) -> Result<ServerMessage, DecodeError> {
        Ok(match message {
            Server::Welcome(welcome) => ServerMessage::Welcome(welcome_from_proto(welcome)?),
            Server::Snapshot(packet) => ServerMessage::Snapshot(Snapshot::Packed(packet.into())),
            Server::Event(event) => ServerMessage::Event(Event {
                tick: Tick(event.tick),
                sender: event.sender.map(PlayerId),
                body: GameBody::Packed { code: small(event.code, "code")?, payload: event.payload },
            }),
            Server::Possession(possession) => ServerMessage::Possession(Possession {
                tick: Tick(possession.tick),
                entity: entity(possession.entity)?,
            }),
            Server::Correction(correction) => ServerMessage::Correction(Correction {
                entity: entity(correction.entity)?,
                position: required(correction.position, "position")?.into(),
                velocity: required(correction.velocity, "velocity")?.into(),
                ack_seq: InputSeq(correction.ack_seq),
            }),
            Server::Ack(ack) => ServerMessage::Ack(Ack {
                seq: CommandSeq(ack.seq),
                error: ack
                    .error
                    .map(|error| CommandError { code: ErrorCode::from_number(error.code), message: error.message }),
            }),
            Server::Pong(pong) => ServerMessage::Pong(Pong {
                client_time: ClientTime(pong.client_time_us),
                tick: Tick(pong.tick),
                server_tick: Tick(pong.server_tick),
                hold_us: pong.hold_us,
                overload_rung: pong.overload_rung,
                slowdown_percent: pong.slowdown_percent,
            }),
            Server::Error(error) => ServerMessage::Error(ErrorNotice {
                code: ErrorCode::from_number(error.code),
                message: error.message,
                fatal: error.fatal,
            }),
            Server::Manifest(manifest) => ServerMessage::Manifest(manifest_from_proto(manifest)),
            Server::Schema(schema) => ServerMessage::Schema(schema),
            Server::Cleared(cleared) => ServerMessage::Cleared(Cleared { tick: Tick(cleared.tick) }),
            Server::Closing(closing) => ServerMessage::Closing(Closing {
                reason: CloseReason::from_number(closing.reason),
                text: closing.text,
                deadline_ms: closing.deadline_ms,
                may_resume: closing.may_resume,
            }),
            Server::Fragment(fragment) => ServerMessage::Fragment(fragment.try_into()?),
        })
    }
}

fn welcome_to_proto(welcome: &Welcome) -> frames::Welcome {
    frames::Welcome {
        protocol: PROTOCOL_VERSION,
        player: welcome.player.0,
        room: welcome.room.0.clone(),
        session: welcome.session.0.to_be_bytes().to_vec(),
        connection: welcome.connection.0,
        room_code: welcome.room_code.clone(),
        tick_hz: welcome.tick_hz,
        snapshot_hz: welcome.snapshot_hz,
        server_tick: welcome.server_tick.0,
        world: Some(frames::World {
            min: Some(welcome.world.min.into()),
            max: Some(welcome.world.max.into()),
            interest_radius: welcome.world.interest_radius,
        }),
        schema_hash: welcome.schema_hash.0,
        resume_token: welcome.resume_token.as_ref().map(|token| token.reveal().to_owned()),
    }
}

fn welcome_from_proto(welcome: frames::Welcome) -> Result<Welcome, DecodeError> {
    if welcome.protocol != PROTOCOL_VERSION {
        return Err(DecodeError::Version { found: welcome.protocol });
    }
    let session =
        <[u8; 16]>::try_from(welcome.session.as_slice()).map_err(|_| DecodeError::BadValue { field: "session" })?;
    let world = required(welcome.world, "world")?;
    Ok(Welcome {
        player: PlayerId(welcome.player),
        room: RoomId(welcome.room),
        session: SessionId(u128::from_be_bytes(session)),
        connection: ConnectionId(welcome.connection),
        room_code: welcome.room_code,
        tick_hz: welcome.tick_hz,
        snapshot_hz: welcome.snapshot_hz,
        server_tick: Tick(welcome.server_tick),
        world: WorldParameters {
            min: required(world.min, "world min")?.into(),
            max: required(world.max, "world max")?.into(),
            interest_radius: world.interest_radius,
        },
        schema_hash: SchemaHash(welcome.schema_hash),
        resume_token: welcome.resume_token.map(Token::new),
    })
}

fn event_to_proto(event: &Event) -> Result<frames::Event, EncodeError> {
    let GameBody::Packed { code, payload } = &event.body else {
        return Err(EncodeError::NotPacked);
    };
    Ok(frames::Event {
        tick: event.tick.0,
        code: u32::from(*code),
        payload: payload.clone(),
        sender: event.sender.map(|player| player.0),
    })
}

fn manifest_to_proto(manifest: &Manifest) -> frames::Manifest {
    frames::Manifest {
        version_server: manifest.version_server.clone(),
        version_protocol: manifest.version_protocol,
        tick_rate: manifest.tick_rate,
        clients_active: manifest.clients_active,
        rooms_active: manifest.rooms_active,
        entities_active: manifest.entities_active,
        uptime_s: manifest.uptime_s,
        tick_us: manifest.tick_us,
    }
}

fn manifest_from_proto(manifest: frames::Manifest) -> Manifest {
    Manifest {
        version_server: manifest.version_server,
        version_protocol: manifest.version_protocol,
        tick_rate: manifest.tick_rate,
        clients_active: manifest.clients_active,
        rooms_active: manifest.rooms_active,
        entities_active: manifest.entities_active,
        uptime_s: manifest.uptime_s,
        tick_us: manifest.tick_us,
    }
}
