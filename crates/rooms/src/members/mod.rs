//! Members of a room that are connected by the services socket, and what they see of the others.
//!
//! A member over the socket is a player of the room like any other. Its output goes to the router: the data of a relayed
//! match in batches ([`relay_tap`]), the events of a game by a task of the room ([`pump`]). Its presence is in the stream
//! of the match. Players with a connection of their own are in no stream; members get their joins and leaves from here.

mod pump;
mod relay_tap;

use crate::entry::RoomRef;
use aether_engine::ConnectionEndpoint;
use aether_limits::KeyedShare;
use aether_net::relay::{RelayMember, RelayMessage, RelayTap};
use aether_services::matches::SentData;
use aether_services::realtime::envelope::Message;
use aether_services::realtime::{MatchPresenceEvent, UserPresence};
use aether_services::router::{
    MatchBatch, MatchSender, Presence, PresenceMeta, Router, SessionSender, Shown, SocketSession, StreamId,
};
use aether_services::{GrpcCode, ServiceError, Services};
use aether_wire::limits::GAME_PAYLOAD_BYTES_MAX;
use aether_wire::{ClientMessage, CloseReason, CommandSeq, GameBody, GameMessage, PlayerId};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use uuid::Uuid;

/// Most matches of one session.
pub(crate) const MATCHES_PER_SESSION_MAX: usize = 16;

/// Members of one room.
pub(crate) struct MatchMembers {
    match_id: String,
    stream: StreamId,
    router: Arc<Router>,
    tables: Mutex<Tables>,
    /// Match data since the last flush of a relay.
    batch: Mutex<MatchBatch>,
    this: Weak<MatchMembers>,
}

#[derive(Default)]
struct Tables {
    /// Members over the socket, by session.
    members: HashMap<Uuid, Arc<SocketMember>>,
    /// All players of the room, by id.
    players: HashMap<PlayerId, ShownPlayer>,
    /// Players whose socket has ended, by user. They may resume.
    away: HashMap<Uuid, PlayerId>,
    /// Wakes the task that takes the output of the room; none if it does not run.
    pump: Option<Waker>,
    is_pumping: bool,
    is_closed: bool,
}

/// Player as the members see it.
struct ShownPlayer {
    presence: UserPresence,
    user: Uuid,
    sender: Arc<MatchSender>,
    /// Connection of a player who is not connected by the socket.
    connection: Option<Weak<()>>,
}

/// Member of a room over the socket.
pub(crate) struct SocketMember {
    pub player: PlayerId,
    pub socket: SocketSession,
    pub sender: SessionSender,
    pub link: MemberLink,
    /// Keeps the room in use.
    pub room: RoomRef,
    /// Place of the network in a relay. A game keeps it until the player leaves.
    pub _place: Option<KeyedShare<IpAddr>>,
    pub services: Arc<Services>,
}

impl Drop for SocketMember {
    /// Notes the departure, for rooms that do not report departures themselves.
    fn drop(&mut self) {
        if !self.room.room.reports_departures() {
            self.services.rooms.note_leave(&self.room.id.0, self.player.0, CloseReason::Left.name());
        }
    }
}

/// Connection of a member with its room.
pub(crate) enum MemberLink {
    Game(ConnectionEndpoint),
    Relay(RelayMember),
}

impl MatchMembers {
    pub fn new(match_id: String, stream: StreamId, router: Arc<Router>) -> Arc<MatchMembers> {
        Arc::new_cyclic(|this| MatchMembers {
            match_id,
            stream,
            router,
            tables: Mutex::default(),
            batch: Mutex::default(),
            this: Weak::clone(this),
        })
    }

    /// Returns the receiver of the messages of a relay.
    pub fn tap(&self) -> Weak<dyn RelayTap> {
        Weak::clone(&self.this) as _
    }

    /// Returns the presences of a member that has joined before, with itself; none if the session is not a member.
    pub fn joined(&self, session: Uuid) -> Option<Vec<UserPresence>> {
        let is_member = self.tables().members.contains_key(&session);
        is_member.then(|| self.presences())
    }

    /// Returns the player that a user may resume, and forgets it.
    pub fn take_away(&self, user: Uuid) -> Option<PlayerId> {
        self.tables().away.remove(&user)
    }

