//! History of inputs that the server has not acknowledged.

use aether_wire::limits::INPUTS_PER_MESSAGE_MAX;
use aether_wire::{InputBytes, InputPayload, InputPayloads, InputSeq};
use std::collections::VecDeque;

/// Largest number of stored inputs: some seconds of them. A server that is silent for longer has lost the oldest
/// anyway.
pub const HISTORY_MAX: usize = 256;

/// Inputs of one connection, by number.
#[derive(Clone, Debug)]
pub struct InputHistory<I> {
    entries: VecDeque<HistoryEntry<I>>,
    last: InputSeq,
}

#[derive(Clone, Debug)]
struct HistoryEntry<I> {
    seq: InputSeq,
    input: I,
    bytes: InputBytes,
}

impl<I> Default for InputHistory<I> {
    fn default() -> Self {
        InputHistory { entries: VecDeque::with_capacity(HISTORY_MAX), last: InputSeq(0) }
    }
}

impl<I> InputHistory<I> {
    /// Adds an input and returns its number. The oldest is dropped when the history is full.
    pub fn push(&mut self, input: I, bytes: InputBytes) -> InputSeq {
        if self.entries.len() == HISTORY_MAX {
            self.entries.pop_front();
        }
        self.last = InputSeq(self.last.0.saturating_add(1));
        self.entries.push_back(HistoryEntry { seq: self.last, input, bytes });
        self.last
    }

    /// Takes the next number for a movement, which shares the numbers of inputs.
    pub fn take_number(&mut self) -> InputSeq {
        self.last = InputSeq(self.last.0.saturating_add(1));
        self.last
    }

    /// Number of the newest input or movement. 0 if there is none.
    #[must_use]
    pub fn last(&self) -> InputSeq {
        self.last
    }

    /// Number of stored inputs after `seq`.
    #[must_use]
    pub fn len_after(&self, seq: InputSeq) -> usize {
        self.entries.len() - self.entries.partition_point(|entry| entry.seq <= seq)
    }

    /// Inputs after `seq`, oldest first.
    pub fn inputs_after(&self, seq: InputSeq) -> impl Iterator<Item = (InputSeq, &I)> {
        let first = self.entries.partition_point(|entry| entry.seq <= seq);
        self.entries.range(first..).map(|entry| (entry.seq, &entry.input))
    }

    /// Drops the inputs up to and including `seq`.
    pub fn discard_through(&mut self, seq: InputSeq) {
        let first = self.entries.partition_point(|entry| entry.seq <= seq);
        self.entries.drain(..first);
    }

    /// Payloads of one message, with the number of the first: the `fresh` newest inputs, preceded by as many
    /// unacknowledged ones as fit. Numbers in a message are consecutive, so inputs before a movement are left out.
    #[must_use]
    pub fn payloads_to_send(&self, acknowledged: InputSeq, fresh: usize) -> Option<(InputSeq, InputPayloads)> {
        let count = self.len_after(acknowledged).max(fresh).min(INPUTS_PER_MESSAGE_MAX).min(self.entries.len());
        let newest = self.entries.back()?.seq.0;
        let is_next = |(age, entry): &(u32, &HistoryEntry<I>)| entry.seq.0 == newest - age;
        let count = (0..).zip(self.entries.iter().rev().take(count)).take_while(is_next).count();
        let run = self.entries.range(self.entries.len() - count..);
        let first = run.clone().next()?.seq;
        Some((first, run.map(|entry| InputPayload::Packed(entry.bytes)).collect()))
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

    #[test]
    fn a_message_has_no_gap_where_a_movement_took_a_number() {
        let mut history = history(3);
        assert_eq!(history.take_number(), InputSeq(4));
        history.push(5, InputBytes::new(&[5]).expect("one byte fits"));
        history.push(6, InputBytes::new(&[6]).expect("one byte fits"));
        let (first, payloads) = history.payloads_to_send(InputSeq(0), 2).expect("there are inputs");
        assert_eq!((first, payloads.len()), (InputSeq(5), 2));
        assert_eq!(history.len_after(InputSeq(0)), 5, "the prediction still replays all of them");
    }

    fn run(history: &InputHistory<u8>, acknowledged: u32, fresh: usize) -> Vec<u8> {
        let (first, payloads) = history.payloads_to_send(InputSeq(acknowledged), fresh).expect("there are inputs");
        let bytes: Vec<u8> = payloads
            .iter()
            .map(|payload| match payload {
                InputPayload::Packed(bytes) => bytes.as_slice()[0],
                InputPayload::Fields(_) => unreachable!("inputs are packed"),
            })
            .collect();
        assert_eq!(u32::from(bytes[0]), first.0, "wrong number of the first input");
        bytes
    }

    #[test]
    fn a_message_repeats_unacknowledged_inputs_as_far_as_they_fit() {
        let history = history(40);
        assert_eq!(run(&history, 39, 1), [40]);
        assert_eq!(run(&history, 36, 1), [37, 38, 39, 40]);
        assert_eq!(run(&history, 0, 1), (29..=40).collect::<Vec<u8>>());
        assert_eq!(run(&history, 4_000_000_000, 2), [39, 40], "new inputs are always sent");
    }

    #[test]
    fn discarded_inputs_are_gone_and_the_rest_stays_in_order() {
        let mut history = history(10);
        history.discard_through(InputSeq(7));
        assert_eq!(history.inputs_after(InputSeq(0)).map(|(seq, _)| seq.0).collect::<Vec<_>>(), [8, 9, 10]);
        assert_eq!(history.inputs_after(InputSeq(9)).map(|(_, input)| *input).collect::<Vec<_>>(), [10]);
        history.discard_through(InputSeq(u32::MAX));
        assert!(history.payloads_to_send(InputSeq(0), 1).is_none());
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
