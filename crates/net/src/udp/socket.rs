//! Task of a socket: receives for all of its connections, and sends for all of them in batches.

use super::accepting::ListenerShared;
use super::peer::{DatagramOutcome, Peer, TransmitOutcome};
use super::queue::Work;
use super::timers::{Milliseconds, NEVER, TimerQueue};
use aether_rudp::{ConnectionId, DropReason};
use aether_udp::{BatchSocket, SendBatch};
use aether_wire::CloseReason;
use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::time::Sleep;
use tracing::warn;

/// Most receive calls per turn, so that a flood does not delay what is to be sent.
const RECEIVE_CALLS_PER_TURN: usize = 4;
/// Datagrams from which on a batch is sent before more are added.
const BATCH_DATAGRAMS: usize = 256;
/// Pause after an error of the socket itself, so that an error that lasts does not keep a core busy.
const ERROR_PAUSE: Duration = Duration::from_millis(10);

/// Task of one socket.
pub(super) struct SocketTask {
    socket: BatchSocket,
    /// The same socket in the runtime, which tells when it is readable and writable.
    readiness: UdpSocket,
    timer: Pin<Box<Sleep>>,
    connections: SocketConnections,
}

/// Connections of a socket, and what is to be sent.
struct SocketConnections {
    number: u8,
    shared: Arc<ListenerShared>,
    peers: HashMap<u64, Arc<Peer>>,
    timers: TimerQueue,
    /// Moment at which the timer fires.
    timer_at: Milliseconds,
    /// Peers that may have something to send in this turn, each once.
    due: Vec<Arc<Peer>>,
    work: Work,
    batch: SendBatch,
    /// True while the system takes no more datagrams.
    is_blocked: bool,
    is_closing: bool,
    /// Buffer of an answer of the handshake.
    answer: Vec<u8>,
}

impl SocketTask {
    /// Creates the task of a socket. Must be called in a tokio runtime.
    pub fn new(socket: BatchSocket, number: u8, shared: Arc<ListenerShared>) -> io::Result<SocketTask> {
        let connections = SocketConnections {
            number,
            peers: HashMap::new(),
            timers: TimerQueue::default(),
            timer_at: NEVER,
            due: Vec::new(),
            work: Work::default(),
            batch: SendBatch::new(),
            is_blocked: false,
            is_closing: false,
            answer: Vec::new(),
            shared,
        };
        let timer = Box::pin(tokio::time::sleep(Duration::ZERO));
        let readiness = UdpSocket::from_std(socket.as_fd().try_clone_to_owned()?.into())?;
        Ok(SocketTask { socket, readiness, timer, connections })
    }

    /// Runs until the listener closes and no connection is left.
    pub async fn run(mut self) {
        while !self.connections.is_done() {
            if let Err(error) = poll_fn(|cx| self.poll_events(cx)).await {
                warn!(%error, "UDP socket failed; it is tried again");
                tokio::time::sleep(ERROR_PAUSE).await;
            }
            // Connections that were woken run first, so that one batch has the output of all of them.
            tokio::task::yield_now().await;
            self.transmit();
        }
    }

    /// Receives datagrams. Ready if something may have to be sent.
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let received = self.poll_receive(cx)?;
        let is_timer_due = self.poll_timer(cx);
        let is_writable = self.poll_writable(cx)?;
        let has_work = self.connections.shared.queues[usize::from(self.connections.number)].poll_work(cx.waker());
        match received || is_timer_due || is_writable || (has_work && !self.connections.is_blocked) {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    }

