//! Presence of sessions in the rooms of this node, and the states of sessions that follow from it.

use aether_metrics::{Counter, Registry};
use aether_services::Services;
use aether_services::session::SessionState;
use aether_wire::{CloseReason, PlayerId, RoomId, SessionId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Time beyond the resume grace after which an absent player counts as gone, if the room did not report it.
const REPORT_TIME_MAX: Duration = Duration::from_secs(10);

/// Players in rooms of this node, with their sessions. Changes of the state of a session are noted in its history.
pub(crate) struct Presence {
    services: Arc<Services>,
    tables: Mutex<Tables>,
    removed: Counter,
}

#[derive(Default)]
struct Tables {
    rooms: HashMap<RoomId, HashMap<PlayerId, PresentPlayer>>,
    sessions: HashMap<SessionId, SessionCounts>,
}

struct PresentPlayer {
    session: SessionId,
    /// Open connections. There are two for a moment when one replaces the other.
    connections: u32,
    /// True if the room has reported the departure before the connection ended.
    has_left: bool,
    /// Time until which an absent player may resume.
    away_until: Option<Instant>,
}

/// Connections and players of one session.
#[derive(Clone, Copy, Default)]
struct SessionCounts {
    connecting: u32,
    connected: u32,
    away: u32,
    /// Open connections without a room, such as services sockets.
    sockets: u32,
}

/// Connection of a session that joins a room. The session is connecting until it is dropped, unless it is active.
pub(crate) struct ConnectingSession {
    presence: Arc<Presence>,
    session: SessionId,
}

impl Drop for ConnectingSession {
    fn drop(&mut self) {
        self.presence.change(self.session, |counts| counts.connecting = counts.connecting.saturating_sub(1));
    }
}

/// Connection of a session without a room. The session is active until it is dropped.
pub(crate) struct SocketPresence {
    presence: Arc<Presence>,
    session: SessionId,
}

impl Drop for SocketPresence {
    fn drop(&mut self) {
        self.presence.change(self.session, |counts| counts.sockets = counts.sockets.saturating_sub(1));
    }
}

impl SessionCounts {
    fn state(self) -> SessionState {
        match self {
            SessionCounts { connected: 1.., .. } | SessionCounts { sockets: 1.., .. } => SessionState::Active,
            SessionCounts { connecting: 1.., .. } => SessionState::Connecting,
            SessionCounts { away: 1.., .. } => SessionState::Resuming,
            _ => SessionState::Authenticated,
        }
    }
}

impl Presence {
    pub fn new(services: Arc<Services>, registry: &Registry) -> Presence {
        let help = "Players removed from rooms because their session was revoked or has expired.";
        let removed = registry.counter("aether_session_removals_total", help, &[]);
        Presence { services, tables: Mutex::default(), removed }
    }

    /// Notes that a connection of a session joins a room.
    pub fn connecting(self: &Arc<Self>, session: SessionId) -> ConnectingSession {
        self.change(session, |counts| counts.connecting += 1);
        ConnectingSession { presence: Arc::clone(self), session }
    }

    /// Notes that a session has a connection without a room. The session is active until the result is dropped.
    pub fn socket(self: &Arc<Self>, session: SessionId) -> SocketPresence {
        self.change(session, |counts| counts.sockets += 1);
        SocketPresence { presence: Arc::clone(self), session }
    }

    /// Notes that a room has admitted a connection of a player.
    pub fn connected(&self, room: &RoomId, player: PlayerId, session: SessionId) {
        let mut tables = self.tables();
        let players = tables.rooms.entry(room.clone()).or_default();
        let fresh = PresentPlayer { session, connections: 0, has_left: false, away_until: None };
        let present = players.entry(player).or_insert(fresh);
        present.connections += 1;
        let (is_first, was_away) = (present.connections == 1, present.away_until.take().is_some());
        self.change_in(&mut tables, session, |counts| {
            counts.connected += u32::from(is_first);
            counts.away = counts.away.saturating_sub(was_away.into());
        });
    }

    /// Notes that a connection of a player ended. With a grace the player may resume; without one the player is gone.
    pub fn disconnected(&self, room: &RoomId, player: PlayerId, grace: Duration) {
        let mut tables = self.tables();
        let Some(present) = tables.rooms.get_mut(room).and_then(|players| players.get_mut(&player)) else { return };
        present.connections = present.connections.saturating_sub(1);
        if present.connections > 0 {
            return;
        }
        let session = present.session;
        let is_gone = present.has_left || grace.is_zero();
        if is_gone {
            tables.forget(room, player);
        } else {
            present.away_until = Some(Instant::now() + grace + REPORT_TIME_MAX);
        }
        self.change_in(&mut tables, session, |counts| {
            counts.connected = counts.connected.saturating_sub(1);
            counts.away += u32::from(!is_gone);
        });
    }

    /// Notes that a player left the room.
    pub fn left(&self, room: &RoomId, player: PlayerId, reason: CloseReason) {
        if reason == CloseReason::SessionEnded {
            self.removed.inc();
        }
        self.gone(&mut self.tables(), room, player);
    }

    /// Notes that a room ended with all its players.
    pub fn room_ended(&self, room: &RoomId) {
        let mut tables = self.tables();
        let players: Vec<PlayerId> = tables.rooms.get(room).into_iter().flat_map(HashMap::keys).copied().collect();
        for player in players {
            self.gone(&mut tables, room, player);
        }
    }

    /// Notes that the client of a session has sent something.
    pub fn heartbeat(&self, session: SessionId) {
        if self.tables().sessions.get(&session).is_some_and(|counts| counts.connected > 0 || counts.sockets > 0) {
            self.services.sessions.note(Uuid::from_u128(session.0), SessionState::Active);
        }
    }

    /// Forgets absent players whose departure was not reported. Call it once a second.
    pub fn sweep(&self) {
        let mut tables = self.tables();
        let now = Instant::now();
        let is_overdue = |present: &PresentPlayer| present.away_until.is_some_and(|until| until < now);
        let overdue: Vec<(RoomId, PlayerId)> = tables
            .players()
            .filter(|(_, _, present)| is_overdue(present))
            .map(|(room, player, _)| (room.clone(), player))
            .collect();
        for (room, player) in overdue {
            self.gone(&mut tables, &room, player);
        }
    }

    /// Returns the players of sessions for which `is_ended` returns true.
    pub fn players_of(&self, mut is_ended: impl FnMut(SessionId) -> bool) -> Vec<(RoomId, PlayerId)> {
        let tables = self.tables();
        let ended = tables.players().filter(|(_, _, present)| !present.has_left && is_ended(present.session));
        ended.map(|(room, player, _)| (room.clone(), player)).collect()
    }

    fn gone(&self, tables: &mut Tables, room: &RoomId, player: PlayerId) {
        let Some(present) = tables.rooms.get_mut(room).and_then(|players| players.get_mut(&player)) else { return };
        if present.connections > 0 {
            present.has_left = true;
            return;
        }
        let session = present.session;
        tables.forget(room, player);
        self.change_in(tables, session, |counts| counts.away = counts.away.saturating_sub(1));
    }

    fn change(&self, session: SessionId, change: impl FnOnce(&mut SessionCounts)) {
        self.change_in(&mut self.tables(), session, change);
    }

    /// Changes the counts of a session and notes its state.
    fn change_in(&self, tables: &mut Tables, session: SessionId, change: impl FnOnce(&mut SessionCounts)) {
        let counts = tables.sessions.entry(session).or_default();
        change(counts);
        let state = counts.state();
        if let SessionCounts { connecting: 0, connected: 0, away: 0, sockets: 0 } = counts {
            tables.sessions.remove(&session);
        }
        self.services.sessions.note(Uuid::from_u128(session.0), state);
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tables {
    fn players(&self) -> impl Iterator<Item = (&RoomId, PlayerId, &PresentPlayer)> {
        let rooms = self.rooms.iter();
        rooms.flat_map(|(room, players)| players.iter().map(move |(player, present)| (room, *player, present)))
    }

    fn forget(&mut self, room: &RoomId, player: PlayerId) {
        let Some(players) = self.rooms.get_mut(room) else { return };
        players.remove(&player);
        if players.is_empty() {
            self.rooms.remove(room);
        }
    }
}
