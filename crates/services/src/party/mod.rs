//! Parties: groups of players who stay together over matches.
//!
//! [`PartyService`] serves them to sockets. [`Parties`] is the state machine without I/O: each message of a socket is one call, whose [`Outcome`] has the answer and the messages to
//! other sessions. Ids come from the caller. When the members of a party change, its matchmaker tickets end: the caller
//! passes [`Outcome::changed`] to [`Matchmaker::remove_party`](crate::matchmaker::Matchmaker::remove_party).
//!
//! A party has one leader while it has members. If the leader leaves, the oldest member is promoted; without members the
//! party ends. A user is in a party once. Anyone joins an open party; a closed one collects join requests, which its leader
//! accepts or removes.

mod error;
mod event;
pub mod limits;
mod list;
mod matchmaking;
mod message;
pub(crate) mod serve;
mod service;
mod state;

pub use error::PartyError;
pub use event::{Outcome, PartyEvent, PartyInfo, PartyState};
pub use list::{PartyFilter, PartyPage};
pub use matchmaking::TicketRequest;
pub use service::PartyService;

use crate::matchmaker::UserPresence;
use aether_query::{Document, DocumentIndex};
use limits::{DATA_BYTES_MAX, LABEL_BYTES_MAX, PARTIES_MAX, PARTIES_PER_SESSION_MAX, SIZE_MAX};
use serde_json::Value;
use state::Party;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Request for a party.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewParty {
    /// Id, unique.
    pub party_id: String,
    /// True if users join without a request.
    pub open: bool,
    /// True if the party is in no list.
    pub hidden: bool,
    /// Most members.
    pub max_size: usize,
    /// Label, a JSON object. Empty stands for `{}`.
    pub label: String,
}

/// Change of a party.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartyUpdate {
    /// Label, a JSON object. Empty stands for `{}`.
    pub label: String,
    /// True if users join without a request.
    pub open: bool,
    /// True if the party is in no list.
    pub hidden: bool,
}

/// All parties of a server.
#[derive(Debug, Default)]
pub struct Parties {
    parties: BTreeMap<String, Party>,
    /// Parties of each session, as a member or with a join request.
    by_session: BTreeMap<Uuid, BTreeSet<String>>,
    /// Parties that are not hidden.
    index: DocumentIndex<String>,
    next_sequence: u64,
}

impl Parties {
    /// Creates an empty set of parties.
    #[must_use]
    pub fn new() -> Parties {
        Parties::default()
    }

