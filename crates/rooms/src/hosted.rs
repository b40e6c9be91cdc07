//! Common interface of hosted rooms: game rooms and relays.

use crate::members::MemberLink;
use aether_engine::{JoinRequest, Rejection, RoomHandle, RoomNumber, RoomStats, closing};
use aether_net::lobby::RoomMember;
use aether_net::relay::{Relay, RelayTap};
use aether_replication::DeliveryOrder;
use aether_wire::{CloseReason, ErrorCode, Permissions, PlayerId};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::spawn_blocking;

/// Longest wait for a game's reply to a signal.
const SIGNAL_TIME_MAX: Duration = Duration::from_secs(5);

/// A running room.
pub(crate) trait HostedRoom: Send + Sync {
    /// Number of the room in the scheduler; none for a relay.
    fn number(&self) -> Option<RoomNumber>;

    /// Returns true while the room takes joins.
    fn is_open(&self) -> bool;

    /// Number of players in the room.
    fn players(&self) -> u32;

    /// Ticks per second; 0 for a relay.
    fn tick_hz(&self) -> u32;

    /// Label of the room.
    fn label(&self) -> Arc<str>;

    /// Stats of the last tick; none for a relay.
    fn stats(&self) -> Option<RoomStats>;

    /// Number of joins, answers and signals that wait for the next tick.
    fn queue_depth(&self) -> usize;

    /// Joins a player.
    fn join(&self, request: JoinRequest, order: DeliveryOrder) -> Result<RoomMember, Rejection>;

    /// Joins a member over the services socket, or resumes its player. The tap takes the messages of a relay.
    fn join_socket(
        &self,
        request: JoinRequest,
        resumed: Option<PlayerId>,
        tap: &Weak<dyn RelayTap>,
    ) -> Result<MemberLink, Rejection>;

    /// Resumes a player who lost the connection; none for a relay.
    fn resume(&self, player: PlayerId, order: DeliveryOrder) -> Option<Result<RoomMember, Rejection>>;

    /// Replaces the permissions of a player. A relay has nothing that needs one.
    fn set_permissions(&self, player: PlayerId, permissions: Permissions) -> Result<(), Rejection>;

    /// Removes a player, connected or not, who cannot resume. A relay closes its connection.
    fn remove(&self, player: PlayerId, reason: CloseReason);

    /// Returns true if the room reports departures of players. Otherwise a player leaves when the connection ends.
    fn reports_departures(&self) -> bool;

    /// Handle for signals; none for a relay.
    fn signal_handle(&self) -> Option<&RoomHandle>;

    /// Ends the room. Returns true if it has ended, false if the scheduler reports the end later.
    fn end(&self, reason: CloseReason) -> bool;
}

/// A room that runs a game.
#[doc(hidden)]
pub struct GameRoom {
    number: RoomNumber,
    handle: RoomHandle,
}

impl GameRoom {
    pub(crate) fn new(number: RoomNumber, handle: RoomHandle) -> GameRoom {
        GameRoom { number, handle }
    }

    pub(crate) fn handle(&self) -> &RoomHandle {
        &self.handle
    }
}

impl HostedRoom for GameRoom {
    fn number(&self) -> Option<RoomNumber> {
        Some(self.number)
    }

    fn is_open(&self) -> bool {
        self.handle.is_open()
    }

    fn players(&self) -> u32 {
        self.handle.stats().players
    }

    fn tick_hz(&self) -> u32 {
        self.handle.settings().tick_hz
    }

    fn label(&self) -> Arc<str> {
        self.handle.label()
    }

    fn stats(&self) -> Option<RoomStats> {
        Some(self.handle.stats())
    }

    fn queue_depth(&self) -> usize {
        self.handle.mailbox_len()
    }

    fn join(&self, request: JoinRequest, order: DeliveryOrder) -> Result<RoomMember, Rejection> {
        let endpoint = self.handle.join(request, order).map_err(|_| busy())?;
        Ok(RoomMember::Room { room: self.handle.clone(), endpoint })
    }

