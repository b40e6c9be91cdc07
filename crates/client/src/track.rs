//! Recent states of an entity, and interpolation between them.

use crate::Interpolate;
use aether_wire::Tick;
use std::collections::VecDeque;

/// Number of states stored per entity: half a second at 60 snapshots per second.
pub const SAMPLES_MAX: usize = 32;
/// Longest interval of regular updates, in ticks: the range of a baseline.
const CADENCE_TICKS_MAX: u32 = 63;

/// Recent states of one entity, each with its tick.
#[derive(Clone, Debug)]
pub struct EntityTrack<S> {
    samples: VecDeque<(Tick, S)>,
    /// Ticks between the last two changes. While the entity moves, the next change is expected after as many.
    cadence_ticks: u32,
    left_at: Option<Tick>,
}

/// Parameters for sampling a track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackSampling {
    /// Displayed tick with its fraction.
    pub tick: f64,
    /// Newest tick of which anything has arrived.
    pub newest: Tick,
    /// Number of ticks for which motion is extrapolated.
    pub extrapolation_ticks: f64,
    /// Distance between two states beyond which the entity teleports.
    pub teleport_distance: f32,
    /// Returns the newest state instead of interpolating.
    pub newest_only: bool,
}

impl<S> Default for EntityTrack<S> {
    fn default() -> Self {
        EntityTrack { samples: VecDeque::new(), cadence_ticks: 1, left_at: None }
    }
}

impl<S: Interpolate> EntityTrack<S> {
    /// Adds a newer state. `previous_tick` is the newest tick before this one of which anything has arrived. If an
    /// update of the entity was due by then but absent, the entity rested until that tick.
    pub fn push(&mut self, tick: Tick, state: S, previous_tick: Tick) {
        if let Some((last, resting)) = self.samples.back() {
            if tick <= *last {
                return;
            }
            let mut gap = tick.since(*last);
            if previous_tick < tick && previous_tick.since(*last) >= self.cadence_ticks {
                gap = tick.since(previous_tick);
                let resting = resting.clone();
                self.add(previous_tick, resting);
            }
            self.cadence_ticks = gap.clamp(1, CADENCE_TICKS_MAX);
        }
        self.add(tick, state);
    }

    /// Marks the entity as gone from this tick on. Earlier ticks are still displayed.
    pub fn leave(&mut self, tick: Tick) {
        self.left_at.get_or_insert(tick);
    }

    /// Marks the entity as visible again. States from before it left are dropped, so that it does not glide.
    pub fn enter(&mut self) {
        if self.left_at.take().is_some() {
            self.clear();
        }
    }

    /// Returns true if the entity has left by this tick.
    #[must_use]
    pub fn has_ended(&self, tick: f64) -> bool {
        self.left_at.is_some_and(|left| f64::from(left.0) <= tick)
    }

    /// Drops all states.
    pub fn clear(&mut self) {
        *self = EntityTrack { samples: std::mem::take(&mut self.samples), ..EntityTrack::default() };
        self.samples.clear();
    }

    /// Drops states that are older than needed to display this tick.
    pub fn prune(&mut self, tick: f64) {
        while self.samples.len() > 2 && self.samples.get(1).is_some_and(|(next, _)| f64::from(next.0) <= tick) {
            self.samples.pop_front();
        }
    }

    /// Newest state.
    #[must_use]
    pub fn newest(&self) -> Option<&S> {
        self.samples.back().map(|(_, state)| state)
    }

    /// Samples the track. `None` before the first state and after the entity left.
    #[must_use]
    pub fn sample(&self, sampling: &TrackSampling) -> Option<S> {
        if sampling.newest_only {
            return self.newest().filter(|_| self.left_at.is_none()).cloned();
        }
        if self.has_ended(sampling.tick) {
            return None;
        }
        let next = self.samples.partition_point(|(tick, _)| f64::from(tick.0) <= sampling.tick);
        let (tick, state) = self.samples.get(next.checked_sub(1)?)?;
        let since = sampling.tick - f64::from(tick.0);
        let Some((next_tick, next_state)) = self.samples.get(next) else {
            return Some(self.extrapolate(since, sampling));
        };
        if state.distance(next_state) > sampling.teleport_distance {
            return Some(state.clone());
        }
        let fraction = since / f64::from(next_tick.since(*tick));
        Some(state.between(next_state, fraction as f32))
    }

