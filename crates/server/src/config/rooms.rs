//! Overrides by room type.

use super::declare::section;
use super::{Config, ConfigProblem, normalized};
use aether_engine::RoomSettings;

section! {
    /// What the configuration changes of a room type. What is not set stays as the game declares it.
    pub struct RoomOverrides {
        /// Simulation steps a second. More is finer and costs the game's own time, each step.
        tick_hz: Option<u32> = None, within 1..=128;
        /// Snapshots a second to each client; it divides `tick_hz`. Bytes grow with it.
        snapshot_hz: Option<u32> = None, within 1..=128;
        /// The most entities; a spawn beyond is refused and counted.
        entities_max: Option<usize> = None, within 1..=1_000_000;
        /// The most players; a join beyond is refused.
        players_max: Option<usize> = None, within 1..=100_000;
        /// How far a player sees. Bytes and time grow with its square. The rings of the room type grow along.
        interest_radius: Option<f32> = None, within 1..=1_000_000;
        /// The most bytes of state per client and snapshot. What does not fit waits.
        snapshot_bytes_max: Option<usize> = None, within 200..=57600;
        /// How many missed steps are made up for at once; with 0 a late room is simply late.
        catch_up_max: Option<u32> = None, within 0..=1000;
        /// How long a player who lost the connection keeps place and entity; with 0 leaving is at once.
        resume_seconds: Option<u32> = None, within 0..=3600;
        /// Whether rooms outlast the server: they are stored about every second and rebuilt when someone comes back. The
        /// game has to keep checkpoints. It costs a write of the room's state each time it has changed.
        durable: Option<bool> = None;
        /// How long a relay room collects messages before it sends them on. Less is sooner and costs more system calls.
        flush_ms: Option<u32> = None, within 1..=1000;
    }
}

impl Config {
    /// The overrides of a room type.
    #[must_use]
    pub fn room(&self, room_type: &str) -> RoomOverrides {
        self.room.get(&normalized(room_type)).cloned().unwrap_or_default()
    }

    /// Changes the overrides of a room type.
    pub fn room_mut(&mut self, room_type: &str) -> &mut RoomOverrides {
        self.room.entry(normalized(room_type)).or_default()
    }

    /// The settings of a room type: those its game declares, with the overrides; or what is wrong with them together.
    pub fn room_settings(&self, room_type: &str, declared: RoomSettings) -> Result<RoomSettings, ConfigProblem> {
        let settings = self.room(room_type).over(declared);
        match settings.validate() {
            Ok(()) => Ok(settings),
            Err(error) => {
                let place = self.section_place(&format!("room.{}", normalized(room_type)));
                let rates = format!("tick_hz is {}, snapshot_hz is {}", settings.tick_hz, settings.snapshot_hz);
                Err(ConfigProblem::new(place, format!("room type {room_type}: {error} ({rates}).")))
            }
        }
    }

    /// A problem for each section of a room type that the server does not have.
    #[must_use]
    pub fn unknown_room_types(&self, known: &[&str]) -> Vec<ConfigProblem> {
        let unknown = self.room.keys().filter(|name| !known.iter().any(|known| normalized(known) == **name));
        unknown.map(|name| self.unknown_room_type(name, known)).collect()
    }

    fn unknown_room_type(&self, name: &str, known: &[&str]) -> ConfigProblem {
        let place = self.section_place(&format!("room.{name}"));
        ConfigProblem::new(place, format!("There is no room type {name}; there is {}.", known.join(", ")))
    }
}

impl RoomOverrides {
    /// These overrides over what a game declares.
    #[must_use]
    pub fn over(&self, declared: RoomSettings) -> RoomSettings {
        let mut settings = declared;
        settings.tick_hz = self.tick_hz.unwrap_or(settings.tick_hz);
        settings.snapshot_hz = self.snapshot_hz.unwrap_or(settings.snapshot_hz);
        settings.entities_max = self.entities_max.unwrap_or(settings.entities_max);
        settings.players_max = self.players_max.unwrap_or(settings.players_max);
        settings.snapshot_bytes_max = self.snapshot_bytes_max.unwrap_or(settings.snapshot_bytes_max);
        settings.catch_up_max = self.catch_up_max.unwrap_or(settings.catch_up_max);
        settings.durable = self.durable.unwrap_or(settings.durable);
        if let Some(seconds) = self.resume_seconds {
            settings.resume_ticks = seconds.saturating_mul(settings.tick_hz);
        }
        if let Some(radius) = self.interest_radius {
            widen(&mut settings, radius);
        }
        settings
    }
}

fn widen(settings: &mut RoomSettings, radius: f32) {
    let mut interest = settings.interest.unwrap_or_default();
    if settings.interest.is_some() && interest.radius > 0.0 {
        let factor = radius / interest.radius;
        settings.rings.iter_mut().for_each(|ring| ring.distance *= factor);
    }
    interest.radius = radius;
    settings.interest = Some(interest);
}
