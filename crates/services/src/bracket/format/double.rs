//! Double elimination.
//!
//! Losers of the winners' side continue on the losers' side. There, rounds alternate: in odd rounds its winners play each
//! other, and in even rounds they play the losers of the next round of the winners' side. The winners of both sides play the
//! final, and once more if the one from the losers' side wins.

use super::single::winners;
use crate::bracket::game::{Game, Section, Slot, Target};

/// Returns the matches for a number of entrants. The last two are the final and its repetition.
pub(in crate::bracket) fn build(count: usize) -> Vec<Game> {
    let mut games = Vec::new();
    let starts = winners(&mut games, count);
    let rounds = starts.len();
    // First match of each round of the losers' side, and the number of its matches.
    let mut losers = Vec::new();
    let mut first = games.len();
    for round in 1..=2 * (rounds - 1) {
        let matches = 1 << (rounds - 1 - round.div_ceil(2));
        losers.push((first, matches));
        for _ in 0..matches {
            games.push(Game::new(Section::Losers, round as u32));
        }
        first += matches;
    }
    let last = games.len();
    games.push(Game::new(Section::Final, 1));
    games.push(Game::new(Section::Repeat, 1));
    for (round, start) in starts.iter().enumerate() {
        let matches = 1 << (rounds - 1 - round);
        for index in 0..matches {
            games[start + index].loser_to = Some(loser_target(&losers, last, (round, index)));
        }
    }
    games[starts[rounds - 1]].winner_to = Some(Target { game: last, side: 0 });
    for (round, (start, matches)) in losers.iter().enumerate() {
        for index in 0..*matches {
            games[start + index].winner_to = Some(match losers.get(round + 1) {
                // The same number of matches follows: the other side is a loser of the winners' side.
                Some((next, following)) if following == matches => Target { game: next + index, side: 0 },
                Some((next, _)) => Target { game: next + index / 2, side: index % 2 },
                None => Target { game: last, side: 1 },
            });
        }
    }
    debug_assert!(games[last].slots == [Slot::Pending; 2]);
    games
}

/// Returns the match that the loser of a match of the winners' side plays next.
fn loser_target(losers: &[(usize, usize)], last: usize, (round, index): (usize, usize)) -> Target {
    if losers.is_empty() {
        return Target { game: last, side: 1 };
    }
    if round == 0 {
        return Target { game: losers[0].0 + index / 2, side: index % 2 };
    }
    let (start, matches) = losers[2 * round - 1];
    // Every second round is filled from the other end, so that those who have met do not meet again soon.
    let index = if round % 2 == 1 { matches - 1 - index } else { index };
    Target { game: start + index, side: 1 }
}
