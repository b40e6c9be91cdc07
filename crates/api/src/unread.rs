//! Bodies of answers that a connection has not taken yet, and connections that stopped taking them.
//!
//! A stalled connection is found by its answers, not by its socket: with HTTP/2 a client can keep the socket busy while
//! it takes no answer.

use crate::answers::AnswerShare;
use aether_limits::NetworkShare;
use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Longest part of an answer that is handed to the connection at once. A client has to take one within the time for a
/// stall, so with 10 seconds at least 1.6 kB per second.
const PART_BYTES_MAX: usize = 16_384;

/// Progress of the answers of one connection.
pub(crate) struct ConnectionProgress {
    began: Instant,
    /// Answers that are not taken as a whole.
    unread: AtomicUsize,
    /// Time of the last progress of any answer, in milliseconds since `began`.
    moved_at_ms: AtomicU64,
}

impl ConnectionProgress {
    pub fn new() -> ConnectionProgress {
        ConnectionProgress { began: Instant::now(), unread: AtomicUsize::new(0), moved_at_ms: AtomicU64::new(0) }
    }

    /// Returns when answers are unread and none has made progress for this time.
    pub async fn stalled(&self, time_max: Duration) {
        loop {
            let moved_at = Duration::from_millis(self.moved_at_ms.load(Ordering::Relaxed));
            let since = self.began.elapsed().saturating_sub(moved_at);
            let is_idle = self.unread.load(Ordering::Relaxed) == 0;
            let left = if is_idle { time_max } else { time_max.saturating_sub(since) };
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    fn mark(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved_at_ms.store(now, Ordering::Relaxed);
    }
}

/// Share of a client in the concurrent requests, as an extension of an answer.
#[derive(Clone)]
pub(crate) struct ClientShare(#[expect(dead_code, reason = "dropping it returns the share")] pub Arc<NetworkShare>);

/// An answer whose bytes are still in memory.
struct UnreadAnswer {
    progress: Arc<ConnectionProgress>,
    _shares: (Option<AnswerShare>, Option<ClientShare>),
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        self.progress.mark();
        self.progress.unread.fetch_sub(1, Ordering::Relaxed);
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
            progress.mark();
            progress.unread.fetch_add(1, Ordering::Relaxed);
            Arc::new(UnreadAnswer { progress: Arc::clone(progress), _shares: shares })
        });
        AnswerBody { body, rest: Bytes::new(), unread }
    })
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        while self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
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