    fn join_socket(
        &self,
        request: JoinRequest,
        resumed: Option<PlayerId>,
        _tap: &Weak<dyn RelayTap>,
    ) -> Result<MemberLink, Rejection> {
        let order = self.handle.settings().socket_state.then_some(DeliveryOrder::Ordered);
        let endpoint = match (resumed, order) {
            (Some(player), Some(order)) => self.handle.resume_in_session(player, order, Some(request.session)),
            (Some(player), None) => self.handle.resume_for_messages(player, request.session),
            (None, Some(order)) => self.handle.join(request, order),
            (None, None) => self.handle.join_for_messages(request),
        };
        endpoint.map(MemberLink::Game).map_err(|_| busy())
    }

    fn resume(&self, player: PlayerId, order: DeliveryOrder) -> Option<Result<RoomMember, Rejection>> {
        let endpoint = self.handle.resume(player, order).map_err(|_| busy());
        Some(endpoint.map(|endpoint| RoomMember::Room { room: self.handle.clone(), endpoint }))
    }

    fn set_permissions(&self, player: PlayerId, permissions: Permissions) -> Result<(), Rejection> {
        self.handle.set_permissions(player, permissions).map_err(|_| busy())
    }

    fn remove(&self, player: PlayerId, reason: CloseReason) {
        // If the mailbox is full, the next check of sessions tries again.
        let _ = self.handle.remove(player, reason);
    }

    fn reports_departures(&self) -> bool {
        true
    }

    fn signal_handle(&self) -> Option<&RoomHandle> {
        Some(&self.handle)
    }

    fn end(&self, _reason: CloseReason) -> bool {
        // If the mailbox is full, the next check of unused rooms tries again.
        let _ = self.handle.end();
        false
    }
}

/// A relay room.
pub(crate) struct RelayRoom {
    relay: Arc<Relay>,
    label: Arc<str>,
}

impl RelayRoom {
    pub fn new(relay: Arc<Relay>, label: String) -> RelayRoom {
        RelayRoom { relay, label: label.into() }
    }
}

impl HostedRoom for RelayRoom {
    fn number(&self) -> Option<RoomNumber> {
        None
    }

    fn is_open(&self) -> bool {
        true
    }

    fn players(&self) -> u32 {
        self.relay.members() as u32
    }

    fn tick_hz(&self) -> u32 {
        0
    }

    fn label(&self) -> Arc<str> {
        Arc::clone(&self.label)
    }

    fn stats(&self) -> Option<RoomStats> {
        None
    }

    fn queue_depth(&self) -> usize {
        0
    }

    fn join(&self, request: JoinRequest, _order: DeliveryOrder) -> Result<RoomMember, Rejection> {
        Ok(RoomMember::Relay(self.relay.join(&request.name)?))
    }

    fn join_socket(
        &self,
        request: JoinRequest,
        _resumed: Option<PlayerId>,
        tap: &Weak<dyn RelayTap>,
    ) -> Result<MemberLink, Rejection> {
        Ok(MemberLink::Relay(self.relay.join_tapped(&request.name, tap)?))
    }

    fn resume(&self, _player: PlayerId, _order: DeliveryOrder) -> Option<Result<RoomMember, Rejection>> {
        None
    }

    fn set_permissions(&self, _player: PlayerId, _permissions: Permissions) -> Result<(), Rejection> {
        Ok(())
    }

    fn remove(&self, player: PlayerId, reason: CloseReason) {
        self.relay.kick(player, &closing(reason));
    }

    fn reports_departures(&self) -> bool {
        false
    }

    fn signal_handle(&self) -> Option<&RoomHandle> {
        None
    }

    fn end(&self, reason: CloseReason) -> bool {
        self.relay.end(&closing(reason));
        true
    }
}

/// Sends a signal to a game and waits for its reply, at most for [`SIGNAL_TIME_MAX`].
pub(crate) async fn signal(handle: RoomHandle, data: Vec<u8>) -> Result<Vec<u8>, Rejection> {
    let (sender, reply) = sync_channel(1);
    handle.signal(data, sender).map_err(|_| busy())?;
    let received = spawn_blocking(move || reply.recv_timeout(SIGNAL_TIME_MAX)).await;
    match received {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(RecvTimeoutError::Disconnected)) => {
            Err(Rejection::new(ErrorCode::RoomNotFound, "the room has ended; join another one"))
        }
        Ok(Err(RecvTimeoutError::Timeout)) | Err(_) => Err(busy()),
    }
}

fn busy() -> Rejection {
    Rejection::new(ErrorCode::Unavailable, "the room is overloaded; try again in a moment")
}
