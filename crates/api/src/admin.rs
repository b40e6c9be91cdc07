//! The operator's interface: metrics, detailed health, profiles, and the admin API of players and rooms. It has its own
//! listener.

mod bracket;
mod moderation;
mod remote_value;
mod room;
mod script;
mod storage_index;

use crate::answers::AnswerBudget;
use crate::client::digest;
use crate::peer::{PeerAddress, host_name};
use crate::routing::{
    self, ApiError, Calls, CustomRoute, Description, ErrorAnswer, Interface, RateSettings, RequestRates, Routes,
    default_rate,
};
use crate::slow_bodies::SlowBodies;
use aether_metrics::Registry;
use aether_services::admin::operation::{
    BanPlayer, GetPlayer, ListAuditEntries, ListPlayerSessions, SetPlayerRole, SignOutPlayer, UnbanPlayer,
};
use aether_services::calls::{Access, RatePreset};
use aether_services::{Caller, GrpcCode, ServiceError, Services};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{HeaderMap, Method, StatusCode, Uri, header};
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use uuid::Uuid;

/// Longest profile, in seconds.
const PROFILE_SECONDS_MAX: u64 = 60;
/// Samples per second. A prime does not coincide with periodic work.
const PROFILE_HZ: i32 = 997;

/// Audited action of a request with an unknown key.
const UNKNOWN_KEY: &str = "unknown_key";

/// Interface to the server that answers the operator's requests.
pub trait AdminBackend: Send + Sync + 'static {
    /// Returns all metrics in the Prometheus text format.
    fn metrics(&self) -> String;

    /// Returns true if the server is healthy, and the state of every part.
    fn health(&self) -> (bool, Value);

    /// Services whose operations the admin API calls.
    fn services(&self) -> &Arc<Services>;

    /// Registry of the call metrics.
    fn registry(&self) -> &Registry;

    /// Returns true if this is the admin key. The admin API always needs it, or an account with a permission.
    fn is_admin_key(&self, shown: &str) -> bool;
}

/// State of the operator's interface.
#[derive(Clone)]
struct Admin {
    backend: Arc<dyn AdminBackend>,
    /// Hash of the key, if there is one.
    key: Option<[u8; 32]>,
    /// One profile at a time: profiles share a signal handler.
    profiling: Arc<Semaphore>,
    /// Rate limits of accounts and of callers without a key.
    rates: Arc<RequestRates>,
    memory: Arc<(AnswerBudget, SlowBodies)>,
}

impl Admin {
    /// Checks the admin key or the role of an account, for the admin API. Refusals are audited.
    fn admit_to_api(&self, access: Access, bearer: Option<&str>) -> Result<Caller, ServiceError> {
        const BEARER_REQUIRED: ServiceError = ServiceError::new(
            GrpcCode::Unauthenticated,
            "Send the admin key (http.admin_key, or the file admin.key in the data folder) or the access token of an \
             account with a role as a bearer token.",
        );
        let Some(bearer) = bearer else { return Err(BEARER_REQUIRED) };
        if self.backend.is_admin_key(bearer) {
            return Ok(Caller::Server);
        }
        let services = self.backend.services();
        // The key of another server, or a guess: nothing says that it is a token.
        let identity = services.sessions.check(bearer).map_err(|_| {
            services.audit.note_refusal(Uuid::nil(), UNKNOWN_KEY);
            BEARER_REQUIRED
        })?;
        if access.is_permitted(identity.role) {
            return Ok(Caller::User(Arc::new(identity)));
        }
        services.audit.note_refusal(identity.user, access.name());
        let message =
            format!("The role {} of this account has no permission for this ({}).", identity.role, access.name());
        Err(ServiceError::with(GrpcCode::PermissionDenied, message))
    }
}

/// Returns the bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

impl Interface for Admin {
    /// Checks the key, if one is set. Comparing hashes hides the key from timing attacks.
    fn admit(&self, access: Access, _: &Uri, headers: &HeaderMap) -> Result<Caller, ServiceError> {
        const KEY_REQUIRED: ServiceError =
            ServiceError::new(GrpcCode::Unauthenticated, "Send the admin key as a bearer token.");
        if access == Access::Everyone {
            return Ok(Caller::Anonymous);
        }
        if access != Access::Operator {
            return self.admit_to_api(access, bearer(headers));
        }
        let shown = bearer(headers).map(digest);
        match self.key.is_none() || shown == self.key {
            true => Ok(Caller::Server),
            false => Err(KEY_REQUIRED),
        }
    }

