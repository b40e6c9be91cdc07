//! As much of HTTP/3 (RFC 9114) as one WebTransport session needs.
//!
//! The dynamic table of header compression is switched off by our settings, so its two streams never carry anything
//! that has to be read; they and the control stream are only kept open, as the standard demands.

use crate::transport::TransportEnded;
use aether_framing::FramingError;
use aether_framing::http3::{check_settings, control_stream, session_request, session_response};
use wtransport::VarInt;
use wtransport::proto::error::ErrorCode;
use wtransport::proto::ids::{SessionId, StreamId};
use wtransport::proto::session::{SessionRequest, SessionResponse};
use wtransport::quinn::{self, Connection, ReadError, ReadExactError, RecvStream, SendStream};

/// Payload bytes of a SETTINGS or HEADERS frame. A browser's request to open a session has some 300.
const FRAME_BYTES_MAX: u64 = 4_096;
/// Payload bytes of a frame that is skipped because nobody knows it; such frames only exist to keep others tolerant.
const UNKNOWN_FRAME_BYTES_MAX: u64 = 256;
/// Frames that are skipped before the one that is waited for.
const UNKNOWN_FRAMES_MAX: u32 = 8;
/// Streams of a client that are refused before the client is.
const STREAMS_REFUSED_MAX: u32 = 16;
/// Bytes that a client sends on the stream of its CONNECT. All it has to say there is its goodbye, of some 1,000 bytes.
const CONNECT_BYTES_MAX: usize = 16_384;
/// A control stream, in each direction.
const STREAM_CONTROL: u64 = 0x00;
/// The two streams of header compression.
const STREAM_QPACK_ENCODER: u64 = 0x02;
const STREAM_QPACK_DECODER: u64 = 0x03;
const FRAME_DATA: u64 = 0x00;
const FRAME_HEADERS: u64 = 0x01;
const FRAME_SETTINGS: u64 = 0x04;
/// What a bidirectional stream of a session begins with, followed by the session's number.
const FRAME_WEBTRANSPORT_STREAM: u64 = 0x41;

const TOO_MANY_STREAMS: FramingError = FramingError::Excess("too many streams");
const TOO_MUCH_ON_CONNECT: FramingError = FramingError::Excess("too many bytes on the stream of the session");

/// Why no session came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeFailure {
    /// The connection ended.
    Lost,
    /// The client does not speak HTTP/3 as it should.
    Protocol(ErrorCode),
}

/// A connection whose client has asked for a session.
pub(super) struct PendingSession {
    pub request: SessionRequest,
    pub session: SessionId,
    pub connect: (SendStream, RecvStream),
    pub critical: CriticalStreams,
}

/// Streams that both sides must keep open although nothing more travels on them.
pub(super) struct CriticalStreams {
    _ours: SendStream,
    theirs: Vec<RecvStream>,
}

/// Exchanges settings and waits for the request.
pub(super) async fn asked(connection: &Connection) -> Result<PendingSession, HandshakeFailure> {
    let ours = send_settings(connection).await?;
    let (theirs, (request, connect)) = tokio::try_join!(settings(connection), request(connection))?;
    let id = VarInt::try_from_u64(connect.0.id().into()).map_err(|_| HandshakeFailure::Protocol(ErrorCode::Id))?;
    let session =
        SessionId::try_from_session_stream(StreamId::new(id)).map_err(|_| HandshakeFailure::Protocol(ErrorCode::Id))?;
    Ok(PendingSession { request, session, connect, critical: CriticalStreams { _ours: ours, theirs } })
}

/// Answers the request.
pub(super) async fn answer(connect: &mut SendStream, response: &SessionResponse) -> Result<(), HandshakeFailure> {
    connect.write_all(&session_response(response)).await.map_err(|_| HandshakeFailure::Lost)
}

/// The code with which a connection is closed.
pub(super) fn close_code(error: ErrorCode) -> quinn::VarInt {
    quinn::VarInt::from_u64(error.to_code().into_inner()).unwrap_or(quinn::VarInt::MAX)
}

/// Waits for the stream that the client opens for its messages, and refuses others.
pub(super) async fn message_stream(
    connection: Connection,
    session: SessionId,
) -> Result<(SendStream, RecvStream), TransportEnded> {
    for _ in 0..STREAMS_REFUSED_MAX {
        let (mut send, mut receive) = connection.accept_bi().await.map_err(|error| ended(&error))?;
        if is_of_session(&mut receive, session).await {
            return Ok((send, receive));
        }
        refuse(&mut receive);
        let _ = send.reset(close_code(ErrorCode::RequestRejected));
    }
    Err(TransportEnded::Violation(TOO_MANY_STREAMS))
}

/// Waits until the client ends the session, and refuses every stream that has no place in it.
pub(super) async fn watch(
    connection: Connection,
    connect: RecvStream,
    mut critical: CriticalStreams,
) -> TransportEnded {
    tokio::select! {
        ended = session_end(connect) => ended,
        ended = refuse_streams(&connection, &mut critical) => ended,
    }
}

/// What the end of a QUIC connection means.
pub(super) fn ended(error: &quinn::ConnectionError) -> TransportEnded {
    use quinn::ConnectionError as Error;
    match error {
        Error::ApplicationClosed(_) | Error::ConnectionClosed(_) | Error::LocallyClosed => TransportEnded::Closed,
        _ => TransportEnded::Lost,
    }
}

/// What the end of a stream means.
pub(super) fn stream_ended(error: &ReadError) -> TransportEnded {
    match error {
        ReadError::ConnectionLost(error) => ended(error),
        ReadError::Reset(_) => TransportEnded::Closed,
        _ => TransportEnded::Lost,
    }
}

