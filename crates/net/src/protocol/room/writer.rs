//! Writes what a room has for a client.

use super::counters::{EVENT, RoomProtocolMetrics, SNAPSHOT, kind_out};
use super::readable::JsonTranslator;
use crate::connection::{ConnectionEnd, OutgoingMessages};
use crate::gateway::Gateway;
use crate::relay::{Batch, RelayMember};
use crate::transport::Transport;
use aether_engine::ConnectionEndpoint;
use aether_wire::{CloseReason, DeliveryPath, Encoding, PlayerId, ServerMessage, Snapshot, encode_state_packet};
use std::time::Duration;
use tracing::debug;

/// Reliable messages that are written in one go; the others wait their turn, in the bounded queue.
const TURN_MESSAGES_MAX: usize = 64;

/// Bytes from which on a member of a relay is not given more in one go.
const TURN_BYTES_MAX: usize = 32_768;

/// Takes what the room has for a client and queues it, as long as the link is free.
pub(crate) struct RoomOutputWriter<'a> {
    gateway: &'a Gateway,
    /// Time of the hello, until the player has an entity.
    hello_at: Option<Duration>,
    /// For a client that speaks in words.
    readable: Option<Box<JsonTranslator>>,
}

impl<'a> RoomOutputWriter<'a> {
    pub fn new(
        gateway: &'a Gateway,
        hello_at: Duration,
        readable: Option<Box<JsonTranslator>>,
    ) -> RoomOutputWriter<'a> {
        RoomOutputWriter { gateway, hello_at: Some(hello_at), readable }
    }

    pub fn readable(&self) -> Option<&JsonTranslator> {
        self.readable.as_deref()
    }

    /// Queues a message; false if it cannot be written.
    pub fn write<T: Transport>(
        &self,
        out: &mut OutgoingMessages<'_, T>,
        path: DeliveryPath,
        message: &ServerMessage,
    ) -> bool {
        write(self.counters(), out, path, message)
    }

    /// Queues what a room has. Returns why it ended the connection, if it did and all was said.
    pub fn fill_from_room<T: Transport>(
        &mut self,
        link: &ConnectionEndpoint,
        out: &mut OutgoingMessages<'_, T>,
    ) -> Option<ConnectionEnd> {
        // Asked first: what was queued before the room closed is still said.
        let closing = link.closing();
        for _ in 0..TURN_MESSAGES_MAX {
            let Some(message) = link.next_reliable() else {
                let failed = self.fill_state(link, out);
                return failed.or_else(|| closing.cloned().map(ConnectionEnd::Told));
            };
            if matches!(*message, ServerMessage::Possession(_))
                && let Some(hello_at) = self.hello_at.take()
            {
                let took = self.gateway.now().saturating_sub(hello_at);
                self.counters().auth_to_possession.observe(took.as_secs_f64());
            }
            match (&*message, &self.readable) {
                (ServerMessage::Event(event), Some(readable)) => {
                    let named = ServerMessage::Event(readable.event(event));
                    self.write(out, DeliveryPath::Reliable, &named);
                }
                (ServerMessage::Correction(_), _) => {
                    self.write(out, DeliveryPath::Unreliable, &message);
                }
                _ => {
                    self.write(out, DeliveryPath::Reliable, &message);
                }
            }
        }
        None
    }

    /// The newest snapshot, if there is one. A client that cannot be told what changed would be wrong for good, so it is
    /// closed.
    fn fill_state<T: Transport>(
        &mut self,
        link: &ConnectionEndpoint,
        out: &mut OutgoingMessages<'_, T>,
    ) -> Option<ConnectionEnd> {
        while let Some(packet) = link.next_state() {
            match &mut self.readable {
                None => {
                    if out.write(DeliveryPath::Unreliable, |scratch| encode_state_packet(&packet, scratch)).is_ok() {
                        self.counters().packets_out[SNAPSHOT].inc();
                    }
                }
                Some(readable) => match readable.state(&packet) {
                    Ok(None) => {}
                    Ok(Some(snapshot)) => {
                        // It may be larger than a datagram, so it travels with the reliable messages.
                        let message = ServerMessage::Snapshot(Snapshot::Readable(snapshot));
                        if !self.write(out, DeliveryPath::Reliable, &message) {
                            return Some(ConnectionEnd::told(CloseReason::RoomFailed));
                        }
                    }
                    Err(_) => {
                        self.gateway.connections.counters.encode_errors.inc();
                        return Some(ConnectionEnd::told(CloseReason::RoomFailed));
                    }
                },
            }
            link.recycle(packet);
        }
        None
    }

    /// Queues what the members of a relay said. Returns why it ended the connection, if it did and all was said.
    pub fn fill_from_relay<T: Transport>(
        &mut self,
        seat: &RelayMember,
        out: &mut OutgoingMessages<'_, T>,
    ) -> Option<ConnectionEnd> {
        let closing = seat.closing();
        if let Some(slow) = closing.filter(|closing| closing.reason == CloseReason::TooSlow) {
            return Some(ConnectionEnd::Told(slow.clone()));
        }
        // Not without end, so that what a slow member has not taken stays shared with the others.
        while out.backlog_bytes() < TURN_BYTES_MAX {
            let Some(batch) = seat.next_batch() else { return closing.cloned().map(ConnectionEnd::Told) };
            self.relay_batch(&batch, seat.player(), out);
        }
        None
    }

    fn relay_batch<T: Transport>(&self, batch: &Batch, player: PlayerId, out: &mut OutgoingMessages<'_, T>) {
        let Some(framing) = out.shared_framing() else { return self.relay_messages(batch, player, out) };
        for run in batch.runs(player) {
            self.counters().packets_out[EVENT].add(run.len() as u64);
            out.queue_framed(batch.framed(framing, &run), batch.bytes(&run));
        }
    }

    /// For connections that frame messages each in its own way, or have another encoding.
    fn relay_messages<T: Transport>(&self, batch: &Batch, player: PlayerId, out: &mut OutgoingMessages<'_, T>) {
        for message in batch.runs(player).flat_map(|run| batch.messages(run)) {
            match out.encoding() {
                Encoding::Protobuf => {
                    self.counters().packets_out[EVENT].inc();
                    out.queue(DeliveryPath::Reliable, message);
                }
                Encoding::Json => {
                    if let Ok(message) = ServerMessage::decode(message) {
                        self.write(out, DeliveryPath::Reliable, &message);
                    }
                }
            }
        }
    }

    fn counters(&self) -> &'a RoomProtocolMetrics {
        &self.gateway.connections.counters.room
    }
}

/// Encodes a message and queues it; false if it cannot be written.
pub(super) fn write<T: Transport>(
    counters: &RoomProtocolMetrics,
    out: &mut OutgoingMessages<'_, T>,
    path: DeliveryPath,
    message: &ServerMessage,
) -> bool {
    let encoding = out.encoding();
    match out.write(path, |scratch| encoding.encode(message, scratch)) {
        Ok(()) => {
            counters.packets_out[kind_out(message)].inc();
            true
        }
        Err(error) => {
            debug!(message = message.name(), %error, "a message could not be written");
            false
        }
    }
}
