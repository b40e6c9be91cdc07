//! The operator's interface: metrics, detailed health, and profiles. It has its own listener.

use crate::peer::host_name;
use crate::routing::{self, ApiError, CustomRoute, Description, ErrorAnswer, Interface, Routes};
use aether_services::calls::Access;
use aether_services::{Caller, GrpcCode, ServiceError};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{HeaderMap, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Longest profile, in seconds.
const PROFILE_SECONDS_MAX: u64 = 60;
/// Samples per second. A prime does not coincide with periodic work.
const PROFILE_HZ: i32 = 997;

/// Interface to the server that answers the operator's requests.
pub trait AdminBackend: Send + Sync + 'static {
    /// Returns all metrics in the Prometheus text format.
    fn metrics(&self) -> String;

    /// Returns true if the server is healthy, and the state of every part.
    fn health(&self) -> (bool, Value);
}

/// State of the operator's interface.
#[derive(Clone)]
struct Admin {
    backend: Arc<dyn AdminBackend>,
    /// Hash of the key, if there is one.
    key: Option<[u8; 32]>,
    /// One profile at a time: profiles share a signal handler.
    profiling: Arc<Semaphore>,
}

impl Interface for Admin {
    /// Checks the key, if one is set. Comparing hashes hides the key from timing attacks.
    fn admit(&self, access: Access, headers: &HeaderMap) -> Result<Caller, ServiceError> {
        const KEY_REQUIRED: ServiceError =
            ServiceError::new(GrpcCode::Unauthenticated, "Send the admin key as a bearer token.");
        if access == Access::Everyone {
            return Ok(Caller::Anonymous);
        }
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|value| value.strip_prefix("Bearer ")).map(digest);
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

/// Returns the router of the operator's interface.
///
/// If a key is set, all routes but `/livez` and the description require it as a bearer token. `hosts` are names of the
/// listener besides IP addresses and `localhost`. Requests to other names are rejected: they come from pages whose name
/// was made to resolve to this machine.
pub fn router(backend: Arc<dyn AdminBackend>, key: Option<&str>, hosts: Vec<String>) -> Router {
    let hosts: Arc<[String]> = hosts.into();
    let admin = Admin { backend, key: key.map(digest), profiling: Arc::new(Semaphore::new(1)) };
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
}

fn description() -> Description {
    Description {
        title: "Aether admin API",
        text: "Operator's interface: metrics, detailed health, and profiles.",
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

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
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
