//! Standings of a bracket.
//!
//! Ranks are unique: the seed decides between entrants that are equal otherwise.
//!
//! - Eliminations: those who are still in, then by the round of the last loss, the later the better.
//! - Round robin: points, points in the matches among those with equal points, wins.
//! - Swiss: points, Buchholz (sum of the opponents' points), points in the matches among those who are still equal, wins.
//!
//! In a round robin or Swiss bracket, those who have withdrawn come last.

use super::format::Format;
use super::game::{Game, Outcome, Section, Slot};
use super::machine::Machine;
use std::cmp::Reverse;

/// Points of a win, also by a bye.
pub const POINTS_WIN: u32 = 2;
/// Points of a draw.
pub const POINTS_DRAW: u32 = 1;

/// Position of an entrant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Entrant, by seed from 0.
    pub seed: usize,
    /// Rank, from 1. No two entrants share one.
    pub rank: usize,
    /// Points: two per win, one per draw.
    pub points: u32,
    /// Sum of the points of all opponents.
    pub buchholz: u32,
    /// Matches won, including byes and walkovers.
    pub wins: u32,
    /// Matches lost.
    pub losses: u32,
    /// Draws.
    pub draws: u32,
    /// True if the entrant has withdrawn.
    pub is_withdrawn: bool,
}

/// Results of one entrant.
#[derive(Clone, Copy, Default)]
struct Tally {
    wins: u32,
    losses: u32,
    draws: u32,
    buchholz: u32,
    /// Order of the round of the last loss in an elimination.
    last_loss: u32,
}

impl Tally {
    fn points(&self) -> u32 {
        POINTS_WIN * self.wins + POINTS_DRAW * self.draws
    }
}

/// Returns the points of each entrant, by seed.
pub(super) fn points(machine: &Machine) -> Vec<u32> {
    tallies(machine).iter().map(Tally::points).collect()
}

/// Returns all entrants, the best first.
pub(super) fn standings(machine: &Machine) -> Vec<Standing> {
    let tallies = tallies(machine);
    let format = machine.rules().format;
    let mut seeds: Vec<usize> = (0..machine.count()).collect();
    if format.is_elimination() {
        let losses_max = if format == Format::Double { 2 } else { 1 };
        seeds.sort_by_key(|seed| {
            let tally = &tallies[*seed];
            let is_out = tally.losses >= losses_max;
            (is_out, Reverse(if is_out { tally.last_loss } else { 0 }), tally.losses, Reverse(tally.wins), *seed)
        });
    } else {
        sort_by_points(machine, &tallies, &mut seeds);
    }
    let standing = |(index, seed): (usize, usize)| {
        let Tally { wins, losses, draws, buchholz, .. } = tallies[seed];
        let (points, is_withdrawn) = (tallies[seed].points(), machine.is_withdrawn(seed));
        Standing { seed, rank: index + 1, points, buchholz, wins, losses, draws, is_withdrawn }
    };
    seeds.into_iter().enumerate().map(standing).collect()
}

fn sort_by_points(machine: &Machine, tallies: &[Tally], seeds: &mut [usize]) {
    let uses_buchholz = machine.rules().format == Format::Swiss;
    let key = |seed: usize| {
        let tally = &tallies[seed];
        let buchholz = if uses_buchholz { tally.buchholz } else { 0 };
        (machine.is_withdrawn(seed), Reverse(tally.points()), Reverse(buchholz))
    };
    seeds.sort_by_key(|seed| (key(*seed), *seed));
    // Groups that are equal so far, by the first place of each.
    let mut group = vec![0; seeds.len()];
    for place in 1..seeds.len() {
        group[seeds[place]] = match key(seeds[place - 1]) == key(seeds[place]) {
            true => group[seeds[place - 1]],
            false => place,
        };
    }
    let mut among = vec![0; seeds.len()];
    for game in machine.games() {
        let ([Slot::Seed(one), Slot::Seed(other)], Some(outcome)) = (game.slots, game.outcome()) else { continue };
        if group[one] == group[other] {
            among[one] += points_of(outcome, 0);
            among[other] += points_of(outcome, 1);
        }
    }
    seeds.sort_by_key(|seed| (group[*seed], Reverse(among[*seed]), Reverse(tallies[*seed].wins), *seed));
}

fn tallies(machine: &Machine) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); machine.count()];
    for game in machine.games() {
        let Some(outcome) = game.outcome() else { continue };
        for (side, slot) in game.slots.iter().enumerate() {
            let Slot::Seed(seed) = slot else { continue };
            let tally = &mut tallies[*seed];
            match (outcome, side) {
                (Outcome::First, 0) | (Outcome::Second, 1) => tally.wins += 1,
                (Outcome::Draw, _) => tally.draws += 1,
                _ => {
                    tally.losses += 1;
                    tally.last_loss = tally.last_loss.max(stage(game));
                }
            }
        }
    }
    let points: Vec<u32> = tallies.iter().map(Tally::points).collect();
    for game in machine.games() {
        let ([Slot::Seed(one), Slot::Seed(other)], Some(_)) = (game.slots, game.outcome()) else { continue };
        tallies[one].buchholz += points[other];
        tallies[other].buchholz += points[one];
    }
    tallies
}

/// Returns the order of the rounds in which entrants are eliminated.
fn stage(game: &Game) -> u32 {
    match game.section {
        Section::Winners | Section::Losers | Section::Group => game.round,
        Section::Final => u32::MAX - 1,
        Section::Repeat => u32::MAX,
    }
}

fn points_of(outcome: Outcome, side: usize) -> u32 {
    match (outcome, side) {
        (Outcome::First, 0) | (Outcome::Second, 1) => POINTS_WIN,
        (Outcome::Draw, _) => POINTS_DRAW,
        _ => 0,
    }
}
