//! The part of HTTP/3 (RFC 9114) that one WebTransport session needs.
//!
//! Our settings disable the dynamic table of header compression, so its two streams carry nothing that has to be read.
//! They and the control stream are only kept open, as the standard requires.

use crate::transport::TransportEnded;
use aether_framing::FramingError;
use aether_framing::http3::{check_settings, control_stream, session_request, session_response};
use wtransport::VarInt;
use wtransport::proto::error::ErrorCode;
use wtransport::proto::ids::{SessionId, StreamId};
use wtransport::proto::session::{SessionRequest, SessionResponse};
use wtransport::quinn::{self, Connection, ReadError, ReadExactError, RecvStream, SendStream};

/// Largest payload of a SETTINGS or HEADERS frame, in bytes. A browser's session request has about 300.
const FRAME_BYTES_MAX: u64 = 4_096;
/// Largest payload of an unknown frame that is skipped, in bytes. Peers send such frames only to test tolerance
/// (GREASE).
const UNKNOWN_FRAME_BYTES_MAX: u64 = 256;
/// Most unknown frames that are skipped before the expected one.
const UNKNOWN_FRAMES_MAX: u32 = 8;
/// Most streams of a client that are rejected before the connection is closed.
const STREAMS_REJECTED_MAX: u32 = 16;
/// Most bytes that a client may send on its CONNECT stream. A close message has about 1,000.
const CONNECT_BYTES_MAX: usize = 16_384;
/// Type of the control stream.
const STREAM_CONTROL: u64 = 0x00;
/// Types of the two streams of header compression.
const STREAM_QPACK_ENCODER: u64 = 0x02;
const STREAM_QPACK_DECODER: u64 = 0x03;
const FRAME_DATA: u64 = 0x00;
const FRAME_HEADERS: u64 = 0x01;
const FRAME_SETTINGS: u64 = 0x04;
/// First integer of a bidirectional stream of a session; the session id follows.
const FRAME_WEBTRANSPORT_STREAM: u64 = 0x41;

const TOO_MANY_STREAMS: FramingError = FramingError::Excess("too many streams");
const TOO_MUCH_ON_CONNECT: FramingError = FramingError::Excess("too many bytes on the CONNECT stream");

/// Reason why a handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeFailure {
    /// The connection ended.
    Lost,
    /// The client violated HTTP/3.
    Protocol(ErrorCode),
}

/// A session that a client has requested.
pub(super) struct PendingSession {
    pub request: SessionRequest,
    pub session: SessionId,
    pub connect: (SendStream, RecvStream),
    pub critical: CriticalStreams,
}

/// Streams that both sides must keep open although they carry no more data.
pub(super) struct CriticalStreams {
    _ours: SendStream,
    theirs: Vec<RecvStream>,
}

/// Exchanges settings and waits for the session request.
pub(super) async fn receive_request(connection: &Connection) -> Result<PendingSession, HandshakeFailure> {
    let ours = send_settings(connection).await?;
    let (theirs, (request, connect)) = tokio::try_join!(settings(connection), request(connection))?;
    let id = VarInt::try_from_u64(connect.0.id().into()).map_err(|_| HandshakeFailure::Protocol(ErrorCode::Id))?;
    let session =
        SessionId::try_from_session_stream(StreamId::new(id)).map_err(|_| HandshakeFailure::Protocol(ErrorCode::Id))?;
    Ok(PendingSession { request, session, connect, critical: CriticalStreams { _ours: ours, theirs } })
}

/// Answers the session request.
pub(super) async fn answer(connect: &mut SendStream, response: &SessionResponse) -> Result<(), HandshakeFailure> {
    connect.write_all(&session_response(response)).await.map_err(|_| HandshakeFailure::Lost)
}

/// Returns the close code of a connection for an error.
pub(super) fn close_code(error: ErrorCode) -> quinn::VarInt {
    quinn::VarInt::from_u64(error.to_code().into_inner()).unwrap_or(quinn::VarInt::MAX)
}

/// Waits for the message stream of the client; rejects other streams.
pub(super) async fn message_stream(
    connection: Connection,
    session: SessionId,
) -> Result<(SendStream, RecvStream), TransportEnded> {
    for _ in 0..STREAMS_REJECTED_MAX {
        let (mut send, mut receive) = connection.accept_bi().await.map_err(|error| ended(&error))?;
        if is_of_session(&mut receive, session).await {
            return Ok((send, receive));
        }
        reject(&mut receive);
        let _ = send.reset(close_code(ErrorCode::RequestRejected));
    }
    Err(TransportEnded::Violation(TOO_MANY_STREAMS))
}

/// Waits until the client ends the session; rejects all further streams.
pub(super) async fn wait_for_end(
    connection: Connection,
    connect: RecvStream,
    mut critical: CriticalStreams,
) -> TransportEnded {
    tokio::select! {
        ended = session_end(connect) => ended,
        ended = reject_streams(&connection, &mut critical) => ended,
    }
}

