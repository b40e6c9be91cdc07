//! Leaderboards in the room.

use crate::eater::Eater;
use crate::profile::{self, records_of};
use aether::prelude::*;
use aether_arena_rules::{BOARD_ROWS, Leaderboard, Records, Row};
use std::collections::BTreeMap;

/// Interval of requests for the all-time leaderboard: ten seconds.
const REQUEST_TICKS: u32 = 200;

/// Leaderboards of the room and of all time.
#[derive(Debug, Default)]
pub struct Boards {
    room: Option<EntityId>,
    records: Option<EntityId>,
    /// Pending request; at most one.
    pending: Option<RequestId>,
    requests_at: Tick,
}

impl Boards {
    /// Updates both leaderboards.
    pub fn show(&mut self, room: &mut Context<'_>, eaters: &BTreeMap<u32, Eater>) {
        let now = Leaderboard { rows: heaviest(eaters), eaters: eaters.len() as u16 };
        match self.room.and_then(|board| room.world.get_mut::<Leaderboard>(board)) {
            Some(board) => *board = now,
            None => self.room = room.world.spawn(now).ok(),
        }
        if room.tick() >= self.requests_at {
            self.request_records(room);
        }
    }

    /// Requests the all-time leaderboard, unless a request is pending.
    pub fn request_records(&mut self, room: &mut Context<'_>) {
        self.requests_at = Tick(room.tick().0 + REQUEST_TICKS);
        if self.pending.is_none() {
            self.pending = Some(room.request(profile::top()));
        }
    }

    /// Handles an answer. Returns false if it belongs to another request.
    pub fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) -> bool {
        if self.pending != Some(id) {
            return false;
        }
        self.pending = None;
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

/// Returns the heaviest eaters; among equals, the one with the lowest number first.
fn heaviest(eaters: &BTreeMap<u32, Eater>) -> Vec<Row> {
    let mut order: Vec<(&u32, &Eater)> = eaters.iter().filter(|(_, eater)| eater.mass > 0).collect();
    order.sort_by_key(|(_, eater)| std::cmp::Reverse(eater.mass));
    let row = |(number, eater): &(&u32, &Eater)| Row { name: eater.name.clone(), mass: eater.mass, eater: **number };
    order.iter().take(BOARD_ROWS).map(row).collect()
}
