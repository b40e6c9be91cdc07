//! State of a connection.

/// State of a connection or of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// The client's handshake is under way.
    Connecting,
    /// Messages flow.
    Open,
    /// Closed by this endpoint; what was sent before is still being delivered, and the peer is being informed.
    Closing,
    /// Nothing is sent or received any more.
    Closed(CloseCause),
}

/// Cause of the end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCause {
    /// The peer closed it with this code.
    Peer(u16),
    /// This endpoint closed it.
    Local,
    /// The peer was silent for too long, or a client could not connect in time.
    TimedOut,
    /// The key has sealed as many packets, or has been tried by as many forgeries, as is safe.
    Exhausted,
    /// The peer sent an authentic packet that breaks a rule.
    Violation,
}
