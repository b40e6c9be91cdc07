//! Parties as a service: messages of sockets, presences and messages through the router.
//!
//! The members of a party are present in its stream, so the router sends the presence events, also when a session ends.
//! All calls change the parties, the matchmaker and the router under one lock, in this order, so every member sees the
//! events of a party in the same order.

use super::error::PartyError;
use super::event::{Outcome, PartyEvent, PartyState};
use super::{NewParty, Parties, PartyFilter, PartyPage, PartyUpdate, TicketRequest};
use crate::clock::{WallClock, new_id};
use crate::error::{GrpcCode, ServiceError};
use crate::matchmaker::{Delivery, MatchmakerService, UserPresence};
use crate::router::{PresenceMeta, Router, StreamId, mode};
use aether_messages::realtime::envelope::Message;
use aether_metrics::{Gauge, Registry};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

const NOT_CONNECTED: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The session is not connected. Connect its socket first.");

/// The parties of a server.
pub struct PartyService {
    parties: Mutex<Parties>,
    router: Arc<Router>,
    matchmaker: Arc<MatchmakerService>,
    clock: Arc<dyn WallClock>,
    count: Gauge,
}

impl PartyService {
    /// Creates the service without parties. Sessions that end leave their parties, and their tickets end.
    pub(crate) fn start(
        router: Arc<Router>,
        matchmaker: Arc<MatchmakerService>,
        clock: Arc<dyn WallClock>,
        registry: &Registry,
    ) -> Arc<PartyService> {
        let count = registry.gauge("aether_parties", "Parties with at least one member.", &[]);
        let service = PartyService { parties: Mutex::default(), router, matchmaker, clock, count };
        let service = Arc::new(service);
        // The router does not own the service, which owns the router.
        let ended = Arc::downgrade(&service);
        service.router.on_end(move |socket, _| {
            if let Some(service) = ended.upgrade() {
                service.end_session(socket.session);
            }
        });
        service
    }

    /// Creates a party with the session as its leader. The id of `new` is replaced.
    pub fn create(&self, session: Uuid, new: NewParty) -> Result<PartyState, ServiceError> {
        let socket = self.router.session(session).ok_or(NOT_CONNECTED)?;
        let now_ms = self.clock.now_ms();
        let party_id = format!("{}.{}", new_id(now_ms), socket.node);
        let reply =
            self.change(session, |parties, presence| parties.create(NewParty { party_id, ..new }, presence, now_ms))?;
        match reply {
            Some(PartyEvent::State(state)) => Ok(state),
            _ => Err(PartyError::NotFound.into()),
        }
    }

    /// Joins an open party, or asks to join a closed one.
    pub fn join(&self, session: Uuid, party_id: &str) -> Result<(), ServiceError> {
        self.change(session, |parties, presence| parties.join(party_id, presence)).map(drop)
    }

    /// Leaves a party, or takes a join request back.
    pub fn leave(&self, session: Uuid, party_id: &str) -> Result<(), ServiceError> {
        self.change(session, |parties, _| parties.leave(party_id, session)).map(drop)
    }

    /// Accepts a join request.
    pub fn accept(&self, session: Uuid, party_id: &str, target: &UserPresence) -> Result<(), ServiceError> {
        self.change(session, |parties, _| parties.accept(party_id, session, target)).map(drop)
    }

    /// Removes a member or a join request.
    pub fn remove(&self, session: Uuid, party_id: &str, target: &UserPresence) -> Result<(), ServiceError> {
        self.change(session, |parties, _| parties.remove(party_id, session, target)).map(drop)
    }

    /// Makes another member the leader.
    pub fn promote(&self, session: Uuid, party_id: &str, target: &UserPresence) -> Result<(), ServiceError> {
        self.change(session, |parties, _| parties.promote(party_id, session, target)).map(drop)
    }

    /// Closes a party.
    pub fn close(&self, session: Uuid, party_id: &str) -> Result<(), ServiceError> {
        self.change(session, |parties, _| parties.close(party_id, session)).map(drop)
    }

    /// Changes the label of a party, and who may join and see it.
    pub fn update(&self, session: Uuid, party_id: &str, update: PartyUpdate) -> Result<(), ServiceError> {
        self.change(session, |parties, _| parties.update(party_id, session, update)).map(drop)
    }

    /// Sends data to the other members.
    pub fn send_data(&self, session: Uuid, party_id: &str, op_code: i64, data: Vec<u8>) -> Result<(), ServiceError> {
        self.change(session, |parties, _| parties.send_data(party_id, session, op_code, data)).map(drop)
    }

    /// Returns the presences that ask to join, the oldest request first.
    pub fn join_requests(&self, session: Uuid, party_id: &str) -> Result<Vec<UserPresence>, ServiceError> {
        match self.change(session, |parties, _| parties.join_requests(party_id, session))? {
            Some(PartyEvent::JoinRequests { presences, .. }) => Ok(presences),
            _ => Ok(Vec::new()),
        }
    }

