//! Overrides of room settings by room type.

use super::declare::Section as _;
use super::declare::section;
use super::{Config, ConfigProblem, SettingSource, normalized};
use aether_engine::{IndexKind, RoomSettings, UpdateRing, WorldBounds};
use aether_wire::Encodings;

section! {
    /// Overrides of the settings of one room type. A setting that is not set is as the game declares it.
    pub struct RoomOverrides {
        /// Ticks per second. A higher rate makes movement finer and costs the game's time for each tick.
        tick_hz: Option<u32> = None, within 1..=128;
        /// Snapshots per second to each client; must divide `tick_hz`. Bandwidth grows with it.
        snapshot_hz: Option<u32> = None, within 1..=128;
        /// Maximum number of entities. A spawn above it is rejected and counted.
        entities_max: Option<usize> = None, within 1..=1_000_000;
        /// Maximum number of players, or of members of a relay. A join above it is rejected.
        players_max: Option<usize> = None, within 1..=100_000;
        /// Corners of the world: minimum x and y, then maximum x and y. Clients get them in the welcome, and proposed movement
        /// stays within them. With the index `grid`, many entities outside make interest slow.
        bounds: Option<WorldBounds> = None;
        /// Spatial index that finds what a player sees: `grid`, the faster one within the bounds, or `quadtree`, for entities
        /// that may be anywhere. Clients get the same packets.
        index: Option<IndexKind> = None;
        /// Maximum speed of movement that clients propose, in units per tick. Faster movement is limited and corrected. It has an
        /// effect in games that check movement by the room's rules.
        speed_max: Option<f32> = None, within 0..=1_000_000;
        /// Maximum change of the velocity of proposed movement from one tick to the next, in units per tick.
        acceleration_max: Option<f32> = None, within 0..=1_000_000;
        /// Distance from which a proposed movement counts as a teleport and is rejected; must be greater than `speed_max`.
        teleport_min: Option<f32> = None, within 0..=1_000_000;
        /// Maximum number of proposed movements at once after a pause; the average is one per tick.
        movement_burst: Option<u32> = None, within 1..=1000;
        /// Distance up to which a player sees entities. Bandwidth and time grow with its square. Update rings are scaled with
        /// it.
        interest_radius: Option<f32> = None, within 1..=1_000_000;
        /// Maximum number of entities that a player sees by distance, the nearest ones; 0 means no limit. It bounds the bandwidth
        /// in a crowd.
        nearest_max: Option<usize> = None, within 0..=1_000_000;
        /// Share of the interest radius by which an entity must be farther away to disappear than to appear, so that it does not
        /// flicker at the border.
        hysteresis: Option<f32> = None, within 0..=10;
        /// Update rings, nearest first, each as `"distance:interval"`: changes up to this distance are sent every so many
        /// snapshots, such as `["100:1", "200:2"]`. Beyond the last ring its interval applies. An empty list sends every change
        /// at once.
        rings: Option<Vec<UpdateRing>> = None;
        /// Maximum bytes of state per client and snapshot. The rest waits for the next snapshot.
        snapshot_bytes_max: Option<usize> = None, within 200..=57600;
        /// Maximum number of missed ticks that are run at once to catch up; 0 means that missed ticks are skipped: they are
        /// neither run later nor counted as dropped.
        catch_up_max: Option<u32> = None, within 0..=1000;
        /// Time in which a player can resume after a lost connection; until then its entity stays. 0 means that the player
        /// leaves at once.
        resume_seconds: Option<u32> = None, within 0..=3600;
        /// Makes rooms durable: their state is stored (`rooms.checkpoint_ms`) and rebuilt after a restart. The game must
        /// implement checkpoints. Costs a write of the room's state each time it has changed.
        durable: Option<bool> = None;
        /// Makes rooms private: they are absent from `/api/rooms`, every join by type creates a new one, and others join by id
        /// or code.
        private: Option<bool> = None;
        /// Message encodings that clients may use: `protobuf`, `json`, or one that the program registers. A client with another
        /// one is rejected. An empty list means every encoding.
        encodings: Option<Vec<String>> = None;
        /// Maximum number of players of one network (an IPv4 address, or an IPv6 network of 64 bits) in one room; 0 means no
        /// limit. Players behind one router share a network.
        network_players_max: Option<usize> = None, within 0..=100_000;
        /// Sends the state of the room to members over the services socket too, as match data with op code -1. Without it they
        /// get events and match data.
        socket_state: Option<bool> = None;
        /// Maximum bytes per second that a relay room sends for one member: the size of its messages times their receivers.
        /// Further messages are rejected. A higher value costs CPU and bandwidth.
        fan_out_bytes_per_second: Option<u32> = None, within 1_000..=1_000_000_000;
        /// Time that a relay room collects messages before it sends them. A shorter time lowers latency and costs more
        /// system calls.
        flush_ms: Option<u32> = None, within 1..=1000;
    }
}

