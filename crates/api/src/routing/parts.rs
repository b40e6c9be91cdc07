//! Bytes of an answer in parts.

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Longest part, in bytes.
const PART_BYTES: usize = 65_536;

/// Text or bytes that are written in parts: a long answer is not copied while it grows, takes no more memory than its
/// length, and returns it part by part as it is sent.
#[derive(Default)]
pub(crate) struct AnswerParts {
    complete: VecDeque<Bytes>,
    last: Vec<u8>,
}

impl AnswerParts {
    /// Number of all bytes.
    pub fn len(&self) -> usize {
        self.complete.iter().map(Bytes::len).sum::<usize>() + self.last.len()
    }

    /// Returns the body with these bytes.
    pub fn into_body(mut self) -> Body {
        self.last.shrink_to_fit();
        let last = Bytes::from(self.last);
        if self.complete.is_empty() {
            return Body::from(last);
        }
        self.complete.push_back(last);
        parts_body(self.complete)
    }
}

impl io::Write for AnswerParts {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fitting = bytes.len().min(PART_BYTES - self.last.len());
        self.last.extend_from_slice(&bytes[..fitting]);
        if self.last.len() == PART_BYTES {
            let part = std::mem::replace(&mut self.last, Vec::with_capacity(PART_BYTES));
            self.complete.push_back(Bytes::from(part));
        }
        Ok(fitting)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a body with these parts.
pub(crate) fn parts_body(parts: impl Into<VecDeque<Bytes>>) -> Body {
    let mut parts = parts.into();
    parts.retain(|part| !part.is_empty());
    Body::new(PartsBody { parts })
}

/// Returns the parts of a body that is complete in memory, or `None` if it fails.
pub(crate) async fn parts_of(mut body: Body) -> Option<Vec<Bytes>> {
    let mut parts = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        parts.extend(frame.ok()?.into_data().ok());
    }
    Some(parts)
}

struct PartsBody {
    parts: VecDeque<Bytes>,
}

impl HttpBody for PartsBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.parts.pop_front().map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.parts.iter().map(|part| part.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[tokio::test]
    async fn bytes_are_kept_in_their_order_and_in_full_parts() {
        for length in [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES + 7] {
            let written: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
            let mut parts = AnswerParts::default();
            for bytes in written.chunks(1_000) {
                parts.write_all(bytes).unwrap();
            }
            assert_eq!(parts.len(), length);
            let body = parts.into_body();
            assert_eq!(body.size_hint().exact(), Some(length as u64));
            let parts = parts_of(body).await.unwrap();
            assert_eq!(parts.concat(), written);
            assert_eq!(parts.len(), length.div_ceil(PART_BYTES));
        }
    }
}
