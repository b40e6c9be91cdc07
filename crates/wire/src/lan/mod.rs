//! Packets of the local network: discovery of servers and rooms, and streams of rooms for spectators.
//!
//! All packets are UDP datagrams of at most [`LAN_DATAGRAM_BYTES_MAX`] bytes. Numbers are little-endian; a text is one
//! byte of length and UTF-8 without control characters.
//!
//! ```text
//! header  | "ALAN" | version u8 | kind u8 |
//!
//! query   | header | nonce u64 | server u64 | first room u16 | name text | zeros up to 1,200 bytes |
//! answer  | header | nonce u64 | key 32 | HTTP port u16 | flags u8 | host text | name text | version text
//!         | types u8, each: text | rooms u16 | first room u16 | listed u8, each: room | signature 64 |
//! room    | id text | code text | type text | players u16 | players max u16 | label text | flags u8 |
//! watch   | header | nonce u64 | server u64 | room id text | zeros up to 256 bytes |
//! offer   | header | nonce u64 | key 32 | refusal u8 | stream u64 | group 4 | port u16 | signature 64 |
//! frame   | header | stream u64 | epoch u32 | sequence u32 | part u16 | parts u16 | payload | signature 64 |
//! ```
//!
//! A client sends queries and watches to the multicast group of discovery; a server answers by unicast. Both are padded,
//! so that an answer is never longer than what caused it: a forged sender address gains nothing. Frames go to the group
//! of a stream. An epoch begins with a key frame ([`KeyFrame`]), which has the whole state of a room, in `parts` parts.
//! The other frames of the epoch have `parts` 0; each has one state packet, made from the states of the key frame alone,
//! so a lost one is no loss to those after it.
//!
//! Every packet of a server ends with an Ed25519 signature of all bytes before it. Its public key is the identity of the
//! server; an answer and an offer contain it, and the nonce of the request.

mod codec;
mod discovery;
mod frame;
mod key_frame;
mod watch;

pub use codec::{LanDecodeError, ServerKey, is_answer, signed_part};
pub use discovery::{LanAnswer, LanQuery, LanRoom};
pub use frame::{FrameBody, StreamFrame};
pub use key_frame::{KeyFrame, KeyFrameAssembler, key_frame_parts};
pub use watch::{LanOffer, LanWatch, OfferedStream, StreamRefusal};

/// Version of the packets. A packet of another version is dropped.
pub const LAN_VERSION: u8 = 1;

/// Bytes of a datagram: below the smallest path MTU of IPv6 with all headers.
pub const LAN_DATAGRAM_BYTES_MAX: usize = 1_200;

/// Bytes of a query. An answer is at most as long.
pub const QUERY_BYTES: usize = LAN_DATAGRAM_BYTES_MAX;

/// Bytes of a watch. An offer is shorter.
pub const WATCH_BYTES: usize = 256;

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// Bytes of a room id in an answer: a UUID, a dot and the name of a node. Rooms with longer ids are not listed.
pub const LAN_ROOM_ID_BYTES_MAX: usize = 80;

/// Bytes of the label of a room in an answer. A longer one is cut.
pub const LAN_LABEL_BYTES_MAX: usize = 64;

/// Bytes of a host name.
pub const HOST_BYTES_MAX: usize = 253;

/// Room types in an answer. Those beyond it are left out.
pub const LAN_TYPES_MAX: usize = 16;

/// Rooms that a server lists, over all its answers.
pub const LAN_ROOMS_MAX: usize = 256;

/// Bytes of the payload of a frame: a state packet fits.
pub const FRAME_PAYLOAD_BYTES_MAX: usize = 1_000;

/// Parts of a key frame: the largest schema, and the most packets of a snapshot.
pub const KEY_FRAME_PARTS_MAX: usize = 192;

/// State packets of a key frame.
pub const KEY_FRAME_PACKETS_MAX: usize = 128;

const _: () = assert!(crate::limits::STATE_PACKET_BYTES_MAX <= FRAME_PAYLOAD_BYTES_MAX);
const _: () = assert!(
    crate::limits::SCHEMA_BYTES_MAX + KEY_FRAME_PACKETS_MAX * (2 + crate::limits::STATE_PACKET_BYTES_MAX) + 512
        <= KEY_FRAME_PARTS_MAX * FRAME_PAYLOAD_BYTES_MAX
);
