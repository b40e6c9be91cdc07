//! Table of sessions, streams and followers: a state machine without I/O.

use super::limits::{
    FOLLOWERS_PER_USER_MAX, FOLLOWS_PER_SESSION_MAX, PRESENCES_PER_STREAM_MAX, STATUS_BYTES_MAX,
    STREAMS_PER_SESSION_MAX,
};
use super::stream::{Presence, PresenceEvent, PresenceMeta, SocketSession, StreamId, mode};
use crate::error::{GrpcCode, ServiceError};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use uuid::Uuid;

const NOT_CONNECTED: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "The session is not connected. Connect its socket first.");
const ALREADY_CONNECTED: ServiceError = ServiceError::new(GrpcCode::AlreadyExists, "The session is already connected.");

/// Sessions with their streams and the users that they follow.
#[derive(Debug, Default)]
pub(super) struct PresenceTable {
    sessions: HashMap<Uuid, SessionEntry>,
    /// Presences of each stream, by session. A stream without presences is not in the table.
    streams: HashMap<StreamId, BTreeMap<Uuid, PresenceMeta>>,
    /// Sessions that follow a user.
    followers: HashMap<Uuid, BTreeSet<Uuid>>,
    presences: usize,
    /// Events since the last [`PresenceTable::take_events`].
    events: Vec<PresenceEvent>,
}

#[derive(Debug)]
struct SessionEntry {
    socket: SocketSession,
    streams: BTreeSet<StreamId>,
    follows: BTreeSet<Uuid>,
}

/// Presences of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// All presences.
    All,
    /// Presences that others see.
    Visible,
    /// Hidden presences.
    Hidden,
}

impl Shown {
    fn includes(self, meta: &PresenceMeta) -> bool {
        match self {
            Shown::All => true,
            Shown::Visible => !meta.hidden,
            Shown::Hidden => meta.hidden,
        }
    }
}

impl PresenceTable {
    /// Adds a session.
    pub fn open(&mut self, socket: SocketSession) -> Result<(), ServiceError> {
        if self.sessions.contains_key(&socket.session) {
            return Err(ALREADY_CONNECTED);
        }
        let session = socket.session;
        let entry = SessionEntry { socket, streams: BTreeSet::new(), follows: BTreeSet::new() };
        self.sessions.insert(session, entry);
        Ok(())
    }

    /// Returns all sessions.
    pub fn sessions(&self) -> impl Iterator<Item = Uuid> {
        self.sessions.keys().copied()
    }

    /// Removes a session with its presences and follows. Returns the streams that it was in.
    pub fn close(&mut self, session: Uuid) -> Vec<StreamId> {
        let Some(entry) = self.sessions.remove(&session) else { return Vec::new() };
        for user in &entry.follows {
            self.remove_follower(*user, session);
        }
        for stream in &entry.streams {
            if let Some(meta) = self.remove_presence(session, stream) {
                let presence = Presence { socket: entry.socket.clone(), meta };
                self.note(stream.clone(), None, Some(presence));
            }
        }
        entry.streams.into_iter().collect()
    }

    /// Returns a session.
    pub fn socket(&self, session: Uuid) -> Option<&SocketSession> {
        self.sessions.get(&session).map(|entry| &entry.socket)
    }

    /// Returns the streams that a session is in.
    pub fn streams(&self, session: Uuid) -> Vec<StreamId> {
        self.sessions.get(&session).map_or_else(Vec::new, |entry| entry.streams.iter().cloned().collect())
    }

    /// Adds a session to a stream, or changes its properties there. Returns false if nothing changed.
    pub fn track(&mut self, session: Uuid, stream: &StreamId, meta: PresenceMeta) -> Result<bool, ServiceError> {
        stream.check()?;
        if meta.status.len() > STATUS_BYTES_MAX {
            return Err(ServiceError::invalid(format!("A status must have at most {STATUS_BYTES_MAX} bytes.")));
        }
        let entry = self.sessions.get_mut(&session).ok_or(NOT_CONNECTED)?;
        let present = self.streams.get_mut(stream);
        let former = present.as_ref().and_then(|presences| presences.get(&session)).cloned();
        if former.as_ref() == Some(&meta) {
            return Ok(false);
        }
        if former.is_none() {
            if entry.streams.len() >= STREAMS_PER_SESSION_MAX {
                return Err(full(format!("A session may be in at most {STREAMS_PER_SESSION_MAX} streams. Leave one.")));
            }
            if present.as_ref().is_some_and(|presences| presences.len() >= PRESENCES_PER_STREAM_MAX) {
                return Err(full(format!("The stream has its maximum of {PRESENCES_PER_STREAM_MAX} presences.")));
            }
            entry.streams.insert(stream.clone());
            self.presences += 1;
        }
        let socket = entry.socket.clone();
        self.streams.entry(stream.clone()).or_default().insert(session, meta.clone());
        let presence = |meta| Presence { socket: socket.clone(), meta };
        self.note(stream.clone(), Some(presence(meta)), former.map(presence));
        Ok(true)
    }

    /// Removes a session from a stream. Returns false if it is not in it.
    pub fn untrack(&mut self, session: Uuid, stream: &StreamId) -> bool {
        let Some(meta) = self.remove_presence(session, stream) else { return false };
        if let Some(entry) = self.sessions.get_mut(&session) {
            entry.streams.remove(stream);
            let presence = Presence { socket: entry.socket.clone(), meta };
            self.note(stream.clone(), None, Some(presence));
        }
        true
    }

