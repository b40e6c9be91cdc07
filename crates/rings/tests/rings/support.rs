//! Sockets in a temporary folder, and messages with a known content.

use aether_rings::{Attached, RING_BYTES_MIN, RingEndpoint, RingListener, attach, create};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Longest wait of a test, far beyond what a loaded machine needs.
pub const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

/// Path of a socket, removed when dropped.
pub struct SocketPath(PathBuf);

impl SocketPath {
    pub fn new() -> SocketPath {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        SocketPath(std::env::temp_dir().join(format!("aether-rings-{}-{number}.sock", std::process::id())))
    }
}

impl std::ops::Deref for SocketPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns both sides of a region in one process.
pub fn pair() -> (RingEndpoint, RingEndpoint) {
    let path = SocketPath::new();
    let listener = RingListener::bind(&path).unwrap();
    let attaching = std::thread::spawn({
        let path = path.to_owned();
        move || attach(&path).unwrap()
    });
    let creator = create(listener.accept().unwrap(), RING_BYTES_MIN, 1, b"hello").unwrap();
    let Attached { endpoint, greeting, generation } = attaching.join().unwrap();
    assert_eq!((greeting.as_slice(), generation), (b"hello".as_slice(), 1));
    (creator, endpoint)
}

/// Small random numbers from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (value ^ (value >> 31)) % limit
    }
}

/// Returns the message with a number: its length and every byte follow from the number.
pub fn message(number: u64) -> Vec<u8> {
    let length = 8 + Random(number).below(3_000) as usize;
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(length, number as u8);
    bytes
}

/// Asserts that a received message is whole and has this number.
pub fn check(received: &[u8], number: u64) {
    assert_eq!(received.first_chunk().copied().map(u64::from_le_bytes), Some(number));
    assert!(received == message(number), "message {number} is torn");
}
