//! The native client: Outpost over real sockets, from join to leave.

mod certificate;
mod conditions;
mod event_order;
mod flood;
mod play;
mod proxy;
mod recovery;
mod support;
mod tokens;
mod udp_proxy;
