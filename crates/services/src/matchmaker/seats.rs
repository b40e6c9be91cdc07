//! Seats that a match keeps for matched players until they join.

use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Reserved seats by match.
#[derive(Debug, Default)]
pub(super) struct Seats {
    matches: BTreeMap<String, BTreeMap<Uuid, i64>>,
    deadlines: BTreeSet<(i64, String, Uuid)>,
}

impl Seats {
    /// Reserves a seat until a time. A second reservation moves the time.
    pub fn reserve(&mut self, match_id: &str, user: Uuid, until_ms: i64) {
        self.release(match_id, user);
        self.matches.entry(match_id.to_owned()).or_default().insert(user, until_ms);
        self.deadlines.insert((until_ms, match_id.to_owned(), user));
    }

    /// Ends a reservation. Returns false if there is none.
    pub fn release(&mut self, match_id: &str, user: Uuid) -> bool {
        let Some(users) = self.matches.get_mut(match_id) else { return false };
        let Some(until_ms) = users.remove(&user) else { return false };
        if users.is_empty() {
            self.matches.remove(match_id);
        }
        self.deadlines.remove(&(until_ms, match_id.to_owned(), user))
    }

    /// Ends the reservations whose time is over, and returns their users by match.
    pub fn expire(&mut self, now_ms: i64) -> BTreeMap<String, Vec<Uuid>> {
        let mut expired: BTreeMap<String, Vec<Uuid>> = BTreeMap::new();
        while let Some((_, match_id, user)) =
            self.deadlines.first().filter(|(until_ms, ..)| *until_ms <= now_ms).cloned()
        {
            self.release(&match_id, user);
            expired.entry(match_id).or_default().push(user);
        }
        expired
    }

    /// Ends all reservations of a match.
    pub fn end_match(&mut self, match_id: &str) {
        for (user, until_ms) in self.matches.remove(match_id).unwrap_or_default() {
            self.deadlines.remove(&(until_ms, match_id.to_owned(), user));
        }
    }

    /// Returns true if a user has a reserved seat.
    pub fn has(&self, match_id: &str, user: Uuid) -> bool {
        self.matches.get(match_id).is_some_and(|users| users.contains_key(&user))
    }

    /// Number of reserved seats of a match.
    pub fn of_match(&self, match_id: &str) -> usize {
        self.matches.get(match_id).map_or(0, BTreeMap::len)
    }

    /// Number of reserved seats.
    pub fn len(&self) -> usize {
        self.deadlines.len()
    }

    /// Time of the next expiry.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        self.deadlines.first().map(|(until_ms, ..)| *until_ms)
    }
}
