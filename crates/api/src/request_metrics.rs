//! Metrics of HTTP requests.

use aether_metrics::{Counter, Histogram, Registry};
use http::StatusCode;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// Histogram buckets of request times, in seconds.
const SECONDS: &[f64] = &[0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Counts requests by route and status.
#[derive(Clone)]
pub(crate) struct RequestMetrics {
    registry: Registry,
    /// Metrics that were resolved by name. Routes and statuses are few, whatever peers request.
    routes: Arc<RwLock<HashMap<String, RouteMetrics>>>,
}

/// Metrics of one route.
struct RouteMetrics {
    seconds: Histogram,
    by_status: Vec<(StatusCode, Counter)>,
}

impl RequestMetrics {
    pub fn new(registry: &Registry) -> RequestMetrics {
        RequestMetrics { registry: registry.clone(), routes: Arc::default() }
    }

    pub fn count(&self, route: &str, status: StatusCode, took: Duration) {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        let known = routes.get(route).is_some_and(|known| known.count(status, took));
        drop(routes);
        if !known {
            self.count_first(route, status, took);
        }
    }

    /// Resolves the metrics of a route and status, and counts the request.
    fn count_first(&self, route: &str, status: StatusCode, took: Duration) {
        let labels = [("route", route), ("status", status.as_str())];
        let counter = self.registry.counter("aether_http_requests_total", "HTTP requests.", &labels);
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        let known = routes.entry(route.to_owned()).or_insert_with(|| {
            let (name, help) = ("aether_http_request_duration_seconds", "What HTTP requests took.");
            let seconds = self.registry.histogram(name, help, &[("route", route)], SECONDS);
            RouteMetrics { seconds, by_status: Vec::new() }
        });
        // A concurrent request may have added the counter.
        if !known.count(status, took) {
            known.by_status.push((status, counter));
            known.count(status, took);
        }
    }
}

impl RouteMetrics {
    /// Counts a request. Returns false, and counts nothing, if the status has no counter yet.
    fn count(&self, status: StatusCode, took: Duration) -> bool {
        let Some((_, counter)) = self.by_status.iter().find(|(known, _)| *known == status) else { return false };
        counter.inc();
        self.seconds.observe(took.as_secs_f64());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_status_from_the_first() {
        let registry = Registry::new();
        let metrics = RequestMetrics::new(&registry);
        for status in [StatusCode::OK, StatusCode::OK, StatusCode::NOT_FOUND] {
            metrics.count("/livez", status, Duration::from_millis(1));
        }
        metrics.count("other", StatusCode::OK, Duration::ZERO);
        let text = registry.render();
        for line in [
            "aether_http_requests_total{route=\"/livez\",status=\"200\"} 2\n",
            "aether_http_requests_total{route=\"/livez\",status=\"404\"} 1\n",
            "aether_http_requests_total{route=\"other\",status=\"200\"} 1\n",
            "aether_http_request_duration_seconds_count{route=\"/livez\"} 3\n",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
    }
}
