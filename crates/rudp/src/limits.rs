//! Limits of the protocol. Both ends have the same ones; what a peer exceeds is refused.

use std::time::Duration;

use crate::frame::{FRAGMENT_HEADER_BYTES, FRAME_HEADER_BYTES};
use crate::packet::{ACK_BYTES_MAX, HEADER_BYTES_MAX};
use crate::seal::TAG_BYTES;

/// Longest datagram. Every path of the Internet carries it unfragmented: IPv6 guarantees 1,280 bytes, headers included.
pub const DATAGRAM_BYTES_MAX: usize = 1_200;

/// Longest reliable message. Above [`FRAGMENT_BYTES`] it is sent in fragments.
pub const MESSAGE_BYTES_MAX: usize = 65_536;

/// Longest unreliable or sequenced message, which fits one datagram beside the longest acknowledgement.
pub const UNRELIABLE_BYTES_MAX: usize = 1_100;

/// Length of a connect request. The answer is far smaller, so that spoofed requests amplify nothing.
pub const REQUEST_BYTES: usize = DATAGRAM_BYTES_MAX;

/// Longest account name in a token.
pub const ACCOUNT_BYTES_MAX: usize = 64;

/// Number of used tokens that are remembered until they expire. With more, no token is accepted.
pub const USED_TOKENS_MAX: usize = 65_536;

/// Length of every fragment but the last.
pub const FRAGMENT_BYTES: usize = 1_096;

/// Largest number of fragments of a message.
pub const FRAGMENTS_MAX: usize = MESSAGE_BYTES_MAX.div_ceil(FRAGMENT_BYTES);

/// Number of messages of a reliable channel that may be under way: from the oldest that is not acknowledged to the
/// newest that was sent.
pub const MESSAGES_UNDER_WAY_MAX: u64 = 4_096;

/// Bytes of a reliable channel that may be under way. It bounds the receiver's memory for messages out of order, and the
/// rate: one window per round trip.
pub const WINDOW_BYTES_MAX: usize = 512 * 1_024;

/// Number of packets under way that need an acknowledgement.
pub const PACKETS_UNDER_WAY_MAX: u64 = 1_024;

/// Largest distance of a packet number to the last acknowledged one, so that 16 bits on the wire identify it.
pub const NUMBER_SPAN_MAX: u64 = 1 << 15;

/// Number of packets sealed with one key. AES-GCM keeps its margin for 2^28 packets of less than 2,048 bytes (RFC 9001,
/// appendix B.1).
pub const PACKETS_MAX: u64 = 1 << 28;

/// Number of packets with a wrong seal that a connection survives. It is the integrity limit of ChaCha20-Poly1305, and
/// below that of AES-GCM (RFC 9001, section 6.6).
pub const FORGERIES_MAX: u64 = 1 << 36;

/// Longest wait before an acknowledgement is sent by itself.
pub const ACK_DELAY_MAX: Duration = Duration::from_millis(20);

/// Number of packets that one acknowledgement waits for, unless the sender asks for it earlier.
pub const PACKETS_PER_ACK_MAX: u32 = 32;

/// Age above which the answer to a challenge is refused.
pub const COOKIE_AGE_MAX: Duration = Duration::from_secs(10);

/// Number of times that a close is sent, in case some are lost.
pub const CLOSE_REPEATS: u8 = 3;

/// Wait between two packets of a close.
pub const CLOSE_INTERVAL: Duration = Duration::from_millis(50);

/// Longest wait of a close for reliable messages that are not acknowledged yet.
pub const CLOSE_LINGER_MAX: Duration = Duration::from_secs(2);

/// Wait between two path challenges to the same address.
pub const PATH_CHALLENGE_INTERVAL: Duration = Duration::from_millis(200);

/// Number of challenges that an address gets for a packet that came from it.
pub const PATH_CHALLENGES_MAX: u8 = 5;

const PAYLOAD_BYTES_MIN: usize = DATAGRAM_BYTES_MAX - HEADER_BYTES_MAX - ACK_BYTES_MAX - TAG_BYTES;
const _: () = assert!(FRAME_HEADER_BYTES + UNRELIABLE_BYTES_MAX <= PAYLOAD_BYTES_MIN);
const _: () = assert!(FRAME_HEADER_BYTES + FRAGMENT_HEADER_BYTES + FRAGMENT_BYTES <= PAYLOAD_BYTES_MIN);
const _: () = assert!(FRAGMENTS_MAX <= u64::BITS as usize, "the fragments of a message are bits of a word");
const _: () = assert!(MESSAGES_UNDER_WAY_MAX < 1 << 15, "message numbers have 16 bits on the wire");
const _: () = assert!(PACKETS_UNDER_WAY_MAX < NUMBER_SPAN_MAX);
const _: () = assert!(WINDOW_BYTES_MAX >= 4 * FRAGMENTS_MAX * FRAGMENT_BYTES);
