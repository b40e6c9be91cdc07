//! Stored objects and purchases over HTTP, through the router and without a socket.

mod desk;
mod objects;
mod purchases;
