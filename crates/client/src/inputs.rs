//! What the player did, kept until the server has it.

use aether_wire::limits::INPUTS_PER_MESSAGE_MAX;
use aether_wire::{InputBytes, InputPayload, InputPayloads, InputSeq};
use std::collections::VecDeque;

/// Inputs that are kept at most: some seconds of them. A server that is silent for longer has lost the oldest anyway.
pub const HISTORY_MAX: usize = 256;

/// The inputs of one connection, by number.
#[derive(Clone, Debug)]
pub struct InputHistory<I> {
    kept: VecDeque<Made<I>>,
    last: InputSeq,
}

#[derive(Clone, Debug)]
struct Made<I> {
    seq: InputSeq,
    input: I,
    bytes: InputBytes,
}

impl<I> Default for InputHistory<I> {
    fn default() -> Self {
        InputHistory { kept: VecDeque::with_capacity(HISTORY_MAX), last: InputSeq(0) }
    }
}

impl<I> InputHistory<I> {
    /// Adds an input and numbers it. The oldest gives way when too many are kept.
    pub fn push(&mut self, input: I, bytes: InputBytes) -> InputSeq {
        if self.kept.len() == HISTORY_MAX {
            self.kept.pop_front();
        }
        self.last = InputSeq(self.last.0.saturating_add(1));
        self.kept.push_back(Made { seq: self.last, input, bytes });
        self.last
    }

    /// The number of the newest input; 0 if there is none yet.
    #[must_use]
    pub fn last(&self) -> InputSeq {
        self.last
    }

    /// How many inputs are kept that are newer than this one.
    #[must_use]
    pub fn len_after(&self, seq: InputSeq) -> usize {
        self.kept.len() - self.kept.partition_point(|made| made.seq <= seq)
    }

    /// The inputs that are newer than this one, oldest first.
    pub fn after(&self, seq: InputSeq) -> impl Iterator<Item = (InputSeq, &I)> {
        let first = self.kept.partition_point(|made| made.seq <= seq);
        self.kept.range(first..).map(|made| (made.seq, &made.input))
    }

    /// Drops the inputs up to this one.
    pub fn forget(&mut self, seq: InputSeq) {
        let first = self.kept.partition_point(|made| made.seq <= seq);
        self.kept.drain(..first);
    }

    /// What a message carries: the `fresh` newest inputs, and before them as many as the message has place for of those
    /// that the server has not acknowledged. With the number of the first.
    #[must_use]
    pub fn run(&self, acknowledged: InputSeq, fresh: usize) -> Option<(InputSeq, InputPayloads)> {
        let count = self.len_after(acknowledged).max(fresh).min(INPUTS_PER_MESSAGE_MAX).min(self.kept.len());
        let run = self.kept.range(self.kept.len() - count..);
        let first = run.clone().next()?.seq;
        Some((first, run.map(|made| InputPayload::Packed(made.bytes)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(inputs: u8) -> InputHistory<u8> {
        let mut history = InputHistory::default();
        for input in 1..=inputs {
            history.push(input, InputBytes::new(&[input]).expect("one byte fits"));
        }
        history
    }

    fn run(history: &InputHistory<u8>, acknowledged: u32, fresh: usize) -> Vec<u8> {
        let (first, payloads) = history.run(InputSeq(acknowledged), fresh).expect("there are inputs");
        let bytes: Vec<u8> = payloads
            .iter()
            .map(|payload| match payload {
                InputPayload::Packed(bytes) => bytes.as_slice()[0],
                InputPayload::Fields(_) => unreachable!("inputs are packed"),
            })
            .collect();
        assert_eq!(u32::from(bytes[0]), first.0, "the first has the number that is said");
        bytes
    }

    #[test]
    fn a_message_repeats_what_is_not_acknowledged_up_to_what_it_holds() {
        let history = history(40);
        assert_eq!(run(&history, 39, 1), [40]);
        assert_eq!(run(&history, 36, 1), [37, 38, 39, 40]);
        assert_eq!(run(&history, 0, 1), (29..=40).collect::<Vec<u8>>());
        assert_eq!(run(&history, 4_000_000_000, 2), [39, 40], "what is new is sent whatever the server claims");
    }

    #[test]
    fn what_is_forgotten_is_gone_and_the_rest_comes_in_order() {
        let mut history = history(10);
        history.forget(InputSeq(7));
        assert_eq!(history.after(InputSeq(0)).map(|(seq, _)| seq.0).collect::<Vec<_>>(), [8, 9, 10]);
        assert_eq!(history.after(InputSeq(9)).map(|(_, input)| *input).collect::<Vec<_>>(), [10]);
        history.forget(InputSeq(u32::MAX));
        assert!(history.run(InputSeq(0), 1).is_none());
        assert_eq!(history.push(1, InputBytes::default()), InputSeq(11));
    }

    #[test]
    fn a_server_that_never_acknowledges_costs_bounded_memory() {
        let mut history = InputHistory::default();
        for _ in 0..10 * HISTORY_MAX {
            history.push(0_u8, InputBytes::default());
        }
        assert_eq!(history.len_after(InputSeq(0)), HISTORY_MAX);
        assert_eq!(history.last(), InputSeq(10 * HISTORY_MAX as u32));
    }
}