impl Config {
    /// Returns the overrides of a room type.
    #[must_use]
    pub fn room(&self, room_type: &str) -> RoomOverrides {
        self.room.get(&normalized(room_type)).cloned().unwrap_or_default()
    }

    /// Returns the overrides of a room type, to change them.
    pub fn room_mut(&mut self, room_type: &str) -> &mut RoomOverrides {
        self.room.entry(normalized(room_type)).or_default()
    }

    /// Returns the settings of a room type: those that its game declares, with the overrides. Fails if the combination is
    /// invalid.
    pub fn room_settings(&self, room_type: &str, declared: RoomSettings) -> Result<RoomSettings, ConfigProblem> {
        let overrides = self.room(room_type);
        let settings = overrides.apply_to(declared);
        let ineffective =
            [("nearest_max", overrides.nearest_max.is_some()), ("hysteresis", overrides.hysteresis.is_some())];
        if let Some((key, _)) = ineffective.into_iter().find(|(_, is_set)| *is_set && settings.interest.is_none()) {
            let source = self.source_of_mentioned(room_type, key);
            let sentence = format!(
                "room type {room_type}: {key} has no effect, because players of this game see everything; set \
                 interest_radius too, or remove {key}."
            );
            return Err(ConfigProblem::new(source, sentence));
        }
        match settings.validate() {
            Ok(()) => Ok(settings),
            Err(error) => {
                let source = self.source_of_mentioned(room_type, error.0);
                let rates = match error.0.contains("_hz") {
                    true => format!(" (tick_hz is {}, snapshot_hz is {})", settings.tick_hz, settings.snapshot_hz),
                    false => String::new(),
                };
                Err(ConfigProblem::new(source, format!("room type {room_type}: {error}{rates}.")))
            }
        }
    }

    /// Returns the source of the first setting of a room type that a sentence mentions, or else of the section.
    fn source_of_mentioned(&self, room_type: &str, sentence: &str) -> SettingSource {
        let section = format!("room.{}", normalized(room_type));
        let words = || sentence.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let mentioned = RoomOverrides::keys().into_iter().filter(|key| words().any(|word| word == key.name));
        let mut sources = mentioned.filter_map(|key| self.sources.get(&format!("{section}.{}", key.name)));
        sources.next().cloned().unwrap_or_else(|| self.section_source(&section))
    }

    /// Returns a problem for each section of an unknown room type.
    #[must_use]
    pub fn unknown_room_types(&self, known: &[&str]) -> Vec<ConfigProblem> {
        let unknown = self.room.keys().filter(|name| !known.iter().any(|known| normalized(known) == **name));
        unknown.map(|name| self.unknown_room_type(name, known)).collect()
    }

