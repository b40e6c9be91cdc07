//! What only the operator may ask: metrics, health in detail, and profiles. It has a listener of its own.

use crate::routing::{self, ApiError, CustomRoute, Description, ErrorAnswer, Interface, Routes};
use aether_services::calls::Access;
use aether_services::{Caller, GrpcCode, ServiceError};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{HeaderMap, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Seconds that a profile may take.
const PROFILE_SECONDS_MAX: u64 = 60;
/// Samples a second; a prime, so that it does not beat with what runs in time.
const PROFILE_HZ: i32 = 997;

/// What the operator's interface asks of the server.
pub trait AdminBackend: Send + Sync + 'static {
    /// All metrics as Prometheus reads them.
    fn metrics(&self) -> String;

    /// The state of every part, and whether all is well.
    fn health(&self) -> (bool, Value);
}

/// The interface of the operator.
#[derive(Clone)]
struct Admin {
    operations: Arc<dyn AdminBackend>,
    /// Hash of the key, if there is one.
    key: Option<[u8; 32]>,
    /// One profile at a time: they share a signal.
    profiling: Arc<Semaphore>,
}

impl Interface for Admin {
    /// Asks for the key, if there is one. Hashes are compared, so that the time tells nothing about the key.
    fn admit(&self, access: Access, headers: &HeaderMap) -> Result<Caller, ServiceError> {
        const KEY_REQUIRED: ServiceError =
            ServiceError::new(GrpcCode::Unauthenticated, "Show the admin key as a bearer token.");
        if access == Access::Everyone {
            return Ok(Caller::Stranger);
        }
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|value| value.strip_prefix("Bearer ")).map(digest);
        match self.key.is_none() || shown == self.key {
            true => Ok(Caller::Server),
            false => Err(KEY_REQUIRED),
        }
    }

    fn refuse(refused: ErrorAnswer) -> Response {
        let is_key = refused.refusal.code == GrpcCode::Unauthenticated;
        let error = ApiError::from(refused);
        ApiError { code: if is_key { "no_key" } else { error.code }, ..error }.into_response()
    }
}

/// The operator's interface.
///
/// With a key, what is below `/health` and `/debug` asks for it as a bearer token; metrics do not.
pub fn router(operations: Arc<dyn AdminBackend>, key: Option<&str>) -> Router {
    let admin = Admin { operations, key: key.map(digest), profiling: Arc::new(Semaphore::new(1)) };
    routes()
        .described(&description())
        .into_router(admin)
        .fallback(async || ApiError::of_status(StatusCode::NOT_FOUND))
        .layer(axum::middleware::map_response(async |response: Response| routing::complete(response)))
}

fn routes() -> Routes<Admin> {
    use Access::{Everyone, Operator};
    const TEXT: &str = "text/plain";
    let own = |path, id, access, content_type| CustomRoute { method: Method::GET, path, id, access, content_type };
    Routes::default()
        .own(own("/health", "Health", Operator, "application/json"), get(health))
        .own(own("/debug/heap", "Heap", Operator, TEXT), get(heap))
        .own(own("/debug/threads", "Threads", Operator, TEXT), get(threads))
        .own(own("/debug/profile", "Profile", Operator, "image/svg+xml"), get(profile))
        .own(own("/metrics", "Metrics", Everyone, TEXT), get(metrics))
        .own(own("/livez", "Livez", Everyone, TEXT), get(async || "ok\n"))
}

fn description() -> Description {
    Description {
        title: "Aether admin API",
        text: "What only the operator asks: metrics, health in detail, and profiles.",
        refused: json!({
            "type": "object",
            "required": ["code", "error"],
            "properties": {
                "code": { "type": "string", "description": "For programs." },
                "error": { "type": "string", "description": "A sentence for people." },
            },
        }),
    }
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

async fn metrics(State(admin): State<Admin>) -> Response {
    ([(header::CONTENT_TYPE, aether_metrics::CONTENT_TYPE)], admin.operations.metrics()).into_response()
}

async fn health(State(admin): State<Admin>) -> Response {
    let (well, mut detail) = admin.operations.health();
    if well {
        return Json(detail).into_response();
    }
    // A failure has its usual form also where it has more to tell.
    let problem = detail["problem"].as_str().unwrap_or("The server is not well.").to_owned();
    detail["code"] = json!("not_ready");
    detail["error"] = json!(problem);
    (StatusCode::SERVICE_UNAVAILABLE, Json(detail)).into_response()
}

/// What the system says about this process's memory.
async fn heap() -> Result<Response, ApiError> {
    let status = read_own("status").await?;
    let rollup = read_own("smaps_rollup").await.unwrap_or_default();
    let figures = status.lines().filter(|line| line.starts_with("Vm") || line.starts_with("Rss"));
    let more = rollup.lines().skip(1);
    Ok(figures.chain(more).map(|line| format!("{line}\n")).collect::<String>().into_response())
}

/// The threads of this process, what they do, and how much time they took.
async fn threads() -> Result<Response, ApiError> {
    let unknown = |_| ApiError::new(StatusCode::NOT_IMPLEMENTED, "no_procfs", "This system shows no threads.");
    let mut tasks = tokio::fs::read_dir("/proc/self/task").await.map_err(unknown)?;
    let mut text = String::from("thread\tname\tstate\tuser_ticks\tsystem_ticks\n");
    while let Ok(Some(task)) = tasks.next_entry().await {
        let Ok(stat) = tokio::fs::read_to_string(task.path().join("stat")).await else { continue };
        // The name stands in brackets and may hold anything.
        let Some((start, rest)) = stat.rsplit_once(')') else { continue };
        let (id, name) = start.split_once(" (").unwrap_or((start, ""));
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or("");
        text += &format!("{id}\t{name}\t{}\t{}\t{}\n", field(0), field(11), field(12));
    }
    Ok(text.into_response())
}

async fn read_own(name: &str) -> Result<String, ApiError> {
    let unknown = |_| ApiError::new(StatusCode::NOT_IMPLEMENTED, "no_procfs", "This system shows no such figures.");
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

/// Samples where the processor is for some seconds; the answer is a flame graph.
async fn profile(
    State(admin): State<Admin>,
    query: Result<Query<ProfileQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let seconds = query.map_or(0, |Query(query)| query.seconds);
    if !(1..=PROFILE_SECONDS_MAX).contains(&seconds) {
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_seconds", "A profile takes from 1 to 60 seconds."));
    }
    let Ok(_alone) = admin.profiling.try_acquire() else {
        return Err(ApiError::new(StatusCode::CONFLICT, "profiling", "A profile is being taken already."));
    };
    let failed = |error: pprof::Error| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "profile_failed", format!("The profile failed: {error}."))
    };
    let guard = pprof::ProfilerGuardBuilder::default().frequency(PROFILE_HZ).build().map_err(failed)?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let drawn = tokio::task::spawn_blocking(move || {
        let mut picture = Vec::new();
        guard.report().build()?.flamegraph(&mut picture)?;
        Ok(picture)
    });
    let picture = drawn.await.unwrap_or(Ok(Vec::new())).map_err(failed)?;
    if picture.is_empty() {
        return Ok("No samples: the process did nothing meanwhile.\n".into_response());
    }
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], picture).into_response())
}
