//! Counts requests.

use aether_metrics::Registry;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use std::time::Instant;

/// Seconds that requests take.
const SECONDS: &[f64] = &[0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Counts requests by route and status.
#[derive(Clone)]
pub(crate) struct Watch {
    registry: Registry,
}

impl Watch {
    pub fn new(registry: &Registry) -> Watch {
        Watch { registry: registry.clone() }
    }
}

/// Counts one request. Routes and statuses are few, whatever a peer asks for.
pub(crate) async fn count(State(watch): State<Watch>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("other", |path| path.as_str()).to_owned();
    let began = Instant::now();
    let response = next.run(request).await;
    let status = response.status();
    let labels = [("route", route.as_str()), ("status", status.as_str())];
    watch.registry.counter("aether_http_requests_total", "HTTP requests.", &labels).inc();
    let time = watch.registry.histogram(
        "aether_http_request_seconds",
        "What HTTP requests took.",
        &[("route", route.as_str())],
        SECONDS,
    );
    time.observe(began.elapsed().as_secs_f64());
    response
}
