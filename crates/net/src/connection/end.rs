//! Ends of connections.

use crate::transport::TransportEnded;
use aether_framing::FramingError;
use aether_wire::{CloseReason, Closing};

/// Metric label of connections that the peer ended.
pub(crate) const GONE: &str = "gone";

/// End of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionEnd {
    /// The server closes the connection with a reason.
    Closing(Closing),
    /// The peer violated the framing of the transport.
    Violation(FramingError),
    /// The peer closed the connection, or it was lost.
    Gone,
}

impl ConnectionEnd {
    /// Creates an end with a reason and its default text.
    #[must_use]
    pub fn closing(reason: CloseReason) -> ConnectionEnd {
        ConnectionEnd::Closing(aether_engine::closing(reason))
    }

    /// Short name for logs and metric labels.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            ConnectionEnd::Closing(closing) => closing.reason.name(),
            ConnectionEnd::Violation(_) => CloseReason::ProtocolViolation.name(),
            ConnectionEnd::Gone => GONE,
        }
    }
}

impl From<TransportEnded> for ConnectionEnd {
    fn from(ended: TransportEnded) -> ConnectionEnd {
        match ended {
            TransportEnded::Closed | TransportEnded::Lost => ConnectionEnd::Gone,
            TransportEnded::Violation(violation) => ConnectionEnd::Violation(violation),
        }
    }
}
