//! The public interface.

use crate::client::{self, ClientApi, bearer_token};
use crate::development::{self, ModuleEditor};
use crate::origin::AllowedOrigins;
use crate::page::Pages;
use crate::peer::{PeerAddress, RequestPeer, TrustedProxies, host_name};
use crate::request_metrics::RequestMetrics;
use crate::routing::{self, ApiError, Calls as _, ErrorAnswer};
use crate::socket::{self, SocketSettings};
use crate::{cors, custom, page, realtime, site};
use aether_metrics::Registry;
use aether_net::Gateway;
use aether_services::Caller;
use aether_wire::Encodings;
use aether_wire::{ServerInfo, UdpGrant};
use axum::body::HttpBody as _;
use axum::extract::{Extension, MatchedPath, Query, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

/// Upper bound of a request body, in bytes. Requests of this interface have small bodies.
const BODY_BYTES_MAX: usize = 65_536;

/// Interface to the server that answers public requests.
pub trait PublicBackend: Send + Sync + 'static {
    /// Returns the server information. `host` is the name that the client used, without a port.
    fn server(&self, host: Option<&str>) -> ServerInfo;

    /// Returns the running rooms that match a filter, except private ones. Fails if the network of the peer asks too often.
    fn rooms(&self, peer: &RequestPeer, filter: &RoomFilter) -> Result<Vec<RoomInfo>, ApiError>;

    /// Issues a guest login, if guests are allowed. A local peer that shows the developer secret gets the role of a
    /// developer.
    fn guest(&self, peer: &RequestPeer, developer_secret: Option<&str>) -> Result<GuestLogin, ApiError>;

    /// Issues a connect token of reliable UDP to the account of an access token or a resume token. `host` is the name that
    /// the client used, without a port.
    fn udp<'a>(
        &'a self,
        peer: &'a RequestPeer,
        host: Option<&'a str>,
        token: Option<&'a str>,
    ) -> Pin<Box<dyn Future<Output = Result<UdpGrant, ApiError>> + Send + 'a>>;

    /// Returns the editor of modules, for a local peer that shows the developer secret.
    fn module_editor(
        &self,
        peer: &RequestPeer,
        developer_secret: Option<&str>,
    ) -> Result<Arc<dyn ModuleEditor>, ApiError>;

    /// Returns an error with the reason if the server takes no new players.
    fn readiness(&self) -> Result<(), String>;

    /// Returns an error that names the part that is stuck, if one is.
    fn liveness(&self) -> Result<(), String>;
}

/// Filter of a room listing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoomFilter {
    /// Room type.
    #[serde(rename = "type")]
    pub room_type: Option<String>,
    /// Label.
    pub label: Option<String>,
}

/// A running room.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomInfo {
    /// Room id.
    pub id: String,
    /// Room code.
    pub code: String,
    /// Room type.
    #[serde(rename = "type")]
    pub room_type: String,
    /// Label of the room.
    pub label: String,
    /// Number of players in the room.
    pub players: u32,
    /// Most players of the room.
    pub players_max: usize,
    /// Ticks per second; 0 for a relay.
    pub tick_hz: u32,
}

/// A login without an account.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GuestLogin {
    /// Access token for the hello.
    pub token: String,
    /// Role of the guest.
    pub role: &'static str,
    /// User id of the guest.
    pub user: String,
    /// Expiry of the token, in seconds since 1970.
    pub expires_at: u64,
}

/// State of the public router.
#[derive(Clone)]
pub struct PublicApi {
    /// Name of the program, which the start page shows.
    pub name: &'static str,
    /// The server behind it.
    pub backend: Arc<dyn PublicBackend>,
    /// Gateway of realtime connections.
    pub gateway: Arc<Gateway>,
    /// The client API.
    pub client_api: ClientApi,
    /// Settings of the services socket.
    pub socket: SocketSettings,
    /// Proxies whose forwarding headers are trusted.
    pub proxies: Arc<TrustedProxies>,
    /// Origins whose pages may connect.
    pub origins: Arc<AllowedOrigins>,
    /// Encodings of realtime connections.
    pub encodings: Arc<Encodings>,
    /// True if WebSockets may be compressed.
    pub compression: bool,
    /// UDP port of WebTransport, if it is enabled; pages may connect to it.
    pub web_transport_port: Option<u16>,
    /// Pages at all other paths.
    pub pages: Pages,
    /// Longest time of a request. Upgrades are answered at once and are not limited by it.
    pub request_time_max: Duration,
    /// Registry of the request metrics.
    pub registry: Registry,
}

