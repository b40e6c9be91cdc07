//! Factories of games: build, replay and inspect rooms of one game.

use crate::hosted::GameRoom;
use crate::room_type::RoomStart;
use crate::telemetry::RoomObserver;
use aether_engine::bits::Schema;
use aether_engine::recording::{Recording, Replay, ReplayError};
use aether_engine::{
    BuildError, EntityPage, EntityQuery, Game, RestoreData, Room, RoomSettings, RuntimeGame, Scheduler,
};
use aether_wire::Tick;
use serde_json::Value;
use std::sync::Arc;

/// Values from which a game is made at run time.
#[derive(Clone, Copy, Debug)]
pub struct GameSetup<'a> {
    /// Id of the room; empty for a game that is only replayed or inspected.
    pub room: &'a str,
    /// Name of the room type.
    pub room_type: &'a str,
    /// Seed of the room's random numbers.
    pub seed: u64,
    /// Wall clock of tick 0, in milliseconds since 1970.
    pub started_ms: u64,
    /// Parameters of whoever created the room; null if there are none. A rebuilt room has those of its creation.
    pub params: &'a Value,
    /// For a replay: the bytes of [`RuntimeGame::setup`] from the recording. The game must be made from them alone.
    pub recorded: Option<&'a [u8]>,
}

/// Builds rooms of one game, with the type of the game erased.
pub trait GameFactory: Send + Sync {
    /// Builds a room and adds it to the scheduler.
    #[doc(hidden)]
    fn start(
        &self,
        settings: &RoomSettings,
        name: &str,
        scheduler: &Scheduler,
        start: GameStart,
    ) -> Result<GameRoom, BuildError>;

    /// Replays a recording up to a tick. Returns the last tick and its hash.
    fn replay(
        &self,
        settings: &RoomSettings,
        recording: &Recording,
        to_tick: Option<Tick>,
    ) -> Result<Option<(Tick, u64)>, ReplayError>;

    /// Returns the hash of the state before the first tick of a recording.
    fn start_hash(&self, settings: &RoomSettings, recording: &Recording) -> Result<u64, ReplayError>;

    /// Rebuilds a stored room, which does not run, and returns some of its entities.
    #[doc(hidden)]
    fn inspect(
        &self,
        settings: &RoomSettings,
        stored: StoredGame<'_>,
        query: EntityQuery,
    ) -> Result<(EntityPage, Arc<Schema>), BuildError>;
}

/// Start parameters of a game room, with its observer.
#[doc(hidden)]
pub struct GameStart {
    pub(crate) start: RoomStart,
    pub(crate) observer: RoomObserver,
}

/// A stored room.
#[doc(hidden)]
pub struct StoredGame<'a> {
    pub(crate) room_type: &'a str,
    pub(crate) params: &'a Value,
    pub(crate) restore: RestoreData,
}

/// Makes games of one type.
pub(crate) trait GameMaker: Send + Sync {
    type Made: Game;

    /// Makes a game. An error is that of the caller who creates the room.
    fn make(&self, setup: &GameSetup<'_>) -> Result<Self::Made, String>;
}

/// Makes a game of Rust types, which needs no setup.
pub(crate) struct PlainMaker<F>(pub F);

impl<G: Game, F: Fn() -> G + Send + Sync> GameMaker for PlainMaker<F> {
    type Made = G;

    fn make(&self, _setup: &GameSetup<'_>) -> Result<G, String> {
        Ok(self.0())
    }
}

/// Makes a game that is defined at run time.
pub(crate) struct RuntimeMaker<F>(pub F);

impl<F> GameMaker for RuntimeMaker<F>
where
    F: Fn(&GameSetup<'_>) -> Result<Box<dyn RuntimeGame>, String> + Send + Sync,
{
    type Made = Box<dyn RuntimeGame>;

    fn make(&self, setup: &GameSetup<'_>) -> Result<Box<dyn RuntimeGame>, String> {
        self.0(setup)
    }
}

impl<M: GameMaker> GameFactory for M {
    fn start(
        &self,
        settings: &RoomSettings,
        name: &str,
        scheduler: &Scheduler,
        GameStart { start, observer }: GameStart,
    ) -> Result<GameRoom, BuildError> {
        let setup = GameSetup {
            room: &start.room,
            room_type: name,
            seed: start.seed,
            started_ms: start.started_ms,
            params: &start.params,
            recorded: None,
        };
        let game = self.make(&setup).map_err(BuildError::Game)?;
        let mut builder =
            Room::builder(game, settings.clone()).seed(start.seed).started_ms(start.started_ms).label(start.label);
        if let Some(recording) = start.recording {
            builder = builder.stream_recording(name, Arc::clone(&recording.channel));
        }
        if let Some(pool) = start.encode_pool {
            builder = builder.pool(pool);
        }
        if let Some(interval) = start.checkpoint_interval {
            builder = builder.checkpoint_every((interval.as_secs_f32() * settings.tick_hz as f32).round() as u32);
        }
        if let Some(restore) = start.restore {
            builder = builder.restore(restore);
        }
        let room = builder.build()?;
        let handle = room.handle();
        Ok(GameRoom::new(scheduler.add(room, observer), handle))
    }

    fn replay(
        &self,
        settings: &RoomSettings,
        recording: &Recording,
        to_tick: Option<Tick>,
    ) -> Result<Option<(Tick, u64)>, ReplayError> {
        let mut replay = begin_replay(self, settings, recording)?;
        let mut last = None;
        while last.is_none_or(|(tick, _)| to_tick.is_none_or(|end| tick < end)) {
            match replay.step()? {
                Some(step) => last = Some(step),
                None => break,
            }
        }
        Ok(last)
    }

    fn start_hash(&self, settings: &RoomSettings, recording: &Recording) -> Result<u64, ReplayError> {
        Ok(begin_replay(self, settings, recording)?.room().hash())
    }

    fn inspect(
        &self,
        settings: &RoomSettings,
        StoredGame { room_type, params, restore }: StoredGame<'_>,
        query: EntityQuery,
    ) -> Result<(EntityPage, Arc<Schema>), BuildError> {
        let setup = GameSetup { room: "", room_type, seed: 0, started_ms: 0, params, recorded: None };
        let game = self.make(&setup).map_err(BuildError::Game)?;
        let room = Room::builder(game, settings.clone()).restore(restore).build()?;
        Ok((room.inspect(query), Arc::clone(room.handle().schema())))
    }
}

fn begin_replay<'a, M: GameMaker>(
    maker: &M,
    settings: &RoomSettings,
    recording: &'a Recording,
) -> Result<Replay<'a, M::Made>, ReplayError> {
    let setup = GameSetup {
        room: "",
        room_type: &recording.game,
        seed: recording.seed,
        started_ms: recording.started_ms,
        params: &Value::Null,
        recorded: Some(&recording.setup),
    };
    let game = maker.make(&setup).map_err(|text| ReplayError::Room(BuildError::Game(text)))?;
    Replay::new(game, settings.clone(), recording)
}
