//! Pairing of a Swiss round.
//!
//! Entrants are ordered by points and seed. In a group of equal points, the upper half plays the lower half. Pairs that have
//! met are avoided: first by trying other opponents near by, and if that takes too long, by a maximum matching, which finds a
//! pairing without rematches if there is one.

use super::super::limits::SWISS_ROUNDS_MAX;
use super::super::matching::maximum_matching;
use std::collections::HashSet;

/// Steps of the search near by. A round of 256 entrants usually needs a few hundred.
const STEPS_MAX: usize = 20_000;

/// Entrant of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bracket) struct Candidate {
    pub seed: usize,
    pub points: u32,
    pub byes: u32,
}

/// Pairs of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::bracket) struct Pairing {
    /// Seeds that play each other.
    pub pairs: Vec<(usize, usize)>,
    /// Seed that has a bye.
    pub bye: Option<usize>,
}

/// Pairs of seeds that have met, the lower seed first.
pub(in crate::bracket) type Met = HashSet<(usize, usize)>;

/// Returns the number of rounds after which one entrant can have won all matches.
pub(in crate::bracket) fn rounds_default(count: usize) -> u32 {
    count.next_power_of_two().trailing_zeros().max(1)
}

/// Returns the largest number of rounds in which everyone can have a new opponent, or one bye.
pub(in crate::bracket) fn rounds_max(count: usize) -> u32 {
    super::round_robin::rounds(count).min(SWISS_ROUNDS_MAX)
}

/// Pairs the entrants of a round. With an odd number, one of those with the fewest byes gets a bye: the lowest one with whom
/// the others can be paired without rematches.
pub(in crate::bracket) fn pair(mut candidates: Vec<Candidate>, met: &Met) -> Pairing {
    candidates.sort_by_key(|candidate| (std::cmp::Reverse(candidate.points), candidate.seed));
    if candidates.len().is_multiple_of(2) {
        return Pairing { pairs: pairs(&candidates, met).0, bye: None };
    }
    let fewest = candidates.iter().map(|candidate| candidate.byes).min().unwrap_or(0);
    let mut best: Option<(Pairing, usize)> = None;
    for index in (0..candidates.len()).rev().filter(|index| candidates[*index].byes == fewest) {
        let mut others = candidates.clone();
        let bye = Some(others.remove(index).seed);
        let (pairs, rematches) = pairs(&others, met);
        if rematches == 0 {
            return Pairing { pairs, bye };
        }
        if best.as_ref().is_none_or(|(_, fewest)| rematches < *fewest) {
            best = Some((Pairing { pairs, bye }, rematches));
        }
    }
    best.map(|(pairing, _)| pairing).unwrap_or_default()
}

/// Pairs an even number of ordered entrants. Returns the pairs and the number of rematches.
fn pairs(ordered: &[Candidate], met: &Met) -> (Vec<(usize, usize)>, usize) {
    let have_met = |one: usize, other: usize| met.contains(&key(ordered[one].seed, ordered[other].seed));
    let near = Search { preferences: preferences(ordered), have_met: &have_met, steps: 0 }.run();
    let partners = near.unwrap_or_else(|| maximum_matching(ordered.len(), |one, other| !have_met(one, other)));
    let mut pairs = Vec::with_capacity(ordered.len() / 2);
    let mut alone = Vec::new();
    for (index, partner) in partners.iter().enumerate() {
        match partner {
            Some(partner) if *partner > index => pairs.push((ordered[index].seed, ordered[*partner].seed)),
            Some(_) => {}
            None => alone.push(ordered[index].seed),
        }
    }
    let rematches = alone.len() / 2;
    pairs.extend(alone.chunks_exact(2).map(|pair| (pair[0], pair[1])));
    (pairs, rematches)
}

/// Returns the opponents of each entrant in the order of preference: the place in the other half of the group, then the places
/// around it, then other groups.
fn preferences(ordered: &[Candidate]) -> Vec<Vec<usize>> {
    let group_of = |index: usize| {
        let points = ordered[index].points;
        let start = ordered.partition_point(|candidate| candidate.points > points);
        let end = ordered.partition_point(|candidate| candidate.points >= points);
        (start, end)
    };
    (0..ordered.len())
        .map(|index| {
            let (start, end) = group_of(index);
            let wanted = index + ((end - start) / 2).max(1);
            let mut others: Vec<usize> = (index + 1..ordered.len()).collect();
            others.sort_by_key(|other| {
                (ordered[index].points.abs_diff(ordered[*other].points), wanted.abs_diff(*other), *other)
            });
            others
        })
        .collect()
}

/// Search for a pairing without rematches that takes the preferred opponents.
struct Search<'a> {
    preferences: Vec<Vec<usize>>,
    have_met: &'a dyn Fn(usize, usize) -> bool,
    steps: usize,
}

impl Search<'_> {
    /// Returns the partner of each place, or `None` if there is no such pairing or the search takes too long.
    fn run(mut self) -> Option<Vec<Option<usize>>> {
        let mut partners = vec![None; self.preferences.len()];
        self.place(0, &mut partners).then_some(partners)
    }

    fn place(&mut self, from: usize, partners: &mut Vec<Option<usize>>) -> bool {
        let Some(index) = (from..partners.len()).find(|index| partners[*index].is_none()) else { return true };
        for choice in 0..self.preferences[index].len() {
            let other = self.preferences[index][choice];
            if partners[other].is_some() || (self.have_met)(index, other) {
                continue;
            }
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return false;
            }
            (partners[index], partners[other]) = (Some(other), Some(index));
            if self.place(index + 1, partners) {
                return true;
            }
            (partners[index], partners[other]) = (None, None);
        }
        false
    }
}

/// Returns a pair with the lower seed first.
pub(in crate::bracket) fn key(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}
