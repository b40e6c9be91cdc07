//! Reliable UDP over sockets: batched system calls, a blocking client and a server of many clients.
//!
//! [`BatchSocket`] and [`SendBatch`] move many datagrams per system call and know nothing of the protocol.

mod send_batch;
mod socket;
mod socket_options;
mod system;

pub use send_batch::SendBatch;
pub use socket::BatchSocket;
pub use socket_options::SocketOptions;
