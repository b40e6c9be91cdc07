//! Prediction of the own entity's state after all inputs.

use crate::{HISTORY_MAX, Interpolate, Predict};
use aether_wire::InputSeq;
use std::collections::VecDeque;

/// Predicts the own entity and corrects it by the server's states.
#[derive(Clone, Debug)]
pub struct Prediction<P: Predict> {
    /// Last state from the server, then the predicted state after each unacknowledged input.
    states: VecDeque<(InputSeq, P::State)>,
}

impl<P: Predict> Default for Prediction<P> {
    fn default() -> Self {
        Prediction { states: VecDeque::with_capacity(HISTORY_MAX + 1) }
    }
}

impl<P: Predict> Prediction<P> {
    /// Newest state, after all inputs. `None` before the first state from the server.
    #[must_use]
    pub fn newest(&self) -> Option<&P::State> {
        self.states.back().map(|(_, state)| state)
    }

    /// State one input before the newest, for interpolation. The newest itself if there is no other.
    #[must_use]
    pub fn previous(&self) -> Option<&P::State> {
        let last = self.states.len().checked_sub(1)?;
        self.states.get(last.saturating_sub(1)).map(|(_, state)| state)
    }

    /// Drops all states: the possession changed, or the connection is new.
    pub fn clear(&mut self) {
        self.states.clear();
    }

    /// Predicts the effect of one input.
    pub fn step(&mut self, rules: &P, (seq, input): (InputSeq, &P::Input), seconds: f32) {
        let Some(mut state) = self.newest().cloned() else { return };
        rules.step(&mut state, input, seconds);
        rules.snap(&mut state);
        // One state more than inputs: the state before them.
        if self.states.len() > HISTORY_MAX {
            self.states.pop_front();
        }
        self.states.push_back((seq, state));
    }

    /// Distance between the predicted and the server's state after an input. `None` if they are equal or nothing was
    /// predicted.
    #[must_use]
    pub fn error(&self, rules: &P, acknowledged: InputSeq, server: &P::State) -> Option<f32> {
        let at = self.states.binary_search_by_key(&acknowledged, |(seq, _)| *seq).ok()?;
        let predicted = &self.states.get(at)?.1;
        (!rules.is_same(predicted, server)).then(|| predicted.distance(server))
    }

    /// Replaces the state after an input by the server's, and replays the later inputs.
    pub fn replay<'a>(
        &mut self,
        rules: &P,
        (acknowledged, server): (InputSeq, P::State),
        inputs: impl Iterator<Item = (InputSeq, &'a P::Input)>,
        seconds: f32,
    ) where
        P::Input: 'a,
    {
        self.states.clear();
        self.states.push_back((acknowledged, server));
        for input in inputs {
            self.step(rules, input, seconds);
        }
    }

    /// Drops the states before an acknowledged input without using the server's state.
    pub fn discard_before(&mut self, acknowledged: InputSeq) {
        let first = self.states.partition_point(|(seq, _)| *seq < acknowledged);
        // The next step starts from the newest state.
        self.states.drain(..first.min(self.states.len().saturating_sub(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number that inputs are added to.
    struct Sum;

    impl Predict for Sum {
        type State = f32;
        type Input = f32;

        fn step(&self, state: &mut f32, input: &f32, seconds: f32) {
            *state += input * seconds;
        }

        fn snap(&self, state: &mut f32) {
            *state = state.round();
        }

        fn is_same(&self, a: &f32, b: &f32) -> bool {
            a == b
        }
    }

    fn seq(number: u32) -> InputSeq {
        InputSeq(number)
    }

    #[test]
    fn it_runs_ahead_and_agrees_with_a_server_that_does_the_same() {
        let mut prediction = Prediction::default();
        prediction.step(&Sum, (seq(1), &5.0), 1.0);
        assert_eq!(prediction.newest(), None, "no state from the server yet");
        prediction.replay(&Sum, (seq(0), 10.0), [(seq(1), &5.0)].into_iter(), 1.0);
        prediction.step(&Sum, (seq(2), &1.4), 1.0);
        assert_eq!((prediction.previous(), prediction.newest()), (Some(&15.0), Some(&16.0)));
        assert_eq!(prediction.error(&Sum, seq(1), &15.0), None);
        assert_eq!(prediction.error(&Sum, seq(1), &18.0), Some(3.0));
        assert_eq!(prediction.error(&Sum, seq(9), &18.0), None, "no prediction for this input");
    }

    #[test]
    fn the_servers_state_is_taken_and_later_inputs_are_replayed() {
        let mut prediction = Prediction::default();
        prediction.replay(&Sum, (seq(3), 0.0), [(seq(4), &1.0), (seq(5), &2.0)].into_iter(), 1.0);
        prediction.replay(&Sum, (seq(4), 100.0), [(seq(5), &2.0)].into_iter(), 1.0);
        assert_eq!(prediction.newest(), Some(&102.0));
        prediction.discard_before(seq(9));
        assert_eq!(prediction.newest(), Some(&102.0), "the newest state stays");
    }

    #[test]
    fn states_are_bounded() {
        let mut prediction = Prediction::default();
        prediction.replay(&Sum, (seq(0), 0.0), std::iter::empty(), 1.0);
        for number in 1..=1_000 {
            prediction.step(&Sum, (seq(number), &1.0), 1.0);
        }
        assert_eq!(prediction.states.len(), HISTORY_MAX + 1);
        assert_eq!(prediction.newest(), Some(&1_000.0));
    }
}
