//! Deadlines of the connections of a socket.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// A moment in whole milliseconds, the granularity of the runtime's timer.
pub(super) type Milliseconds = u64;

/// Entry of a connection that is not in the queue.
pub(super) const NEVER: Milliseconds = Milliseconds::MAX;

/// Deadlines, earliest first.
///
/// A connection's deadline moves with every packet, mostly to a later moment. So an entry stays where it is, and the
/// connection is asked again when it is due; only an earlier deadline adds an entry. The connection keeps the moment of
/// its newest entry, and older ones are skipped.
#[derive(Debug, Default)]
pub(super) struct TimerQueue {
    entries: BinaryHeap<Reverse<(Milliseconds, u64)>>,
}

impl TimerQueue {
    /// Schedules a connection. `entry` is the moment of its newest entry.
    pub fn schedule(&mut self, id: u64, entry: &mut Milliseconds, deadline: Duration) {
        let at = round_up(deadline);
        if at < *entry {
            *entry = at;
            self.entries.push(Reverse((at, id)));
        }
    }

    /// Moment of the next entry.
    pub fn next(&self) -> Option<Milliseconds> {
        self.entries.peek().map(|Reverse((at, _))| *at)
    }

    /// Removes an entry that is due, and returns it.
    pub fn pop_due(&mut self, now: Duration) -> Option<(Milliseconds, u64)> {
        let is_due = self.next().is_some_and(|at| Duration::from_millis(at) <= now);
        if is_due { self.entries.pop().map(|Reverse(entry)| entry) } else { None }
    }
}

/// Rounds up, so that a deadline has passed when its timer fires.
fn round_up(deadline: Duration) -> Milliseconds {
    let whole = u64::try_from(deadline.as_millis()).unwrap_or(NEVER - 1);
    whole + u64::from(!deadline.subsec_nanos().is_multiple_of(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_due_in_order_and_not_before_their_deadline() {
        let mut timers = TimerQueue::default();
        let (mut first, mut second) = (NEVER, NEVER);
        timers.schedule(1, &mut first, Duration::from_micros(2_500));
        timers.schedule(2, &mut second, Duration::from_millis(1));
        assert_eq!((first, second, timers.next()), (3, 1, Some(1)));
        assert_eq!(timers.pop_due(Duration::from_micros(999)), None);
        assert_eq!(timers.pop_due(Duration::from_millis(3)), Some((1, 2)));
        assert_eq!(timers.pop_due(Duration::from_millis(3)), Some((3, 1)));
        assert_eq!(timers.pop_due(Duration::from_secs(1)), None);
    }

    #[test]
    fn a_later_deadline_adds_no_entry() {
        let mut timers = TimerQueue::default();
        let mut entry = NEVER;
        timers.schedule(1, &mut entry, Duration::from_millis(10));
        timers.schedule(1, &mut entry, Duration::from_millis(20));
        assert_eq!((entry, timers.entries.len()), (10, 1));
        timers.schedule(1, &mut entry, Duration::from_millis(5));
        assert_eq!((entry, timers.entries.len()), (5, 2));
    }
}
