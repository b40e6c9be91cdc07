//! Bodies of answers that a connection has not taken yet, and connections that stopped taking them.
//!
//! A stall is judged by answers, not by the socket: with HTTP/2 a client can keep the socket busy while it takes no
//! answer. It is judged in several checks, and each check runs in the task of the connection, after the connection was
//! polled. So time in which the server or the machine was busy is not held against the client: however long a pause, the
//! connection is polled before the next check, and takes at most one check of the number that a stall needs.

use crate::answers::AnswerShare;
use aether_limits::NetworkShare;
use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// Longest part of an answer that is handed to the connection at once. A client has to take one within the time for a
/// stall, so with 10 seconds at least 1.6 kB per second.
const PART_BYTES_MAX: usize = 16_384;
/// Checks in a row without progress that make a stall.
const CHECKS: u32 = 10;

/// Progress of the answers of one connection.
#[derive(Default)]
pub(crate) struct ConnectionProgress {
    /// Answers with bytes that the client has not taken.
    unread: AtomicUsize,
    /// Parts of answers that were taken.
    parts_taken: AtomicU64,
}

impl ConnectionProgress {
    fn mark(&self) {
        self.parts_taken.fetch_add(1, Ordering::Relaxed);
    }
}

/// Finds out that a connection has stalled.
pub(crate) struct StallWatch {
    progress: Arc<ConnectionProgress>,
    interval: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    parts_taken: u64,
    checks_without_progress: u32,
}

impl StallWatch {
    /// Watches a connection that may stand still for this long.
    pub fn new(progress: Arc<ConnectionProgress>, time_max: Duration) -> StallWatch {
        let interval = time_max / CHECKS;
        StallWatch { progress, interval, timer: None, parts_taken: 0, checks_without_progress: 0 }
    }

    /// Is ready if the connection has stalled. Call it in the task of the connection, each time after polling it.
    pub fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let parts_taken = self.progress.parts_taken.load(Ordering::Relaxed);
            let is_read = self.progress.unread.load(Ordering::Relaxed) == 0;
            if is_read || parts_taken != self.parts_taken {
                (self.parts_taken, self.checks_without_progress) = (parts_taken, 0);
            }
            if is_read {
                self.timer = None;
                return Poll::Pending;
            }
            let interval = self.interval;
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(interval)));
            ready!(timer.as_mut().poll(context));
            self.checks_without_progress += 1;
            if self.checks_without_progress >= CHECKS {
                return Poll::Ready(());
            }
            // From now, not from when it was due: checks that were missed are not made up for.
            timer.as_mut().reset(Instant::now() + interval);
        }
    }
}

/// Share of a client in the concurrent requests, as an extension of an answer.
#[derive(Clone)]
pub(crate) struct ClientShare(#[expect(dead_code, reason = "dropping it returns the share")] pub Arc<NetworkShare>);

/// An answer whose bytes are still in memory.
struct UnreadAnswer {
    progress: Arc<ConnectionProgress>,
    /// True if it counts as unread: the client is to take bytes, not the server to produce some.
    is_counted: AtomicBool,
    _shares: (Option<AnswerShare>, Option<ClientShare>),
}

impl UnreadAnswer {
    fn set_counted(&self, is_counted: bool) {
        if self.is_counted.swap(is_counted, Ordering::AcqRel) != is_counted {
            self.progress.mark();
            match is_counted {
                true => self.progress.unread.fetch_add(1, Ordering::Relaxed),
                false => self.progress.unread.fetch_sub(1, Ordering::Relaxed),
            };
        }
    }
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        self.set_counted(false);
    }
}

/// Counts an answer as unread when the server has produced more of it, even if the connection cannot take it yet.
struct ProducedWaker {
    answer: Arc<UnreadAnswer>,
    connection: Waker,
}

impl Wake for ProducedWaker {
    fn wake(self: Arc<Self>) {
        self.answer.set_counted(true);
        self.connection.wake_by_ref();
    }
}

/// Body of an answer, in parts.
pub(crate) struct AnswerBody {
    body: Body,
    /// Bytes taken from `body` and not yet handed out.
    rest: Bytes,
    unread: Option<Arc<UnreadAnswer>>,
}

/// Bytes of an answer: it counts as unread until the connection has dropped all of them.
struct AnswerBytes {
    bytes: Bytes,
    _unread: Option<Arc<UnreadAnswer>>,
}

impl AsRef<[u8]> for AnswerBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Counts an answer as unread until the connection has written its last byte.
pub(crate) fn watch(mut response: Response, progress: &Arc<ConnectionProgress>) -> http::Response<AnswerBody> {
    let extensions = response.extensions_mut();
    let shares = (extensions.remove::<AnswerShare>(), extensions.remove::<ClientShare>());
    response.map(|body| {
        let unread = (!body.is_end_stream()).then(|| {
            let is_counted = AtomicBool::new(false);
            let answer = UnreadAnswer { progress: Arc::clone(progress), is_counted, _shares: shares };
            answer.set_counted(true);
            Arc::new(answer)
        });
        AnswerBody { body, rest: Bytes::new(), unread }
    })
}

impl AnswerBody {
    /// Polls for the next frame. While the server has none, the answer does not count as unread.
    fn poll_produced(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let body = Pin::new(&mut self.body);
        // A body of known length is complete.
        let Some(answer) = self.unread.as_ref().filter(|_| body.size_hint().exact().is_none()) else {
            return body.poll_frame(context);
        };
        // Before polling, because the waker may be called at once.
        answer.set_counted(false);
        let waker = ProducedWaker { answer: Arc::clone(answer), connection: context.waker().clone() };
        let frame = ready!(body.poll_frame(&mut Context::from_waker(&Waker::from(Arc::new(waker)))));
        answer.set_counted(true);
        Poll::Ready(frame)
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        while self.rest.is_empty() {
            let frame = match ready!(self.poll_produced(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(bytes) => {
                    let bytes = AnswerBytes { bytes, _unread: self.unread.clone() };
                    self.rest = Bytes::from_owner(bytes);
                }
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        if let Some(unread) = &self.unread {
            unread.progress.mark();
        }
        let length = self.rest.len().min(PART_BYTES_MAX);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}
