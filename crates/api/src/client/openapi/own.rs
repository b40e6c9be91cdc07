//! What is no operation, described by hand.

use http::Method;

/// A route of our own. It asks nothing of its caller, and answers an object.
pub(super) struct Own {
    pub method: Method,
    pub path: &'static str,
    pub id: &'static str,
}

/// All of them.
pub(super) fn operations() -> [Own; 1] {
    [Own { method: Method::GET, path: "/healthcheck", id: "Healthcheck" }]
}
