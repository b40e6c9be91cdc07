//! The boards that everyone sees.

use crate::eater::Eater;
use crate::profile::{self, records_of};
use aether_arena_rules::{BOARD_ROWS, Leaderboard, Records, Row};
use aether_engine::{Answer, Context};
use aether_wire::{EntityId, RequestId, Tick};
use std::collections::BTreeMap;

/// How often the records of all time are asked for: every ten seconds.
const ASK_TICKS: u32 = 200;

/// The board of the room and that of all time.
#[derive(Debug, Default)]
pub struct Boards {
    room: Option<EntityId>,
    records: Option<EntityId>,
    /// The request that waits for its answer; there is never more than one.
    asked: Option<RequestId>,
    asks_at: Tick,
}

impl Boards {
    /// Brings both up to date.
    pub fn show(&mut self, room: &mut Context<'_>, eaters: &BTreeMap<u32, Eater>) {
        let now = Leaderboard { rows: heaviest(eaters), eaters: eaters.len() as u16 };
        match self.room.and_then(|board| room.world.get_mut::<Leaderboard>(board)) {
            Some(board) => *board = now,
            None => self.room = room.world.spawn(now).ok(),
        }
        if room.tick() >= self.asks_at {
            self.ask(room);
        }
    }

    /// Asks for the records of all time, unless that is under way.
    pub fn ask(&mut self, room: &mut Context<'_>) {
        self.asks_at = Tick(room.tick().0 + ASK_TICKS);
        if self.asked.is_none() {
            self.asked = Some(room.request(profile::top()));
        }
    }

    /// Takes an answer; false if it belongs to something else.
    pub fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) -> bool {
        if self.asked != Some(id) {
            return false;
        }
        self.asked = None;
        if let Answer::Value(Some(value)) = answer {
            let now = Records { rows: records_of(value) };
            match self.records.and_then(|board| room.world.get_mut::<Records>(board)) {
                Some(board) => *board = now,
                None => self.records = room.world.spawn(now).ok(),
            }
        }
        true
    }
}

/// The heaviest, and of those who weigh the same the one who came first.
fn heaviest(eaters: &BTreeMap<u32, Eater>) -> Vec<Row> {
    let mut order: Vec<(&u32, &Eater)> = eaters.iter().filter(|(_, eater)| eater.mass > 0).collect();
    order.sort_by_key(|(_, eater)| std::cmp::Reverse(eater.mass));
    let row = |(number, eater): &(&u32, &Eater)| Row { name: eater.name.clone(), mass: eater.mass, eater: **number };
    order.iter().take(BOARD_ROWS).map(row).collect()
}
