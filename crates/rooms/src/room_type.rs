//! Room types: their settings, the start of their rooms, and their metrics.

use crate::game_factory::{GameFactory, GameSetup, GameStart, PlainMaker, RuntimeMaker, StoredGame};
use crate::hosted::{HostedRoom, RelayRoom};
use crate::members::MatchMembers;
use crate::places::RoomPlaces;
use crate::recordings::RoomRecording;
use crate::telemetry::{DurableMetrics, RoomMetrics, RoomObserver};
use aether_engine::bits::Schema;
use aether_engine::recording::Recording;
use aether_engine::{
    BuildError, EncodePool, EntityPage, EntityQuery, Game, Rejection, RestoreData, RoomHandle, RoomSettings,
    RuntimeGame, Scheduler,
};
use aether_metrics::Registry;
use aether_net::relay::{Relay, RelaySettings};
use aether_services::Services;
use aether_services::audit::Audit;
use aether_services::matches::MatchType;
use aether_wire::{Encoding, ErrorCode};
use serde_json::Value;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Most concurrent builds of rooms of one type, so that a slow type delays only its own rooms.
const BUILDS_AT_ONCE: usize = 4;

/// A room type.
pub struct RoomType {
    name: String,
    definition: RoomDefinition,
    pub(crate) metrics: RoomMetrics,
    pub(crate) durable_metrics: DurableMetrics,
    pub(crate) builds: Semaphore,
}

/// Definition of a room type: a game or a relay, with settings.
pub enum RoomDefinition {
    /// Rooms that run a game.
    Game {
        /// Settings of each room.
        settings: RoomSettings,
        /// Builds rooms of the game.
        factory: Box<dyn GameFactory>,
    },
    /// Relay rooms.
    Relay(RelaySettings),
}

/// Start parameters of a room.
pub(crate) struct RoomStart {
    /// Id of the room.
    pub room: String,
    pub seed: u64,
    /// Wall clock of tick 0, in milliseconds since 1970.
    pub started_ms: u64,
    /// Parameters of the creator.
    pub params: Arc<Value>,
    pub label: String,
    /// Recording from the first tick.
    pub recording: Option<Arc<RoomRecording>>,
    /// Threads that share the encoding, if the room is large.
    pub encode_pool: Option<EncodePool>,
    /// Interval between two checkpoints of a durable room.
    pub checkpoint_interval: Option<Duration>,
    /// Stored state of a room that is rebuilt.
    pub restore: Option<RestoreData>,
    /// Ticks per second, instead of those of the type.
    pub tick_hz: Option<u32>,
    /// Members over the services socket; none so far.
    pub members: Arc<MatchMembers>,
    /// Receives refused commands.
    pub audit: Arc<Audit>,
}

/// A room that was started.
pub(crate) struct StartedRoom {
    pub room: Box<dyn HostedRoom>,
    /// Handle of a game room, from which its output is taken.
    pub handle: Option<RoomHandle>,
    /// Places of each network.
    pub places: Arc<RoomPlaces>,
    /// Members over the services socket.
    pub members: Arc<MatchMembers>,
}

impl RoomDefinition {
    /// Defines rooms that run a game.
    pub fn game<G: Game>(settings: RoomSettings, make: impl Fn() -> G + Send + Sync + 'static) -> RoomDefinition {
        RoomDefinition::Game { settings, factory: Box::new(PlainMaker(make)) }
    }