    /// Returns a problem for each unknown encoding of a room type.
    #[must_use]
    pub fn unknown_encodings(&self, known: &Encodings) -> Vec<ConfigProblem> {
        let listed = self.room.iter().flat_map(|(room_type, overrides)| {
            overrides.encodings.iter().flatten().map(move |encoding| (room_type, encoding))
        });
        let unknown = listed.filter(|(_, encoding)| known.named(encoding).is_none());
        let problem = |(room_type, encoding): (&String, &String)| {
            let known = known.names().collect::<Vec<_>>().join(", ");
            let sentence =
                format!("room.{room_type}.encodings: unknown encoding {encoding:?}; this server has {known}.");
            ConfigProblem::new(self.source_of_mentioned(room_type, "encodings"), sentence)
        };
        unknown.map(problem).collect()
    }

    fn unknown_room_type(&self, name: &str, known: &[&str]) -> ConfigProblem {
        let source = self.section_source(&format!("room.{name}"));
        ConfigProblem::new(source, format!("Unknown room type {name}; this server has {}.", known.join(", ")))
    }
}

impl RoomOverrides {
    /// Applies these overrides to the settings that a game declares.
    #[must_use]
    pub fn apply_to(&self, declared: RoomSettings) -> RoomSettings {
        let mut settings = declared;
        settings.tick_hz = self.tick_hz.unwrap_or(settings.tick_hz);
        settings.snapshot_hz = self.snapshot_hz.unwrap_or(settings.snapshot_hz);
        settings.entities_max = self.entities_max.unwrap_or(settings.entities_max);
        settings.players_max = self.players_max.unwrap_or(settings.players_max);
        settings.snapshot_bytes_max = self.snapshot_bytes_max.unwrap_or(settings.snapshot_bytes_max);
        settings.catch_up_max = self.catch_up_max.unwrap_or(settings.catch_up_max);
        settings.durable = self.durable.unwrap_or(settings.durable);
        settings.private = self.private.unwrap_or(settings.private);
        if let Some(encodings) = &self.encodings {
            settings.encodings.clone_from(encodings);
        }
        settings.socket_state = self.socket_state.unwrap_or(settings.socket_state);
        settings.network_players_max = self.network_players_max.unwrap_or(settings.network_players_max);
        if let Some(seconds) = self.resume_seconds {
            settings.resume_ticks = seconds.saturating_mul(settings.tick_hz);
        }
        if let Some(radius) = self.interest_radius {
            set_interest_radius(&mut settings, radius);
        }
        self.apply_to_space(&mut settings);
        settings
    }

    /// Applies the overrides of bounds, movement and interest.
    fn apply_to_space(&self, settings: &mut RoomSettings) {
        settings.bounds = self.bounds.unwrap_or(settings.bounds);
        settings.index = self.index.unwrap_or(settings.index);
        let movement = &mut settings.movement;
        movement.speed_max = self.speed_max.unwrap_or(movement.speed_max);
        movement.acceleration_max = self.acceleration_max.unwrap_or(movement.acceleration_max);
        movement.teleport_min = self.teleport_min.unwrap_or(movement.teleport_min);
        movement.burst = self.movement_burst.unwrap_or(movement.burst);
        if let Some(interest) = &mut settings.interest {
            interest.hysteresis = self.hysteresis.unwrap_or(interest.hysteresis);
            interest.nearest_max = match self.nearest_max {
                Some(0) => None,
                Some(nearest_max) => Some(nearest_max),
                None => interest.nearest_max,
            };
        }
        if let Some(rings) = &self.rings {
            settings.rings.clone_from(rings);
        }
    }
}

/// Sets the interest radius and scales the update rings with it.
fn set_interest_radius(settings: &mut RoomSettings, radius: f32) {
    let mut interest = settings.interest.unwrap_or_default();
    if settings.interest.is_some() && interest.radius > 0.0 {
        let factor = radius / interest.radius;
        settings.rings.iter_mut().for_each(|ring| ring.distance *= factor);
    }
    interest.radius = radius;
    settings.interest = Some(interest);
}
