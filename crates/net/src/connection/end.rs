//! Ends of connections.

use crate::transport::TransportEnded;
use aether_engine::closing;
use aether_framing::FramingError;
use aether_wire::{CloseReason, Closing};

/// The label under which a peer counts that went without a word to us.
pub(crate) const GONE: &str = "gone";

/// End of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionEnd {
    /// We close it, and the peer is told why.
    Told(Closing),
    /// The peer's bytes were no messages.
    Violation(FramingError),
    /// The peer is gone.
    Gone,
}

impl ConnectionEnd {
    /// An end for a reason, with the usual sentence.
    #[must_use]
    pub fn told(reason: CloseReason) -> ConnectionEnd {
        ConnectionEnd::Told(closing(reason))
    }

    /// A short name for logs and for a metric's label.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            ConnectionEnd::Told(closing) => closing.reason.name(),
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
