//! Waiting tickets, by age, id, session, user and party, and the index of those that can be found.

use super::blocks::{TicketBlocks, TicketIndex};
use super::error::MatchmakerError;
use super::ticket::{Ticket, TicketKey};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Tickets that wait, and tickets that a candidate holds.
#[derive(Default)]
pub(super) struct Pool {
    slots: Vec<Option<Entry>>,
    free: Vec<u32>,
    next_age: u64,
    by_id: BTreeMap<Uuid, TicketKey>,
    by_session: BTreeMap<Uuid, BTreeSet<TicketKey>>,
    by_user: BTreeMap<Uuid, usize>,
    by_party: BTreeMap<String, BTreeSet<TicketKey>>,
    by_created: BTreeSet<(i64, TicketKey)>,
    /// Tickets that no candidate holds, by age.
    waiting: BTreeSet<TicketKey>,
    index: TicketBlocks,
    players: usize,
}

/// A ticket with the age of its key: a slot is used again after a ticket is removed.
struct Entry {
    age: u64,
    ticket: Ticket,
}

/// Most tickets of one session, of one user and in all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    pub session: usize,
    pub user: usize,
    pub total: usize,
}

impl Pool {
    /// Adds a ticket as the youngest.
    pub fn insert(&mut self, mut ticket: Ticket, shares: Shares) -> Result<TicketKey, MatchmakerError> {
        if self.by_id.contains_key(&ticket.id) {
            return Err(MatchmakerError::DuplicateTicket);
        }
        if self.by_id.len() >= shares.total {
            return Err(MatchmakerError::Full);
        }
        let is_over = ticket.presences.iter().any(|presence| {
            self.of_session(presence.session_id).count() >= shares.session
                || self.by_user.get(&presence.user_id).is_some_and(|count| *count >= shares.user)
        });
        if is_over {
            return Err(MatchmakerError::TooManyTickets);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // The number of tickets is limited.
            (self.slots.len() - 1) as u32
        });
        self.next_age += 1;
        let key = TicketKey { age: self.next_age, slot };
        self.by_id.insert(ticket.id, key);
        for presence in &ticket.presences {
            self.by_session.entry(presence.session_id).or_default().insert(key);
            *self.by_user.entry(presence.user_id).or_default() += 1;
        }
        if let Some(party) = &ticket.party_id {
            self.by_party.entry(party.clone()).or_default().insert(key);
        }
        self.by_created.insert((ticket.created_ms, key));
        self.players += ticket.count();
        self.waiting.insert(key);
        ticket.document = self.index.insert(key, ticket.document);
        self.slots[slot as usize] = Some(Entry { age: key.age, ticket });
        Ok(key)
    }

    /// Removes a ticket.
    pub fn remove(&mut self, key: TicketKey) -> Option<Ticket> {
        self.get(key)?;
        self.hide(key);
        let ticket = self.slots.get_mut(key.slot as usize)?.take()?.ticket;
        self.free.push(key.slot);
        self.by_id.remove(&ticket.id);
        for presence in &ticket.presences {
            remove_key(&mut self.by_session, &presence.session_id, key);
            if let Some(count) = self.by_user.get_mut(&presence.user_id) {
                *count -= 1;
                if *count == 0 {
                    self.by_user.remove(&presence.user_id);
                }
            }
        }
        if let Some(party) = &ticket.party_id {
            remove_key(&mut self.by_party, party, key);
        }
        self.by_created.remove(&(ticket.created_ms, key));
        self.players -= ticket.count();
        Some(ticket)
    }

    /// Takes a ticket out of the searches, because a candidate holds it.
    pub fn hide(&mut self, key: TicketKey) {
        if self.waiting.remove(&key) {
            self.index.remove(key);
        }
    }

    /// Returns a ticket to the searches.
    pub fn show(&mut self, key: TicketKey) {
        if let Some(ticket) = self.get(key)
            && !self.waiting.contains(&key)
        {
            let document = ticket.document.clone();
            self.waiting.insert(key);
            self.index.insert(key, document);
        }
    }

    pub fn get(&self, key: TicketKey) -> Option<&Ticket> {
        let entry = self.slots.get(key.slot as usize)?.as_ref()?;
        (entry.age == key.age).then_some(&entry.ticket)
    }

    pub fn get_mut(&mut self, key: TicketKey) -> Option<&mut Ticket> {
        let entry = self.slots.get_mut(key.slot as usize)?.as_mut()?;
        (entry.age == key.age).then_some(&mut entry.ticket)
    }

    pub fn find(&self, id: Uuid) -> Option<TicketKey> {
        self.by_id.get(&id).copied()
    }

    pub fn of_session(&self, session: Uuid) -> impl Iterator<Item = TicketKey> {
        self.by_session.get(&session).into_iter().flatten().copied()
    }

    pub fn of_party(&self, party: &str) -> impl Iterator<Item = TicketKey> {
        self.by_party.get(party).into_iter().flatten().copied()
    }

    /// Tickets that no candidate holds, the oldest first.
    pub fn waiting(&self) -> &BTreeSet<TicketKey> {
        &self.waiting
    }

    /// Indexes of the waiting tickets younger than a key, the oldest first.
    pub fn blocks(&self, after: Option<TicketKey>) -> impl Iterator<Item = &TicketIndex> {
        self.index.after(after)
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Number of players in all tickets.
    pub fn players(&self) -> usize {
        self.players
    }

    /// Creation time of the oldest ticket.
    pub fn oldest_ms(&self) -> Option<i64> {
        self.by_created.first().map(|(created_ms, _)| *created_ms)
    }
}

fn remove_key<K: Ord>(map: &mut BTreeMap<K, BTreeSet<TicketKey>>, name: &K, key: TicketKey) {
    if let Some(keys) = map.get_mut(name) {
        keys.remove(&key);
        if keys.is_empty() {
            map.remove(name);
        }
    }
}