/// Converts the end of a QUIC connection.
pub(super) fn ended(error: &quinn::ConnectionError) -> TransportEnded {
    use quinn::ConnectionError as Error;
    match error {
        Error::ApplicationClosed(_) | Error::ConnectionClosed(_) | Error::LocallyClosed => TransportEnded::Closed,
        _ => TransportEnded::Lost,
    }
}

/// Converts the end of a stream.
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

/// Waits for the client's settings. Returns the streams that must stay open.
async fn settings(connection: &Connection) -> Result<Vec<RecvStream>, HandshakeFailure> {
    let mut critical = Vec::new();
    for _ in 0..STREAMS_REJECTED_MAX {
        let mut stream = connection.accept_uni().await.map_err(|_| HandshakeFailure::Lost)?;
        match varint(&mut stream).await? {
            STREAM_CONTROL => {
                // The client's settings are not used, but must be valid.
                let payload = payload_of(&mut stream, FRAME_SETTINGS).await?;
                check_settings(payload).map_err(HandshakeFailure::Protocol)?;
                critical.push(stream);
                return Ok(critical);
            }
            STREAM_QPACK_ENCODER | STREAM_QPACK_DECODER => critical.push(stream),
            _ => reject(&mut stream),
        }
    }
    Err(HandshakeFailure::Protocol(ErrorCode::ExcessiveLoad))
}

/// Waits for the CONNECT request of a session; rejects other requests.
async fn request(connection: &Connection) -> Result<(SessionRequest, (SendStream, RecvStream)), HandshakeFailure> {
    for _ in 0..STREAMS_REJECTED_MAX {
        let (mut send, mut receive) = connection.accept_bi().await.map_err(|_| HandshakeFailure::Lost)?;
        let payload = payload_of(&mut receive, FRAME_HEADERS).await?;
        if let Some(request) = session_request(payload).map_err(HandshakeFailure::Protocol)? {
            return Ok((request, (send, receive)));
        }
        reject(&mut receive);
        let _ = send.reset(close_code(ErrorCode::RequestRejected));
    }
    Err(HandshakeFailure::Protocol(ErrorCode::ExcessiveLoad))
}

async fn session_end(mut connect: RecvStream) -> TransportEnded {
    let mut bytes = 0;
    // The session ends with this stream, with or without a close message.
    while bytes <= CONNECT_BYTES_MAX {
        match connect.read_chunk(CONNECT_BYTES_MAX, true).await {
            Ok(Some(chunk)) => bytes += chunk.bytes.len(),
            Ok(None) => return TransportEnded::Closed,
            Err(error) => return stream_ended(&error),
        }
    }
    TransportEnded::Violation(TOO_MUCH_ON_CONNECT)
}

async fn reject_streams(connection: &Connection, critical: &mut CriticalStreams) -> TransportEnded {
    let mut rejected = 0;
    while rejected < STREAMS_REJECTED_MAX {
        let mut stream = match connection.accept_uni().await {
            Ok(stream) => stream,
            Err(error) => return ended(&error),
        };
        match varint(&mut stream).await {
            // Each exists once; the stream limit prevents repetition.
            Ok(STREAM_QPACK_ENCODER | STREAM_QPACK_DECODER) => critical.theirs.push(stream),
            _ => {
                reject(&mut stream);
                rejected += 1;
            }
        }
    }
    TransportEnded::Violation(TOO_MANY_STREAMS)
}

async fn is_of_session(stream: &mut RecvStream, session: SessionId) -> bool {
    varint(stream).await == Ok(FRAME_WEBTRANSPORT_STREAM) && varint(stream).await == Ok(session.into_u64())
}

fn reject(stream: &mut RecvStream) {
    // Fails only if the stream has already ended.
    let _ = stream.stop(close_code(ErrorCode::BufferedStreamRejected));
}

/// Reads the payload of the first known frame, which must have the expected type.
async fn payload_of(stream: &mut RecvStream, expected: u64) -> Result<Vec<u8>, HandshakeFailure> {
    for _ in 0..UNKNOWN_FRAMES_MAX {
        let kind = varint(stream).await?;
        if [FRAME_DATA, FRAME_HEADERS, FRAME_SETTINGS, FRAME_WEBTRANSPORT_STREAM].contains(&kind) && kind != expected {
            return Err(HandshakeFailure::Protocol(ErrorCode::FrameUnexpected));
        }
        let bytes_max = if kind == expected { FRAME_BYTES_MAX } else { UNKNOWN_FRAME_BYTES_MAX };
        let length = varint(stream).await?;
        if length > bytes_max {
            return Err(HandshakeFailure::Protocol(ErrorCode::ExcessiveLoad));
        }
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.map_err(|error| failure(&error))?;
        if kind == expected {
            return Ok(payload);
        }
    }
    Err(HandshakeFailure::Protocol(ErrorCode::ExcessiveLoad))
}

/// Reads a QUIC integer: its first two bits encode its length.
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
