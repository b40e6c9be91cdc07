//! Reliable UDP over sockets: batched system calls, a blocking client and a server of many clients.
//!
//! [`BatchSocket`] and [`SendBatch`] move many datagrams per system call and know nothing of the protocol. [`UdpClient`]
//! and [`UdpServer`] run the protocol of `aether-rudp` over them, for programs that want the transport without the
//! platform.

mod client;
mod client_slab;
mod clock;
mod message_queue;
mod send_batch;
mod server;
mod server_settings;
mod server_stats;
mod socket;
mod socket_options;
mod system;
mod timer_wheel;

pub use client::{UdpClient, UdpConnectError};
pub use client_slab::UdpClientId;
pub use send_batch::SendBatch;
pub use server::UdpServer;
pub use server_settings::UdpServerSettings;
pub use server_stats::UdpServerStats;
pub use socket::BatchSocket;
pub use socket_options::SocketOptions;
