//! Options of a socket.

/// Options of a [`BatchSocket`](crate::BatchSocket).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketOptions {
    /// Lets several sockets share the address; the system spreads peers over them (`SO_REUSEPORT`).
    pub reuse_port: bool,
    /// Lets the system join and split runs of datagrams of one peer (GSO and GRO on Linux). Sending costs less than half in
    /// long runs. Receiving needs 2 MB of address space, of which only the used part becomes memory.
    pub offload: bool,
    /// Wanted size of the system's receive buffer in bytes. The system may grant less (`net.core.rmem_max`).
    pub receive_buffer_bytes: Option<usize>,
    /// Wanted size of the system's send buffer in bytes. The system may grant less (`net.core.wmem_max`).
    pub send_buffer_bytes: Option<usize>,
    /// Datagrams or joined runs received by one system call, 1 to 64.
    pub receive_slots: usize,
}

/// Largest number of receive slots.
pub(crate) const RECEIVE_SLOTS_MAX: usize = 64;

impl SocketOptions {
    /// Options for a server of many clients: offload, large buffers, large batches.
    pub fn server() -> SocketOptions {
        SocketOptions {
            reuse_port: false,
            offload: true,
            receive_buffer_bytes: Some(4 << 20),
            send_buffer_bytes: Some(4 << 20),
            receive_slots: 32,
        }
    }

    /// Options for a single peer: the system's own buffer sizes and little memory.
    pub fn client() -> SocketOptions {
        SocketOptions {
            reuse_port: false,
            offload: false,
            receive_buffer_bytes: None,
            send_buffer_bytes: None,
            receive_slots: 8,
        }
    }
}

impl Default for SocketOptions {
    fn default() -> SocketOptions {
        SocketOptions::server()
    }
}
