//! Requests in flight of one connection.

use super::error::SocketError;
use aether_messages::realtime::envelope::Message;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Most requests of a connection that wait or run. The driver reads no more once the limit of running ones is reached, so
/// these arrived together.
pub(super) const REQUESTS_QUEUED_MAX: usize = 128;

/// Answer of a request; none if it has no contents.
pub(super) type Answer = Result<Option<Message>, SocketError>;

pub(super) type AnswerFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Call of a function, which resolves to its `cid` and answer.
type RunningFunction = Pin<Box<dyn Future<Output = (String, Answer)> + Send>>;

/// A request with its `cid`.
pub(super) struct Request {
    pub cid: String,
    pub answer: AnswerFuture,
}

/// Requests in flight. Functions run at the same time; all other requests run one after another, in the order of their
/// arrival, because a client may send the next one before the answer.
pub(super) struct Requests {
    running_max: usize,
    ordered: VecDeque<Request>,
    waiting_functions: VecDeque<Request>,
    functions: FuturesUnordered<RunningFunction>,
}

impl Requests {
    pub fn new(running_max: usize) -> Requests {
        Requests {
            running_max,
            ordered: VecDeque::new(),
            waiting_functions: VecDeque::new(),
            functions: FuturesUnordered::new(),
        }
    }

    /// Number of requests that wait or run.
    pub fn len(&self) -> usize {
        self.ordered.len() + self.waiting_functions.len() + self.functions.len()
    }

    /// Returns true if further requests must not be read.
    pub fn is_busy(&self) -> bool {
        self.len() >= self.running_max
    }

    /// Returns true if no request can be added.
    pub fn is_full(&self) -> bool {
        self.len() >= REQUESTS_QUEUED_MAX
    }

    /// Adds a request that keeps its place in the order.
    pub fn push_ordered(&mut self, request: Request) {
        self.ordered.push_back(request);
    }

    /// Adds a call of a function.
    pub fn push_function(&mut self, request: Request) {
        self.waiting_functions.push_back(request);
    }

    /// Continues the requests. Returns the `cid` and the answer of one that has finished.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(String, Answer)> {
        while self.functions.len() < self.running_max
            && let Some(Request { cid, answer }) = self.waiting_functions.pop_front()
        {
            self.functions.push(Box::pin(async move { (cid, answer.await) }));
        }
        if let Some(request) = self.ordered.front_mut()
            && let Poll::Ready(answer) = request.answer.as_mut().poll(cx)
            && let Some(request) = self.ordered.pop_front()
        {
            return Poll::Ready((request.cid, answer));
        }
        match self.functions.poll_next_unpin(cx) {
            Poll::Ready(Some(finished)) => Poll::Ready(finished),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}
