//! Formats of brackets: which matches there are, and who plays them.

pub(super) mod double;
pub(super) mod round_robin;
pub(super) mod single;
pub(super) mod swiss;

use super::limits::{ENTRANTS_MAX, ROUND_ROBIN_ENTRANTS_MAX};

/// Format of a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Single elimination: an entrant is out after one loss.
    Single,
    /// Double elimination: an entrant is out after two losses. The final is played again if the winner of the losers' side
    /// wins it, because the other finalist has then lost for the first time.
    Double,
    /// Round robin: each pair plays once.
    RoundRobin,
    /// Swiss: entrants with similar points play, for a fixed number of rounds, without rematches as far as possible.
    Swiss,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 4] = [Format::Single, Format::Double, Format::RoundRobin, Format::Swiss];

    /// Returns the name in requests, answers and the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Single => "single_elimination",
            Format::Double => "double_elimination",
            Format::RoundRobin => "round_robin",
            Format::Swiss => "swiss",
        }
    }

    /// Finds a format by name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns true if entrants are eliminated by losses. Such a match has a winner; others may end in a draw.
    #[must_use]
    pub fn is_elimination(self) -> bool {
        matches!(self, Format::Single | Format::Double)
    }

    /// Returns the maximum number of entrants.
    #[must_use]
    pub fn entrants_max(self) -> usize {
        if self == Format::RoundRobin { ROUND_ROBIN_ENTRANTS_MAX } else { ENTRANTS_MAX }
    }
}

/// Returns the seeds in the order of the first round of an elimination: the best two meet in the final at the earliest, the
/// best four in the semi-finals, and so on. Seeds from `count` on are byes, which the best seeds get.
pub(super) fn seed_order(size: usize) -> Vec<usize> {
    let mut order = vec![0];
    while order.len() < size {
        let doubled = 2 * order.len();
        order = order.into_iter().flat_map(|seed| [seed, doubled - 1 - seed]).collect();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_seeds_meet_last() {
        assert_eq!(seed_order(1), [0]);
        assert_eq!(seed_order(2), [0, 1]);
        assert_eq!(seed_order(8), [0, 7, 3, 4, 1, 6, 2, 5]);
    }

    #[test]
    fn formats_have_names() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(format));
        }
        assert_eq!(Format::from_name("other"), None);
    }
}
