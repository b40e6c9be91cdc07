//! Writes the output of a room to a client.

use super::json_translator::JsonTranslator;
use super::metrics::{EVENT, RoomProtocolMetrics, SNAPSHOT, server_message_index};
use crate::connection::{ConnectionEnd, OutgoingMessages};
use crate::gateway::Gateway;
use crate::relay::{Batch, RelayMember};
use crate::transport::Transport;
use aether_engine::ConnectionEndpoint;
use aether_replication::DeliveryOrder;
use aether_wire::{
    CloseReason, DeliveryPath, Encoding, PlayerId, ServerMessage, Snapshot, StatePacket, encode_state_packet,
};
use std::time::Duration;
use tracing::debug;

/// Most reliable messages per turn; the others wait in the bounded queue.
const TURN_MESSAGES_MAX: usize = 64;

/// Backlog in bytes from which a relay member gets no more batches in a turn.
const TURN_BYTES_MAX: usize = 32_768;

/// Time after a tick message during which state packets tell the client to wait for it. It is longer than clients wait.
const OVERTAKING_TIME_MAX: Duration = Duration::from_secs(1);

/// Takes the output of a room and queues it on the connection.
pub(crate) struct RoomOutputWriter<'a> {
    gateway: &'a Gateway,
    /// Time of the hello, until the player possesses an entity.
    hello_at: Option<Duration>,
    /// Translator for a client whose encoding has values by name.
    translator: Option<Box<JsonTranslator>>,
    /// Number of tick messages on this connection, and the time of the last one.
    tick_messages: (u32, Duration),
}

