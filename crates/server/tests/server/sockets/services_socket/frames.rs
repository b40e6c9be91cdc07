//! WebSocket frames: fragments are one message, and contradictory or oversized frames close the connection alone.

use super::bad_input::{assert_undisturbed, server_and_witness};
use aether_framing::websocket::codec::{FRAGMENTS_PER_MESSAGE_MAX, Opcode};
use aether_testkit_server::{ServicesSocket, SocketInput, masked};
use serde_json::json;

/// First byte of a frame: the bit of the last frame of a message, and opcodes.
const LAST: u8 = 0x80;
const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const PING: u8 = 0x9;

/// Returns a masked frame with a given first byte.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = masked(Opcode::Binary, payload);
    frame[0] = first;
    frame
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_in_fragments_is_one_message() {
    let (server, user, witness) = server_and_witness().await;
    let mut socket = server.socket(&user.token).await;
    // A ping of the transport may be between the fragments of a message, and a fragment may be empty.
    let mut frames = frame(TEXT, br#"{"cid":"a","#);
    frames.extend(frame(LAST | PING, b"alive"));
    frames.extend(frame(CONTINUATION, b""));
    frames.extend(frame(LAST | CONTINUATION, br#""ping":{}}"#));
    for byte in frames {
        socket.send_bytes(&[byte]).await;
    }
    assert_eq!(socket.input().await, Some(SocketInput::Ping), "the ping is answered at once");
    assert_eq!(socket.next().await, json!({ "cid": "a", "pong": {} }));
    // As many fragments as a message may have.
    socket.send_bytes(&frame(TEXT, br#"{"cid":"b""#)).await;
    let spaces: Vec<u8> = (2..FRAGMENTS_PER_MESSAGE_MAX).flat_map(|_| frame(CONTINUATION, b" ")).collect();
    socket.send_bytes(&spaces).await;
    socket.send_bytes(&frame(LAST | CONTINUATION, br#","ping":{}}"#)).await;
    assert_eq!(socket.next().await, json!({ "cid": "b", "pong": {} }));
    assert_undisturbed(server, witness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contradictory_and_oversized_frames_close_the_connection() {
    let (server, user, witness) = server_and_witness().await;
    let ping = br#"{"ping":{}}"#;
    let many = |first: Vec<u8>, next: &[u8], count: usize| {
        let rest = std::iter::repeat_n(frame(CONTINUATION, next), count).flatten();
        first.into_iter().chain(rest).collect::<Vec<u8>>()
    };
    let mut unmasked = vec![LAST | TEXT, ping.len() as u8];
    unmasked.extend_from_slice(ping);
    let mut long_control = frame(LAST | PING, &[0; 126]);
    long_control.truncate(200);
    let mut endless = vec![LAST | TEXT, 0x80 | 127];
    endless.extend_from_slice(&(1_u64 << 40).to_be_bytes());
    endless.extend_from_slice(&[1, 2, 3, 4]);
    let cases = [
        ("a continuation of nothing", 1002, frame(LAST | CONTINUATION, ping)),
        ("a message within a message", 1002, [frame(TEXT, b"{"), frame(LAST | TEXT, ping)].concat()),
        ("a reserved bit", 1002, frame(LAST | 0x40 | TEXT, ping)),
        ("a reserved opcode", 1002, frame(LAST | 0x3, ping)),
        ("a control frame in parts", 1002, frame(PING, b"")),
        ("a long control frame", 1002, long_control),
        ("a frame without a mask", 1002, unmasked),
        ("text that is not UTF-8", 1007, frame(LAST | TEXT, &[b'{', 0xff, 0xfe])),
        ("a length of a tebibyte", 1009, endless),
        ("parts that are too large together", 1009, many(frame(TEXT, b"{"), &[b' '; 4_096], 17)),
        ("too many parts", 1009, many(frame(TEXT, b"{"), b" ", usize::from(FRAGMENTS_PER_MESSAGE_MAX) + 1)),
    ];
    for (name, expected, bytes) in cases {
        let mut socket = server.socket(&user.token).await;
        socket.send_bytes(&bytes).await;
        // Not handled: the message before the close would be its answer.
        let (code, _, messages) = socket.closed().await;
        assert_eq!((code, messages.len()), (Some(expected), 0), "{name}");
    }
    aether_testkit_server::until("the end of all but the witness", || server.connections() == 1).await;
    assert_undisturbed(server, witness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_of_the_other_format_closes_the_connection() {
    let (server, user, witness) = server_and_witness().await;
    for (format, frame) in [
        ("json", frame(LAST | BINARY, br#"{"ping":{}}"#)),
        ("protobuf", frame(LAST | TEXT, br#"{"ping":{}}"#)),
        ("protobuf", frame(LAST | TEXT, b"")),
    ] {
        let query = format!("?token={}&format={format}", user.token);
        let mut socket = ServicesSocket::open(server.http, &query, "").await.expect("it is admitted");
        socket.send_bytes(&frame).await;
        let (code, _, messages) = socket.closed().await;
        assert_eq!((code, messages.len()), (Some(1003), 0), "{format}");
    }
    assert_undisturbed(server, witness).await;
}
