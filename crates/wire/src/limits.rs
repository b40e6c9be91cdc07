//! Every limit of the wire, with its reason beside it.
//!
//! A peer controls each of these lengths, counts, depths and ages, so each has an upper end
//! that is checked before memory is spent on it.

// State packets and datagrams.

/// Bytes that one datagram may carry on every transport: Chromium takes 1,024 in a WebTransport
/// datagram, and that also stays below the smallest path MTU of IPv6 with all headers.
pub const DATAGRAM_BYTES_MAX: usize = 1_024;

/// Payload bytes of one state packet. It leaves room for the frame within a datagram.
pub const STATE_PACKET_BYTES_MAX: usize = 1_000;

/// Bytes that a frame adds around a state packet: one of tag and two of length.
pub const STATE_FRAME_BYTES: usize = 3;

/// State packets before the newest one that an acknowledgement can speak about: the bits of a
/// 64-bit word, which is more than a second at 60 Hz.
pub const ACK_WINDOW_PACKETS: u32 = u64::BITS;

// Inputs.

/// Slots of entities in a room. Clients follow no slot beyond, so that what a packet names cannot make
/// them take memory without bound, and a server uses none beyond.
pub const SLOTS_MAX: u32 = 1 << 20;

/// Bytes of one encoded input. A player's intent for one tick is a few keys and an aim; what
/// needs more is a command, not an input.
pub const INPUT_BYTES_MAX: usize = 32;

/// Inputs of one message: the new ones and the repeated ones that make loss harmless. At 60 Hz
/// it bridges 200 ms, and the longest inputs still fit a message of default size.
pub const INPUTS_PER_MESSAGE_MAX: usize = 12;

// Whole messages.

/// Bytes of one client frame after the handshake, unless configured otherwise. Inputs and
/// commands are far smaller; what is larger travels in fragments.
pub const CLIENT_FRAME_BYTES_DEFAULT: usize = 512;

/// Bytes of the first frame of a client, which carries an access token and a resume token.
pub const HELLO_BYTES_MAX: usize = 8_192;

/// Bytes of any reliable message after reassembly, in either direction. A schema or a list of
/// entities fits; larger content belongs to the HTTP interface.
pub const RELIABLE_MESSAGE_BYTES_MAX: usize = 65_536;

/// Bytes of one JSON message to a client. A readable full snapshot is not cut into packets, so
/// it may be larger than any packed message: it holds some thousand entities.
pub const JSON_SERVER_MESSAGE_BYTES_MAX: usize = 1_048_576;

// Fields.

/// Bytes of an access token or a resume token: a signed token with claims takes about 1 KiB.
pub const TOKEN_BYTES_MAX: usize = 3_072;

/// Bytes of a room's id: a UUID, a dot and the name of a node.
pub const ROOM_ID_BYTES_MAX: usize = 96;

/// Bytes of a room's short code, which people read to each other.
pub const ROOM_CODE_BYTES_MAX: usize = 16;

/// Bytes of a room's label, by which rooms of a type are told apart.
pub const LABEL_BYTES_MAX: usize = 256;

/// Bytes of a name: of a room type, a kind of entity, a feature, an action or a field.
pub const NAME_BYTES_MAX: usize = 64;

/// Bytes of a sentence for people, as in an error.
pub const TEXT_BYTES_MAX: usize = 256;

/// Bytes of a server's version text.
pub const VERSION_BYTES_MAX: usize = 64;

/// Bytes of a game message's or an event's payload. It leaves room for the frame around it
/// within one reassembled message, also when JSON carries it as base64.
pub const GAME_PAYLOAD_BYTES_MAX: usize = 32_768;

/// Bytes of a schema. It leaves the same room.
pub const SCHEMA_BYTES_MAX: usize = 32_768;

/// Entities that one interest message may name. More are sent in several messages.
pub const ENTITIES_PER_MESSAGE_MAX: usize = 1_024;

/// Entities that one stress test may ask for. The engine refuses more; the wire carries any
/// number, since a developer's slip should be answered and not cost the connection.
pub const STRESS_ENTITIES_MAX: u32 = 1_000;

/// Size of any coordinate, distance, speed or angle. Beyond 2^24 a 32-bit float cannot tell
/// whole units apart, so nothing larger can be meant.
pub const NUMBER_SIZE_MAX: f32 = 16_777_216.0;

/// Microseconds that a client's clock may show. JSON carries them as fractional milliseconds,
/// which stay exact below this; a clock since 1970 reaches it in the year 2041.
pub const CLIENT_TIME_US_MAX: u64 = 1 << 51;

/// A connection's number stays exact as a JSON number.
pub const CONNECTION_ID_MAX: u64 = (1 << 53) - 1;

// JSON.

