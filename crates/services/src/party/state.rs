//! One party.

use super::event::{Outcome, PartyEvent, PartyInfo, PartyState};
use crate::matchmaker::UserPresence;
use aether_query::Document;
use serde_json::Value;
use uuid::Uuid;

/// A party. It has members, the oldest first; one of them is the leader.
#[derive(Debug)]
pub(super) struct Party {
    pub info: PartyInfo,
    /// Label as JSON.
    pub label: Value,
    /// Session of the leader.
    pub leader: Uuid,
    pub members: Vec<UserPresence>,
    /// Presences that asked to join, the oldest first.
    pub requests: Vec<UserPresence>,
    /// Position in the order of creation.
    pub sequence: u64,
    pub created_ms: i64,
}

impl Party {
    /// Returns the member of a session.
    pub fn member(&self, session: Uuid) -> Option<&UserPresence> {
        self.members.iter().find(|member| member.session_id == session)
    }

    /// Sessions of all members.
    pub fn sessions(&self) -> Vec<Uuid> {
        self.members.iter().map(|member| member.session_id).collect()
    }

    /// Sessions of all members but one.
    pub fn others(&self, session: Uuid) -> Vec<Uuid> {
        self.sessions().into_iter().filter(|other| *other != session).collect()
    }

    /// Returns the leader's presence.
    pub fn leader(&self) -> Option<&UserPresence> {
        self.member(self.leader)
    }

    /// Adds a member and tells everyone.
    pub fn admit(&mut self, presence: UserPresence, outcome: &mut Outcome) {
        let party_id = self.info.party_id.clone();
        self.requests.retain(|request| request.user_id != presence.user_id);
        self.members.push(presence.clone());
        if let Some(state) = self.state(&presence) {
            outcome.send(vec![presence.session_id], PartyEvent::State(state));
        }
        let joined = PartyEvent::Presence { party_id: party_id.clone(), joins: vec![presence], leaves: Vec::new() };
        outcome.send(self.sessions(), joined);
        outcome.changed.push(party_id);
    }

    /// Removes a member, tells the others, and promotes the oldest of them if it was the leader.
    pub fn dismiss(&mut self, session: Uuid, outcome: &mut Outcome) {
        let party_id = self.info.party_id.clone();
        let Some(index) = self.members.iter().position(|member| member.session_id == session) else { return };
        let leaves = vec![self.members.remove(index)];
        let left = PartyEvent::Presence { party_id: party_id.clone(), joins: Vec::new(), leaves };
        outcome.send(self.sessions(), left);
        if let Some(oldest) = self.members.first().filter(|_| self.leader == session) {
            self.leader = oldest.session_id;
            let promoted = PartyEvent::Leader { party_id: party_id.clone(), presence: oldest.clone() };
            outcome.send(self.sessions(), promoted);
        }
        outcome.changed.push(party_id);
    }

    /// State for a member.
    pub fn state(&self, own: &UserPresence) -> Option<PartyState> {
        Some(PartyState {
            info: self.info.clone(),
            own: own.clone(),
            leader: self.leader()?.clone(),
            presences: self.members.clone(),
        })
    }

    /// Document for queries of lists. Labels are checked for the limits of documents.
    pub fn document(&self) -> Option<Document> {
        let builder = Document::builder().json("label", &self.label);
        builder
            .text("party_id", &self.info.party_id)
            .boolean("open", self.info.open)
            .number("size", self.members.len() as f64)
            .number("max_size", self.info.max_size as f64)
            .time("create_time", self.created_ms.saturating_mul(1_000))
            .build()
            .ok()
    }
}
