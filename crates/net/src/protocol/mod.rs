//! Protocols: the meaning of the messages of a connection.

pub(crate) mod room;

use crate::connection::{ConnectionEnd, MessageClass, MessageRates, OutgoingMessages, RateMeter};
use crate::transport::Transport;
use aether_engine::closing;
use aether_wire::{CloseReason, Closing, DeliveryPath};
use std::task::Context;

/// Gives the messages of one connection their meaning.
///
/// It is a state machine: input comes through `handle_*`, work of its own goes on in [`Protocol::poll_work`], and output
/// is taken by [`Protocol::answer`] and [`Protocol::fill`]. It owns no socket, and never waits. The driver owns everything
/// that is the same for all protocols: turns, deadlines, rates, idle peers, slow readers and the stop notice. In one turn
/// it calls, in this order:
///
/// 1. for each message that came: `decode`, `class`, `handle_message`; or `handle_unreadable`;
/// 2. `poll_work`;
/// 3. `handle_second`, each second, and `handle_stop`, once; or `handle_deadline`, if the peer was not let in in time;
/// 4. `answer`, and then `fill` as long as the link takes more and `has_output`.
///
/// A peer is *opening* until [`Protocol::is_open`] is true, which it then stays. While it is opening, only the deadline and
/// strikes count; rates, silence and the stop notice concern open connections.
pub trait Protocol: Send {
    /// A message of the peer.
    type Message;

    /// The reason why bytes are no such message.
    type Unreadable;

    /// Returns true once the peer is let in.
    fn is_open(&self) -> bool {
        true
    }

    /// Upper bound of a message of the peer, in bytes. Asked at the start, and when the peer is let in.
    fn message_bytes_max(&self) -> usize;

    /// Rates of an open connection. Asked when the peer is let in.
    fn rates(&self) -> MessageRates;

    /// Returns true if more messages can be taken. While it is false, nothing is read, and the peer's link fills up; it must
    /// not stay false for as long as a peer may be silent.
    fn can_receive(&self) -> bool {
        true
    }

    /// Reads a message.
    fn decode(&mut self, bytes: &[u8]) -> Result<Self::Message, Self::Unreadable>;

    /// The rate that a message counts against.
    fn class(&self, message: &Self::Message) -> MessageClass;

    /// Handles a message that is within its rate.
    fn handle_message(&mut self, path: DeliveryPath, message: Self::Message, meter: &mut RateMeter<'_>);

    /// Handles bytes that could not be read. The driver counts them against the peer.
    fn handle_unreadable(&mut self, error: Self::Unreadable, meter: &mut RateMeter<'_>);

    /// Does what is due each second. `was_heard` tells whether the peer sent anything since the last time.
    fn handle_second(&mut self, _was_heard: bool, _meter: &mut RateMeter<'_>) {}

    /// Ends an opening that took too long. Returns the reason; [`Protocol::answer`] is called once more before the end.
    fn handle_deadline(&mut self) -> Closing {
        closing(CloseReason::Unauthenticated)
    }

    /// Continues the protocol's own work, such as answers that others compute, and has the task woken when there is
    /// output.
    fn poll_work(&mut self, cx: &mut Context<'_>, meter: &mut RateMeter<'_>);

    /// Writes answers to what was just received; true if there were any. It is called also while the link is busy: what
    /// piles up then holds back reading. Answers that come later belong into [`Protocol::fill`].
    fn answer<T: Transport>(&mut self, _out: &mut OutgoingMessages<'_, T>) -> bool {
        false
    }

    /// Returns true if [`Protocol::fill`] has something to say.
    fn has_output(&self) -> bool;

    /// Writes what there is, a bounded amount of it. It is called only when all that was written before has left. Returns
    /// the end, if the protocol has one and has said everything.
    fn fill<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> Option<ConnectionEnd>;

    /// The reason for which the protocol is about to end, for a peer that does not take what is said before.
    fn closing(&self) -> Option<&Closing> {
        None
    }

    /// Tells the peer that the server stops in so many milliseconds.
    fn handle_stop<T: Transport>(&mut self, deadline_ms: u32, out: &mut OutgoingMessages<'_, T>);

    /// Says the last words, if the peer is to hear any. The transport's own goodbye follows. It may complete what the end
    /// says.
    fn handle_end<T: Transport>(&mut self, end: &mut ConnectionEnd, out: &mut OutgoingMessages<'_, T>);
}
