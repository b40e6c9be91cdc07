//! Threads that share the encoding of large rooms.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::sync::Arc;

/// Threads that share the encoding of large rooms. All rooms of a server can use one pool: see
/// [`crate::RoomBuilder::pool`].
pub type EncodePool = Arc<ThreadPool>;

/// Starts a pool of this many threads, named `encode-0` and so on.
///
/// # Errors
/// If the system does not start a thread.
pub fn encode_pool(threads: usize) -> Result<EncodePool, ThreadPoolBuildError> {
    let builder = ThreadPoolBuilder::new().num_threads(threads.max(1));
    builder.thread_name(|number| format!("encode-{number}")).build().map(Arc::new)
}
