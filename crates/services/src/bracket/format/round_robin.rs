//! Round robin, by the circle method: one entrant stays, and the others move on by one place per round.

use crate::bracket::game::{Game, Section, Slot};

/// Returns the matches of all rounds. With an odd number of entrants, one pauses in each round.
pub(in crate::bracket) fn build(count: usize) -> Vec<Game> {
    let places = count + count % 2;
    let mut games = Vec::new();
    for round in 0..places - 1 {
        let seat = |place: usize| if place == 0 { 0 } else { 1 + (place - 1 + round) % (places - 1) };
        for index in 0..places / 2 {
            let (one, other) = (seat(index), seat(places - 1 - index));
            if one.max(other) < count {
                let mut game = Game::new(Section::Group, round as u32 + 1);
                game.slots = [Slot::Seed(one.min(other)), Slot::Seed(one.max(other))];
                games.push(game);
            }
        }
    }
    games
}

/// Returns the number of rounds.
pub(in crate::bracket) fn rounds(count: usize) -> u32 {
    (count + count % 2 - 1) as u32
}
