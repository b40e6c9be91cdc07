//! [`TickInput`] and its encoding.

use super::RecordingError;
use super::bytes::{Reader, Writer};
use crate::durable::EntryNumber;
use crate::game::{JoinRequest, PlaygroundCommand};
use crate::request::Answer;
use aether_wire::{
    ClientTime, CloseReason, CommandSeq, EntityId, InputBytes, InputSeq, JoinMetadata, MovementDelta, Permissions,
    PlayerId, PlaygroundSpawn, RequestId, SpawnRequest, Vector2, ViewTick,
};
use std::sync::Arc;

/// Anything that reaches a game from outside its own step.
#[derive(Clone, Debug, PartialEq)]
pub enum TickInput {
    /// A client requests to join.
    Join {
        /// Id that the player gets.
        player: PlayerId,
        /// The request.
        request: JoinRequest,
    },
    /// A player leaves.
    Leave {
        /// Id of the player.
        player: PlayerId,
        /// Reason.
        reason: CloseReason,
    },
    /// A player resumes on a new connection. Its inputs count from 1 again.
    Resume {
        /// Id of the player.
        player: PlayerId,
        /// Session, if it is another one than before.
        session: Option<String>,
    },
    /// An input of a player.
    Input {
        /// Id of the player.
        player: PlayerId,
        /// Sequence number.
        seq: InputSeq,
        /// Tick that the client displayed.
        view: ViewTick,
        /// Encoded input.
        bytes: InputBytes,
    },
    /// A reliable message of a player.
    Message {
        /// Id of the player.
        player: PlayerId,
        /// Number of the command, for its answer.
        seq: CommandSeq,
        /// Code of the event type.
        code: u16,
        /// Encoded event.
        payload: Vec<u8>,
    },
    /// A movement that the client proposes.
    Movement {
        /// Id of the player.
        player: PlayerId,
        /// The movement.
        movement: MovementDelta,
    },
    /// A spawn request.
    SpawnRequest {
        /// Id of the player.
        player: PlayerId,
        /// The request.
        request: SpawnRequest,
    },
    /// A playground command.
    Playground {
        /// Id of the player.
        player: PlayerId,
        /// Number of the command, for its answer.
        seq: CommandSeq,
        /// The command.
        command: PlaygroundCommand,
    },
    /// An answer of the services.
    Answer {
        /// Id of the request.
        id: RequestId,
        /// The answer.
        answer: Answer,
    },
    /// A journal entry was stored, or could not be.
    Committed {
        /// Number of the entry.
        number: EntryNumber,
        /// Error, if it could not be stored.
        error: Option<String>,
    },
    /// The permissions of a player change, because the role of the account did.
    Permissions {
        /// Id of the player.
        player: PlayerId,
        /// The new permissions.
        permissions: Permissions,
    },
    /// A signal from outside the room.
    Signal {
        /// Data of the signal.
        data: Vec<u8>,
    },
    /// New code of the game.
    Reload {
        /// Code, in the form that the game defines.
        code: Arc<[u8]>,
    },
}

impl TickInput {
    pub(super) fn write(&self, writer: &mut Writer) {
        match self {
            TickInput::Join { player, request } => {
                write_player(0, *player, writer);
                write_join_request(request, writer);
            }
            TickInput::Leave { player, reason } => {
                write_player(1, *player, writer);
                writer.text(reason.name());
            }
            TickInput::Input { player, seq, view, bytes } => {
                write_player(2, *player, writer);
                writer.number(u64::from(seq.0));
                writer.number(view.to_bits());
                writer.bytes(bytes.as_slice());
            }
            TickInput::Message { player, seq, code, payload } => {
                write_player(3, *player, writer);
                writer.number(u64::from(seq.0));
                writer.number(u64::from(*code));
                writer.bytes(payload);
            }
            TickInput::Movement { player, movement } => {
                write_player(4, *player, writer);
                writer.number(movement.entity.to_bits());
                writer.number(u64::from(movement.seq.0));
                writer.float(movement.dx);
                writer.float(movement.dy);
                writer.number(movement.client_time.0);
            }
            TickInput::SpawnRequest { player, request } => {
                write_player(5, *player, writer);
                writer.number(u64::from(request.seq.0));
                writer.raw(&[u8::from(request.position.is_some())]);
                if let Some(Vector2 { x, y }) = request.position {
                    writer.float(x);
                    writer.float(y);
                }
            }
            TickInput::Playground { player, seq, command } => {
                write_player(6, *player, writer);
                writer.number(u64::from(seq.0));
                write_command(command, writer);
            }
            TickInput::Resume { .. }
            | TickInput::Answer { .. }
            | TickInput::Committed { .. }
            | TickInput::Permissions { .. }
            | TickInput::Signal { .. }
            | TickInput::Reload { .. } => self.write_other(writer),
        }
    }

