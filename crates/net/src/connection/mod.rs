//! One connection, from opening to close.
//!
//! The [`driver`] owns turns, deadlines, rates, back-pressure and the stop notice; a [`Protocol`] interprets the
//! messages.

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

/// Longest time for each step of a close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves one peer. Returns the label of the reason for which the connection ended.
pub(crate) async fn serve(
    connections: &Connections,
    mut transport: impl Transport,
    (id, address): (ConnectionId, IpAddr),
    protocol: impl Protocol,
) -> &'static str {
    debug!(connection = id.0, %address, transport = transport.name(), "connection opened");
    let end = {
        let mut driver = Driver::new(connections, &mut transport, protocol);
        let mut timer = pin!(sleep(connections.settings.handshake));
        let end = poll_fn(|cx| driver.turn(timer.as_mut(), cx)).await;
        driver.finish(end)
    };
    let reason = end.label();
    debug!(connection = id.0, reason, "connection closed");
    close(connections, &mut transport, &end).await;
    reason
}

/// Writes queued messages and the transport's close notice, if the peer still reads.
async fn close(connections: &Connections, transport: &mut impl Transport, end: &ConnectionEnd) {
    match end {
        // The transport may have to answer the peer's close notice.
        ConnectionEnd::Gone => {
            let _ = timeout(CLOSE_TIMEOUT, poll_fn(|cx| transport.poll_flush(cx))).await;
            return;
        }
        ConnectionEnd::Closing(closing) => transport.queue_close(&CloseNotice::Closing(closing)),
        ConnectionEnd::Violation(violation) => {
            connections.metrics.violations.inc();
            transport.queue_close(&CloseNotice::Violation(*violation));
        }
    }
    let flushed = timeout(CLOSE_TIMEOUT, poll_fn(|cx| transport.poll_flush(cx))).await;
    if matches!(flushed, Ok(Ok(()))) {
        let _ = timeout(CLOSE_TIMEOUT, poll_fn(|cx| transport.poll_closed(cx))).await;
    }
}
