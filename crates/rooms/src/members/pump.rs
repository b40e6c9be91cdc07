//! Output of a game for its members over the socket.
//!
//! One task for each room with such members takes the events of all of them after a tick, and encodes an event that
//! several members get once.

use super::{MatchMembers, MemberLink, SocketMember};
use aether_engine::ConnectionEndpoint;
use aether_services::realtime::MatchData;
use aether_services::realtime::envelope::Message;
use aether_services::router::Outgoing;
use aether_wire::{Event, GameBody, ServerMessage};
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Op code of state packets, for rooms that send state to members over the socket.
const STATE_OP_CODE: i64 = -1;

/// Events that were encoded in this turn, by their address. The room shares an event among its receivers.
type EncodedEvents = HashMap<*const ServerMessage, Option<Arc<Outgoing>>>;

impl MatchMembers {
    /// Starts the task, or wakes it to take the output of a new member.
    pub(super) fn start_pump(&self) {
        let mut tables = self.tables();
        if let Some(waker) = &tables.pump {
            return waker.wake_by_ref();
        }
        if std::mem::replace(&mut tables.is_pumping, true) {
            return;
        }
        drop(tables);
        let Some(members) = self.this.upgrade() else { return };
        tokio::spawn(async move { poll_fn(|cx| members.poll_output(cx)).await });
    }

    /// Takes the output of all members. Ends when there is none left.
    fn poll_output(&self, cx: &mut Context<'_>) -> Poll<()> {
        let members: Vec<Arc<SocketMember>> = {
            let mut tables = self.tables();
            if tables.members.is_empty() {
                (tables.pump, tables.is_pumping) = (None, false);
                return Poll::Ready(());
            }
            tables.pump = Some(cx.waker().clone());
            tables.members.values().cloned().collect()
        };
        let mut closed = Vec::new();
        self.deliver(&members, cx, &mut closed);
        closed.into_iter().for_each(|session| self.dismiss(session));
        Poll::Pending
    }

    fn deliver(&self, members: &[Arc<SocketMember>], cx: &Context<'_>, closed: &mut Vec<uuid::Uuid>) {
        // Held until all members have been served, so that no address is used twice.
        let (mut taken, mut encoded) = (Vec::new(), EncodedEvents::new());
        for member in members {
            let MemberLink::Game(endpoint) = &member.link else { continue };
            // Registered first: what arrives meanwhile wakes the task again.
            endpoint.register_waker(cx.waker());
            let is_closed = endpoint.closing().is_some();
            let mut messages = Vec::new();
            while let Some(message) = endpoint.next_reliable() {
                let key = Arc::as_ptr(&message);
                messages.extend(encoded.entry(key).or_insert_with(|| self.match_data(&message)).clone());
                taken.push(message);
            }
            messages.extend(self.next_state(endpoint));
            if !messages.is_empty() {
                member.sender.send_all(messages);
            }
            if is_closed {
                closed.push(member.socket.session);
            }
        }
    }

    /// Returns the match data of an event; none for messages that only players with a connection understand.
    fn match_data(&self, message: &ServerMessage) -> Option<Arc<Outgoing>> {
        let ServerMessage::Event(Event { sender, body: GameBody::Packed { code, payload }, .. }) = message else {
            return None;
        };
        let presence = sender.and_then(|player| self.tables().players.get(&player).map(|shown| shown.presence.clone()));
        Some(Outgoing::new(Message::MatchData(MatchData {
            match_id: self.match_id.clone(),
            presence,
            op_code: i64::from(*code),
            data: payload.clone().into(),
            reliable: true,
        })))
    }

    /// Takes the state of a room that sends it to members over the socket.
    fn next_state(&self, endpoint: &ConnectionEndpoint) -> Vec<Arc<Outgoing>> {
        let packets = std::iter::from_fn(|| endpoint.next_state());
        let message = |packet: Vec<u8>| {
            Outgoing::new(Message::MatchData(MatchData {
                match_id: self.match_id.clone(),
                presence: None,
                op_code: STATE_OP_CODE,
                data: packet.into(),
                reliable: true,
            }))
        };
        packets.map(message).collect()
    }
}
