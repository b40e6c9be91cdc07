//! Limits of the wire, each with its reason.
//!
//! A peer controls each of these lengths, counts, depths and ages. So each has an upper bound, which is checked before
//! memory is allocated.

// State packets and datagrams.

/// Bytes of a datagram on every transport. Chromium accepts 1,024 in a WebTransport datagram, and this is below the
/// smallest path MTU of IPv6 with all headers.
pub const DATAGRAM_BYTES_MAX: usize = 1_024;

/// Payload bytes of a state packet. The rest of a datagram is for the frame.
pub const STATE_PACKET_BYTES_MAX: usize = 1_000;

/// Bytes that a frame adds to a state packet: one tag and two length bytes.
pub const STATE_FRAME_BYTES: usize = 3;

/// Longest number of messages before a state packet, with its tag. With it the longest state packet fits a datagram.
pub const STATE_AFTER_BYTES_MAX: usize = 7;

/// State packets before the newest one that an acknowledgement covers: the bits of a 64-bit word, which is more than a
/// second at 60 Hz.
pub const ACK_WINDOW_PACKETS: u32 = u64::BITS;

// Inputs.

/// Slots of entities in a room. A server uses no higher slot, and clients reject it, so that a packet cannot make them
/// allocate without bound.
pub const SLOTS_MAX: u32 = 1 << 20;

/// Bytes of an encoded input. An input is a few keys and an aim; use a command for more.
pub const INPUT_BYTES_MAX: usize = 32;

/// Inputs of a message, new and repeated ones. At 60 Hz they cover 200 ms of loss, and the longest inputs still fit a
/// message of default size.
pub const INPUTS_PER_MESSAGE_MAX: usize = 12;

// Whole messages.

/// Default bytes of a client frame after the handshake. Inputs and commands are far smaller; larger messages are
/// fragmented.
pub const CLIENT_FRAME_BYTES_DEFAULT: usize = 512;

/// Bytes of the first frame of a client, which contains an access token, a resume token and join metadata.
pub const HELLO_BYTES_MAX: usize = 10_240;

/// Bytes of a reliable message after reassembly, in either direction. A schema or a list of entities fits; use HTTP for
/// larger content.
pub const RELIABLE_MESSAGE_BYTES_MAX: usize = 65_536;

/// Bytes of the name of an encoding, which is a WebSocket subprotocol and part of a path.
pub const ENCODING_NAME_BYTES_MAX: usize = 32;

/// Bytes of a JSON message to a client. A full JSON snapshot is not split into packets, so it may be larger than any
/// packed message: some thousand entities fit.
pub const JSON_SERVER_MESSAGE_BYTES_MAX: usize = 1_048_576;

// Fields.

/// Bytes of an access token or a resume token: a signed token with claims takes about 1 KiB.
pub const TOKEN_BYTES_MAX: usize = 3_072;

/// Bytes of a room id: a UUID, a dot and the name of a node; or a signed token of the matchmaker instead of it.
pub const ROOM_ID_BYTES_MAX: usize = 512;

/// Bytes of a room code, which people type.
pub const ROOM_CODE_BYTES_MAX: usize = 16;

/// Bytes of the label of a room.
pub const LABEL_BYTES_MAX: usize = 256;

/// Bytes of the name of a room type, a kind of entity, a feature, an action or a field.
pub const NAME_BYTES_MAX: usize = 64;

/// Bytes of a sentence for people, as in an error.
pub const TEXT_BYTES_MAX: usize = 256;

/// Bytes of the version text of a server.
pub const VERSION_BYTES_MAX: usize = 64;

/// Bytes of the payload of a game message or event. With its frame it fits a reassembled message, also as base64 in
/// JSON.
pub const GAME_PAYLOAD_BYTES_MAX: usize = 32_768;

/// Bytes of a schema. With its frame it fits a reassembled message, too.
pub const SCHEMA_BYTES_MAX: usize = 32_768;

/// Entities of a stress test. The engine rejects more. The wire allows any number, so that a mistake is answered and
/// does not close the connection.
pub const STRESS_ENTITIES_MAX: u32 = 1_000;

/// Absolute value of a coordinate, distance, speed or angle. Beyond 2^24, a 32-bit float cannot represent all whole
/// units.
pub const NUMBER_SIZE_MAX: f32 = 16_777_216.0;

/// Microseconds of a client's clock. JSON has them as fractional milliseconds, which are exact below this. A clock
/// since 1970 reaches it in the year 2041.
pub const CLIENT_TIME_US_MAX: u64 = 1 << 51;

/// Largest connection id. It is exact as a JSON number.
pub const CONNECTION_ID_MAX: u64 = (1 << 53) - 1;

// Join metadata.

/// Entries of join metadata. A game needs a few: a profile, a team, a secret word.
pub const METADATA_ENTRIES_MAX: usize = 16;

/// Bytes of a key of join metadata.
pub const METADATA_KEY_BYTES_MAX: usize = 64;

/// Bytes of a text of join metadata.
pub const METADATA_VALUE_BYTES_MAX: usize = 512;

/// Bytes of all keys and texts of join metadata. Rooms store them for each player; larger content belongs in storage.
pub const METADATA_BYTES_MAX: usize = 1_024;

