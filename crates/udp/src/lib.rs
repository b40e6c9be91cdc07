//! Reliable UDP over sockets: batched system calls, a blocking client and a server of many clients.
