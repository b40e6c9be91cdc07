//! Timers of many clients.

use std::time::Duration;

/// Slots of the wheel. With slots of a millisecond it spans about a second; later timers go around.
const SLOTS: usize = 1_024;

const WORDS: usize = SLOTS / 64;

/// No entry.
const NONE: u32 = u32::MAX;

/// A ring of slots of one millisecond, each with a list of clients.
///
/// Setting a timer and finding the next one take the same time for any number of clients. A client without a timer that
/// is due costs nothing.
#[derive(Debug)]
pub(crate) struct TimerWheel {
    /// First client of each slot.
    heads: Vec<u32>,
    /// A bit for each slot that has a client.
    occupied: [u64; WORDS],
    entries: Vec<Entry>,
    /// First millisecond that was not handled yet.
    next_tick: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    previous: u32,
    next: u32,
    /// Millisecond of the timer, or none.
    tick: Option<u64>,
}

impl TimerWheel {
    pub fn new() -> TimerWheel {
        TimerWheel { heads: vec![NONE; SLOTS], occupied: [0; WORDS], entries: Vec::new(), next_tick: 0 }
    }

    /// Makes sure that the timer of a client is due at `at` or before. A timer that is due too early is kept: the client
    /// sets it again when it is due, so that every packet that moves a timer back costs nothing.
    pub fn set_at_latest(&mut self, client: u32, at: Duration) {
        let index = client as usize;
        if index >= self.entries.len() {
            self.entries.resize(index + 1, Entry { previous: NONE, next: NONE, tick: None });
        }
        // Rounded up: a timer that fires before its time would fire again at once.
        let wanted = u64::try_from(at.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
        let tick = wanted.clamp(self.next_tick, self.next_tick + SLOTS as u64 - 1);
        if self.entries[index].tick.is_some_and(|set| set <= tick) {
            return;
        }
        self.remove(client);
        let slot = slot_of(tick);
        let head = self.heads[slot];
        if let Some(head) = self.entries.get_mut(head as usize) {
            head.previous = client;
        }
        self.entries[index] = Entry { previous: NONE, next: head, tick: Some(tick) };
        self.heads[slot] = client;
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Removes the timer of a client.
    pub fn remove(&mut self, client: u32) {
        let Some(&Entry { previous, next, tick: Some(tick) }) = self.entries.get(client as usize) else { return };
        let slot = slot_of(tick);
        if let Some(next) = self.entries.get_mut(next as usize) {
            next.previous = previous;
        }
        match self.entries.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => self.heads[slot] = next,
        }
        if self.heads[slot] == NONE {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        self.entries[client as usize].tick = None;
    }

    /// Time at which the next timer is due.
    pub fn next(&self) -> Option<Duration> {
        self.next_occupied().map(Duration::from_millis)
    }

    /// Removes the timers that are due and appends their clients to `due`.
    pub fn take_due(&mut self, now: Duration, due: &mut Vec<u32>) {
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        while let Some(tick) = self.next_occupied().filter(|tick| *tick <= now) {
            let client = self.heads[slot_of(tick)];
            self.remove(client);
            due.push(client);
        }
        self.next_tick = self.next_tick.max(now.saturating_add(1));
    }

    /// First tick with a client, from `next_tick` on. All timers lie within one turn from there.
    fn next_occupied(&self) -> Option<u64> {
        let start = slot_of(self.next_tick);
        // The first word is visited twice: its upper bits first, its lower bits last.
        for step in 0..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let mask = match step {
                0 => u64::MAX << (start % 64),
                WORDS => !(u64::MAX << (start % 64)),
                _ => u64::MAX,
            };
            let bits = self.occupied[word] & mask;
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.next_tick + ((slot + SLOTS - start) % SLOTS) as u64);
            }
        }
        None
    }
}

fn slot_of(tick: u64) -> usize {
    (tick % SLOTS as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn milliseconds(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    fn due(wheel: &mut TimerWheel, now: u64) -> Vec<u32> {
        let mut clients = Vec::new();
        wheel.take_due(milliseconds(now), &mut clients);
        clients.sort_unstable();
        clients
    }

    #[test]
    fn timers_are_due_at_their_time_and_once() {
        let mut wheel = TimerWheel::new();
        assert_eq!(wheel.next(), None);
        wheel.set_at_latest(3, milliseconds(10));
        wheel.set_at_latest(7, Duration::from_micros(9_100));
        wheel.set_at_latest(0, milliseconds(500));
        assert_eq!(wheel.next(), Some(milliseconds(10)));
        assert_eq!(due(&mut wheel, 9), []);
        assert_eq!(due(&mut wheel, 10), [3, 7]);
        assert_eq!(wheel.next(), Some(milliseconds(500)));
        assert_eq!(due(&mut wheel, 2_000), [0]);
        assert_eq!((due(&mut wheel, 9_000), wheel.next()), (vec![], None));
    }

    #[test]
    fn an_earlier_time_moves_a_timer_and_a_later_one_does_not() {
        let mut wheel = TimerWheel::new();
        wheel.set_at_latest(1, milliseconds(100));
        wheel.set_at_latest(1, milliseconds(50));
        wheel.set_at_latest(1, milliseconds(200));
        assert_eq!(due(&mut wheel, 50), [1]);
        assert_eq!(wheel.next(), None);
        wheel.set_at_latest(1, milliseconds(60));
        wheel.remove(1);
        assert_eq!(due(&mut wheel, 1_000), []);
    }

    #[test]
    fn a_time_beyond_the_wheel_is_due_early_and_a_past_one_at_once() {
        let mut wheel = TimerWheel::new();
        assert_eq!(due(&mut wheel, 5_000), []);
        wheel.set_at_latest(1, milliseconds(60_000));
        wheel.set_at_latest(2, milliseconds(10));
        assert_eq!(wheel.next(), Some(milliseconds(5_001)));
        assert_eq!(due(&mut wheel, 5_001), [2]);
        assert_eq!(wheel.next(), Some(milliseconds(5_000 + SLOTS as u64)));
        assert_eq!(due(&mut wheel, 5_000 + SLOTS as u64), [1]);
    }

    #[test]
    fn it_agrees_with_a_sorted_list_over_many_steps() {
        let mut wheel = TimerWheel::new();
        let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
        let (mut now, mut seed) = (0_u64, 1_u64);
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..20_000 {
            let client = random(50) as u32;
            if random(10) == 0 {
                wheel.remove(client);
                expected.remove(&client);
            } else {
                let at = (now + 1 + random(SLOTS as u64 - 1)).max(now + 1);
                wheel.set_at_latest(client, milliseconds(at));
                let set = expected.entry(client).or_insert(at);
                *set = (*set).min(at);
            }
            now += random(30);
            let clients: Vec<u32> = expected.iter().filter(|(_, at)| **at <= now).map(|(client, _)| *client).collect();
            expected.retain(|_, at| *at > now);
            assert_eq!(due(&mut wheel, now), clients);
            assert_eq!(wheel.next(), expected.values().min().map(|at| milliseconds(*at)));
        }
    }
}