    fn write_error(answer: ErrorAnswer) -> Response {
        let is_key = answer.error.code == GrpcCode::Unauthenticated;
        let error = ApiError::from(answer);
        ApiError { code: if is_key { "no_key" } else { error.code }, ..error }.into_response()
    }
}

impl Calls for Admin {
    fn services(&self) -> &Arc<Services> {
        self.backend.services()
    }

    fn rates(&self) -> &RequestRates {
        &self.rates
    }

    fn registry(&self) -> &Registry {
        self.backend.registry()
    }

    fn answers(&self) -> &AnswerBudget {
        &self.memory.0
    }

    fn bodies(&self) -> &SlowBodies {
        &self.memory.1
    }

    fn address(&self, request: &Request) -> IpAddr {
        let address = request.extensions().get::<PeerAddress>();
        address.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.socket.ip())
    }
}

/// Returns the router of the operator's interface.
///
/// If a key is set, all routes but `/livez` and the description require it as a bearer token. `/api` always requires the
/// key of the backend, or an account with a permission. `hosts` are names of the listener besides IP addresses and
/// `localhost`. Requests to other names are rejected: they come from pages whose name was made to resolve to this machine.
pub fn router(backend: Arc<dyn AdminBackend>, key: Option<&str>, hosts: Vec<String>) -> Router {
    let hosts: Arc<[String]> = hosts.into();
    let presets = RatePreset::ALL.map(|preset| Some(default_rate(preset)));
    let rates = Arc::new(RequestRates::new(RateSettings { presets, ..RateSettings::default() }));
    let memory = Arc::new((AnswerBudget::new(backend.registry()), SlowBodies::default()));
    let admin = Admin { backend, key: key.map(digest), profiling: Arc::new(Semaphore::new(1)), rates, memory };
    routes()
        .described(&description())
        .into_router(admin)
        .fallback(async || ApiError::of_status(StatusCode::NOT_FOUND))
        .layer(axum::middleware::from_fn_with_state(hosts, check_host))
        .layer(axum::middleware::map_response(async |response: Response| routing::complete(response)))
}

async fn check_host(State(hosts): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).map(host_name).unwrap_or("");
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let is_listed = hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
    if is_address || host.eq_ignore_ascii_case("localhost") || is_listed {
        return next.run(request).await;
    }
    let sentence = format!(
        "`{host}` is not a name of the admin listener. Use its IP address or localhost, or add the name to http.admin_hosts."
    );
    ApiError::new(StatusCode::MISDIRECTED_REQUEST, "bad_host", sentence).into_response()
}

fn routes() -> Routes<Admin> {
    use Access::{Everyone, Operator};
    const TEXT: &str = "text/plain";
    let custom = |path, id, access, content_type| CustomRoute { method: Method::GET, path, id, access, content_type };
    Routes::default()
        .custom(custom("/health", "Health", Operator, "application/json"), get(health))
        .custom(custom("/debug/heap", "Heap", Operator, TEXT), get(heap))
        .custom(custom("/debug/threads", "Threads", Operator, TEXT), get(threads))
        .custom(custom("/debug/profile", "Profile", Operator, "image/svg+xml"), get(profile))
        .custom(custom("/metrics", "Metrics", Operator, TEXT), get(metrics))
        .custom(custom("/livez", "Livez", Everyone, TEXT), get(async || "ok\n"))
        .address::<GetPlayer>(Method::GET, "/api/players/{player}")
        .address::<BanPlayer>(Method::POST, "/api/players/{player}/ban")
        .address::<UnbanPlayer>(Method::POST, "/api/players/{player}/unban")
        .address::<SignOutPlayer>(Method::POST, "/api/players/{player}/sign-out")
        .field::<SetPlayerRole, _>(Method::POST, "/api/players/{player}/role", |to, body| to.role = Some(body))
        .address::<ListPlayerSessions>(Method::GET, "/api/players/{player}/sessions")
        .address::<ListAuditEntries>(Method::GET, "/api/audit")
        .with(moderation::routes)
        .with(remote_value::routes)
        .with(bracket::routes)
        .with(room::routes)
        .with(script::routes)
        .with(storage_index::routes)
}