    /// Defines rooms that run a game defined at run time. An error of `make` is the error of the caller who creates the
    /// room. The game may set its tick rate and label in [`RuntimeGame::init`].
    ///
    /// ```
    /// use aether_engine::{Context, RoomSettings, RuntimeGame};
    /// use aether_engine::bits::runtime::RuntimeSchema;
    /// use aether_rooms::RoomDefinition;
    /// use aether_wire::PlayerId;
    ///
    /// struct Countdown { from: u64, schema: RuntimeSchema }
    ///
    /// impl RuntimeGame for Countdown {
    ///     fn schema(&self) -> &RuntimeSchema { &self.schema }
    ///     fn join(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}
    ///     fn tick(&mut self, room: &mut Context<'_>) {
    ///         if u64::from(room.tick().0) >= self.from {
    ///             room.end();
    ///         }
    ///     }
    /// }
    ///
    /// let definition = RoomDefinition::runtime(RoomSettings::default(), |setup| {
    ///     let from = setup.params["from"].as_u64().ok_or("`from` must be a number of ticks")?;
    ///     Ok(Box::new(Countdown { from, schema: RuntimeSchema::default() }))
    /// });
    /// ```
    pub fn runtime(
        settings: RoomSettings,
        make: impl Fn(&GameSetup<'_>) -> Result<Box<dyn RuntimeGame>, String> + Send + Sync + 'static,
    ) -> RoomDefinition {
        RoomDefinition::Game { settings, factory: Box::new(RuntimeMaker(make)) }
    }

    /// Settings of the game; none for a relay.
    #[must_use]
    pub fn game_settings(&self) -> Option<&RoomSettings> {
        match self {
            RoomDefinition::Game { settings, .. } => Some(settings),
            RoomDefinition::Relay(_) => None,
        }
    }

    fn as_game(&self) -> Option<(&RoomSettings, &dyn GameFactory)> {
        match self {
            RoomDefinition::Game { settings, factory } => Some((settings, &**factory)),
            RoomDefinition::Relay(_) => None,
        }
    }

    fn players_max(&self) -> usize {
        match self {
            RoomDefinition::Game { settings, .. } => settings.players_max,
            RoomDefinition::Relay(settings) => settings.members_max,
        }
    }

    /// Returns true if all rooms are private.
    fn is_private(&self) -> bool {
        match self {
            RoomDefinition::Game { settings, .. } => settings.private,
            RoomDefinition::Relay(settings) => settings.private,
        }
    }

    /// Names of the encodings that clients may use; empty if they may use every encoding.
    #[must_use]
    pub fn encodings(&self) -> &[String] {
        match self {
            RoomDefinition::Game { settings, .. } => &settings.encodings,
            RoomDefinition::Relay(settings) => &settings.encodings,
        }
    }

    fn network_players_max(&self) -> usize {
        match self {
            RoomDefinition::Game { settings, .. } => settings.network_players_max,
            RoomDefinition::Relay(settings) => settings.network_members_max,
        }
    }

    fn start(&self, room_type: &RoomType, scheduler: &Scheduler, start: RoomStart) -> Result<StartedRoom, BuildError> {
        let places = Arc::new(RoomPlaces::new(self.network_players_max()));
        let members = Arc::clone(&start.members);
        match self {
            RoomDefinition::Game { settings, factory } => {
                let observer = RoomObserver::new(&room_type.metrics, Arc::clone(&start.audit));
                let settings =
                    &start.tick_hz.map_or_else(|| settings.clone(), |tick_hz| settings.with_tick_hz(tick_hz));
                let start = GameStart { start, observer };
                let room = factory.start(settings, &room_type.name, scheduler, start)?;
                let handle = Some(room.handle().clone());
                Ok(StartedRoom { room: Box::new(room), handle, places, members })
            }
            RoomDefinition::Relay(settings) => {
                let room = Box::new(RelayRoom::new(Relay::new(settings.clone()), start.label));
                Ok(StartedRoom { room, handle: None, places, members })
            }
        }
    }
}

impl RoomType {
    /// Creates a room type with its metrics.
    #[must_use]
    pub fn new(name: impl Into<String>, definition: RoomDefinition, registry: &Registry) -> RoomType {
        let name = name.into();
        let step = definition.game_settings().map_or(0.0, |settings| f64::from(settings.seconds_per_tick()));
        RoomType {
            metrics: RoomMetrics::new(registry, &name, step),
            durable_metrics: DurableMetrics::new(registry, &name),
            builds: Semaphore::new(BUILDS_AT_ONCE),
            name,
            definition,
        }
    }

    /// Name of the type, which clients use to join.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if its rooms are durable.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.definition.game_settings().is_some_and(|settings| settings.durable)
    }

