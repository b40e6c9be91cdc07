//! Reliable UDP: native clients with connect tokens, over a few sockets that all connections share.
//!
//! ```text
//!  connection task (one per client)            socket task (one per socket)
//!    driver and protocol                          recvmmsg: a batch of datagrams
//!    UdpTransport                                    known id -> rudp connection -> inbox, wake
//!      poll_receive  <--- inbox  --- Peer  <---      no id    -> Acceptor: challenge, accept
//!      queue         ---> rudp connection            id of another socket -> that socket's queue
//!      poll_flush    ---> ready queue  --------->  sendmmsg: one batch for all ready connections
//! ```
//!
//! A connection task never makes a system call: it fills the rudp connection and puts it on the ready queue of its
//! socket. The socket task runs after all tasks that were ready before it, so one batch carries the output of all
//! members that a tick or a relay has woken.

mod accepting;
mod inbox;
mod listener;
mod metrics;
mod peer;
mod queue;
mod rates;
mod socket;
mod timers;
mod transport;

pub use listener::{UdpListener, UdpListenerSettings, UdpSession};
pub use transport::UdpTransport;