impl PublicApi {
    /// Returns the sender of a request.
    pub(crate) fn peer(&self, address: PeerAddress, headers: &HeaderMap) -> RequestPeer {
        let peer = self.proxies.peer(address.socket.ip(), headers);
        RequestPeer { is_local: peer.is_local && !address.is_http10, ..peer }
    }
}

/// Returns the router of the public interface.
pub fn router(api: PublicApi) -> Router {
    let metrics = RequestMetrics::new(&api.registry);
    let policy = HeaderValue::from_str(&page::content_security_policy(api.web_transport_port));
    let policy = policy.unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let cross_origin = Router::new()
        .route("/api/server", get(server))
        .route("/api/rooms", get(rooms))
        .route("/api/guest", post(guest))
        .route("/api/udp", post(udp))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&api.origins), cors::for_origins));
    let requests = Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/api/health", get(health))
        .merge(cross_origin)
        .merge(development::routes())
        .fallback(get(site::serve))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, api.request_time_max));
    let time_max = TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, api.request_time_max);
    let client = client::router(api.client_api.clone()).layer(time_max);
    let routes = Router::new().route(&format!("{}/{{*path}}", custom::PREFIX), any(custom::serve)).layer(time_max);
    Router::new()
        .route("/rt", get(realtime::upgrade))
        .route("/api/rooms/{code}/ws", get(realtime::upgrade_to_room))
        .route("/ws", get(socket::upgrade))
        .merge(requests)
        .layer(RequestBodyLimitLayer::new(BODY_BYTES_MAX))
        .merge(client)
        .merge(routes)
        .layer(axum::middleware::from_fn_with_state(OuterLayer { metrics, policy }, outer_layer))
        .with_state(api)
}

/// State of the outermost layer. It is one layer because each layer costs memory per request.
#[derive(Clone)]
struct OuterLayer {
    metrics: RequestMetrics,
    policy: HeaderValue,
}

async fn outer_layer(State(layer): State<OuterLayer>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    // The client protocol and routes of modules define their own error bodies.
    let path = request.uri().path();
    let is_client_api = path.starts_with("/v2/") || path.starts_with("/custom/");
    let began = Instant::now();
    let mut response = next.run(request).await;
    if !is_client_api {
        response = routing::complete(response);
    }
    let route = route.as_ref().map_or("other", MatchedPath::as_str);
    layer.metrics.count(route, response.status(), began.elapsed());
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(layer.policy);
    response
}

async fn livez(State(api): State<PublicApi>) -> Response {
    answer(api.backend.liveness(), "not_live")
}

async fn readyz(State(api): State<PublicApi>) -> Response {
    answer(api.backend.readiness(), "not_ready")
}

/// Answers as `/readyz` does, in JSON.
async fn health(State(api): State<PublicApi>) -> Response {
    match api.backend.readiness() {
        Ok(()) => Json(serde_json::json!({ "status": "ok" })).into_response(),
        not_ready => answer(not_ready, "not_ready"),
    }
}

fn answer(state: Result<(), String>, code: &'static str) -> Response {
    match state {
        Ok(()) => "ok\n".into_response(),
        Err(why) => ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, why).into_response(),
    }
}

async fn server(State(api): State<PublicApi>, headers: HeaderMap) -> Json<ServerInfo> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    Json(api.backend.server(host.map(host_name)))
}

async fn udp(
    State(api): State<PublicApi>,
    Extension(address): Extension<PeerAddress>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let peer = api.peer(address, &headers);
    let grant = api.backend.udp(&peer, host.map(host_name), bearer_token(&headers)).await?;
    // It has a token.
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(grant)).into_response())
}

async fn rooms(
    State(api): State<PublicApi>,
    Extension(address): Extension<PeerAddress>,
    headers: HeaderMap,
    filter: Result<Query<RoomFilter>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(filter) = filter
        .map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, "bad_query", "Filter rooms by `type` and `label` only."))?;
    let peer = api.peer(address, &headers);
    let mut response = routing::answer(&json!({ "rooms": api.backend.rooms(&peer, &filter)? }));
    // The list may be long, and is in memory until the client has read it.
    let bytes = response.body().size_hint().lower();
    let share = api.client_api.answers().take(&Caller::Anonymous, peer.address, bytes).map_err(ErrorAnswer::from)?;
    response.extensions_mut().insert(share);
    Ok(response)
}

async fn guest(
    State(api): State<PublicApi>,
    Extension(address): Extension<PeerAddress>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let developer_secret = shown.and_then(|shown| shown.strip_prefix("Bearer "));
    let login = api.backend.guest(&api.peer(address, &headers), developer_secret)?;
    // It has a token.
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(login)).into_response())
}
