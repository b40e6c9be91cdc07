//! The own entity as it will be when the server has applied all inputs.

use crate::{HISTORY_MAX, Interpolate, Predict};
use aether_wire::InputSeq;
use std::collections::VecDeque;

/// Predicts the own entity and puts it right.
#[derive(Clone, Debug)]
pub struct Prediction<P: Predict> {
    /// The state after each input that the server has not answered yet, and before them the state that it last sent.
    states: VecDeque<(InputSeq, P::State)>,
}

impl<P: Predict> Default for Prediction<P> {
    fn default() -> Self {
        Prediction { states: VecDeque::with_capacity(HISTORY_MAX + 1) }
    }
}

impl<P: Predict> Prediction<P> {
    /// The newest state, after all inputs; nothing before the server's first.
    #[must_use]
    pub fn newest(&self) -> Option<&P::State> {
        self.states.back().map(|(_, state)| state)
    }

    /// The state one input before the newest, to show what lies between. The newest itself, if there is no other.
    #[must_use]
    pub fn before(&self) -> Option<&P::State> {
        let last = self.states.len().checked_sub(1)?;
        self.states.get(last.saturating_sub(1)).map(|(_, state)| state)
    }

    /// Forgets everything: the player steers something else, or the connection is new.
    pub fn clear(&mut self) {
        self.states.clear();
    }

    /// Moves on by one input.
    pub fn step(&mut self, rules: &P, (seq, input): (InputSeq, &P::Input), seconds: f32) {
        let Some(mut state) = self.newest().cloned() else { return };
        rules.step(&mut state, input, seconds);
        rules.snap(&mut state);
        // One more than inputs are kept, for the state before them.
        if self.states.len() > HISTORY_MAX {
            self.states.pop_front();
        }
        self.states.push_back((seq, state));
    }

    /// How far what was predicted for an input is from what the server says came of it; nothing if they are the same, or if
    /// nothing was predicted.
    #[must_use]
    pub fn error(&self, rules: &P, acknowledged: InputSeq, server: &P::State) -> Option<f32> {
        let at = self.states.binary_search_by_key(&acknowledged, |(seq, _)| *seq).ok()?;
        let predicted = &self.states.get(at)?.1;
        (!rules.is_same(predicted, server)).then(|| predicted.distance(server))
    }

    /// Rolls back to the state that the server sent after an input, and applies the inputs since then again.
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
        for made in inputs {
            self.step(rules, made, seconds);
        }
    }

    /// Drops the states before an input that the server has answered, without taking its answer.
    pub fn forget(&mut self, acknowledged: InputSeq) {
        let first = self.states.partition_point(|(seq, _)| *seq < acknowledged);
        // The newest is where the next step begins.
        self.states.drain(..first.min(self.states.len().saturating_sub(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that inputs are added to.
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
        assert_eq!(prediction.newest(), None, "nothing is known yet");
        prediction.replay(&Sum, (seq(0), 10.0), [(seq(1), &5.0)].into_iter(), 1.0);
        prediction.step(&Sum, (seq(2), &1.4), 1.0);
        assert_eq!((prediction.before(), prediction.newest()), (Some(&15.0), Some(&16.0)));
        assert_eq!(prediction.error(&Sum, seq(1), &15.0), None);
        assert_eq!(prediction.error(&Sum, seq(1), &18.0), Some(3.0));
        assert_eq!(prediction.error(&Sum, seq(9), &18.0), None, "nothing was predicted for it");
    }

    #[test]
    fn what_the_server_knows_better_is_taken_and_the_rest_replayed() {
        let mut prediction = Prediction::default();
        prediction.replay(&Sum, (seq(3), 0.0), [(seq(4), &1.0), (seq(5), &2.0)].into_iter(), 1.0);
        prediction.replay(&Sum, (seq(4), 100.0), [(seq(5), &2.0)].into_iter(), 1.0);
        assert_eq!(prediction.newest(), Some(&102.0));
        prediction.forget(seq(9));
        assert_eq!(prediction.newest(), Some(&102.0), "where the next step begins is kept");
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
