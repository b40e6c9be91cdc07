//! Settings of a room.

use crate::authority::MovementRules;
use aether_replication::{SendSettings, UpdateRing};
use aether_space::{IndexKind, InterestSettings, WorldBounds};
use std::fmt;

/// Settings of a room. The defaults suit a plain spatial room.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomSettings {
    /// Ticks per second, 1 to 128. Default 40.
    pub tick_hz: u32,
    /// Snapshots per second. Must divide `tick_hz`. Default 20: half the bytes of one per tick; clients interpolate.
    pub snapshot_hz: u32,
    /// Missed ticks that are run at once to catch up. Further ones are dropped and counted. Default 8. With 0, late
    /// ticks are neither caught up nor dropped.
    pub catch_up_max: u32,
    /// Maximum number of entities. Further spawns fail and are counted. Default 300.
    pub entities_max: usize,
    /// Maximum number of players. Default 300.
    pub players_max: usize,
    /// Corners of the world. Default -1000 to 1000.
    pub bounds: WorldBounds,
    /// Limits of movement that clients propose, for games that check it with [`crate::authority::Mover`]. Its bounds are
    /// always those of the room. Default: 5 units per tick.
    pub movement: MovementRules,
    /// Spatial index that finds what a player sees. Default: a grid over the bounds.
    pub index: IndexKind,
    /// Interest radius of a player. With `None`, every player sees everything. Default a radius of 200.
    pub interest: Option<InterestSettings>,
    /// Maximum bytes of state per client and snapshot. Default 4,000.
    pub snapshot_bytes_max: usize,
    /// Update rings by distance. Default: every snapshot up to half the radius, then every second snapshot.
    pub rings: Vec<UpdateRing>,
    /// Ticks of past positions that are stored for lag compensation. Default 0: none.
    pub rewind_ticks: u16,
    /// Inputs of a player that are applied per tick, on average. Default 1.
    pub inputs_per_tick: u32,
    /// Inputs of a player that may be applied in one tick after a pause, so that jitter drops none. Default 4.
    pub inputs_burst: u32,
    /// Ticks for which a player without a connection stays in the room and may resume. Default 0: it leaves at once.
    pub resume_ticks: u32,
    /// True for a durable room: its state is stored, and it is rebuilt after a restart. Default false.
    pub durable: bool,
    /// True for private rooms: they are absent from lists, every join by type creates a new one, and others join by id or
    /// code. Default false: a room is private if the client that creates it asks for that.
    pub private: bool,
    /// Names of the message encodings that clients may use: `protobuf`, `json`, or one that the program registers. A client
    /// with another one is rejected. Default empty: every encoding.
    pub encodings: Vec<String>,
    /// Maximum number of players of one network: of an IPv4 address or an IPv6 network of 64 bits. Default 0: no limit.
    pub network_players_max: usize,
    /// True if members over the services socket get the state of the room too, as match data with op code -1. Default
    /// false: they get events and match data only.
    pub socket_state: bool,
    /// Number of clients from which several threads encode state, if the room has a thread pool. Default 64.
    pub parallel_clients_min: usize,
}

/// Invalid setting: a sentence that names the setting and its valid range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(pub &'static str);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for SettingsError {}

impl Default for RoomSettings {
    fn default() -> Self {
        RoomSettings {
            tick_hz: 40,
            snapshot_hz: 20,
            catch_up_max: 8,
            entities_max: 300,
            players_max: 300,
            bounds: WorldBounds::default(),
            movement: MovementRules::default(),
            index: IndexKind::default(),
            interest: Some(InterestSettings::default()),
            snapshot_bytes_max: 4_000,
            rings: vec![UpdateRing { distance: 100.0, interval: 1 }, UpdateRing { distance: 200.0, interval: 2 }],
            rewind_ticks: 0,
            inputs_per_tick: 1,
            inputs_burst: 4,
            resume_ticks: 0,
            durable: false,
            private: false,
            encodings: Vec::new(),
            network_players_max: 0,
            socket_state: false,
            parallel_clients_min: 64,
        }
    }
}

