//! The system calls.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(not(target_os = "linux"), test))]
mod plain;

#[cfg(target_os = "linux")]
pub(crate) use linux::{can_segment, enable_joined_receive, receive, send, wait};
#[cfg(not(target_os = "linux"))]
pub(crate) use plain::{can_segment, enable_joined_receive, receive, send, wait};

/// Outcome of one receive call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// Datagrams passed on.
    pub datagrams: usize,
    /// Datagrams dropped because they were longer than their slot.
    pub truncated: usize,
    /// True if nothing was left waiting.
    pub is_drained: bool,
}
