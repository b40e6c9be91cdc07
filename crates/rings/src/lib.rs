//! Rings of messages in memory that two processes share.
//!
//! A [`Region`] is a memory mapping with two rings, one in each direction. One process creates it and passes it to the
//! other over a Unix socket ([`RingListener`], [`create`], [`attach`]). Each side then has a [`RingSender`] and a
//! [`RingReceiver`]. While both sides are busy, sending and receiving are plain loads and stores. A side that has
//! nothing to do sleeps in the [`Bell`], and the other side rings it through the socket. The end of the socket also
//! tells that the other process has ended, however it ended.
//!
//! # Trust
//! The other process may write anything to the region at any time. Every cursor and length is copied once, checked, and
//! only then used; messages are copied out before anyone parses them. A violation is a [`RingError`], never a panic or
//! an access out of bounds.
//!
//! # Crashes
//! A message becomes visible by one store of the sender's cursor, after its bytes. A sender that is killed in the
//! middle of a message leaves nothing visible; a receiver that is killed leaves a ring that fills up, which the sender
//! sees as [`TrySendError::Full`].
//!
//! The crate needs Linux: sealed memory files, which cannot be truncated under a mapping, exist only there. Elsewhere
//! it is empty.
#![cfg(target_os = "linux")]

mod bell;
mod cursor;
mod endpoint;
mod error;
mod handshake;
#[cfg(test)]
mod hostile;
mod layout;
mod listener;
mod memory;
#[cfg(test)]
mod model;
mod region;

pub use bell::{Bell, BellEvent};
pub use endpoint::{RingEndpoint, RingReceiver, RingSender};
pub use error::{AttachError, RingError, TrySendError};
pub use handshake::{Attached, GREETING_BYTES_MAX, attach, create};
pub use layout::{RING_BYTES_MAX, RING_BYTES_MIN, Side};
pub use listener::RingListener;
pub use region::Region;
