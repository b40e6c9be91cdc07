//! Protocols interpret the messages of a connection.

pub(crate) mod room;

use crate::connection::{ConnectionEnd, MessageClass, MessageRates, OutgoingMessages, RateMeter};
use crate::transport::Transport;
use aether_engine::closing;
use aether_wire::{CloseReason, Closing, DeliveryPath};
use std::task::Context;

/// Interprets the messages of one connection.
///
/// A protocol is a state machine: input through `handle_*`, background work in [`Protocol::poll_work`], output through
/// [`Protocol::answer`] and [`Protocol::fill`]. It owns no socket and never waits. The driver does what is the same for
/// all protocols: turns, deadlines, rates, idle peers, slow readers and the stop notice. In one turn it calls, in this
/// order:
///
/// 1. for each received message: `decode`, `class`, `handle_message` or `handle_excess`; or `handle_unreadable`;
/// 2. `poll_work`;
/// 3. `handle_second`, each second, and `handle_stop`, once; or `handle_deadline`, if the handshake takes too long;
/// 4. `answer`, and then `fill` while the transport accepts data and `has_output` is true.
///
/// The handshake lasts until [`Protocol::is_open`] returns true, which is permanent. During the handshake only the
/// deadline and strikes apply; rates, the idle timeout and the stop notice apply to open connections.
pub trait Protocol: Send {
    /// A message of the peer.
    type Message;

    /// Reason why bytes cannot be decoded.
    type Unreadable;

    /// Returns true once the handshake is done.
    fn is_open(&self) -> bool {
        true
    }

    /// Upper bound of a message of the peer, in bytes. Called at the start and after the handshake.
    fn message_bytes_max(&self) -> usize;

    /// Rates of an open connection. Called at the start and after the handshake.
    fn rates(&self) -> MessageRates;

    /// Returns true if more messages can be handled. While it is false, nothing is read and the peer is held back. It
    /// must become true again before the idle timeout.
    fn can_receive(&self) -> bool {
        true
    }

    /// Decodes a message.
    fn decode(&mut self, bytes: &[u8]) -> Result<Self::Message, Self::Unreadable>;

    /// Returns the rate that a message counts against.
    fn class(&self, message: &Self::Message) -> MessageClass;

    /// Handles a message that is within its rate.
    fn handle_message(&mut self, path: DeliveryPath, message: Self::Message, meter: &mut RateMeter<'_>);

    /// Handles a message that exceeds its rate and is dropped. The driver adds a strike for it.
    fn handle_excess(&mut self, _message: Self::Message) {}

    /// Handles bytes that cannot be decoded. The driver adds strikes for them.
    fn handle_unreadable(&mut self, error: Self::Unreadable, meter: &mut RateMeter<'_>);

    /// Handles the passing of a second. `is_active` is true if the peer has sent anything in it.
    fn handle_second(&mut self, _is_active: bool, _meter: &mut RateMeter<'_>) {}

    /// Ends a handshake that takes too long. Returns the reason; [`Protocol::answer`] is called once more before the
    /// end.
    fn handle_deadline(&mut self) -> Closing {
        closing(CloseReason::Unauthenticated)
    }

    /// Continues background work, such as waiting for answers, and registers the waker for output.
    fn poll_work(&mut self, cx: &mut Context<'_>, meter: &mut RateMeter<'_>);

    /// Writes immediate answers; returns true if a pong was among them, whose time to be written is measured. It is also called while the transport is busy: a
    /// backlog of answers pauses reading. Later answers belong in [`Protocol::fill`].
    fn answer<T: Transport>(&mut self, _out: &mut OutgoingMessages<'_, T>) -> bool {
        false
    }

    /// Returns true if [`Protocol::fill`] has output.
    fn has_output(&self) -> bool;

    /// Writes a bounded amount of output. It is called only after all earlier output was flushed. Returns the end of
    /// the connection, if the protocol ends it and has no more output.
    fn fill<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> Option<ConnectionEnd>;

    /// Reason for which the protocol is about to end the connection. It is used if the peer does not read the output
    /// before the end.
    fn closing(&self) -> Option<&Closing> {
        None
    }

    /// Announces to the peer that the server takes no new rooms and joins. The connection stays open.
    fn handle_drain<T: Transport>(&mut self, _out: &mut OutgoingMessages<'_, T>) {}

    /// Announces to the peer that the server stops in `deadline_ms`.
    fn handle_stop<T: Transport>(&mut self, deadline_ms: u32, out: &mut OutgoingMessages<'_, T>);

    /// Writes the last messages and may complete the end. The transport's close notice follows.
    fn handle_end<T: Transport>(&mut self, end: &mut ConnectionEnd, out: &mut OutgoingMessages<'_, T>);
}