    /// Adds a member, and shows it to the others. Returns the presences of the others.
    pub fn add(&self, member: SocketMember) -> Result<Vec<UserPresence>, ServiceError> {
        let session = member.socket.session;
        let others = self.presences();
        let shown = self.shown(&member.socket, None);
        let member = Arc::new(member);
        // First: a flush in between delivers the earlier data without the member.
        self.batch().add_newcomer(member.player.0);
        {
            let mut tables = self.tables();
            if tables.is_closed {
                return Err(ended());
            }
            tables.players.insert(member.player, shown);
            tables.members.insert(session, Arc::clone(&member));
        }
        // Last, because the end of the session removes the member by this stream.
        if let Err(error) = self.router.track(session, &self.stream, PresenceMeta::default()) {
            drop(self.take(session));
            return Err(error);
        }
        if matches!(member.link, MemberLink::Game(_)) {
            self.start_pump();
        }
        Ok(others)
    }

    /// Removes a member that leaves. It cannot resume. Returns false if the session is not a member.
    pub fn leave(&self, session: Uuid) -> bool {
        let Some(member) = self.take(session) else { return false };
        if let MemberLink::Game(endpoint) = &member.link {
            // If the inbox is full, the room removes the player after the time to resume.
            let _ = endpoint.push(ClientMessage::Leave);
        }
        self.router.untrack(session, &self.stream);
        true
    }

    /// Removes the member of a session that has ended. Its player may resume, if the room allows it.
    pub fn end_session(&self, session: Uuid) {
        let Some(member) = self.take(session) else { return };
        if matches!(member.link, MemberLink::Game(_)) && !member.room.room_type.resume_grace().is_zero() {
            self.tables().away.insert(member.socket.user, member.player);
        }
    }

    /// Removes a member whom the room has closed, and tells it.
    fn dismiss(&self, session: Uuid) {
        let Some(member) = self.take(session) else { return };
        self.router.untrack(session, &self.stream);
        let leaves = vec![presence_of(&member.socket)];
        let event = MatchPresenceEvent { match_id: self.match_id.clone(), joins: Vec::new(), leaves };
        self.router.send_to_session(session, Message::MatchPresenceEvent(event));
    }

    /// Forgets a player who left the room, so that its user does not resume it.
    pub fn forget(&self, player: PlayerId) {
        self.tables().away.retain(|_, away| *away != player);
    }

    /// Removes all members, because the room has ended.
    pub fn close(&self) {
        let sessions: Vec<Uuid> = {
            let mut tables = self.tables();
            tables.is_closed = true;
            tables.members.keys().copied().collect()
        };
        sessions.into_iter().for_each(|session| self.dismiss(session));
    }

    /// Shows a player with a connection of its own to the members.
    pub fn show(&self, player: PlayerId, socket: &SocketSession, connection: &Arc<()>) {
        let shown = self.shown(socket, Some(Arc::downgrade(connection)));
        let presence = shown.presence.clone();
        self.tables().players.insert(player, shown);
        self.announce(vec![presence], Vec::new());
    }

