//! Stored objects and purchases through the router, without a socket.

mod objects;
mod purchases;