async fn send_settings(connection: &Connection) -> Result<SendStream, HandshakeFailure> {
    let mut stream = connection.open_uni().await.map_err(|_| HandshakeFailure::Lost)?;
    stream.write_all(&control_stream()).await.map_err(|_| HandshakeFailure::Lost)?;
    Ok(stream)
}

/// Waits for the client's settings; gives the streams that have to be kept.
async fn settings(connection: &Connection) -> Result<Vec<RecvStream>, HandshakeFailure> {
    let mut kept = Vec::new();
    for _ in 0..STREAMS_REFUSED_MAX {
        let mut stream = connection.accept_uni().await.map_err(|_| HandshakeFailure::Lost)?;
        match varint(&mut stream).await? {
            STREAM_CONTROL => {
                // Nothing of what the client sets concerns us, but it must make sense.
                let payload = payload_of(&mut stream, FRAME_SETTINGS).await?;
                check_settings(payload).map_err(HandshakeFailure::Protocol)?;
                kept.push(stream);
                return Ok(kept);
            }
            STREAM_QPACK_ENCODER | STREAM_QPACK_DECODER => kept.push(stream),
            _ => refuse(&mut stream),
        }
    }
    Err(HandshakeFailure::Protocol(ErrorCode::ExcessiveLoad))
}

/// Waits for a CONNECT to a session; other requests are refused.
async fn request(connection: &Connection) -> Result<(SessionRequest, (SendStream, RecvStream)), HandshakeFailure> {
    for _ in 0..STREAMS_REFUSED_MAX {
        let (mut send, mut receive) = connection.accept_bi().await.map_err(|_| HandshakeFailure::Lost)?;
        let payload = payload_of(&mut receive, FRAME_HEADERS).await?;
        if let Some(request) = session_request(payload).map_err(HandshakeFailure::Protocol)? {
            return Ok((request, (send, receive)));
        }
        refuse(&mut receive);
        let _ = send.reset(close_code(ErrorCode::RequestRejected));
    }
    Err(HandshakeFailure::Protocol(ErrorCode::ExcessiveLoad))
}

async fn session_end(mut connect: RecvStream) -> TransportEnded {
    let mut bytes = 0;
    // Whether it says why it leaves or not: with the end of this stream the session is over.
    while bytes <= CONNECT_BYTES_MAX {
        match connect.read_chunk(CONNECT_BYTES_MAX, true).await {
            Ok(Some(chunk)) => bytes += chunk.bytes.len(),
            Ok(None) => return TransportEnded::Closed,
            Err(error) => return stream_ended(&error),
        }
    }
    TransportEnded::Violation(TOO_MUCH_ON_CONNECT)
}

async fn refuse_streams(connection: &Connection, critical: &mut CriticalStreams) -> TransportEnded {
    let mut refused = 0;
    while refused < STREAMS_REFUSED_MAX {
        let mut stream = match connection.accept_uni().await {
            Ok(stream) => stream,
            Err(error) => return ended(&error),
        };
        match varint(&mut stream).await {
            // Each of these exists once; the limit on streams keeps a client from sending it again and again.
            Ok(STREAM_QPACK_ENCODER | STREAM_QPACK_DECODER) => critical.theirs.push(stream),
            _ => {
                refuse(&mut stream);
                refused += 1;
            }
        }
    }
    TransportEnded::Violation(TOO_MANY_STREAMS)
}

async fn is_of_session(stream: &mut RecvStream, session: SessionId) -> bool {
    varint(stream).await == Ok(FRAME_WEBTRANSPORT_STREAM) && varint(stream).await == Ok(session.into_u64())
}

fn refuse(stream: &mut RecvStream) {
    // It fails only if the stream has ended by itself.
    let _ = stream.stop(close_code(ErrorCode::BufferedStreamRejected));
}

/// The payload of the first frame, which must be of this kind, after any of unknown kinds.
async fn payload_of(stream: &mut RecvStream, wanted: u64) -> Result<Vec<u8>, HandshakeFailure> {
    for _ in 0..UNKNOWN_FRAMES_MAX {
        let kind = varint(stream).await?;
        if [FRAME_DATA, FRAME_HEADERS, FRAME_SETTINGS, FRAME_WEBTRANSPORT_STREAM].contains(&kind) && kind != wanted {
            return Err(HandshakeFailure::Protocol(ErrorCode::FrameUnexpected));
        }
        let bytes_max = if kind == wanted { FRAME_BYTES_MAX } else { UNKNOWN_FRAME_BYTES_MAX };
        let length = varint(stream).await?;
        if length > bytes_max {
            return Err(HandshakeFailure::Protocol(ErrorCode::ExcessiveLoad));
        }
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.map_err(|error| failure(&error))?;
        if kind == wanted {
            return Ok(payload);
        }
    }
    Err(HandshakeFailure::Protocol(ErrorCode::ExcessiveLoad))
}

/// Reads an integer of QUIC: the first two bits tell how many bytes it has.
async fn varint(stream: &mut RecvStream) -> Result<u64, HandshakeFailure> {
    let mut bytes = [0; VarInt::MAX_SIZE];
    stream.read_exact(&mut bytes[..1]).await.map_err(|error| failure(&error))?;
    let size = VarInt::parse_size(bytes[0]);
    stream.read_exact(&mut bytes[1..size]).await.map_err(|error| failure(&error))?;
    bytes[0] &= 0x3f;
    Ok(bytes[..size].iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn failure(error: &ReadExactError) -> HandshakeFailure {
    match error {
        ReadExactError::ReadError(ReadError::ConnectionLost(_)) => HandshakeFailure::Lost,
        _ => HandshakeFailure::Protocol(ErrorCode::Frame),
    }
}