    /// Receives a bounded number of batches. Returns true if there were any.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let SocketTask { socket, readiness, connections, .. } = self;
        let mut has_received = false;
        for _ in 0..RECEIVE_CALLS_PER_TURN {
            let Poll::Ready(readable) = readiness.poll_recv_ready(cx) else { break };
            readable?;
            let received = readiness.try_io(Interest::READABLE, || {
                has_received |= connections.receive(socket)? > 0;
                // Clears the readiness, so that the next datagram wakes the task.
                if socket.is_drained() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
            });
            match received {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        Ok(has_received)
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> bool {
        let connections = &mut self.connections;
        let Some(next) = connections.timers.next() else { return false };
        if next != connections.timer_at {
            connections.timer_at = next;
            self.timer.as_mut().reset(connections.shared.instant(Duration::from_millis(next)));
        }
        self.timer.as_mut().poll(cx).is_ready()
    }

    /// Returns true if a socket that was blocked takes datagrams again.
    fn poll_writable(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        if !self.connections.is_blocked {
            return Ok(false);
        }
        match self.readiness.poll_send_ready(cx) {
            Poll::Ready(writable) => writable.map(|()| true),
            Poll::Pending => Ok(false),
        }
    }

    /// Sends everything that is due.
    fn transmit(&mut self) {
        let connections = &mut self.connections;
        let now = connections.shared.now();
        connections.collect(now);
        loop {
            let is_complete = connections.fill_batch(now);
            if !connections.flush(&self.socket, &self.readiness) || is_complete {
                return;
            }
        }
    }
}

impl SocketConnections {
    /// Returns true once the listener has closed and all connections have ended.
    fn is_done(&self) -> bool {
        self.is_closing && self.peers.is_empty() && self.batch.is_empty()
    }

    /// Receives a batch of datagrams and returns their number.
    fn receive(&mut self, socket: &mut BatchSocket) -> io::Result<usize> {
        let (now, truncated) = (self.shared.now(), socket.truncated());
        let received = socket.recv_batch(&mut |from, datagram| self.handle(now, from, datagram));
        let metrics = &self.shared.metrics;
        metrics.dropped.count(DropReason::TooLong, socket.truncated() - truncated);
        metrics.receive_calls.inc();
        metrics.received.add(*received.as_ref().unwrap_or(&0) as u64);
        received
    }

    /// Handles a received datagram.
    fn handle(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        match ConnectionId::of(datagram) {
            Some(id) if id.socket() != self.number => self.pass_on(id, from, datagram),
            Some(id) => self.handle_of(id, now, from, datagram),
            None => self.handle_handshake(now, from, datagram),
        }
    }

    /// Handles a datagram that names a connection of this socket.
    fn handle_of(&mut self, id: ConnectionId, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        let dropped = &self.shared.metrics.dropped;
        let Some(peer) = self.peers.get(&id.0) else { return dropped.count(DropReason::Unknown, 1) };
        match peer.handle(now, from, datagram) {
            DatagramOutcome::Idle => {}
            DatagramOutcome::Due => {
                if peer.mark_queued() {
                    self.due.push(Arc::clone(peer));
                }
            }
            DatagramOutcome::Unread => dropped.unread.inc(),
            DatagramOutcome::Dropped(reason) => dropped.count(reason, 1),
        }
    }

    /// Passes a datagram to the socket of its connection. The system has chosen another one after the client's address
    /// changed.
    fn pass_on(&self, id: ConnectionId, from: SocketAddr, datagram: &[u8]) {
        let dropped = &self.shared.metrics.dropped;
        match self.shared.queues.get(usize::from(id.socket())) {
            None => dropped.count(DropReason::Unknown, 1),
            Some(queue) if queue.push_foreign(from, datagram) => {}
            Some(_) => dropped.other_socket.inc(),
        }
    }

    fn handle_handshake(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) {
        if self.is_closing {
            return;
        }
        let output = (&mut self.answer, &mut self.batch);
        if let Some(peer) = self.shared.handle(now, (from, self.number), datagram, output) {
            // The first turn schedules its timers.
            if peer.mark_queued() {
                self.due.push(Arc::clone(&peer));
            }
            self.peers.insert(peer.id, peer);
        }
    }

    /// Collects the peers that may have something to send: those with new output, and those whose deadline is due.
    fn collect(&mut self, now: Duration) {
        let mut work = std::mem::take(&mut self.work);
        self.shared.queues[usize::from(self.number)].take(&mut work);
        for (from, mut datagram) in work.foreign.drain(..) {
            if let Some(id) = ConnectionId::of(&datagram) {
                self.handle_of(id, now, from, &mut datagram);
            }
        }
        self.due.append(&mut work.ready);
        if std::mem::take(&mut work.is_closing) {
            self.close();
        }
        self.work = work;
        while let Some((at, id)) = self.timers.pop_due(now) {
            if let Some(peer) = self.peers.get(&id)
                && peer.take_timer(at)
                && peer.mark_queued()
            {
                self.due.push(Arc::clone(peer));
            }
        }
    }

    /// Closes all connections.
    fn close(&mut self) {
        self.is_closing = true;
        // Numbers of reasons are small.
        let code = u16::try_from(CloseReason::Shutdown.number()).unwrap_or(0);
        for peer in self.peers.values() {
            peer.state().connection.close(code);
            if peer.mark_queued() {
                self.due.push(Arc::clone(peer));
            }
        }
    }

    /// Adds datagrams of peers that are due to the batch, up to its size. Returns true if no such peer is left.
    fn fill_batch(&mut self, now: Duration) -> bool {
        if self.is_blocked {
            return false;
        }
        while self.batch.len() < BATCH_DATAGRAMS {
            let Some(peer) = self.due.pop() else { return true };
            match peer.transmit(now, &mut self.batch, &mut self.timers) {
                TransmitOutcome::Done => {}
                TransmitOutcome::More => peer.queue_output(),
                TransmitOutcome::Closed => {
                    // A transport that is dropped later queues its connection once more.
                    if self.peers.remove(&peer.id).is_some() {
                        self.shared.metrics.resends.add(peer.state().connection.stats().resends);
                    }
                }
            }
        }
        false
    }

    /// Sends the batch. Returns false if the system takes no more now.
    fn flush(&mut self, socket: &BatchSocket, readiness: &UdpSocket) -> bool {
        let metrics = &self.shared.metrics;
        let (count, refused) = (self.batch.len(), self.batch.refused());
        if count == 0 {
            self.is_blocked = false;
            return true;
        }
        let result = readiness.try_io(Interest::WRITABLE, || self.batch.flush(socket));
        self.is_blocked = result.is_err();
        metrics.send_calls.inc();
        metrics.sent.add((count - self.batch.len()) as u64);
        metrics.dropped.unsent.add(self.batch.refused() - refused);
        !self.is_blocked
    }
}
