//! What only the operator may ask: metrics, health in detail, and profiles. It has a listener of its own.

use crate::error::ApiError;
use axum::extract::{Query, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Seconds that a profile may take.
const PROFILE_SECONDS_MAX: u64 = 60;
/// Samples a second; a prime, so that it does not beat with what runs in time.
const PROFILE_HZ: i32 = 997;

/// What the operator's interface asks of the server.
pub trait Operations: Send + Sync + 'static {
    /// All metrics as Prometheus reads them.
    fn metrics(&self) -> String;

    /// The state of every part, and whether all is well.
    fn health(&self) -> (bool, Value);
}

#[derive(Clone)]
struct Admin {
    operations: Arc<dyn Operations>,
    /// One profile at a time: they share a signal.
    profiling: Arc<Semaphore>,
}

/// The operator's interface.
///
/// With a key, what is below `/health` and `/debug` asks for it as a bearer token; metrics do not.
pub fn router(operations: Arc<dyn Operations>, key: Option<&str>) -> Router {
    let key = key.map(digest);
    Router::new()
        .route("/health", get(health))
        .route("/debug/heap", get(heap))
        .route("/debug/threads", get(threads))
        .route("/debug/profile", get(profile))
        .route_layer(axum::middleware::from_fn(move |request, next| guard(key, request, next)))
        .route("/metrics", get(metrics))
        .route("/livez", get(async || "ok\n"))
        .fallback(async || ApiError::new(StatusCode::NOT_FOUND, "not_found", "There is nothing at this address."))
        .with_state(Admin { operations, profiling: Arc::new(Semaphore::new(1)) })
}

/// Asks for the key, if there is one. Hashes are compared, so that the time tells nothing about the key.
async fn guard(key: Option<[u8; 32]>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|value| value.strip_prefix("Bearer ")).map(digest);
    if key.is_some() && shown != key {
        let sentence = "Show the admin key as a bearer token.";
        return ApiError::new(StatusCode::UNAUTHORIZED, "no_key", sentence).into_response();
    }
    next.run(request).await
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

async fn metrics(State(admin): State<Admin>) -> Response {
    ([(header::CONTENT_TYPE, aether_metrics::CONTENT_TYPE)], admin.operations.metrics()).into_response()
}

async fn health(State(admin): State<Admin>) -> Response {
    let (well, detail) = admin.operations.health();
    let status = if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(detail)).into_response()
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
async fn profile(State(admin): State<Admin>, Query(query): Query<ProfileQuery>) -> Result<Response, ApiError> {
    if !(1..=PROFILE_SECONDS_MAX).contains(&query.seconds) {
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_seconds", "A profile takes from 1 to 60 seconds."));
    }
    let Ok(_alone) = admin.profiling.try_acquire() else {
        return Err(ApiError::new(StatusCode::CONFLICT, "profiling", "A profile is being taken already."));
    };
    let failed = |error: pprof::Error| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "profile_failed", format!("The profile failed: {error}."))
    };
    let guard = pprof::ProfilerGuardBuilder::default().frequency(PROFILE_HZ).build().map_err(failed)?;
    tokio::time::sleep(Duration::from_secs(query.seconds)).await;
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