impl RoomSettings {
    /// Upper limit of `snapshot_bytes_max`: the capacity of the queue to the connection.
    pub const SNAPSHOT_BYTES_MAX: usize = crate::connection::STATE_PACKETS_MAX * 450;

    /// Checks all settings and returns the first problem.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let checks = [
            ((1..=128).contains(&self.tick_hz), "tick_hz must be from 1 to 128"),
            (
                self.snapshot_hz >= 1 && self.tick_hz.is_multiple_of(self.snapshot_hz.max(1)),
                "snapshot_hz must divide tick_hz",
            ),
            (self.entities_max >= 1, "entities_max must be at least 1"),
            (self.players_max >= 1, "players_max must be at least 1"),
            (self.bounds.validate().is_ok(), "bounds must be finite, each minimum below its maximum"),
            (
                self.interest.is_none_or(|interest| interest.validate().is_ok()),
                "the interest radius must be positive and the hysteresis not negative",
            ),
            (
                self.movement.speed_max > 0.0 && self.movement.speed_max.is_finite(),
                "speed_max must be finite and greater than zero",
            ),
            (
                self.movement.acceleration_max > 0.0 && self.movement.acceleration_max.is_finite(),
                "acceleration_max must be finite and greater than zero",
            ),
            (
                self.movement.teleport_min > self.movement.speed_max,
                "teleport_min must be greater than speed_max, or every fast movement is a teleport",
            ),
            (self.movement.burst >= 1, "movement_burst must be at least 1"),
            (
                (200..=Self::SNAPSHOT_BYTES_MAX).contains(&self.snapshot_bytes_max),
                "snapshot_bytes_max must be from 200 to 57600",
            ),
            (self.rings.iter().all(|ring| ring.interval >= 1), "the intervals of rings must be at least 1"),
            (
                self.rings.iter().all(|ring| ring.distance >= 0.0),
                "the distances of rings must be numbers that are not negative",
            ),
            (self.rings.is_sorted_by(|a, b| a.distance <= b.distance), "rings must be given nearest first"),
            (
                self.inputs_per_tick >= 1 && self.inputs_burst >= 1,
                "inputs_per_tick and inputs_burst must be at least 1",
            ),
        ];
        match checks.into_iter().find(|(holds, _)| !holds) {
            Some((_, sentence)) => Err(SettingsError(sentence)),
            None => Ok(()),
        }
    }

    /// Returns the settings with another tick rate, from 1 to 128. Snapshots are as frequent as before, as far as the rate
    /// allows; times in ticks keep their length.
    #[must_use]
    pub fn with_tick_hz(&self, tick_hz: u32) -> RoomSettings {
        let mut changed = self.clone();
        let is_divisor = |snapshot_hz: &u32| tick_hz.is_multiple_of(*snapshot_hz);
        let scaled = |ticks: u32| (u64::from(ticks) * u64::from(tick_hz)).div_ceil(u64::from(self.tick_hz)) as u32;
        changed.snapshot_hz = (1..=self.snapshot_hz.min(tick_hz)).rev().find(is_divisor).unwrap_or(1);
        changed.resume_ticks = scaled(self.resume_ticks);
        changed.rewind_ticks = u16::try_from(scaled(self.rewind_ticks.into())).unwrap_or(u16::MAX);
        changed.tick_hz = tick_hz;
        changed
    }

    /// Returns the length of a tick, in seconds.
    #[must_use]
    pub fn seconds_per_tick(&self) -> f32 {
        1.0 / self.tick_hz as f32
    }

    /// Maximum number of packets of a snapshot: packets may be half full, and one more may be begun.
    pub(crate) fn state_packets_max(&self) -> usize {
        self.snapshot_bytes_max / 450 + 2
    }

    pub(crate) fn ticks_per_snapshot(&self) -> u32 {
        self.tick_hz / self.snapshot_hz
    }

    pub(crate) fn send_settings(&self) -> SendSettings {
        SendSettings {
            bytes_max: self.snapshot_bytes_max,
            rings: self.rings.clone(),
            resend_ticks: (self.tick_hz / 2).max(2),
            seconds_per_tick: self.seconds_per_tick(),
        }
    }
}
