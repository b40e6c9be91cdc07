//! Search for a group of tickets with a given number of players.

use super::limits::{GROUP_STEPS_MAX, GROUP_STEPS_TOTAL_MAX};
use super::ticket::Counts;

/// Ticket that a group may contain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeker {
    /// Number of its players.
    pub count: usize,
    pub counts: Counts,
    /// True if the ticket has waited long enough to accept fewer players than its maximum.
    pub is_relaxed: bool,
}

/// Result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Indexes of the candidates in the group, or `None` if there is no group.
    pub group: Option<Vec<usize>>,
    /// True if the search ended at a limit before all groups were tried.
    pub is_cut: bool,
    /// Steps of the search.
    pub steps: u64,
}

/// Candidates for a group with one ticket.
pub(super) struct GroupSearch<'a, F> {
    /// Ticket that the group contains.
    pub first: Seeker,
    /// Candidates, the preferred first.
    pub candidates: &'a [Seeker],
    /// True if any ticket of the group may decide on its size; otherwise the first does.
    pub any_decides: bool,
    /// Returns true if two candidates can be in one group.
    pub are_compatible: F,
}

/// State of the search for one size.
struct SizeState<'a> {
    size: usize,
    /// Indexes of the candidates that accept the size.
    eligible: &'a [usize],
    /// Number of players of the eligible candidates from an index on.
    rest: &'a [usize],
    chosen: Vec<usize>,
    steps: u64,
}

impl Seeker {
    /// Returns true if the ticket starts a match of this size.
    fn decides_on(&self, size: usize) -> bool {
        self.counts.allows(size) && (self.is_relaxed || size == self.counts.max)
    }
}

impl<F: FnMut(usize, usize) -> bool> GroupSearch<'_, F> {
    /// Finds the largest group, and of these the one of the most preferred candidates.
    pub fn run(self) -> Found {
        let mut found = Found { group: None, is_cut: false, steps: 0 };
        let mut search = self;
        let total: usize = search.first.count + search.candidates.iter().map(|seeker| seeker.count).sum::<usize>();
        for size in (search.first.counts.min..=search.first.counts.max.min(total)).rev() {
            if found.steps >= GROUP_STEPS_TOTAL_MAX {
                found.is_cut = true;
                break;
            }
            found.steps += 1;
            if search.first.counts.allows(size) && search.first.count <= size {
                search.find(size, &mut found);
            }
            if found.group.is_some() {
                break;
            }
        }
        found
    }

    /// Finds a group of one size.
    fn find(&mut self, size: usize, found: &mut Found) {
        let is_eligible = |seeker: &Seeker| seeker.counts.allows(size) && self.first.count + seeker.count <= size;
        let eligible: Vec<usize> =
            (0..self.candidates.len()).filter(|index| is_eligible(&self.candidates[*index])).collect();
        let is_decided = self.first.decides_on(size);
        let may_decide = |index: &usize| self.any_decides && self.candidates[*index].decides_on(size);
        if !is_decided && !eligible.iter().any(may_decide) {
            return;
        }
        let mut rest = vec![0; eligible.len() + 1];
        for (index, candidate) in eligible.iter().enumerate().rev() {
            rest[index] = rest[index + 1] + self.candidates[*candidate].count;
        }
        let mut state = SizeState { size, eligible: &eligible, rest: &rest, chosen: Vec::new(), steps: 0 };
        let is_found = self.extend(&mut state, 0, self.first.count, is_decided);
        found.steps += state.steps;
        found.is_cut |= !is_found && state.steps >= GROUP_STEPS_MAX;
        if is_found {
            found.group = Some(state.chosen);
        }
    }

    /// Adds candidates from an index on until the group has its size. Returns true if it has.
    fn extend(&mut self, state: &mut SizeState<'_>, from: usize, players: usize, is_decided: bool) -> bool {
        if players == state.size {
            return is_decided;
        }
        for index in from..state.eligible.len() {
            if players + state.rest[index] < state.size || state.steps >= GROUP_STEPS_MAX {
                return false;
            }
            state.steps += 1;
            let candidate = state.eligible[index];
            let seeker = self.candidates[candidate];
            if players + seeker.count > state.size || !self.suits(state, candidate) {
                continue;
            }
            state.chosen.push(candidate);
            let is_decided = is_decided || self.any_decides && seeker.decides_on(state.size);
            if self.extend(state, index + 1, players + seeker.count, is_decided) {
                return true;
            }
            state.chosen.pop();
        }
        false
    }

    /// Returns true if a candidate is compatible with all that are chosen.
    fn suits(&mut self, state: &mut SizeState<'_>, candidate: usize) -> bool {
        for chosen in &state.chosen {
            state.steps += 1;
            if !(self.are_compatible)(*chosen, candidate) {
                return false;
            }
        }
        true
    }
}