fn description() -> Description {
    Description {
        title: "Aether admin API",
        text: "Operator's interface: metrics, detailed health, profiles, players, reports, mutes, remote values, rooms, recordings, scripts, drain and audit.",
        error_schema: json!({
            "type": "object",
            "required": ["code", "error"],
            "properties": {
                "code": { "type": "string", "description": "Error code for programs." },
                "error": { "type": "string", "description": "Error message for people." },
            },
        }),
    }
}

async fn metrics(State(admin): State<Admin>) -> Response {
    ([(header::CONTENT_TYPE, aether_metrics::CONTENT_TYPE)], admin.backend.metrics()).into_response()
}

async fn health(State(admin): State<Admin>) -> Response {
    let (is_healthy, mut detail) = admin.backend.health();
    if is_healthy {
        return Json(detail).into_response();
    }
    // The detail is added to the usual error body.
    let problem = detail["problem"].as_str().unwrap_or("The server is not healthy.").to_owned();
    detail["code"] = json!("not_ready");
    detail["error"] = json!(problem);
    (StatusCode::SERVICE_UNAVAILABLE, Json(detail)).into_response()
}

/// Memory use of this process, as the system reports it.
async fn heap() -> Result<Response, ApiError> {
    let status = read_proc("status").await?;
    let rollup = read_proc("smaps_rollup").await.unwrap_or_default();
    let memory = status.lines().filter(|line| line.starts_with("Vm") || line.starts_with("Rss"));
    let rollup = rollup.lines().skip(1);
    Ok(memory.chain(rollup).map(|line| format!("{line}\n")).collect::<String>().into_response())
}

/// Threads of this process, with state and CPU time.
async fn threads() -> Result<Response, ApiError> {
    let unknown = |_| {
        ApiError::new(
            StatusCode::NOT_IMPLEMENTED,
            "no_procfs",
            "This system has no /proc, so threads cannot be listed.",
        )
    };
    let mut tasks = tokio::fs::read_dir("/proc/self/task").await.map_err(unknown)?;
    let mut text = String::from("thread\tname\tstate\tuser_ticks\tsystem_ticks\n");
    while let Ok(Some(task)) = tasks.next_entry().await {
        let Ok(stat) = tokio::fs::read_to_string(task.path().join("stat")).await else { continue };
        // The name is in brackets and may contain any character.
        let Some((start, rest)) = stat.rsplit_once(')') else { continue };
        let (id, name) = start.split_once(" (").unwrap_or((start, ""));
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or("");
        text += &format!("{id}\t{name}\t{}\t{}\t{}\n", field(0), field(11), field(12));
    }
    Ok(text.into_response())
}

async fn read_proc(name: &str) -> Result<String, ApiError> {
    let unknown = |_| {
        ApiError::new(
            StatusCode::NOT_IMPLEMENTED,
            "no_procfs",
            "This system has no /proc, so memory cannot be reported.",
        )
    };
    tokio::fs::read_to_string(format!("/proc/self/{name}")).await.map_err(unknown)
}

#[derive(Deserialize)]
struct ProfileQuery {
    #[serde(default = "ten")]
    seconds: u64,
}

fn ten() -> u64 {
    10
}

/// Samples call stacks for some seconds; answers with a flame graph.
async fn profile(
    State(admin): State<Admin>,
    query: Result<Query<ProfileQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let seconds = query.map_or(0, |Query(query)| query.seconds);
    if !(1..=PROFILE_SECONDS_MAX).contains(&seconds) {
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_seconds", "`seconds` must be from 1 to 60."));
    }
    let Ok(_permit) = admin.profiling.try_acquire() else {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "profiling",
            "A profile is already running. Try again when it is done.",
        ));
    };
    let failed = |error: pprof::Error| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "profile_failed", format!("The profile failed: {error}."))
    };
    let guard = pprof::ProfilerGuardBuilder::default().frequency(PROFILE_HZ).build().map_err(failed)?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let drawing = tokio::task::spawn_blocking(move || {
        let mut picture = Vec::new();
        guard.report().build()?.flamegraph(&mut picture)?;
        Ok(picture)
    });
    let picture = drawing.await.unwrap_or(Ok(Vec::new())).map_err(failed)?;
    if picture.is_empty() {
        return Ok("No samples: the process was idle.\n".into_response());
    }
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], picture).into_response())
}
