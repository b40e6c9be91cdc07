//! The types of rooms that a server knows.

use crate::telemetry::{KeepMetrics, RoomMetrics, Watcher};
use aether_engine::recording::{Recording, Replay, ReplayError};
use aether_engine::{BuildError, Game, RecordingSink, Restore, Room, RoomHandle, RoomNumber, RoomSettings, Scheduler};
use aether_metrics::Registry;
use aether_net::relay::{Relay, RelaySettings};
use aether_wire::Tick;
use std::sync::Arc;
use std::time::Duration;

/// A type of room.
pub(crate) struct RoomKind {
    pub name: String,
    pub build: Build,
    metrics: RoomMetrics,
    keep_metrics: KeepMetrics,
}

/// How rooms of a type come to be.
pub(crate) enum Build {
    /// With a game that ticks.
    Game(Box<dyn GameKind>),
    /// As a relay.
    Relay(RelaySettings),
}

/// What a new room begins with.
pub(crate) struct NewRoom {
    pub seed: u64,
    pub label: String,
    pub recording_sink: Option<RecordingSink>,
    /// How often its state is handed out, if it is durable.
    pub keep_every: Option<Duration>,
    /// What it is rebuilt from, if it was there before.
    pub restore: Option<Restore>,
}

/// A game of any type.
pub(crate) trait GameKind: Send + Sync {
    fn settings(&self) -> &RoomSettings;

    fn set_settings(&mut self, settings: RoomSettings);

    /// Starts a room on the scheduler.
    fn start(
        &self,
        name: &str,
        new: NewRoom,
        scheduler: &Scheduler,
        watcher: Watcher,
    ) -> Result<(RoomNumber, RoomHandle), BuildError>;

    /// Runs a recording again up to a tick, and tells the last tick and its hash.
    fn replay(&self, recording: &Recording, to_tick: Option<Tick>) -> Result<Option<(Tick, u64)>, ReplayError>;
}

/// A game and how to make one.
pub(crate) struct Registered<F> {
    pub settings: RoomSettings,
    pub make: F,
}

impl<G: Game, F: Fn() -> G + Send + Sync> GameKind for Registered<F> {
    fn settings(&self) -> &RoomSettings {
        &self.settings
    }

    fn set_settings(&mut self, settings: RoomSettings) {
        self.settings = settings;
    }

    fn start(
        &self,
        name: &str,
        new: NewRoom,
        scheduler: &Scheduler,
        watcher: Watcher,
    ) -> Result<(RoomNumber, RoomHandle), BuildError> {
        let mut builder = Room::builder((self.make)(), self.settings.clone()).seed(new.seed).label(new.label);
        if let Some(sink) = new.recording_sink {
            builder = builder.record(name).recording_sink(sink);
        }
        if let Some(every) = new.keep_every {
            builder = builder.keep_every((every.as_secs_f32() * self.settings.tick_hz as f32).round() as u32);
        }
        if let Some(restore) = new.restore {
            builder = builder.restore(restore);
        }
        let room = builder.build()?;
        let handle = room.handle();
        Ok((scheduler.add(room, watcher), handle))
    }

    fn replay(&self, recording: &Recording, to_tick: Option<Tick>) -> Result<Option<(Tick, u64)>, ReplayError> {
        let mut replay = Replay::new((self.make)(), self.settings.clone(), recording)?;
        let mut last = None;
        while last.is_none_or(|(tick, _)| to_tick.is_none_or(|end| tick < end)) {
            match replay.step()? {
                Some(step) => last = Some(step),
                None => break,
            }
        }
        Ok(last)
    }
}

impl RoomKind {
    pub fn new(name: String, build: Build, registry: &Registry) -> RoomKind {
        let step = match &build {
            Build::Game(game) => f64::from(game.settings().seconds_per_tick()),
            Build::Relay(_) => 0.0,
        };
        let metrics = RoomMetrics::new(registry, &name, step);
        let keep_metrics = KeepMetrics::new(registry, &name);
        RoomKind { name, build, metrics, keep_metrics }
    }

    /// Whether its rooms outlast the server.
    pub fn is_durable(&self) -> bool {
        match &self.build {
            Build::Game(game) => game.settings().durable,
            Build::Relay(_) => false,
        }
    }

    pub fn keep_metrics(&self) -> &KeepMetrics {
        &self.keep_metrics
    }

    pub fn tick_hz(&self) -> u32 {
        match &self.build {
            Build::Game(game) => game.settings().tick_hz,
            Build::Relay(_) => 0,
        }
    }

    pub fn snapshot_hz(&self) -> u32 {
        match &self.build {
            Build::Game(game) => game.settings().snapshot_hz,
            Build::Relay(_) => 0,
        }
    }

    pub fn players_max(&self) -> usize {
        match &self.build {
            Build::Game(game) => game.settings().players_max,
            Build::Relay(settings) => settings.members_max,
        }
    }

    /// For how many seconds a player who lost the connection keeps the place.
    pub fn resume_seconds(&self) -> f32 {
        match &self.build {
            Build::Game(game) => game.settings().resume_ticks as f32 * game.settings().seconds_per_tick(),
            Build::Relay(_) => 0.0,
        }
    }

    pub fn metrics(&self) -> &RoomMetrics {
        &self.metrics
    }

    /// Starts a room.
    pub fn start(&self, new: NewRoom, scheduler: &Scheduler) -> Result<Started, BuildError> {
        match &self.build {
            Build::Game(game) => {
                let (number, handle) = game.start(&self.name, new, scheduler, Watcher::new(&self.metrics))?;
                Ok(Started::Game(number, handle))
            }
            Build::Relay(settings) => Ok(Started::Relay(Relay::new(*settings))),
        }
    }
}

/// A room that runs.
pub(crate) enum Started {
    Game(RoomNumber, RoomHandle),
    Relay(Arc<Relay>),
}
