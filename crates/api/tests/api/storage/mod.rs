//! Stored objects and purchases over HTTP, through the router and without a socket.

mod objects;
mod purchases;