    /// Removes all sessions from a stream. Returns their number.
    pub fn close_stream(&mut self, stream: &StreamId) -> usize {
        let sessions: Vec<Uuid> = self.streams.get(stream).into_iter().flat_map(BTreeMap::keys).copied().collect();
        sessions.iter().filter(|session| self.untrack(**session, stream)).count()
    }

    /// Returns the presences of a stream, in the order of their session ids.
    pub fn list(&self, stream: &StreamId, shown: Shown) -> Vec<Presence> {
        let presences = self.streams.get(stream).into_iter().flatten();
        presences.filter(|(_, meta)| shown.includes(meta)).filter_map(|(id, meta)| self.presence(*id, meta)).collect()
    }

    /// Returns the presence of a session in a stream.
    pub fn find(&self, session: Uuid, stream: &StreamId) -> Option<Presence> {
        self.presence(session, self.streams.get(stream)?.get(&session)?)
    }

    /// Number of presences in a stream, with hidden ones.
    pub fn count(&self, stream: &StreamId) -> usize {
        self.streams.get(stream).map_or(0, BTreeMap::len)
    }

    /// Follows users: the session gets the presence events of their status. All or none of the users are added.
    pub fn follow(&mut self, session: Uuid, users: &[Uuid]) -> Result<(), ServiceError> {
        let entry = self.sessions.get_mut(&session).ok_or(NOT_CONNECTED)?;
        let added: BTreeSet<Uuid> = users.iter().filter(|user| !entry.follows.contains(user)).copied().collect();
        if entry.follows.len() + added.len() > FOLLOWS_PER_SESSION_MAX {
            let message = format!("A session may follow at most {FOLLOWS_PER_SESSION_MAX} users. Unfollow some.");
            return Err(full(message));
        }
        let is_full = |user: &Uuid| self.followers.get(user).is_some_and(|all| all.len() >= FOLLOWERS_PER_USER_MAX);
        if let Some(user) = added.iter().find(|user| is_full(user)) {
            return Err(full(format!("User {user} has the maximum of {FOLLOWERS_PER_USER_MAX} followers.")));
        }
        for user in added {
            entry.follows.insert(user);
            self.followers.entry(user).or_default().insert(session);
        }
        Ok(())
    }

    /// Stops following users.
    pub fn unfollow(&mut self, session: Uuid, users: &[Uuid]) -> Result<(), ServiceError> {
        let entry = self.sessions.get_mut(&session).ok_or(NOT_CONNECTED)?;
        let removed: Vec<Uuid> = users.iter().filter(|user| entry.follows.remove(user)).copied().collect();
        for user in removed {
            self.remove_follower(user, session);
        }
        Ok(())
    }

    /// Takes the events since the last call, in their order.
    pub fn take_events(&mut self) -> Vec<PresenceEvent> {
        std::mem::take(&mut self.events)
    }

    /// Returns the sessions that get the events of a stream: the followers of a status, and else its members. A session
    /// that has just left is not among them.
    pub fn receivers(&self, stream: &StreamId) -> Vec<Uuid> {
        match stream.mode {
            mode::NOTIFICATIONS => Vec::new(),
            mode::STATUS => self.followers.get(&stream.subject).into_iter().flatten().copied().collect(),
            _ => self.members(stream).collect(),
        }
    }

    /// Returns the sessions in a stream.
    pub fn members(&self, stream: &StreamId) -> impl Iterator<Item = Uuid> {
        self.streams.get(stream).into_iter().flat_map(BTreeMap::keys).copied()
    }

    /// Number of sessions, streams and presences.
    pub fn sizes(&self) -> (usize, usize, usize) {
        (self.sessions.len(), self.streams.len(), self.presences)
    }

    fn presence(&self, session: Uuid, meta: &PresenceMeta) -> Option<Presence> {
        Some(Presence { socket: self.socket(session)?.clone(), meta: meta.clone() })
    }

    fn remove_presence(&mut self, session: Uuid, stream: &StreamId) -> Option<PresenceMeta> {
        let presences = self.streams.get_mut(stream)?;
        let meta = presences.remove(&session)?;
        if presences.is_empty() {
            self.streams.remove(stream);
        }
        self.presences -= 1;
        Some(meta)
    }

    fn remove_follower(&mut self, user: Uuid, session: Uuid) {
        if let Some(followers) = self.followers.get_mut(&user) {
            followers.remove(&session);
            if followers.is_empty() {
                self.followers.remove(&user);
            }
        }
    }

    /// Notes a change. Events of one stream in a row are one event. Hidden presences are in no event.
    fn note(&mut self, stream: StreamId, join: Option<Presence>, leave: Option<Presence>) {
        let [join, leave] = [join, leave].map(|presence| presence.filter(|presence| !presence.meta.hidden));
        if join.is_none() && leave.is_none() {
            return;
        }
        match self.events.last_mut() {
            Some(event) if event.stream == stream => {
                event.joins.extend(join);
                event.leaves.extend(leave);
            }
            _ => {
                let (joins, leaves) = (join.into_iter().collect(), leave.into_iter().collect());
                self.events.push(PresenceEvent { stream, joins, leaves });
            }
        }
    }
}

fn full(message: String) -> ServiceError {
    ServiceError::with(GrpcCode::ResourceExhausted, message)
}
