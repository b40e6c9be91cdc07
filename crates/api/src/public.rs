//! What everyone may ask.

use crate::client::{self, ClientApi};
use crate::origin::AllowedOrigins;
use crate::page::Pages;
use crate::peer::{PeerAddress, RequestPeer, TrustedProxies, name_of};
use crate::routing::{self, ApiError};
use crate::watch::RequestMetrics;
use crate::{cors, page, realtime, site};
use aether_metrics::Registry;
use aether_net::Gateway;
use aether_wire::ServerInfo;
use axum::extract::{Extension, FromRef, MatchedPath, Query, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

/// Bytes of a request's body. Nothing here takes more than a few words.
const BODY_BYTES_MAX: usize = 65_536;

/// What the interface asks of the server behind it.
pub trait PublicBackend: Send + Sync + 'static {
    /// What the server is. `host` is the name by which the client knows it, without a port.
    fn server(&self, host: Option<&str>) -> ServerInfo;

    /// The rooms that are running.
    fn rooms(&self, filter: &RoomFilter) -> Vec<RoomInfo>;

    /// Lets someone in without an account, if that is allowed.
    fn guest(&self, peer: &RequestPeer) -> Result<GuestLogin, ApiError>;

    /// Whether new players are welcome; if not, why.
    fn readiness(&self) -> Result<(), String>;

    /// Whether everything that should run does; if not, what hangs.
    fn liveness(&self) -> Result<(), String>;
}

/// Which rooms are meant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoomFilter {
    /// Only those of this type.
    #[serde(rename = "type")]
    pub room_type: Option<String>,
    /// Only those with this label.
    pub label: Option<String>,
}

/// A room that is running.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomInfo {
    /// Its id.
    pub id: String,
    /// Its short code.
    pub code: String,
    /// Its type.
    #[serde(rename = "type")]
    pub room_type: String,
    /// Its label.
    pub label: String,
    /// How many players are in.
    pub players: u32,
    /// The most players.
    pub players_max: usize,
    /// Simulation steps a second; 0 for a relay.
    pub tick_hz: u32,
}

/// Someone who plays without an account.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GuestLogin {
    /// The access token for the hello.
    pub token: String,
    /// The role it carries.
    pub role: &'static str,
    /// The account that stands for the guest.
    pub user: String,
    /// When the token expires, in seconds since 1970.
    pub expires_at: u64,
}

/// What the router needs.
#[derive(Clone)]
pub struct PublicApi {
    /// The server behind it.
    pub backend: Arc<dyn PublicBackend>,
    /// Where realtime connections go.
    pub gateway: Arc<Gateway>,
    /// The services behind the client API.
    pub desk: ClientApi,
    /// Whose word on addresses counts.
    pub proxies: Arc<TrustedProxies>,
    /// From which pages a browser may connect.
    pub origins: Arc<AllowedOrigins>,
    /// Whether WebSockets may be compressed.
    pub compression: bool,
    /// The UDP port of WebTransport, if that is on; the page may connect to it.
    pub web_transport_port: Option<u16>,
    /// The pages at all other addresses.
    pub pages: Pages,
    /// How long a request may take. Upgrades do not count: they are answered at once.
    pub request_time_max: Duration,
    /// Where requests are counted.
    pub registry: Registry,
}

impl FromRef<PublicApi> for Pages {
    fn from_ref(api: &PublicApi) -> Pages {
        api.pages.clone()
    }
}

impl PublicApi {
    /// Who sent a request.
    pub(crate) fn peer(&self, address: PeerAddress, headers: &HeaderMap) -> RequestPeer {
        let peer = self.proxies.peer(address.socket.ip(), headers);
        RequestPeer { is_local: peer.is_local && !address.is_old, ..peer }
    }
}

/// The public interface.
pub fn router(api: PublicApi) -> Router {
    let watch = RequestMetrics::new(&api.registry);
    let policy = HeaderValue::from_str(&page::content_security_policy(api.web_transport_port));
    let policy = policy.unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let for_pages = Router::new()
        .route("/api/server", get(server))
        .route("/api/rooms", get(rooms))
        .route("/api/guest", post(guest))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&api.origins), cors::for_origins));
    let requests = Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .merge(for_pages)
        .fallback(get(site::serve))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, api.request_time_max));
    let time_max = TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, api.request_time_max);
    let client = client::router(api.desk.clone()).layer(time_max);
    Router::new()
        .route("/rt", get(realtime::upgrade))
        .route("/api/rooms/{code}/ws", get(realtime::upgrade_to_room))
        .merge(requests)
        .layer(RequestBodyLimitLayer::new(BODY_BYTES_MAX))
        .merge(client)
        .layer(axum::middleware::from_fn_with_state(Around { watch, policy }, around))
        .with_state(api)
}

/// What is done around every request. It is one layer, because each costs every request some memory of its own.
#[derive(Clone)]
struct Around {
    watch: RequestMetrics,
    policy: HeaderValue,
}

async fn around(State(around): State<Around>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    // There the protocol says what a failure looks like.
    let is_client_api = request.uri().path().starts_with("/v2/");
    let began = Instant::now();
    let mut response = next.run(request).await;
    if !is_client_api {
        response = routing::complete(response);
    }
    let route = route.as_ref().map_or("other", MatchedPath::as_str);
    around.watch.count(route, response.status(), began.elapsed());
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(around.policy);
    response
}

async fn livez(State(api): State<PublicApi>) -> Response {
    answer(api.backend.liveness(), "not_live")
}

async fn readyz(State(api): State<PublicApi>) -> Response {
    answer(api.backend.readiness(), "not_ready")
}

fn answer(state: Result<(), String>, code: &'static str) -> Response {
    match state {
        Ok(()) => "ok\n".into_response(),
        Err(why) => ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, why).into_response(),
    }
}

async fn server(State(api): State<PublicApi>, headers: HeaderMap) -> Json<ServerInfo> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    Json(api.backend.server(host.map(name_of)))
}

async fn rooms(
    State(api): State<PublicApi>,
    filter: Result<Query<RoomFilter>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(filter) = filter.map_err(|_| {
        ApiError::new(StatusCode::BAD_REQUEST, "bad_query", "Rooms are filtered by `type` and `label` alone.")
    })?;
    Ok(Json(json!({ "rooms": api.backend.rooms(&filter) })).into_response())
}

async fn guest(
    State(api): State<PublicApi>,
    Extension(address): Extension<PeerAddress>,
    headers: HeaderMap,
) -> Result<Json<GuestLogin>, ApiError> {
    if !api.origins.allow_request(&headers) {
        return Err(ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", "Pages of this origin may not connect."));
    }
    Ok(Json(api.backend.guest(&api.peer(address, &headers))?))
}
