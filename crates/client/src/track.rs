//! The last states of an entity, and what lies between them.

use crate::Interpolate;
use aether_wire::Tick;
use std::collections::VecDeque;

/// States that are kept of one entity: half a second at 60 snapshots a second.
pub const SAMPLES_MAX: usize = 32;
/// The longest interval, in ticks, at which an entity is taken to be updated regularly: as far as a packet reaches back.
const CADENCE_TICKS_MAX: u32 = 63;

/// The last states of one entity, each with its tick.
#[derive(Clone, Debug)]
pub struct EntityTrack<S> {
    samples: VecDeque<(Tick, S)>,
    /// The ticks between its last two changes: when the next is to be expected, as long as it moves.
    cadence_ticks: u32,
    left_at: Option<Tick>,
}

/// When and how a track is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackSampling {
    /// The tick, with its fraction, that is shown.
    pub tick: f64,
    /// The newest tick of which anything has arrived.
    pub newest: Tick,
    /// For how many ticks a motion is carried on.
    pub extrapolation_ticks: f64,
    /// What moves farther between two states was put there, and is not shown in between.
    pub teleport_distance: f32,
    /// Whether to look at the newest state instead, whenever it is from.
    pub newest_only: bool,
}

impl<S> Default for EntityTrack<S> {
    fn default() -> Self {
        EntityTrack { samples: VecDeque::new(), cadence_ticks: 1, left_at: None }
    }
}

impl<S: Interpolate> EntityTrack<S> {
    /// Adds a newer state. `known` is the newest tick before this one of which anything has arrived: an entity that was not
    /// in it although its turn had come has rested until then, and moves only since.
    pub fn push(&mut self, tick: Tick, state: S, known: Tick) {
        if let Some((last, resting)) = self.samples.back() {
            if tick <= *last {
                return;
            }
            let mut gap = tick.since(*last);
            if known < tick && known.since(*last) >= self.cadence_ticks {
                gap = tick.since(known);
                let resting = resting.clone();
                self.add(known, resting);
            }
            self.cadence_ticks = gap.clamp(1, CADENCE_TICKS_MAX);
        }
        self.add(tick, state);
    }

    /// The entity is gone from this tick on. What was before is still shown until then.
    pub fn leave(&mut self, tick: Tick) {
        self.left_at.get_or_insert(tick);
    }

    /// The entity is back in view, with no way between where it was and where it is.
    pub fn enter(&mut self) {
        if self.left_at.take().is_some() {
            self.clear();
        }
    }

    /// Whether nothing is left to show.
    #[must_use]
    pub fn is_over(&self, tick: f64) -> bool {
        self.left_at.is_some_and(|left| f64::from(left.0) <= tick)
    }

    /// Forgets all states.
    pub fn clear(&mut self) {
        *self = EntityTrack { samples: std::mem::take(&mut self.samples), ..EntityTrack::default() };
        self.samples.clear();
    }

    /// Drops what is older than needed to show this tick and later ones.
    pub fn prune(&mut self, tick: f64) {
        while self.samples.len() > 2 && self.samples.get(1).is_some_and(|(next, _)| f64::from(next.0) <= tick) {
            self.samples.pop_front();
        }
    }

    /// The newest state.
    #[must_use]
    pub fn newest(&self) -> Option<&S> {
        self.samples.back().map(|(_, state)| state)
    }

    /// The state to show; nothing before the first and after the entity left.
    #[must_use]
    pub fn sample(&self, sampling: &TrackSampling) -> Option<S> {
        if sampling.newest_only {
            return self.newest().filter(|_| self.left_at.is_none()).cloned();
        }
        if self.is_over(sampling.tick) {
            return None;
        }
        let next = self.samples.partition_point(|(tick, _)| f64::from(tick.0) <= sampling.tick);
        let (tick, state) = self.samples.get(next.checked_sub(1)?)?;
        let since = sampling.tick - f64::from(tick.0);
        let Some((next_tick, next_state)) = self.samples.get(next) else {
            return Some(self.carried_on(since, sampling));
        };
        if state.distance(next_state) > sampling.teleport_distance {
            return Some(state.clone());
        }
        let share = since / f64::from(next_tick.since(*tick));
        Some(state.between(next_state, share as f32))
    }

    /// The state so many ticks after the last one.
    fn carried_on(&self, since: f64, sampling: &TrackSampling) -> S {
        let (tick, state) = self.samples.back().expect("there is a state before the tick that is shown");
        let has_rested = sampling.newest.since(*tick) >= self.cadence_ticks;
        let before = self.samples.len().checked_sub(2).and_then(|before| self.samples.get(before));
        match before {
            Some((from_tick, from))
                if !has_rested && since > 0.0 && from.distance(state) <= sampling.teleport_distance =>
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
        let mut known = Tick(0);
        for &(tick, state) in samples {
            track.push(Tick(tick), state, known);
            known = Tick(tick);
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
    fn a_state_lies_between_the_two_around_it() {
        let track = track(&[(10, 0.0), (12, 4.0), (14, 4.0)]);
        assert_eq!(track.sample(&at(9.9, 14)), None, "it was not there yet");
        assert_eq!(track.sample(&at(10.0, 14)), Some(0.0));
        assert_eq!(track.sample(&at(11.5, 14)), Some(3.0));
        assert_eq!(track.sample(&at(13.0, 14)), Some(4.0));
    }

    #[test]
    fn a_motion_is_carried_on_for_a_while_and_then_holds() {
        let track = track(&[(10, 0.0), (12, 4.0)]);
        assert_eq!(track.sample(&at(13.0, 12)), Some(6.0));
        assert_eq!(track.sample(&at(18.0, 12)), Some(16.0));
        assert_eq!(track.sample(&at(1e9, 12)), Some(16.0));
    }

    #[test]
    fn what_was_not_in_the_packet_it_would_have_been_in_has_stopped() {
        let track = track(&[(10, 0.0), (12, 4.0)]);
        assert_eq!(track.sample(&at(13.0, 14)), Some(4.0));
    }

    #[test]
    fn what_rested_begins_to_move_only_when_it_did() {
        let mut track = track(&[(10, 0.0), (12, 4.0)]);
        track.push(Tick(100), 5.0, Tick(98));
        assert_eq!(track.sample(&at(97.0, 100)), Some(4.0));
        assert_eq!(track.sample(&at(99.0, 100)), Some(4.5));
    }

    #[test]
    fn what_is_updated_less_often_moves_evenly_all_the_same() {
        let mut track = track(&[(10, 0.0), (14, 4.0)]);
        // Packets of other entities came at tick 16.
        assert_eq!(track.sample(&at(15.0, 16)), Some(5.0));
        track.push(Tick(18), 8.0, Tick(16));
        assert_eq!(track.sample(&at(15.0, 18)), Some(5.0));
    }

    #[test]
    fn what_was_put_elsewhere_is_never_in_between() {
        let track = track(&[(10, 0.0), (12, 500.0)]);
        assert_eq!(track.sample(&at(11.9, 12)), Some(0.0));
        assert_eq!(track.sample(&at(12.0, 12)), Some(500.0));
        assert_eq!(track.sample(&at(15.0, 12)), Some(500.0), "nor is that carried on");
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
