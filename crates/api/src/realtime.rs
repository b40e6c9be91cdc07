//! Upgrades to realtime connections.

use crate::peer::PeerAddress;
use crate::public::PublicApi;
use crate::routing::ApiError;
use aether_framing::websocket::handshake::{DEFLATE_ACCEPTED, HandshakeError, Upgrade, WEBSOCKET_VERSION};
use aether_net::PendingClient;
use aether_net::websocket::WebSocket;
use aether_wire::limits::ROOM_CODE_BYTES_MAX;
use aether_wire::{Encoding, RoomSelector};
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::upgrade::{Parts, downcast};
use std::io::Cursor;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tracing::debug;

/// `GET /rt`: the hello selects the room.
pub(crate) async fn upgrade(
    State(api): State<PublicApi>,
    Extension(address): Extension<PeerAddress>,
    request: Request,
) -> Response {
    start_upgrade(&api, address, None, request).unwrap_or_else(IntoResponse::into_response)
}

/// `GET /api/rooms/{code}/ws`: the path selects the room.
pub(crate) async fn upgrade_to_room(
    State(api): State<PublicApi>,
    Extension(address): Extension<PeerAddress>,
    Path(code): Path<String>,
    request: Request,
) -> Response {
    if code.len() > ROOM_CODE_BYTES_MAX {
        let sentence = format!("A room code has at most {ROOM_CODE_BYTES_MAX} characters. Check the code.");
        return ApiError::new(StatusCode::NOT_FOUND, "room_not_found", sentence).into_response();
    }
    start_upgrade(&api, address, Some(RoomSelector::Code(code)), request).unwrap_or_else(IntoResponse::into_response)
}

fn start_upgrade(
    api: &PublicApi,
    address: PeerAddress,
    room: Option<RoomSelector>,
    mut request: Request,
) -> Result<Response, ApiError> {
    let upgrade = match Upgrade::from_request(request.method(), request.headers(), &Encoding::SUBPROTOCOLS) {
        Ok(upgrade) => upgrade,
        Err(error) => return Ok(handshake_error(error)),
    };
    api.origins.check_request(request.headers())?;
    let Some(encoding) = upgrade.subprotocol.and_then(Encoding::of_subprotocol) else {
        let sentence = format!(
            "Name a subprotocol in Sec-WebSocket-Protocol: {} or {}.",
            Encoding::Protobuf.subprotocol(),
            Encoding::Json.subprotocol()
        );
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "no_subprotocol", sentence));
    };
    let peer = api.peer(address, request.headers());
    let Some(permit) = api.gateway.permit(peer.address) else {
        let sentence = "The server or your address has reached its limit of connections. Try again later.";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", sentence));
    };
    let compressed = api.compression && upgrade.deflate;
    let on_upgrade = hyper::upgrade::on(&mut request);
    let gateway = api.gateway.clone();
    let read_bytes = gateway.read_buffer_bytes();
    let client = PendingClient { address: peer.address, is_local: peer.is_local, room, permit };
    tokio::spawn(async move {
        let stream = match on_upgrade.await {
            Ok(stream) => stream,
            Err(error) => return debug!(%error, "WebSocket upgrade failed"),
        };
        match tcp_stream(stream) {
            // The usual case bypasses the HTTP layers, which cost time on every read and write.
            Ok((stream, read_buf)) if read_buf.is_empty() => {
                // Even when empty, it keeps the memory that the request was read into.
                drop(read_buf);
                let socket = WebSocket::new(stream, encoding, compressed);
                gateway.serve(socket.read_buffer_bytes(read_bytes), client).await;
            }
            Ok((stream, read_buf)) => {
                let (read, write) = tokio::io::split(stream);
                let stream = tokio::io::join(Cursor::new(read_buf).chain(read), write);
                let socket = WebSocket::new(stream, encoding, compressed);
                Box::pin(gateway.serve(socket.read_buffer_bytes(read_bytes), client)).await;
            }
            Err(stream) => {
                let socket = WebSocket::new(TokioIo::new(stream), encoding, compressed);
                Box::pin(gateway.serve(socket.read_buffer_bytes(read_bytes), client)).await;
            }
        }
    });
    Ok(switching_protocols(&upgrade.accept, encoding, compressed))
}

/// Returns the TCP stream of an upgraded connection without TLS, and the bytes that were read from it already.
fn tcp_stream(stream: Upgraded) -> Result<(TcpStream, Bytes), Upgraded> {
    match downcast::<TokioIo<TcpStream>>(stream) {
        Ok(Parts { io, read_buf, .. }) => Ok((io.into_inner(), read_buf)),
        // A listener without HTTP/2 does not wrap the stream.
        Err(stream) => stream.downcast::<TokioIo<TcpStream>>().map(|parts| (parts.io.into_inner(), parts.read_buf)),
    }
}

fn switching_protocols(accept: &str, encoding: Encoding, compressed: bool) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(encoding.subprotocol()));
    if let Ok(accept) = HeaderValue::from_str(accept) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if compressed {
        headers.insert(header::SEC_WEBSOCKET_EXTENSIONS, HeaderValue::from_static(DEFLATE_ACCEPTED));
    }
    response
}

fn handshake_error(error: HandshakeError) -> Response {
    let mut response = ApiError::new(error.status, "no_websocket", error.sentence).into_response();
    if error.status == StatusCode::UPGRADE_REQUIRED {
        response.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static(WEBSOCKET_VERSION));
        response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    }
    response
}
