//! Single elimination.
//!
//! ```text
//!   1 ─┐
//!      ├─ 1 ─┐
//! bye ─┘     │
//!            ├─ winner
//!   3 ─┐     │
//!      ├─ 3 ─┘
//!   2 ─┘
//! ```

use super::seed_order;
use crate::bracket::game::{Game, Section, Slot, Target};

/// Returns the matches for a number of entrants, each before those that its winner plays.
pub(in crate::bracket) fn build(count: usize) -> Vec<Game> {
    let mut games = Vec::new();
    winners(&mut games, count);
    games
}

/// Adds the matches of the winners' side. Returns the first match of each round.
pub(super) fn winners(games: &mut Vec<Game>, count: usize) -> Vec<usize> {
    let size = count.next_power_of_two();
    let mut starts = Vec::new();
    let (mut first, mut matches, mut round) = (games.len(), size / 2, 1);
    while matches > 0 {
        starts.push(first);
        for index in 0..matches {
            let mut game = Game::new(Section::Winners, round);
            if matches > 1 {
                game.winner_to = Some(Target { game: first + matches + index / 2, side: index % 2 });
            }
            games.push(game);
        }
        (first, matches, round) = (first + matches, matches / 2, round + 1);
    }
    let seeds = seed_order(size);
    for (index, pair) in seeds.chunks(2).enumerate() {
        for (side, seed) in pair.iter().enumerate() {
            games[starts[0] + index].slots[side] = if *seed < count { Slot::Seed(*seed) } else { Slot::Bye };
        }
    }
    starts
}
