//! Upgrades to realtime connections.

use crate::peer::PeerAddress;
use crate::public::PublicApi;
use crate::routing::ApiError;
use aether_framing::websocket::handshake::{DEFLATE_ACCEPTED, HandshakeError, Upgrade, WEBSOCKET_VERSION};
use aether_net::websocket::WebSocket;
use aether_net::{Gateway, PendingClient};
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
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
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
    let upgrade = match Upgrade::from_request(request.method(), request.headers(), api.encodings.subprotocols()) {
        Ok(upgrade) => upgrade,
        Err(error) => return Ok(handshake_error(error)),
    };
    api.origins.check_request(request.headers())?;
    let Some(encoding) = upgrade.subprotocol.and_then(|name| api.encodings.of_subprotocol(name)) else {
        let known = api.encodings.subprotocols().join(" or ");
        let sentence = format!("Name a subprotocol in Sec-WebSocket-Protocol: {known}.");
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "no_subprotocol", sentence));
    };
    let peer = api.peer(address, request.headers());
    let Some(permit) = api.gateway.permit(peer.address) else {
        let sentence = "The server or your address has reached its limit of connections. Try again later.";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", sentence));
    };
    let compressed = api.compression && upgrade.deflate;
    let client = PendingClient { address: peer.address, is_local: peer.is_local, room, account: None, permit };
    serve_upgraded(&mut request, RoomClient { gateway: api.gateway.clone(), encoding, compressed, client });
    Ok(switching_protocols(&upgrade.accept, Some(encoding), compressed))
}

/// Serves the stream of an upgraded connection.
pub(crate) trait ServeStream: Send + 'static {
    /// Serves the connection until it ends.
    fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static;
}

/// Client of a room.
struct RoomClient {
    gateway: Arc<Gateway>,
    encoding: Encoding,
    compressed: bool,
    client: PendingClient,
}

impl ServeStream for RoomClient {
    fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let socket = WebSocket::new(stream, self.encoding, self.compressed);
        let socket = socket.read_buffer_bytes(self.gateway.read_buffer_bytes());
        self.gateway.serve(socket, self.client)
    }
}

/// Starts a task that serves the connection of a request, once it is upgraded.
pub(crate) fn serve_upgraded(request: &mut Request, client: impl ServeStream) {
    let on_upgrade = hyper::upgrade::on(request);
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
                client.serve(stream).await;
            }
            Ok((stream, read_buf)) => {
                let (read, write) = tokio::io::split(stream);
                let stream = tokio::io::join(Cursor::new(read_buf).chain(read), write);
                Box::pin(client.serve(stream)).await;
            }
            Err(stream) => Box::pin(client.serve(TokioIo::new(stream))).await,
        }
    });
}

/// Returns the TCP stream of an upgraded connection without TLS, and the bytes that were read from it already.
fn tcp_stream(stream: Upgraded) -> Result<(TcpStream, Bytes), Upgraded> {
    match downcast::<TokioIo<TcpStream>>(stream) {
        Ok(Parts { io, read_buf, .. }) => Ok((io.into_inner(), read_buf)),
        // A listener without HTTP/2 does not wrap the stream.
        Err(stream) => stream.downcast::<TokioIo<TcpStream>>().map(|parts| (parts.io.into_inner(), parts.read_buf)),
    }
}

/// Returns the answer that upgrades a connection. `encoding` names the subprotocol, if there is one.
pub(crate) fn switching_protocols(accept: &str, encoding: Option<Encoding>, compressed: bool) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Some(encoding) = encoding {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(encoding.subprotocol()));
    }
    if let Ok(accept) = HeaderValue::from_str(accept) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if compressed {
        headers.insert(header::SEC_WEBSOCKET_EXTENSIONS, HeaderValue::from_static(DEFLATE_ACCEPTED));
    }
    response
}

pub(crate) fn handshake_error(error: HandshakeError) -> Response {
    let mut response = ApiError::new(error.status, "no_websocket", error.sentence).into_response();
    if error.status == StatusCode::UPGRADE_REQUIRED {
        response.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static(WEBSOCKET_VERSION));
        response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    }
    response
}
