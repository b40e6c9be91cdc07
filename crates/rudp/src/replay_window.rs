//! Window of received packet numbers: refuses repeated ones, and is what an acknowledgement reports.

/// Number of packets before the newest that can be told apart from repeated ones.
pub(crate) const WINDOW_PACKETS: u64 = 1_024;

const WORDS: usize = (WINDOW_PACKETS / 64) as usize;

/// Received packet numbers: the newest, and one bit for each of the last [`WINDOW_PACKETS`].
#[derive(Default)]
pub(crate) struct ReplayWindow {
    newest: Option<u64>,
    /// Ring of bits; the bit of a packet is at its number modulo the window.
    words: [u64; WORDS],
}

impl ReplayWindow {
    /// Newest number received.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// Number expected next.
    pub(crate) fn expected(&self) -> u64 {
        self.newest.map_or(0, |newest| newest + 1)
    }

    /// Returns true if the number was not received yet, as far as can be told.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        match self.newest {
            Some(newest) if number <= newest => newest - number < WINDOW_PACKETS && !self.contains(number),
            _ => true,
        }
    }

    /// Records a new number.
    pub(crate) fn insert(&mut self, number: u64) {
        let expected = self.expected();
        if number >= expected + WINDOW_PACKETS {
            self.words = [0; WORDS];
        } else {
            for skipped in expected..number {
                self.words[word(skipped)] &= !bit(skipped);
            }
        }
        self.newest = Some(self.newest.map_or(number, |newest| newest.max(number)));
        self.words[word(number)] |= bit(number);
    }

    /// Returns 64 packets as bits, lowest bit first: `last`, `last - 1` and so on. Packets before the window are 0.
    pub(crate) fn bits_before(&self, last: u64) -> u64 {
        let shift = last % 64 + 1;
        let high = self.words[word(last)] << (64 - shift);
        let low = match last.checked_sub(64) {
            Some(earlier) if shift < 64 => self.words[word(earlier)] >> shift,
            _ => 0,
        };
        (high | low).reverse_bits()
    }

    fn contains(&self, number: u64) -> bool {
        self.words[word(number)] & bit(number) != 0
    }
}

fn word(number: u64) -> usize {
    (number / 64) as usize % WORDS
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_number_is_new_once_and_only_within_the_window() {
        let mut window = ReplayWindow::default();
        let mut model = BTreeSet::new();
        let mut state = 7_u64;
        for step in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let jump = if step % 997 == 0 { 3_000 } else { 40 };
            let number = (window.expected() + (state >> 33) % jump).saturating_sub(20);
            let newest = window.newest().unwrap_or(0);
            let is_new = !model.contains(&number) && (number > newest || newest - number < WINDOW_PACKETS);
            assert_eq!(window.is_new(number), is_new || model.is_empty(), "{number} after {newest}");
            if window.is_new(number) {
                window.insert(number);
                model.insert(number);
            }
            let newest = window.newest().unwrap();
            let bits = window.bits_before(newest);
            for distance in 0..64_u64.min(newest + 1) {
                assert_eq!(bits >> distance & 1 == 1, model.contains(&(newest - distance)));
            }
        }
    }
}