    /// Writes a tick input whose tag is not followed by a player, or not at once.
    fn write_other(&self, writer: &mut Writer) {
        match self {
            TickInput::Resume { player, session } => {
                writer.raw(&[9, u8::from(session.is_some())]);
                writer.number(u64::from(player.0));
                if let Some(session) = session {
                    writer.text(session);
                }
            }
            TickInput::Answer { id, answer } => {
                writer.raw(&[7]);
                writer.number(u64::from(id.0));
                write_answer(answer, writer);
            }
            TickInput::Committed { number, error } => {
                writer.raw(&[10, u8::from(error.is_some())]);
                writer.number(number.0);
                if let Some(why) = error {
                    writer.text(why);
                }
            }
            TickInput::Permissions { player, permissions } => {
                write_player(11, *player, writer);
                writer.raw(&[permission_bits(*permissions)]);
            }
            TickInput::Signal { data } => {
                writer.raw(&[8]);
                writer.bytes(data);
            }
            TickInput::Reload { code } => {
                writer.raw(&[12]);
                writer.bytes(code);
            }
            // Written by the caller.
            TickInput::Join { .. }
            | TickInput::Leave { .. }
            | TickInput::Input { .. }
            | TickInput::Message { .. }
            | TickInput::Movement { .. }
            | TickInput::SpawnRequest { .. }
            | TickInput::Playground { .. } => {}
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<TickInput, RecordingError> {
        let tag = reader.byte()?;
        if tag < 7 {
            let player = PlayerId(reader.small()?);
            return Self::read_of(tag, player, reader);
        }
        match tag {
            7 => Ok(TickInput::Answer { id: RequestId(reader.small()?), answer: read_answer(reader)? }),
            8 => Ok(TickInput::Signal { data: reader.bytes()? }),
            9 => {
                let has_session = reader.byte()? != 0;
                let player = PlayerId(reader.small()?);
                let session = if has_session { Some(reader.text()?) } else { None };
                Ok(TickInput::Resume { player, session })
            }
            10 => {
                let has_error = reader.byte()? != 0;
                let number = EntryNumber(reader.number()?);
                let error = if has_error { Some(reader.text()?) } else { None };
                Ok(TickInput::Committed { number, error })
            }
            11 => {
                let player = PlayerId(reader.small()?);
                Ok(TickInput::Permissions { player, permissions: permissions_of(reader.byte()?) })
            }
            12 => Ok(TickInput::Reload { code: reader.bytes()?.into() }),
            _ => Err(RecordingError::Damaged),
        }
    }

    fn read_of(tag: u8, player: PlayerId, reader: &mut Reader<'_>) -> Result<TickInput, RecordingError> {
        let damaged = RecordingError::Damaged;
        Ok(match tag {
            0 => TickInput::Join { player, request: read_join_request(reader)? },
            1 => TickInput::Leave { player, reason: CloseReason::from_name(&reader.text()?) },
            2 => {
                let seq = InputSeq(reader.small()?);
                let view = ViewTick::from_bits(reader.number()?).ok_or(damaged)?;
                let bytes = InputBytes::new(&reader.bytes()?).ok_or(damaged)?;
                TickInput::Input { player, seq, view, bytes }
            }
            3 => {
                let (seq, code) = (CommandSeq(reader.small()?), reader.number_up_to(u64::from(u16::MAX))? as u16);
                TickInput::Message { player, seq, code, payload: reader.bytes()? }
            }
            4 => {
                let entity = EntityId::from_bits(reader.number()?).ok_or(damaged)?;
                let seq = InputSeq(reader.small()?);
                let (dx, dy) = (reader.float()?, reader.float()?);
                let movement = MovementDelta { entity, seq, dx, dy, client_time: ClientTime(reader.number()?) };
                TickInput::Movement { player, movement }
            }
            5 => {
                let seq = CommandSeq(reader.small()?);
                let position = match reader.byte()? {
                    0 => None,
                    _ => Some(Vector2 { x: reader.float()?, y: reader.float()? }),
                };
                TickInput::SpawnRequest { player, request: SpawnRequest { seq, position } }
            }
            _ => {
                let seq = CommandSeq(reader.small()?);
                TickInput::Playground { player, seq, command: read_command(seq, reader)? }
            }
        })
    }
}

pub(super) fn write_join_request(request: &JoinRequest, writer: &mut Writer) {
    writer.text(&request.user);
    writer.text(&request.name);
    writer.text(&request.username);
    writer.text(&request.session);
    writer.raw(&[permission_bits(request.permissions)]);
    writer.bytes(&metadata_bytes(&request.metadata));
}

pub(super) fn read_join_request(reader: &mut Reader<'_>) -> Result<JoinRequest, RecordingError> {
    let (user, name) = (reader.text()?, reader.text()?);
    let (username, session) = (reader.text()?, reader.text()?);
    let permissions = permissions_of(reader.byte()?);
    Ok(JoinRequest { user, name, username, session, permissions, metadata: read_metadata(&reader.bytes()?)? })
}

/// Encodes join metadata as one byte field, which is empty without entries: recordings from before the metadata had
/// entries have an empty one.
fn metadata_bytes(metadata: &JoinMetadata) -> Vec<u8> {
    let mut writer = Writer::default();
    for (key, value) in metadata.iter() {
        writer.text(key);
        writer.text(value);
    }
    writer.finish()
}

fn read_metadata(bytes: &[u8]) -> Result<JoinMetadata, RecordingError> {
    let mut reader = Reader::new(bytes);
    let mut metadata = JoinMetadata::default();
    while !reader.rest().is_empty() {
        let key = reader.text()?;
        metadata.insert(key, reader.text()?);
    }
    Ok(metadata)
}

fn permission_bits(permissions: Permissions) -> u8 {
    let Permissions { playground, inspect, manage } = permissions;
    u8::from(playground) | u8::from(inspect) << 1 | u8::from(manage) << 2
}

fn permissions_of(bits: u8) -> Permissions {
    Permissions { playground: bits & 1 == 1, inspect: bits & 2 == 2, manage: bits & 4 == 4 }
}

fn write_player(tag: u8, player: PlayerId, writer: &mut Writer) {
    writer.raw(&[tag]);
    writer.number(u64::from(player.0));
}

fn write_command(command: &PlaygroundCommand, writer: &mut Writer) {
    match command {
        PlaygroundCommand::Spawn(spawn) => {
            writer.raw(&[0]);
            writer.text(&spawn.kind);
            for number in [spawn.x, spawn.y, spawn.rotation] {
                writer.float(number);
            }
        }
        PlaygroundCommand::Clear => writer.raw(&[1]),
        PlaygroundCommand::Stress { count, rotate } => {
            writer.raw(&[2, u8::from(*rotate)]);
            writer.number(u64::from(*count));
        }
    }
}

fn read_command(seq: CommandSeq, reader: &mut Reader<'_>) -> Result<PlaygroundCommand, RecordingError> {
    match reader.byte()? {
        0 => {
            let kind = reader.text()?;
            let (x, y, rotation) = (reader.float()?, reader.float()?, reader.float()?);
            Ok(PlaygroundCommand::Spawn(PlaygroundSpawn { seq, kind, x, y, rotation }))
        }
        1 => Ok(PlaygroundCommand::Clear),
        2 => {
            let rotate = reader.byte()? != 0;
            Ok(PlaygroundCommand::Stress { count: reader.small()?, rotate })
        }
        _ => Err(RecordingError::Damaged),
    }
}

fn write_answer(answer: &Answer, writer: &mut Writer) {
    match answer {
        Answer::Done => writer.raw(&[0]),
        Answer::Value(None) => writer.raw(&[1]),
        Answer::Value(Some(value)) => {
            writer.raw(&[2]);
            writer.bytes(value);
        }
        Answer::Failed(why) => {
            writer.raw(&[3]);
            writer.text(why);
        }
    }
}

fn read_answer(reader: &mut Reader<'_>) -> Result<Answer, RecordingError> {
    match reader.byte()? {
        0 => Ok(Answer::Done),
        1 => Ok(Answer::Value(None)),
        2 => Ok(Answer::Value(Some(reader.bytes()?))),
        3 => Ok(Answer::Failed(reader.text()?)),
        _ => Err(RecordingError::Damaged),
    }
}
