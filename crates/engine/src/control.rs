//! Requests of operators to a running room: its entities, its recording and its spectators. They do not reach the game.

use crate::connection::RoomEndpoint;
use crate::game::Game;
use crate::inspect::{EntityPage, EntityQuery};
use crate::recording::{RecordingChannel, RecordingEnd, RecordingHeader, RecordingStart, RecordingStream};
use crate::room::Room;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Request of an operator, served between two ticks.
pub(crate) enum RoomControl {
    Inspect(EntityQuery, SyncSender<EntityPage>),
    /// Begins a recording under the game's name.
    StartRecording(String, Arc<RecordingChannel>, SyncSender<Result<StartedRecording, RecordingRefusal>>),
    /// Ends the recording. The reply is false if there was none.
    StopRecording(SyncSender<bool>),
    /// Adds a spectator.
    Spectate(RoomEndpoint),
}

/// Recording of a running room that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedRecording {
    /// Hash of the state before its first tick. A replay of the header must have it.
    pub hash: u64,
    /// First bytes of the recording: one without ticks.
    pub header: Vec<u8>,
}

/// Reason why the recording of a running room does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingRefusal {
    /// The room is recorded already.
    Recording,
    /// The game has no [`Game::capture`].
    NotCapturable,
}

impl fmt::Display for RecordingRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordingRefusal::Recording => "the room is already being recorded; stop that recording first",
            RecordingRefusal::NotCapturable => {
                "the game of this room cannot be recorded from the middle, because it does not implement \
                 `Game::capture`: create the room with a recording, or run the server by `aether record`"
            }
        })
    }
}

impl std::error::Error for RecordingRefusal {}

impl<G: Game> Room<G> {
    /// Serves the requests of operators. The state is that of the last tick.
    pub(crate) fn serve_controls(&mut self) {
        // Before its first tick, the values of a room are not on the grid of the wire.
        if !self.has_stepped {
            return;
        }
        for control in std::mem::take(&mut self.state.output.controls) {
            // Those who asked may have stopped waiting.
            match control {
                RoomControl::Spectate(endpoint) => self.spectators.add(endpoint),
                RoomControl::Inspect(query, reply) => {
                    let _ = reply.try_send(self.inspect(query));
                }
                RoomControl::StartRecording(game, channel, reply) => {
                    let _ = reply.try_send(self.start_recording(game, channel));
                }
                RoomControl::StopRecording(reply) => {
                    let stream = self.stream.take();
                    let _ = reply.try_send(stream.is_some());
                    stream.into_iter().for_each(|mut stream| stream.finish(RecordingEnd::Stopped));
                }
            }
        }
    }

    fn start_recording(
        &mut self,
        game: String,
        channel: Arc<RecordingChannel>,
    ) -> Result<StartedRecording, RecordingRefusal> {
        if self.stream.is_some() {
            return Err(RecordingRefusal::Recording);
        }
        let capture = self.capture().ok_or(RecordingRefusal::NotCapturable)?;
        let header = RecordingHeader {
            game,
            seed: 0,
            tick_hz: self.state.settings.tick_hz,
            schema_hash: self.stats.schema.hash(),
            started_ms: self.state.started_ms,
            setup: self.game.setup(),
            start: RecordingStart::Captured(Box::new(capture)),
        };
        self.stream = Some(RecordingStream::new(channel, &header, self.now()));
        Ok(StartedRecording { hash: self.hash(), header: header.to_bytes() })
    }
}
