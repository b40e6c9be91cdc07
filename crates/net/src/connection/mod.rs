//! One client, from its first byte to its last.

mod handshake;
mod inbound;
mod outbound;
mod play;

use crate::buffers;
use crate::counters::{Counters, kind_out};
use crate::gateway::{Gateway, Visitor};
use crate::transport::{Ended, Goodbye, Path, Transport};
use aether_engine::closing;
use aether_framing::Violation;
use aether_wire::{CloseReason, Closing, ConnectionId, ServerMessage};
use std::future::poll_fn;
use std::time::Duration;
use tokio::time::timeout;
use tracing::{debug, info};

/// How long the last words to a client may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// The name under which a client counts that went without a word to us.
pub(crate) const GONE: &str = "gone";

/// How a connection ended.
enum End {
    /// We close it, and the client is told why.
    Told(Closing),
    /// The client's bytes made no sense.
    Violation(Violation),
    /// The client is gone.
    Gone,
}

impl End {
    fn told(reason: CloseReason) -> End {
        End::Told(closing(reason))
    }

    /// A short name for logs and for a metric's label.
    fn label(&self) -> &'static str {
        match self {
            End::Told(closing) => closing.reason.name(),
            End::Violation(_) => CloseReason::ProtocolViolation.name(),
            End::Gone => GONE,
        }
    }

    /// Says whether the client may come back by its resume token.
    fn resumable(self, has_token: bool) -> End {
        match self {
            End::Told(closing) => {
                // A durable room says itself that it will be there again.
                let possible =
                    closing.may_resume || matches!(closing.reason, CloseReason::TimedOut | CloseReason::TooSlow);
                End::Told(Closing { may_resume: has_token && possible, ..closing })
            }
            other => other,
        }
    }
}

impl From<Ended> for End {
    fn from(ended: Ended) -> End {
        match ended {
            Ended::Closed | Ended::Lost => End::Gone,
            Ended::Violation(violation) => End::Violation(violation),
        }
    }
}

/// Serves one client; tells why it ended.
pub(crate) async fn serve(
    gateway: &Gateway,
    mut transport: impl Transport,
    id: ConnectionId,
    visitor: Visitor,
) -> &'static str {
    let address = visitor.address;
    debug!(connection = id.0, %address, transport = transport.name(), "opened");
    let end = match handshake::enter(gateway, &mut transport, id, &visitor).await {
        Err(end) => end,
        Ok(entered) => {
            info!(
                connection = id.0,
                %address,
                transport = transport.name(),
                user = entered.entrance.user,
                room = entered.entrance.room.0,
                player = entered.player.0,
                "joined"
            );
            let has_token = entered.has_resume_token;
            let end = play::play(gateway, &mut transport, entered).await.resumable(has_token);
            info!(connection = id.0, reason = end.label(), "left");
            end
        }
    };
    let reason = end.label();
    debug!(connection = id.0, reason, "closed");
    say_goodbye(&gateway.counters, &mut transport, &end).await;
    drop(visitor.ticket);
    reason
}

/// The client hears why, if it still listens.
async fn say_goodbye(counters: &Counters, transport: &mut impl Transport, end: &End) {
    match end {
        // A transport may have a last word of its own, such as the answer to a goodbye.
        End::Gone => {
            let _ = timeout(GOODBYE, poll_fn(|cx| transport.poll_flush(cx))).await;
            return;
        }
        End::Told(closing) => {
            write(counters, transport, Path::Reliable, &ServerMessage::Closing(closing.clone()));
            transport.queue_close(&Goodbye::Closing(closing));
        }
        End::Violation(violation) => {
            counters.violations.inc();
            transport.queue_close(&Goodbye::Violation(*violation));
        }
    }
    let flushed = timeout(GOODBYE, poll_fn(|cx| transport.poll_flush(cx))).await;
    if matches!(flushed, Ok(Ok(()))) {
        let _ = timeout(GOODBYE, poll_fn(|cx| transport.poll_closed(cx))).await;
    }
}

/// Encodes a message and queues it; false if it cannot be written.
fn write(counters: &Counters, transport: &mut impl Transport, path: Path, message: &ServerMessage) -> bool {
    buffers::with_scratch(|scratch| match transport.encoding().encode(message, scratch) {
        Ok(()) => {
            counters.packets_out[kind_out(message)].inc();
            counters.bytes_out.add(scratch.len() as u64);
            transport.queue(path, scratch);
            true
        }
        Err(error) => {
            counters.encode_errors.inc();
            debug!(message = message.name(), %error, "a message could not be written");
            false
        }
    })
}