    /// Returns true if all its rooms are private.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.definition.is_private()
    }

    /// Rejects a client whose encoding the type does not serve.
    pub(crate) fn check_encoding(&self, encoding: Encoding) -> Result<(), Rejection> {
        let served = self.definition.encodings();
        if served.is_empty() || served.iter().any(|name| name == encoding.name()) {
            return Ok(());
        }
        let (name, encoding, served) = (&self.name, encoding.name(), served.join(", "));
        let message =
            format!("room type `{name}` does not serve the encoding `{encoding}`; connect with one of: {served}");
        Err(Rejection::new(ErrorCode::JoinRefused, message))
    }

    /// Ticks per second; 0 for a relay.
    #[must_use]
    pub fn tick_hz(&self) -> u32 {
        self.definition.game_settings().map_or(0, |settings| settings.tick_hz)
    }

    /// Rejects a tick rate that a room of this type cannot have.
    pub(crate) fn check_tick_hz(&self, tick_hz: u32) -> Result<(), Rejection> {
        let Some(settings) = self.definition.game_settings() else {
            return Err(Rejection::new(ErrorCode::BadValue, "a relay has no ticks; leave the tick rate out"));
        };
        if settings.durable {
            let sentence = "a durable room keeps the tick rate of its type; leave the tick rate out";
            return Err(Rejection::new(ErrorCode::BadValue, sentence));
        }
        let checked = settings.with_tick_hz(tick_hz.max(1)).validate();
        match checked {
            Ok(()) if tick_hz > 0 => Ok(()),
            _ => Err(Rejection::new(ErrorCode::BadValue, "the tick rate of a room must be from 1 to 128")),
        }
    }

    /// Snapshots per second; 0 for a relay.
    #[must_use]
    pub fn snapshot_hz(&self) -> u32 {
        self.definition.game_settings().map_or(0, |settings| settings.snapshot_hz)
    }

    /// Most players of one room.
    #[must_use]
    pub fn players_max(&self) -> usize {
        self.definition.players_max()
    }

    /// Time for which a player who lost the connection stays in the room.
    #[must_use]
    pub fn resume_grace(&self) -> Duration {
        let seconds = |settings: &RoomSettings| settings.resume_ticks as f32 * settings.seconds_per_tick();
        self.definition.game_settings().map_or(Duration::ZERO, |settings| Duration::from_secs_f32(seconds(settings)))
    }

    /// Rebuilds a stored room, which does not run, and returns some of its entities. It may take as long as the game's
    /// `restore`.
    pub(crate) fn inspect(
        &self,
        params: &Value,
        restore: RestoreData,
        query: EntityQuery,
    ) -> Option<Result<(EntityPage, Arc<Schema>), BuildError>> {
        let stored = StoredGame { room_type: &self.name, params, restore };
        self.definition.as_game().map(|(settings, factory)| factory.inspect(settings, stored, query))
    }

    /// Returns true if a replay of a recording begins with a state of this hash.
    pub(crate) fn begins_with(&self, header: &[u8], hash: u64) -> bool {
        let Some((settings, factory)) = self.definition.as_game() else { return false };
        let recording = Recording::from_bytes(header);
        recording.is_ok_and(|recording| factory.start_hash(settings, &recording) == Ok(hash))
    }

    /// Starts a room. It may take as long as the game's `init`, so do not call it on an I/O thread.
    pub(crate) fn start(&self, scheduler: &Scheduler, start: RoomStart) -> Result<StartedRoom, BuildError> {
        self.definition.start(self, scheduler, start)
    }
}

impl MatchType for RoomType {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Room types of a server, from its call table. Modules add, replace and remove them while the server runs; a started
/// room keeps its type.
pub struct RoomTypes {
    services: Arc<Services>,
}

impl RoomTypes {
    pub(crate) fn new(services: Arc<Services>) -> RoomTypes {
        RoomTypes { services }
    }

    /// Returns the type with a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<RoomType>> {
        self.services.calls.match_types().get(name).and_then(room_type)
    }

    /// Returns all types, ordered by name.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<RoomType>> {
        self.services.calls.match_types().values().filter_map(room_type).collect()
    }

    /// Returns true if any type is durable.
    #[must_use]
    pub fn has_durable(&self) -> bool {
        self.services.calls.match_types().values().filter_map(room_type).any(|room_type| room_type.is_durable())
    }
}

/// Returns the room type of a match type; none if its matches are not hosted by this crate.
fn room_type(match_type: &Arc<dyn MatchType>) -> Option<Arc<RoomType>> {
    let any: Arc<dyn Any + Send + Sync> = Arc::clone(match_type) as _;
    any.downcast().ok()
}
