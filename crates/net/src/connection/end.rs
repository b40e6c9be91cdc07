//! Ends of connections.

use crate::transport::Ended;
use aether_engine::closing;
use aether_framing::FramingError;
use aether_wire::{CloseReason, Closing};

/// The label under which a peer counts that went without a word to us.
pub(crate) const GONE: &str = "gone";

/// End of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// We close it, and the peer is told why.
    Told(Closing),
    /// The peer's bytes were no messages.
    Violation(FramingError),
    /// The peer is gone.
    Gone,
}

impl End {
    /// An end for a reason, with the usual sentence.
    #[must_use]
    pub fn told(reason: CloseReason) -> End {
        End::Told(closing(reason))
    }

    /// A short name for logs and for a metric's label.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            End::Told(closing) => closing.reason.name(),
            End::Violation(_) => CloseReason::ProtocolViolation.name(),
            End::Gone => GONE,
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