    /// Hides a player whose connection has ended, unless it has another one.
    pub fn hide(&self, player: PlayerId, connection: &Arc<()>) {
        let mut tables = self.tables();
        let is_same = |shown: &ShownPlayer| {
            shown.connection.as_ref().is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(connection)))
        };
        if !tables.players.get(&player).is_some_and(is_same) {
            return;
        }
        let left = tables.players.remove(&player);
        drop(tables);
        if let Some(ShownPlayer { presence, .. }) = left {
            self.announce(Vec::new(), vec![presence]);
        }
    }

    /// Returns the players of a user.
    pub fn players_of(&self, user: Uuid) -> Vec<PlayerId> {
        let tables = self.tables();
        tables.players.iter().filter(|(_, shown)| shown.user == user).map(|(player, _)| *player).collect()
    }

    /// Removes a member of a relay by its player id; a game closes its members itself.
    pub fn kick(&self, player: PlayerId) {
        let session = {
            let tables = self.tables();
            let is_kicked =
                |member: &&Arc<SocketMember>| member.player == player && matches!(member.link, MemberLink::Relay(_));
            tables.members.values().find(is_kicked).map(|member| member.socket.session)
        };
        if let Some(session) = session {
            self.dismiss(session);
        }
    }

    /// Passes data of a member to the room.
    pub fn send(&self, session: Uuid, sent: &SentData<'_>) -> Result<(), ServiceError> {
        let member = self.tables().members.get(&session).cloned().ok_or_else(not_member)?;
        if sent.data.len() > GAME_PAYLOAD_BYTES_MAX {
            let sentence = format!("The data of a message must have at most {GAME_PAYLOAD_BYTES_MAX} bytes.");
            return Err(ServiceError::invalid(sentence));
        }
        match &member.link {
            MemberLink::Game(endpoint) => {
                let code = u16::try_from(sent.op_code)
                    .map_err(|_| ServiceError::invalid("The op code of data for a game must be from 0 to 65535."))?;
                let body = GameBody::Packed { code, payload: sent.data.to_vec() };
                let message = ClientMessage::Game(GameMessage { seq: CommandSeq(0), body });
                endpoint.push(message).map_err(|full| ServiceError::with(GrpcCode::ResourceExhausted, full.to_string()))
            }
            MemberLink::Relay(relay) => {
                let receivers = (!sent.receivers.is_empty()).then(|| self.players_at(sent.receivers));
                let message = RelayMessage {
                    sender: member.player,
                    code: sent.op_code,
                    payload: sent.data,
                    receivers: receivers.as_deref(),
                    is_reliable: sent.is_reliable,
                };
                relay.send_message(&message).map_err(crate::matches::to_service_error)
            }
        }
    }

    /// Returns the players with some of these sessions.
    fn players_at(&self, sessions: &[Uuid]) -> Vec<PlayerId> {
        let tables = self.tables();
        let texts: Vec<String> = sessions.iter().map(Uuid::to_string).collect();
        let is_named = |shown: &ShownPlayer| texts.contains(&shown.presence.session_id);
        tables.players.iter().filter(|(_, shown)| is_named(shown)).map(|(player, _)| *player).collect()
    }

    /// Takes a member out of the tables. The caller drops it without a lock, because that calls the room.
    fn take(&self, session: Uuid) -> Option<Arc<SocketMember>> {
        let mut tables = self.tables();
        let member = tables.members.remove(&session)?;
        tables.players.remove(&member.player);
        Some(member)
    }

    /// Presences of all players.
    fn presences(&self) -> Vec<UserPresence> {
        let members = self.router.list(&self.stream, Shown::Visible);
        let mut presences: Vec<UserPresence> =
            members.iter().map(|presence: &Presence| presence.to_message(self.stream.mode)).collect();
        let tables = self.tables();
        let connected = tables.players.values().filter(|shown| shown.connection.is_some());
        presences.extend(connected.map(|shown| shown.presence.clone()));
        presences
    }

    /// Tells the members of players who are in no stream.
    fn announce(&self, joins: Vec<UserPresence>, leaves: Vec<UserPresence>) {
        if self.tables().members.is_empty() {
            return;
        }
        let event = MatchPresenceEvent { match_id: self.match_id.clone(), joins, leaves };
        self.router.send_to_stream(&self.stream, Message::MatchPresenceEvent(event));
    }

    fn shown(&self, socket: &SocketSession, connection: Option<Weak<()>>) -> ShownPlayer {
        let presence = presence_of(socket);
        let sender = Arc::new(MatchSender::new(&self.match_id, Some(&presence)));
        ShownPlayer { presence, user: socket.user, sender, connection }
    }

    fn batch(&self) -> MutexGuard<'_, MatchBatch> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the presence of a session as clients see it.
pub(crate) fn presence_of(socket: &SocketSession) -> UserPresence {
    UserPresence {
        user_id: socket.user.to_string(),
        session_id: socket.session.to_string(),
        username: socket.username.to_string(),
        ..UserPresence::default()
    }
}

/// Returns the error for a session that is not a member.
pub(crate) fn not_member() -> ServiceError {
    ServiceError::with(GrpcCode::FailedPrecondition, "You are not in the match. Join it first.")
}

fn ended() -> ServiceError {
    ServiceError::with(GrpcCode::NotFound, "The match has ended. Join another one.")
}