impl<'a> RoomOutputWriter<'a> {
    pub fn new(
        gateway: &'a Gateway,
        hello_at: Duration,
        translator: Option<Box<JsonTranslator>>,
    ) -> RoomOutputWriter<'a> {
        RoomOutputWriter { gateway, hello_at: Some(hello_at), translator, tick_messages: (0, Duration::ZERO) }
    }

    pub fn translator(&self) -> Option<&JsonTranslator> {
        self.translator.as_deref()
    }

    /// Queues a message. Returns false if it cannot be encoded.
    pub fn write<T: Transport>(
        &self,
        out: &mut OutgoingMessages<'_, T>,
        path: DeliveryPath,
        message: &ServerMessage,
    ) -> bool {
        write(self.metrics(), out, path, message)
    }

    /// Queues output of a game room. Returns the end of the connection, if the room closed it and all output is queued.
    pub fn fill_from_room<T: Transport>(
        &mut self,
        endpoint: &ConnectionEndpoint,
        out: &mut OutgoingMessages<'_, T>,
    ) -> Option<ConnectionEnd> {
        // Read first: messages that were queued before the close are still sent.
        let closing = endpoint.closing();
        for _ in 0..TURN_MESSAGES_MAX {
            let Some(message) = endpoint.next_reliable() else {
                let failed = self.fill_state(endpoint, out);
                return failed.or_else(|| closing.cloned().map(ConnectionEnd::Closing));
            };
            if matches!(*message, ServerMessage::Possession(_))
                && let Some(hello_at) = self.hello_at.take()
            {
                let took = self.gateway.now().saturating_sub(hello_at);
                self.metrics().auth_to_possession.observe(took.as_secs_f64());
            }
            match (&*message, &self.translator) {
                (ServerMessage::Event(event), Some(translator)) => {
                    let named = ServerMessage::Event(translator.decode_event(event));
                    self.write(out, DeliveryPath::Reliable, &named);
                }
                (ServerMessage::Correction(_), _) => {
                    self.write(out, DeliveryPath::Unreliable, &message);
                }
                _ => {
                    if self.write(out, DeliveryPath::Reliable, &message) && message.is_tick_message() {
                        self.tick_messages = (self.tick_messages.0.wrapping_add(1), self.gateway.now());
                    }
                }
            }
        }
        None
    }

    /// Queues the newest snapshot, if there is one. A client that misses a change would stay wrong forever, so a
    /// failure closes the connection.
    fn fill_state<T: Transport>(
        &mut self,
        endpoint: &ConnectionEndpoint,
        out: &mut OutgoingMessages<'_, T>,
    ) -> Option<ConnectionEnd> {
        let after = self.messages_before_state(out.order());
        while let Some(packet) = endpoint.next_state() {
            match &mut self.translator {
                None if !matches!(out.encoding(), Encoding::Protobuf) => {
                    let packed = Snapshot::Packed(StatePacket { bytes: packet.to_vec(), after });
                    if !self.write(out, DeliveryPath::Reliable, &ServerMessage::Snapshot(packed)) {
                        return Some(ConnectionEnd::closing(CloseReason::RoomFailed));
                    }
                }
                None => {
                    let encode = |scratch: &mut Vec<u8>| encode_state_packet(&packet, after, scratch);
                    if out.write(DeliveryPath::Unreliable, encode).is_ok() {
                        self.metrics().packets_out[SNAPSHOT].inc();
                    }
                }
                Some(translator) => match translator.decode_state(&packet) {
                    Ok(None) => {}
                    Ok(Some(snapshot)) => {
                        // It may be larger than a datagram, so it is sent reliably.
                        let message = ServerMessage::Snapshot(Snapshot::Readable(snapshot));
                        if !self.write(out, DeliveryPath::Reliable, &message) {
                            return Some(ConnectionEnd::closing(CloseReason::RoomFailed));
                        }
                    }
                    Err(_) => {
                        self.gateway.connections.metrics.encode_errors.inc();
                        return Some(ConnectionEnd::closing(CloseReason::RoomFailed));
                    }
                },
            }
            endpoint.recycle(packet);
        }
        None
    }

    /// Number of tick messages that the client has to receive before the state, or zero if it need not wait.
    fn messages_before_state(&self, order: DeliveryOrder) -> u32 {
        let (count, last_at) = self.tick_messages;
        // The clock is read only if the answer depends on it.
        let is_recent = || self.gateway.now().saturating_sub(last_at) < OVERTAKING_TIME_MAX;
        if order == DeliveryOrder::Unordered && is_recent() { count } else { 0 }
    }

    /// Queues output of a relay. Returns the end of the connection, if the relay closed it and all output is queued.
    pub fn fill_from_relay<T: Transport>(
        &mut self,
        member: &RelayMember,
        out: &mut OutgoingMessages<'_, T>,
    ) -> Option<ConnectionEnd> {
        let closing = member.closing();
        if let Some(slow) = closing.filter(|closing| closing.reason == CloseReason::TooSlow) {
            return Some(ConnectionEnd::Closing(slow.clone()));
        }
        // Bounded, so that batches for a slow member stay shared with the other members.
        while out.backlog_bytes() < TURN_BYTES_MAX {
            let Some(batch) = member.next_batch() else { return closing.cloned().map(ConnectionEnd::Closing) };
            self.relay_batch(&batch, member.player(), out);
        }
        None
    }

    fn relay_batch<T: Transport>(&self, batch: &Batch, player: PlayerId, out: &mut OutgoingMessages<'_, T>) {
        let Some(framing) = out.shared_framing() else { return self.relay_messages(batch, player, out) };
        for run in batch.runs(player) {
            self.metrics().packets_out[EVENT].add(run.len() as u64);
            out.queue_framed(batch.framed(framing, &run), batch.bytes(&run));
        }
    }

    /// Queues a batch message by message, for connections without shared framing or with another encoding.
    fn relay_messages<T: Transport>(&self, batch: &Batch, player: PlayerId, out: &mut OutgoingMessages<'_, T>) {
        if matches!(out.encoding(), Encoding::Protobuf) {
            for run in batch.runs(player) {
                self.metrics().packets_out[EVENT].add(run.len() as u64);
                let bytes = batch.bytes(&run);
                out.queue_all(DeliveryPath::Reliable, batch.messages(run), bytes);
            }
            return;
        }
        for message in batch.runs(player).flat_map(|run| batch.messages(run)) {
            if let Ok(message) = ServerMessage::decode(message) {
                self.write(out, DeliveryPath::Reliable, &message);
            }
        }
    }

    fn metrics(&self) -> &'a RoomProtocolMetrics {
        &self.gateway.connections.metrics.room
    }
}

/// Encodes and queues a message. Returns false if it cannot be encoded.
pub(super) fn write<T: Transport>(
    metrics: &RoomProtocolMetrics,
    out: &mut OutgoingMessages<'_, T>,
    path: DeliveryPath,
    message: &ServerMessage,
) -> bool {
    let encoding = out.encoding();
    match out.write(path, |scratch| encoding.encode(message, scratch)) {
        Ok(()) => {
            metrics.packets_out[server_message_index(message)].inc();
            true
        }
        Err(error) => {
            debug!(message = message.name(), %error, "message cannot be encoded");
            false
        }
    }
}