    /// Extrapolates the state `since` ticks after the last one.
    fn extrapolate(&self, since: f64, sampling: &TrackSampling) -> S {
        let (tick, state) = self.samples.back().expect("sample finds a state before the displayed tick");
        let has_stopped = sampling.newest.since(*tick) >= self.cadence_ticks;
        let before = self.samples.len().checked_sub(2).and_then(|before| self.samples.get(before));
        match before {
            Some((from_tick, from))
                if !has_stopped && since > 0.0 && from.distance(state) <= sampling.teleport_distance =>
            {
                let ticks = since.min(sampling.extrapolation_ticks);
                state.moved(from, state, (ticks / f64::from(tick.since(*from_tick).max(1))) as f32)
            }
            _ => state.clone(),
        }
    }

    fn add(&mut self, tick: Tick, state: S) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back((tick, state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(samples: &[(u32, f32)]) -> EntityTrack<f32> {
        let mut track = EntityTrack::default();
        let mut previous_tick = Tick(0);
        for &(tick, state) in samples {
            track.push(Tick(tick), state, previous_tick);
            previous_tick = Tick(tick);
        }
        track
    }

    fn at(tick: f64, newest: u32) -> TrackSampling {
        TrackSampling {
            tick,
            newest: Tick(newest),
            extrapolation_ticks: 6.0,
            teleport_distance: 64.0,
            newest_only: false,
        }
    }

    #[test]
    fn a_sample_lies_between_the_two_states_around_it() {
        let track = track(&[(10, 0.0), (12, 4.0), (14, 4.0)]);
        assert_eq!(track.sample(&at(9.9, 14)), None, "before the first state");
        assert_eq!(track.sample(&at(10.0, 14)), Some(0.0));
        assert_eq!(track.sample(&at(11.5, 14)), Some(3.0));
        assert_eq!(track.sample(&at(13.0, 14)), Some(4.0));
    }

    #[test]
    fn motion_is_extrapolated_for_a_while_and_then_stops() {
        let track = track(&[(10, 0.0), (12, 4.0)]);
        assert_eq!(track.sample(&at(13.0, 12)), Some(6.0));
        assert_eq!(track.sample(&at(18.0, 12)), Some(16.0));
        assert_eq!(track.sample(&at(1e9, 12)), Some(16.0));
    }

    #[test]
    fn an_entity_that_misses_its_update_has_stopped() {
        let track = track(&[(10, 0.0), (12, 4.0)]);
        assert_eq!(track.sample(&at(13.0, 14)), Some(4.0));
    }

    #[test]
    fn a_resting_entity_starts_to_move_at_the_right_tick() {
        let mut track = track(&[(10, 0.0), (12, 4.0)]);
        track.push(Tick(100), 5.0, Tick(98));
        assert_eq!(track.sample(&at(97.0, 100)), Some(4.0));
        assert_eq!(track.sample(&at(99.0, 100)), Some(4.5));
    }

    #[test]
    fn an_entity_with_fewer_updates_moves_evenly() {
        let mut track = track(&[(10, 0.0), (14, 4.0)]);
        // Packets of other entities arrived at tick 16.
        assert_eq!(track.sample(&at(15.0, 16)), Some(5.0));
        track.push(Tick(18), 8.0, Tick(16));
        assert_eq!(track.sample(&at(15.0, 18)), Some(5.0));
    }

    #[test]
    fn a_teleport_is_not_interpolated() {
        let track = track(&[(10, 0.0), (12, 500.0)]);
        assert_eq!(track.sample(&at(11.9, 12)), Some(0.0));
        assert_eq!(track.sample(&at(12.0, 12)), Some(500.0));
        assert_eq!(track.sample(&at(15.0, 12)), Some(500.0), "a teleport is not extrapolated");
    }

    #[test]
    fn an_entity_is_shown_until_the_tick_at_which_it_left() {
        let mut track = track(&[(10, 0.0), (12, 4.0)]);
        track.leave(Tick(14));
        assert!(track.sample(&at(13.0, 14)).is_some());
        assert_eq!(track.sample(&at(14.0, 14)), None);
        track.enter();
        assert_eq!(track.sample(&at(13.0, 14)), None);
    }

    #[test]
    fn states_are_bounded_and_old_ones_are_not_needed() {
        let mut track = EntityTrack::default();
        for tick in 1..=1_000 {
            track.push(Tick(tick), tick as f32, Tick(tick - 1));
        }
        track.push(Tick(500), 0.0, Tick(0));
        track.push(Tick(u32::MAX), 1.0, Tick(u32::MAX));
        assert_eq!(track.samples.len(), SAMPLES_MAX);
        track.prune(995.5);
        assert_eq!(track.sample(&at(995.5, 1_000)), Some(995.5));
        assert!(track.samples.len() < 10);
    }
}
