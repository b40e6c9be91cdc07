//! Admission of a client: its token, the format of its messages, and the limits of its address and account.

use super::protocol::{NewSocket, SocketProtocol};
use super::{SocketServer, SocketSettings};
use crate::client::bearer_token;
use crate::peer::PeerAddress;
use crate::public::PublicApi;
use crate::realtime::{ServeStream, handshake_error, serve_upgraded, switching_protocols};
use crate::routing::{ApiError, Calls as _};
use aether_framing::websocket::handshake::Upgrade;
use aether_messages::socket::SocketFormat;
use aether_net::ConnectionPermit;
use aether_net::lobby::VerifiedAccount;
use aether_net::websocket::WebSocket;
use aether_services::UserIdentity;
use aether_wire::{Encoding, ErrorCode, SessionId};
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, Uri};
use std::borrow::Cow;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// Maximum bytes of the language that a client asks for: more than any language tag has.
const LANGUAGE_BYTES_MAX: usize = 35;
/// Language of a client that asks for none.
const LANGUAGE: &str = "en";

/// Query parameters of the socket.
#[derive(Default)]
struct Parameters<'a> {
    token: Cow<'a, str>,
    format: Cow<'a, str>,
    status: Cow<'a, str>,
    lang: Cow<'a, str>,
}

/// `GET /ws`: opens a services socket.
pub(crate) async fn upgrade(
    State(api): State<PublicApi>,
    Extension(address): Extension<PeerAddress>,
    request: Request,
) -> Response {
    start_upgrade(&api, address, request).unwrap_or_else(IntoResponse::into_response)
}

fn start_upgrade(api: &PublicApi, address: PeerAddress, mut request: Request) -> Result<Response, ApiError> {
    // The protocol has no subprotocols. Any origin may connect: the token is in the URL, so no page can use the rights of
    // another one.
    let upgrade = match Upgrade::from_request(request.method(), request.headers(), &[]) {
        Ok(upgrade) => upgrade,
        Err(error) => return Ok(handshake_error(error)),
    };
    let parameters = parameters(request.uri());
    let format = match &*parameters.format {
        "" | "json" => SocketFormat::Json,
        "protobuf" => SocketFormat::Protobuf,
        _ => return Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_format", "Invalid format parameter")),
    };
    let services = api.client_api.services();
    let identity = bearer_token(request.headers()).or(Some(&*parameters.token)).filter(|token| !token.is_empty());
    let identity = identity.and_then(|token| services.sessions.check(token).ok());
    let Some(identity) = identity else {
        // Says nothing of the token, which is in the URL.
        return Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthenticated", "Missing or invalid token"));
    };
    let is_shown = matches!(&*parameters.status, "1" | "t" | "T" | "true" | "TRUE" | "True");
    let language = match &*parameters.lang {
        lang if lang.is_empty() || lang.len() > LANGUAGE_BYTES_MAX => Arc::from(LANGUAGE),
        lang => Arc::from(lang),
    };
    let peer = api.peer(address, request.headers());
    let port = address.socket.port();
    let Some(permit) = api.gateway.permit(peer.address) else {
        let sentence = "The server or your address has reached its limit of connections. Try again later.";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", sentence));
    };
    let resources = admit(api, &identity)?;
    let socket = NewSocket { format, is_shown, address: peer.address, port, language, resources, identity };
    let server = SocketServer {
        gateway: Arc::clone(&api.gateway),
        client_api: api.client_api.clone(),
        settings: SocketSettings::clone(&api.socket),
    };
    serve_upgraded(&mut request, SocketClient { server, socket, permit });
    Ok(switching_protocols(&upgrade.accept, None, false))
}

/// Takes the shares of the account.
fn admit(api: &PublicApi, identity: &UserIdentity) -> Result<Box<dyn std::any::Any + Send>, ApiError> {
    let account = VerifiedAccount {
        session: SessionId(identity.session.as_u128()),
        user: identity.user.to_string(),
        issued_at: identity.issued_at,
    };
    api.gateway.admit_account(account).map_err(|rejection| match rejection.code {
        ErrorCode::LimitReached => {
            let sentence = "Your account has reached its limit of connections. Close one first.";
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_connections", sentence)
        }
        _ => ApiError::new(StatusCode::UNAUTHORIZED, "unauthenticated", "Missing or invalid token"),
    })
}

fn parameters(uri: &Uri) -> Parameters<'_> {
    let mut parameters = Parameters::default();
    for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        let parameter = match &*name {
            "token" => &mut parameters.token,
            "format" => &mut parameters.format,
            "status" => &mut parameters.status,
            "lang" => &mut parameters.lang,
            _ => continue,
        };
        // The first one counts.
        if parameter.is_empty() {
            *parameter = value;
        }
    }
    parameters
}

/// Client that was admitted.
struct SocketClient {
    server: SocketServer,
    socket: NewSocket,
    permit: ConnectionPermit,
}

impl ServeStream for SocketClient {
    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let SocketClient { server, socket, permit } = self;
        // The encoding decides between text and binary messages.
        let encoding = match socket.format {
            SocketFormat::Json => Encoding::Json,
            SocketFormat::Protobuf => Encoding::Protobuf,
        };
        let gateway = Arc::clone(&server.gateway);
        let transport = WebSocket::new(stream, encoding, false).closing_plainly();
        let transport = transport.read_buffer_bytes(gateway.read_buffer_bytes());
        match SocketProtocol::new(server, socket) {
            Ok(protocol) => gateway.serve_protocol(transport, permit, protocol).await,
            Err(error) => tracing::debug!(%error, "socket was not opened"),
        }
    }
}
