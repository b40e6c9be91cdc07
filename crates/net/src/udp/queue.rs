//! Queue of a socket: connections with output, and datagrams that arrived on another socket.

use super::peer::Peer;
use atomic_waker::AtomicWaker;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Most datagrams of other sockets that wait. Only a client whose address has changed causes them.
const FOREIGN_MAX: usize = 1_024;

/// Work for the task of a socket, from connection tasks and from the tasks of other sockets.
#[derive(Default)]
pub(super) struct SocketQueue {
    work: Mutex<Work>,
    waker: AtomicWaker,
}

/// Work that waits for the task of a socket.
#[derive(Default)]
pub(super) struct Work {
    /// Connections that may have something to send, each once.
    pub ready: Vec<Arc<Peer>>,
    /// Datagrams for connections of this socket that arrived on another one.
    pub foreign: Vec<(SocketAddr, Vec<u8>)>,
    /// True if the listener closes.
    pub is_closing: bool,
}

impl SocketQueue {
    /// Adds a connection. The socket task is woken once until it takes the work.
    pub fn push_ready(&self, peer: Arc<Peer>) {
        let mut work = self.work();
        let is_first = work.ready.is_empty();
        work.ready.push(peer);
        drop(work);
        if is_first {
            self.waker.wake();
        }
    }

    /// Adds a datagram of a connection of this socket. Returns false if too many wait.
    pub fn push_foreign(&self, from: SocketAddr, datagram: &[u8]) -> bool {
        let mut work = self.work();
        if work.foreign.len() >= FOREIGN_MAX {
            return false;
        }
        work.foreign.push((from, datagram.to_vec()));
        drop(work);
        self.waker.wake();
        true
    }

    /// Tells the socket task to close all connections and to end.
    pub fn close(&self) {
        self.work().is_closing = true;
        self.waker.wake();
    }

    /// Registers the waker of the socket task. Returns true if there is work.
    pub fn poll_work(&self, waker: &Waker) -> bool {
        self.waker.register(waker);
        let work = self.work();
        !work.ready.is_empty() || !work.foreign.is_empty() || work.is_closing
    }

    /// Exchanges the work with empty lists, so that neither side allocates in steady state.
    pub fn take(&self, taken: &mut Work) {
        let mut work = self.work();
        std::mem::swap(&mut work.ready, &mut taken.ready);
        std::mem::swap(&mut work.foreign, &mut taken.foreign);
        taken.is_closing = std::mem::take(&mut work.is_closing);
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