    /// Number of parties.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parties.len()
    }

    /// Returns true if there are no parties.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parties.is_empty()
    }

    /// Returns true if there is a party with this id.
    #[must_use]
    pub fn contains(&self, party_id: &str) -> bool {
        self.parties.contains_key(party_id)
    }

    /// Returns the users of a party. A party that does not exist has none.
    #[must_use]
    pub fn members(&self, party_id: &str) -> Vec<Uuid> {
        let members = self.parties.get(party_id).map_or(&[][..], |party| &party.members);
        members.iter().map(|member| member.user_id).collect()
    }

    /// Creates a party, whose first member and leader is the creator. Answers with its state.
    pub fn create(&mut self, new: NewParty, creator: UserPresence, now_ms: i64) -> Result<Outcome, PartyError> {
        if !(1..=SIZE_MAX).contains(&new.max_size) {
            return Err(PartyError::MaxSize);
        }
        let (label, value) = parse_label(new.label)?;
        if self.parties.contains_key(&new.party_id) {
            return Err(PartyError::Duplicate);
        }
        if self.parties.len() >= PARTIES_MAX {
            return Err(PartyError::ServerFull);
        }
        self.check_share(creator.session_id)?;
        self.next_sequence += 1;
        let NewParty { party_id, open, hidden, max_size, .. } = new;
        let party = Party {
            info: PartyInfo { party_id: party_id.clone(), open, hidden, max_size, label },
            label: value,
            leader: creator.session_id,
            members: vec![creator.clone()],
            requests: Vec::new(),
            sequence: self.next_sequence,
            created_ms: now_ms,
        };
        let reply = party.state(&creator).map(PartyEvent::State);
        self.by_session.entry(creator.session_id).or_default().insert(party_id.clone());
        self.parties.insert(party_id.clone(), party);
        self.index_party(&party_id);
        Ok(Outcome { reply, ..Outcome::default() })
    }

    /// Joins an open party, or asks to join a closed one. A member gets the state again.
    pub fn join(&mut self, party_id: &str, presence: UserPresence) -> Result<Outcome, PartyError> {
        let session = presence.session_id;
        let mut outcome = Outcome::default();
        let party = self.parties.get(party_id).ok_or(PartyError::NotFound)?;
        if let Some(member) = party.members.iter().find(|member| member.user_id == presence.user_id) {
            if member.session_id != session {
                return Err(PartyError::AlreadyMember);
            }
            let state = party.state(member).map(PartyEvent::State);
            state.into_iter().for_each(|state| outcome.send(vec![session], state));
            return Ok(outcome);
        }
        if party.members.len() >= party.info.max_size {
            return Err(PartyError::Full);
        }
        let has_asked = party.requests.iter().any(|request| request.user_id == presence.user_id);
        if !party.info.open && has_asked {
            return Err(PartyError::DuplicateRequest);
        }
        if !party.info.open && party.requests.len() >= party.info.max_size {
            return Err(PartyError::RequestsFull);
        }
        self.check_share_for(session, party_id)?;
        let party = self.parties.get_mut(party_id).ok_or(PartyError::NotFound)?;
        let earlier = party.requests.iter().find(|request| request.user_id == presence.user_id).cloned();
        if party.info.open {
            party.admit(presence, &mut outcome);
        } else {
            party.requests.push(presence.clone());
            let asked = PartyEvent::JoinRequests { party_id: party_id.to_owned(), presences: vec![presence] };
            outcome.send(vec![party.leader], asked);
        }
        if let Some(earlier) = earlier {
            self.forget(earlier.session_id, party_id);
        }
        self.by_session.entry(session).or_default().insert(party_id.to_owned());
        self.index_party(party_id);
        Ok(outcome)
    }

    /// Leaves a party, or takes a join request back.
    pub fn leave(&mut self, party_id: &str, session: Uuid) -> Result<Outcome, PartyError> {
        let mut outcome = Outcome::default();
        let party = self.parties.get(party_id).ok_or(PartyError::NotFound)?;
        let has_asked = party.requests.iter().any(|request| request.session_id == session);
        if party.member(session).is_none() && !has_asked {
            return Err(PartyError::NotMember);
        }
        self.drop_from(party_id, session, &mut outcome);
        Ok(outcome)
    }

    /// Accepts a join request. Only the leader may.
    pub fn accept(&mut self, party_id: &str, session: Uuid, target: &UserPresence) -> Result<Outcome, PartyError> {
        let party = self.led_by(party_id, session)?;
        if party.members.len() >= party.info.max_size {
            return Err(PartyError::Full);
        }
        let index = party.requests.iter().position(|request| is_same(request, target));
        let presence = party.requests.remove(index.ok_or(PartyError::NotRequested)?);
        let mut outcome = Outcome::default();
        party.admit(presence, &mut outcome);
        self.index_party(party_id);
        Ok(outcome)
    }

    /// Removes a member, who gets a message, or a join request. Only the leader may.
    pub fn remove(&mut self, party_id: &str, session: Uuid, target: &UserPresence) -> Result<Outcome, PartyError> {
        let party = self.led_by(party_id, session)?;
        let mut outcome = Outcome::default();
        if target.session_id == session {
            return Err(PartyError::RemoveSelf);
        }
        if party.members.iter().any(|member| is_same(member, target)) {
            self.drop_from(party_id, target.session_id, &mut outcome);
            outcome.send(vec![target.session_id], PartyEvent::Closed { party_id: party_id.to_owned() });
            return Ok(outcome);
        }
        let index = party.requests.iter().position(|request| is_same(request, target));
        party.requests.remove(index.ok_or(PartyError::NotMember)?);
        self.forget(target.session_id, party_id);
        Ok(outcome)
    }

    /// Makes another member the leader. Only the leader may.
    pub fn promote(&mut self, party_id: &str, session: Uuid, target: &UserPresence) -> Result<Outcome, PartyError> {
        let party = self.led_by(party_id, session)?;
        let presence =
            party.members.iter().find(|member| is_same(member, target)).ok_or(PartyError::NotMember)?.clone();
        party.leader = presence.session_id;
        let mut outcome = Outcome::default();
        outcome.send(party.sessions(), PartyEvent::Leader { party_id: party_id.to_owned(), presence });
        Ok(outcome)
    }

    /// Answers with the join requests. Only the leader may see them.
    pub fn join_requests(&mut self, party_id: &str, session: Uuid) -> Result<Outcome, PartyError> {
        let presences = self.led_by(party_id, session)?.requests.clone();
        let reply = PartyEvent::JoinRequests { party_id: party_id.to_owned(), presences };
        Ok(Outcome { reply: Some(reply), ..Outcome::default() })
    }

    /// Changes the label and who may join and see the party. Only the leader may.
    pub fn update(&mut self, party_id: &str, session: Uuid, update: PartyUpdate) -> Result<Outcome, PartyError> {
        let (label, value) = parse_label(update.label)?;
        let party = self.led_by(party_id, session)?;
        party.info = PartyInfo { label, open: update.open, hidden: update.hidden, ..party.info.clone() };
        party.label = value;
        self.index_party(party_id);
        Ok(Outcome::default())
    }

    /// Sends data to the other members.
    pub fn send_data(&self, party_id: &str, session: Uuid, op_code: i64, data: Vec<u8>) -> Result<Outcome, PartyError> {
        if data.len() > DATA_BYTES_MAX {
            return Err(PartyError::DataTooLong(data.len()));
        }
        let party = self.parties.get(party_id).ok_or(PartyError::NotFound)?;
        let presence = party.member(session).ok_or(PartyError::NotMember)?.clone();
        let mut outcome = Outcome::default();
        let event = PartyEvent::Data { party_id: party_id.to_owned(), presence, op_code, data };
        outcome.send(party.others(session), event);
        Ok(outcome)
    }

    /// Closes a party and tells its members. Only the leader may.
    pub fn close(&mut self, party_id: &str, session: Uuid) -> Result<Outcome, PartyError> {
        let sessions = self.led_by(party_id, session)?.sessions();
        let mut outcome = Outcome::default();
        outcome.send(sessions, PartyEvent::Closed { party_id: party_id.to_owned() });
        outcome.changed.push(party_id.to_owned());
        self.end(party_id);
        Ok(outcome)
    }

    /// Takes a session that ended out of all parties and join requests.
    pub fn end_session(&mut self, session: Uuid) -> Outcome {
        let mut outcome = Outcome::default();
        for party_id in self.by_session.get(&session).cloned().unwrap_or_default() {
            self.drop_from(&party_id, session, &mut outcome);
        }
        outcome
    }

    /// Takes a session out of a party, as a member or with its request. A party without members ends.
    fn drop_from(&mut self, party_id: &str, session: Uuid, outcome: &mut Outcome) {
        self.forget(session, party_id);
        let Some(party) = self.parties.get_mut(party_id) else { return };
        party.requests.retain(|request| request.session_id != session);
        party.dismiss(session, outcome);
        if party.members.is_empty() {
            self.end(party_id);
        } else {
            self.index_party(party_id);
        }
    }

    /// Removes a party.
    fn end(&mut self, party_id: &str) {
        self.index.remove(&party_id.to_owned());
        let Some(party) = self.parties.remove(party_id) else { return };
        for presence in party.members.iter().chain(&party.requests) {
            self.forget(presence.session_id, party_id);
        }
    }

    /// Returns a party if the session leads it.
    fn led_by(&mut self, party_id: &str, session: Uuid) -> Result<&mut Party, PartyError> {
        let party = self.parties.get_mut(party_id).ok_or(PartyError::NotFound)?;
        if party.leader == session { Ok(party) } else { Err(PartyError::NotLeader) }
    }

    fn check_share_for(&self, session: Uuid, party_id: &str) -> Result<(), PartyError> {
        let is_known = self.by_session.get(&session).is_some_and(|parties| parties.contains(party_id));
        if is_known { Ok(()) } else { self.check_share(session) }
    }

    fn check_share(&self, session: Uuid) -> Result<(), PartyError> {
        let count = self.by_session.get(&session).map_or(0, BTreeSet::len);
        if count < PARTIES_PER_SESSION_MAX { Ok(()) } else { Err(PartyError::TooManyParties) }
    }

    fn forget(&mut self, session: Uuid, party_id: &str) {
        if let Some(parties) = self.by_session.get_mut(&session) {
            parties.remove(party_id);
            if parties.is_empty() {
                self.by_session.remove(&session);
            }
        }
    }

    /// Renews the entry of a party in the index of lists.
    fn index_party(&mut self, party_id: &str) {
        let Some(party) = self.parties.get(party_id) else { return };
        match party.document().filter(|_| !party.info.hidden) {
            Some(document) => self.index.insert(party_id.to_owned(), document),
            None => drop(self.index.remove(&party_id.to_owned())),
        }
    }
}

/// Returns true if two presences are the same session of a user. Clients may send an old username.
fn is_same(left: &UserPresence, right: &UserPresence) -> bool {
    left.session_id == right.session_id && left.user_id == right.user_id
}

/// Checks a label and returns it as text and as JSON.
fn parse_label(label: String) -> Result<(String, Value), PartyError> {
    if label.len() > LABEL_BYTES_MAX {
        return Err(PartyError::LabelTooLong(label.len()));
    }
    let label = if label.is_empty() { "{}".to_owned() } else { label };
    let value: Value = serde_json::from_str(&label).map_err(|_| PartyError::LabelInvalid)?;
    let is_indexable = value.is_object() && Document::builder().json("label", &value).build().is_ok();
    if is_indexable { Ok((label, value)) } else { Err(PartyError::LabelInvalid) }
}