/// Bytes that the encodings add to an entry of join metadata: tags and lengths, or quotes, a colon and a comma.
const METADATA_ENTRY_FRAME_BYTES: usize = 9;

// JSON.

/// Depth of JSON. The envelope, its payload, a list and an object in it need four. The parser's bound of 128 would
/// allow far more stack than any message needs.
pub const JSON_DEPTH_MAX: usize = 16;

/// Values in a JSON message of a client. A parsed value takes up to thirty times the bytes of its text, so counting the
/// values before parsing bounds the memory.
pub const JSON_CLIENT_VALUES_MAX: usize = 1_024;

/// Values in a JSON message of a server: some thousand entities with a few fields each.
pub const JSON_SERVER_VALUES_MAX: usize = 65_536;

// Fragments.

/// Bytes of a fragment. Its frame fits a packet.
pub const FRAGMENT_BYTES_MAX: usize = 960;

/// Bytes of a fragment of a client. Its frame fits the default client frame in both encodings, although base64 adds a
/// third.
pub const CLIENT_FRAGMENT_BYTES: usize = 300;

/// Upper bound of the bytes that the frame of a fragment adds: tags, lengths and numbers.
pub const FRAGMENT_FRAME_BYTES_MAX: usize = 3 + 6 + 3 + 3 + 3;

/// Upper bound of the bytes that the JSON envelope of a fragment adds.
pub const FRAGMENT_ENVELOPE_BYTES_MAX: usize = 96;

/// Fragments of a message: enough for the longest message in the small fragments of a client.
pub const FRAGMENTS_PER_MESSAGE_MAX: u16 = 256;

/// Unfinished messages of a peer. A reliable channel finishes one message before the next, so a few are enough.
pub const UNFINISHED_MESSAGES_MAX: usize = 4;

/// Bytes of the unfinished messages of a peer, bookkeeping included: one message of maximum length in small fragments,
/// and half as much again.
pub const REASSEMBLY_BYTES_MAX: usize = 131_072;

/// Bytes of bookkeeping that each buffered fragment counts, so that tiny fragments cannot use far more memory than
/// their content.
pub const FRAGMENT_BOOKKEEPING_BYTES: usize = 64;

/// Milliseconds from the first fragment of a message until it is dropped if unfinished. Even at 30 % loss, a reliable
/// channel has delivered the rest by then.
pub const REASSEMBLY_AGE_MS_MAX: u64 = 10_000;

/// Finished messages whose numbers are stored, so that a late duplicate of a fragment does not start them again.
pub const FINISHED_MESSAGES_REMEMBERED: usize = 32;

const _: () = assert!(STATE_PACKET_BYTES_MAX + STATE_FRAME_BYTES <= DATAGRAM_BYTES_MAX);
const _: () = assert!(FRAGMENT_BYTES_MAX + FRAGMENT_FRAME_BYTES_MAX <= STATE_PACKET_BYTES_MAX);
const _: () = assert!(INPUTS_PER_MESSAGE_MAX * (INPUT_BYTES_MAX + 1) + 64 <= CLIENT_FRAME_BYTES_DEFAULT);
const _: () = assert!(INPUT_BYTES_MAX <= u8::MAX as usize);
// In JSON, a quote or a line break takes twice its bytes.
const HELLO_METADATA_BYTES: usize = 2 * METADATA_BYTES_MAX + METADATA_ENTRIES_MAX * METADATA_ENTRY_FRAME_BYTES;
const HELLO_ROOM_BYTES: usize = ROOM_ID_BYTES_MAX + LABEL_BYTES_MAX + NAME_BYTES_MAX;
const _: () = assert!(2 * TOKEN_BYTES_MAX + HELLO_ROOM_BYTES + HELLO_METADATA_BYTES + 512 <= HELLO_BYTES_MAX);
const _: () = assert!(METADATA_KEY_BYTES_MAX + METADATA_VALUE_BYTES_MAX <= METADATA_BYTES_MAX);
const _: () = assert!(HELLO_BYTES_MAX <= RELIABLE_MESSAGE_BYTES_MAX);
const _: () = assert!(base64_bytes(CLIENT_FRAGMENT_BYTES) + FRAGMENT_ENVELOPE_BYTES_MAX <= CLIENT_FRAME_BYTES_DEFAULT);
const _: () = assert!(CLIENT_FRAGMENT_BYTES <= FRAGMENT_BYTES_MAX);
const _: () = assert!(FRAGMENTS_PER_MESSAGE_MAX as usize * CLIENT_FRAGMENT_BYTES >= RELIABLE_MESSAGE_BYTES_MAX);
const _: () = assert!(base64_bytes(GAME_PAYLOAD_BYTES_MAX) + 512 <= RELIABLE_MESSAGE_BYTES_MAX);
const _: () = assert!(base64_bytes(SCHEMA_BYTES_MAX) + 512 <= RELIABLE_MESSAGE_BYTES_MAX);
const _: () = assert!(
    RELIABLE_MESSAGE_BYTES_MAX + FRAGMENTS_PER_MESSAGE_MAX as usize * FRAGMENT_BOOKKEEPING_BYTES
        <= REASSEMBLY_BYTES_MAX
);
const _: () = assert!(JSON_DEPTH_MAX < 128);

const fn base64_bytes(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}
