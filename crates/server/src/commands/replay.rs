//! `aether replay`: replays a recorded room.

use crate::server::Server;
use aether_engine::recording::{Recording, RecordingEnd};
use aether_rooms::RoomDefinition;
use aether_script::recorded_matches;
use aether_wire::Tick;
use std::path::PathBuf;

/// Flags of `aether replay`.
#[derive(clap::Args, Clone, Debug)]
pub struct ReplayArguments {
    /// Recording to replay
    pub file: PathBuf,
    /// Stop after this tick [default: the last one]
    #[arg(long, value_name = "TICK")]
    pub to_tick: Option<u32>,
}

/// Replays a recording and returns its last tick and hash. The hash of every tick is compared with the recorded one.
pub(crate) fn run(server: &Server, arguments: &ReplayArguments) -> Result<String, String> {
    let path = arguments.file.display();
    let bytes = std::fs::read(&arguments.file).map_err(|error| format!("Cannot read {path}: {error}"))?;
    let recording = Recording::from_bytes(&bytes).map_err(|error| format!("{path}: {error}"))?;
    // A recording of a Lua match has its own sources.
    let scripts = (!recording.setup.is_empty()).then(recorded_matches);
    let definition = server.find_definition(&recording.game).or(scripts.as_ref());
    let Some(RoomDefinition::Game { settings, factory }) = definition else {
        let game = &recording.game;
        return Err(format!("{path} is a recording of game `{game}`, which this program does not have."));
    };
    let last = factory.replay(settings, &recording, arguments.to_tick.map(Tick));
    let last = last.map_err(|error| format!("{path}: {error}"))?;
    match last {
        Some((Tick(tick), hash)) => {
            let of = recording.last_tick().0;
            let cut = match recording.end() {
                _ if tick < of => "",
                Some(RecordingEnd::Stopped | RecordingEnd::RoomEnded) => "",
                Some(RecordingEnd::Full) => "; the recording reached its limit of bytes",
                Some(RecordingEnd::TooSlow) => "; the disk of the server did not keep up with the recording",
                Some(RecordingEnd::Failed) | None => "; the recording was cut off after this tick",
            };
            Ok(format!("{}: tick {tick} of {of}, hash {hash:016x}, as recorded{cut}\n", recording.game))
        }
        None => Ok(format!("{}: the recording is empty\n", recording.game)),
    }
}
