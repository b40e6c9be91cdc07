//! What a client is told.

use super::{End, write};
use crate::buffers;
use crate::counters::{EVENT, SNAPSHOT};
use crate::gateway::Gateway;
use crate::lobby::Place;
use crate::readable::Readable;
use crate::relay::{Batch, RelaySeat};
use crate::transport::{Path, Transport};
use aether_engine::LinkEnd;
use aether_wire::{CloseReason, Closing, Encoding, PlayerId, ServerMessage, Snapshot, encode_state_packet};
use std::time::Duration;

/// Reliable messages that are written in one go; the others wait their turn, in the bounded queue.
const TURN_MESSAGES_MAX: usize = 64;

/// Bytes from which on a member of a relay is not given more in one go.
const TURN_BYTES_MAX: usize = 32_768;

/// Takes what the room has for a client and queues it, as long as the link is free.
pub(super) struct Outbound {
    /// When the hello came, until the player has an entity.
    hello_at: Option<Duration>,
}

impl Outbound {
    pub fn new(hello_at: Duration) -> Outbound {
        Outbound { hello_at: Some(hello_at) }
    }

    /// Whether the room has something for the client.
    pub fn has_news(place: &Place) -> bool {
        match place {
            Place::Room { link, .. } => link.has_news(),
            Place::Relay(seat) => seat.has_news(),
        }
    }

    /// Why the room ended the connection, if it did.
    pub fn closing(&self, place: &Place) -> Option<Closing> {
        match place {
            Place::Room { link, .. } => link.closing().cloned(),
            Place::Relay(seat) => seat.closing().cloned(),
        }
    }

    /// Queues what is there. Tells why the room ended the connection, if it did and all was said.
    pub fn fill(
        &mut self,
        gateway: &Gateway,
        transport: &mut impl Transport,
        place: &Place,
        readable: Option<&mut Readable>,
    ) -> Option<End> {
        match place {
            Place::Room { link, .. } => self.fill_from_room(gateway, transport, link, readable),
            Place::Relay(seat) => fill_from_relay(gateway, transport, seat),
        }
    }

    fn fill_from_room(
        &mut self,
        gateway: &Gateway,
        transport: &mut impl Transport,
        link: &LinkEnd,
        mut readable: Option<&mut Readable>,
    ) -> Option<End> {
        // Asked first: what was queued before the room closed is still said.
        let closing = link.closing();
        for _ in 0..TURN_MESSAGES_MAX {
            let Some(message) = link.next_reliable() else {
                let failed = fill_state(gateway, transport, link, readable);
                return failed.or_else(|| closing.cloned().map(End::Told));
            };
            if matches!(*message, ServerMessage::Possession(_))
                && let Some(hello_at) = self.hello_at.take()
            {
                let took = gateway.now().saturating_sub(hello_at);
                gateway.counters.auth_to_possession.observe(took.as_secs_f64());
            }
            match (&*message, &mut readable) {
                (ServerMessage::Event(event), Some(readable)) => {
                    let named = ServerMessage::Event(readable.event(event));
                    write(&gateway.counters, transport, Path::Reliable, &named);
                }
                (ServerMessage::Correction(_), _) => {
                    write(&gateway.counters, transport, Path::Unreliable, &message);
                }
                _ => {
                    write(&gateway.counters, transport, Path::Reliable, &message);
                }
            }
        }
        None
    }
}

/// The newest snapshot, if there is one. A client that cannot be told what changed would be wrong for good, so it is
/// closed.
fn fill_state(
    gateway: &Gateway,
    transport: &mut impl Transport,
    link: &LinkEnd,
    mut readable: Option<&mut Readable>,
) -> Option<End> {
    while let Some(packet) = link.next_state() {
        match &mut readable {
            None => buffers::with_scratch(|scratch| {
                if encode_state_packet(&packet, scratch).is_ok() {
                    gateway.counters.packets_out[SNAPSHOT].inc();
                    gateway.counters.bytes_out.add(scratch.len() as u64);
                    transport.queue(Path::Unreliable, scratch);
                }
            }),
            Some(readable) => match readable.state(&packet) {
                Ok(None) => {}
                Ok(Some(snapshot)) => {
                    // It may be larger than a datagram, so it travels with the reliable messages.
                    let message = ServerMessage::Snapshot(Snapshot::Readable(snapshot));
                    if !write(&gateway.counters, transport, Path::Reliable, &message) {
                        return Some(End::told(CloseReason::RoomFailed));
                    }
                }
                Err(_) => {
                    gateway.counters.encode_errors.inc();
                    return Some(End::told(CloseReason::RoomFailed));
                }
            },
        }
        link.recycle(packet);
    }
    None
}

fn fill_from_relay(gateway: &Gateway, transport: &mut impl Transport, seat: &RelaySeat) -> Option<End> {
    let closing = seat.closing();
    if let Some(slow) = closing.filter(|closing| closing.reason == CloseReason::TooSlow) {
        return Some(End::Told(slow.clone()));
    }
    // Not without end, so that what a slow member has not taken stays shared with the others.
    while transport.backlog_bytes() < TURN_BYTES_MAX {
        let Some(batch) = seat.next_batch() else { return closing.cloned().map(End::Told) };
        relay_batch(gateway, transport, &batch, seat.player());
    }
    None
}

fn relay_batch(gateway: &Gateway, transport: &mut impl Transport, batch: &Batch, player: PlayerId) {
    let counters = &gateway.counters;
    for frames in batch.framed_runs(player) {
        if !transport.queue_framed(frames) {
            return relay_messages(gateway, transport, batch, player);
        }
        counters.bytes_out.add(frames.len() as u64);
    }
    counters.packets_out[EVENT].add(batch.count(player) as u64);
}

/// For transports that frame messages in another way, or another encoding.
fn relay_messages(gateway: &Gateway, transport: &mut impl Transport, batch: &Batch, player: PlayerId) {
    for message in batch.messages(player) {
        match transport.encoding() {
            Encoding::Protobuf => {
                gateway.counters.packets_out[EVENT].inc();
                gateway.counters.bytes_out.add(message.len() as u64);
                transport.queue(Path::Reliable, message);
            }
            Encoding::Json => {
                if let Ok(message) = ServerMessage::decode(message) {
                    write(&gateway.counters, transport, Path::Reliable, &message);
                }
            }
        }
    }
}