/// Depth of JSON. The envelope, its payload, a list and an object in it take four; the parser's
/// own bound of 128 would let a peer use far more stack than any message needs.
pub const JSON_DEPTH_MAX: usize = 16;

/// Values in one JSON message of a client. A parsed value takes up to thirty times the bytes of
/// its text, so counting them before parsing is what bounds the memory.
pub const JSON_CLIENT_VALUES_MAX: usize = 1_024;

/// Values in one JSON message of a server: some thousand entities with a few fields each.
pub const JSON_SERVER_VALUES_MAX: usize = 65_536;

// Fragments.

/// Bytes that one fragment may carry, so that its frame fits a packet.
pub const FRAGMENT_BYTES_MAX: usize = 960;

/// Bytes that a client puts in one fragment: its frame fits the default client frame in both
/// encodings, although JSON grows bytes by a third.
pub const CLIENT_FRAGMENT_BYTES: usize = 300;

/// Bytes that a fragment's frame adds: tags, lengths and numbers at their longest.
pub const FRAGMENT_FRAME_BYTES_MAX: usize = 3 + 6 + 3 + 3 + 3;

/// Bytes that the JSON envelope of a fragment adds, with numbers at their longest.
pub const FRAGMENT_ENVELOPE_BYTES_MAX: usize = 96;

/// Fragments of one message: enough for the longest message in a client's small fragments.
pub const FRAGMENTS_PER_MESSAGE_MAX: u16 = 256;

/// Messages of one peer that may be unfinished at a time. Reliable channels finish one before
/// they begin the next, so a few serve every honest peer.
pub const UNFINISHED_MESSAGES_MAX: usize = 4;

/// Bytes of one peer that may wait for reassembly, bookkeeping included: one longest message
/// in small fragments, and half as much again.
pub const REASSEMBLY_BYTES_MAX: usize = 131_072;

/// Bytes of bookkeeping that each waiting fragment counts for, so that tiny fragments cannot
/// hold far more memory than their content.
pub const FRAGMENT_BOOKKEEPING_BYTES: usize = 64;

/// Milliseconds from a message's first fragment until an unfinished message is dropped. At
/// 30 % loss a reliable channel has long delivered the rest.
pub const REASSEMBLY_AGE_MS_MAX: u64 = 10_000;

/// Finished messages whose numbers are remembered, so that a late duplicate of a fragment does
/// not begin them anew.
pub const FINISHED_MESSAGES_REMEMBERED: usize = 32;

const _: () = assert!(STATE_PACKET_BYTES_MAX + STATE_FRAME_BYTES <= DATAGRAM_BYTES_MAX);
const _: () = assert!(FRAGMENT_BYTES_MAX + FRAGMENT_FRAME_BYTES_MAX <= STATE_PACKET_BYTES_MAX);
const _: () = assert!(INPUTS_PER_MESSAGE_MAX * (INPUT_BYTES_MAX + 1) + 64 <= CLIENT_FRAME_BYTES_DEFAULT);
const _: () = assert!(INPUT_BYTES_MAX <= u8::MAX as usize);
const _: () =
    assert!(2 * TOKEN_BYTES_MAX + ROOM_ID_BYTES_MAX + LABEL_BYTES_MAX + NAME_BYTES_MAX + 512 <= HELLO_BYTES_MAX);
const _: () = assert!(HELLO_BYTES_MAX <= RELIABLE_MESSAGE_BYTES_MAX);
const _: () = assert!(base64_bytes(CLIENT_FRAGMENT_BYTES) + FRAGMENT_ENVELOPE_BYTES_MAX <= CLIENT_FRAME_BYTES_DEFAULT);
const _: () = assert!(CLIENT_FRAGMENT_BYTES <= FRAGMENT_BYTES_MAX);
const _: () = assert!(FRAGMENTS_PER_MESSAGE_MAX as usize * CLIENT_FRAGMENT_BYTES >= RELIABLE_MESSAGE_BYTES_MAX);
const _: () = assert!(base64_bytes(GAME_PAYLOAD_BYTES_MAX) + 512 <= RELIABLE_MESSAGE_BYTES_MAX);
const _: () = assert!(base64_bytes(SCHEMA_BYTES_MAX) + 512 <= RELIABLE_MESSAGE_BYTES_MAX);
const _: () = assert!(ENTITIES_PER_MESSAGE_MAX * 16 + 512 <= RELIABLE_MESSAGE_BYTES_MAX);
const _: () = assert!(
    RELIABLE_MESSAGE_BYTES_MAX + FRAGMENTS_PER_MESSAGE_MAX as usize * FRAGMENT_BOOKKEEPING_BYTES
        <= REASSEMBLY_BYTES_MAX
);
const _: () = assert!(JSON_DEPTH_MAX < 128);

const fn base64_bytes(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}