    /// Adds a party to the matchmaker.
    pub fn add_to_matchmaker(&self, session: Uuid, party_id: &str, request: TicketRequest) -> Result<(), ServiceError> {
        let added = self.change(session, |parties, _| {
            self.matchmaker
                .change(|matchmaker, now_ms| parties.add_to_matchmaker(matchmaker, party_id, session, request, now_ms))
        });
        added.map(drop)
    }

    /// Removes a ticket of a party.
    pub fn remove_from_matchmaker(&self, session: Uuid, party_id: &str, ticket: Uuid) -> Result<(), ServiceError> {
        let removed = self.change(session, |parties, _| {
            self.matchmaker
                .change(|matchmaker, _| parties.remove_from_matchmaker(matchmaker, party_id, session, ticket))
        });
        removed.map(drop)
    }

    /// Returns the users of a party. A party that does not exist has none.
    #[must_use]
    pub fn members(&self, party_id: &str) -> Vec<Uuid> {
        self.parties().members(party_id)
    }

    /// Lists parties that are not hidden.
    pub fn list(&self, filter: &PartyFilter) -> Result<PartyPage, ServiceError> {
        Ok(self.parties().list(filter)?)
    }

    /// Number of parties.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parties().len()
    }

    /// Returns true if there are no parties.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parties().is_empty()
    }

    /// Takes a session that ended out of its parties, and ends its tickets.
    fn end_session(&self, session: Uuid) {
        let mut parties = self.parties();
        let outcome = parties.end_session(session);
        // Only a join can fail.
        let _ = self.apply(&mut parties, outcome);
        drop(parties);
        self.matchmaker.end_session(session);
    }

    /// Handles a request of a connected session.
    fn change(
        &self,
        session: Uuid,
        change: impl FnOnce(&mut Parties, UserPresence) -> Result<Outcome, PartyError>,
    ) -> Result<Option<PartyEvent>, ServiceError> {
        let mut parties = self.parties();
        // Checked under the lock: a session that ends later is taken out later.
        let socket = self.router.session(session).ok_or(NOT_CONNECTED)?;
        let outcome = change(&mut parties, UserPresence::of(&socket))?;
        if let Some(PartyEvent::State(state)) = &outcome.reply {
            let stream = stream(&state.info.party_id);
            if let Err(error) = self.router.track(session, &stream, PresenceMeta::default()) {
                self.undo_join(&mut parties, &state.info.party_id, session);
                return Err(error);
            }
        }
        self.apply(&mut parties, outcome)
    }

    /// Passes an outcome on to the matchmaker and the router, and returns the reply.
    fn apply(&self, parties: &mut Parties, outcome: Outcome) -> Result<Option<PartyEvent>, ServiceError> {
        let Outcome { reply, deliveries, changed } = outcome;
        for party_id in &changed {
            self.matchmaker.change(|matchmaker, _| matchmaker.remove_party(party_id));
        }
        let mut applied = Ok(reply);
        for Delivery { to, event } in deliveries {
            match event {
                PartyEvent::State(state) => {
                    let (session, party_id) = (state.own.session_id, state.info.party_id.clone());
                    if let Err(error) = self.admit(state) {
                        self.undo_join(parties, &party_id, session);
                        applied = Err(error);
                    }
                }
                // The router has sent the join, and sends the leave.
                PartyEvent::Presence { party_id, leaves, .. } => {
                    for presence in leaves {
                        self.router.untrack(presence.session_id, &stream(&party_id));
                    }
                }
                event => {
                    self.router.send_to_sessions(to, event.into_message());
                }
            }
        }
        for party_id in changed.iter().filter(|party_id| !parties.contains(party_id)) {
            self.router.close_stream(&stream(party_id));
        }
        self.count.set(parties.len() as f64);
        applied
    }

    /// Adds a member to the stream of the party, and sends the state of the party to it.
    fn admit(&self, mut state: PartyState) -> Result<(), ServiceError> {
        let stream = stream(&state.info.party_id);
        let session = state.own.session_id;
        self.router.track_with_message(session, &stream, PresenceMeta::default(), |present| {
            // A member whose session has just ended has left the stream, and then leaves the party.
            state.presences.retain(|member| present.iter().any(|it| it.socket.session == member.session_id));
            Message::Party(state.to_message())
        })?;
        Ok(())
    }

    /// Takes a member out again that the stream did not admit, because it is in too many or has just ended.
    fn undo_join(&self, parties: &mut Parties, party_id: &str, session: Uuid) {
        if let Ok(outcome) = parties.leave(party_id, session) {
            let _ = self.apply(parties, outcome);
        }
    }

    fn parties(&self) -> MutexGuard<'_, Parties> {
        self.parties.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stream of the members of a party, by an id that the service made.
fn stream(party_id: &str) -> StreamId {
    let (subject, node) = party_id.split_once('.').unwrap_or((party_id, ""));
    let subject = Uuid::try_parse(subject).unwrap_or_default();
    StreamId { mode: mode::PARTY, subject, label: node.to_owned(), ..StreamId::default() }
}
