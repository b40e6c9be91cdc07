//! One connection, from its first byte to its last.
//!
//! The [`driver`] owns turns, deadlines, rates, back-pressure and the stop notice; a [`Protocol`] gives messages their
//! meaning.

mod driver;
mod end;
mod meter;
mod outgoing;

use crate::connections::Connections;
use crate::protocol::Protocol;
use crate::transport::{CloseNotice, Transport};
use aether_wire::ConnectionId;
use driver::Driver;
pub use end::ConnectionEnd;
pub(crate) use end::GONE;
pub use meter::{MessageClass, MessageRates, RateMeter};
pub use outgoing::OutgoingMessages;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tracing::debug;

/// Time that the last words to a peer may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// Serves one peer; returns the label of the reason for which it ended.
pub(crate) async fn serve(
    connections: &Connections,
    mut transport: impl Transport,
    (id, address): (ConnectionId, IpAddr),
    protocol: impl Protocol,
) -> &'static str {
    debug!(connection = id.0, %address, transport = transport.name(), "opened");
    let end = {
        let mut driver = Driver::new(connections, &mut transport, protocol);
        let mut timer = pin!(sleep(connections.settings.handshake));
        let end = poll_fn(|cx| driver.turn(timer.as_mut(), cx)).await;
        driver.finish(end)
    };
    let reason = end.label();
    debug!(connection = id.0, reason, "closed");
    say_goodbye(connections, &mut transport, &end).await;
    reason
}

/// Writes what is queued and the transport's own goodbye, if the peer still listens.
async fn say_goodbye(connections: &Connections, transport: &mut impl Transport, end: &ConnectionEnd) {
    match end {
        // A transport may have a last word of its own, such as the answer to a goodbye.
        ConnectionEnd::Gone => {
            let _ = timeout(GOODBYE, poll_fn(|cx| transport.poll_flush(cx))).await;
            return;
        }
        ConnectionEnd::Told(closing) => transport.queue_close(&CloseNotice::Closing(closing)),
        ConnectionEnd::Violation(violation) => {
            connections.counters.violations.inc();
            transport.queue_close(&CloseNotice::Violation(*violation));
        }
    }
    let flushed = timeout(GOODBYE, poll_fn(|cx| transport.poll_flush(cx))).await;
    if matches!(flushed, Ok(Ok(()))) {
        let _ = timeout(GOODBYE, poll_fn(|cx| transport.poll_closed(cx))).await;
    }
}
