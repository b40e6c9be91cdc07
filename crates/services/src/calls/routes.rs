//! HTTP routes that a module adds to the server, under a prefix of their own.

use super::limits::{ROUTE_PATH_BYTES_MAX, ROUTES_MAX};
use crate::caller::CallContext;
use crate::error::{GrpcCode, ServiceError};
use crate::services::Services;
use std::pin::Pin;
use std::sync::Arc;

/// Methods that routes can have.
pub const ROUTE_METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

type RouteFuture = Pin<Box<dyn Future<Output = Result<RouteAnswer, ServiceError>> + Send>>;
type RunRoute = Box<dyn Fn(Arc<Services>, Arc<CallContext>, RouteRequest) -> RouteFuture + Send + Sync>;

/// Request to a route. Headers and query are in the [`CallContext`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteRequest {
    /// Method in upper case.
    pub method: String,
    /// Path below the prefix, with a leading slash.
    pub path: String,
    /// Body.
    pub body: Vec<u8>,
}

/// Answer of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteAnswer {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

/// Routes of one module.
#[derive(Default)]
pub struct HttpRoutes {
    routes: Vec<Arc<HttpRoute>>,
}

/// Route: a method and a path. A path that ends with `/*` also matches everything below it.
pub struct HttpRoute {
    method: &'static str,
    path: String,
    run: RunRoute,
}

/// Result of the search for a route.
pub enum FoundRoute {
    /// The route.
    Route(Arc<HttpRoute>),
    /// The path has routes, but not for this method. These are its methods.
    OtherMethods(Vec<&'static str>),
    /// No route has this path.
    None,
}

impl HttpRoutes {
    /// Adds a route.
    pub fn register<F>(
        &mut self,
        method: &str,
        path: &str,
        run: impl Fn(Arc<Services>, Arc<CallContext>, RouteRequest) -> F + Send + Sync + 'static,
    ) -> Result<(), ServiceError>
    where
        F: Future<Output = Result<RouteAnswer, ServiceError>> + Send + 'static,
    {
        let method = check_route(method, path)?;
        if self.routes.len() >= ROUTES_MAX {
            let message = format!("Route {path} cannot be added: the limit of {ROUTES_MAX} routes is reached.");
            return Err(ServiceError::with(GrpcCode::ResourceExhausted, message));
        }
        if self.routes.iter().any(|route| route.method == method && route.path == path) {
            let message = format!("Route {method} {path} already exists. Choose another path.");
            return Err(ServiceError::with(GrpcCode::AlreadyExists, message));
        }
        let run: RunRoute = Box::new(move |services, context, request| Box::pin(run(services, context, request)));
        self.routes.push(Arc::new(HttpRoute { method, path: path.to_owned(), run }));
        Ok(())
    }

    /// Returns the number of routes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Returns true if there are no routes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// Finds the route of a request: first by its exact path, then by the longest path that ends with `/*`.
    pub(super) fn find(&self, method: &str, path: &str) -> FoundRoute {
        let exact = self.routes.iter().filter(|route| route.path == path);
        let mut below: Vec<_> = self.routes.iter().filter(|route| route.covers(path)).collect();
        below.sort_by_key(|route| std::cmp::Reverse(route.path.len()));
        let matching: Vec<_> = exact.chain(below).collect();
        if let Some(route) = matching.iter().find(|route| route.method == method) {
            return FoundRoute::Route(Arc::clone(route));
        }
        if matching.is_empty() {
            return FoundRoute::None;
        }
        let mut methods: Vec<_> = matching.iter().map(|route| route.method).collect();
        methods.sort_unstable();
        methods.dedup();
        FoundRoute::OtherMethods(methods)
    }
}

impl HttpRoute {
    /// Runs the route.
    pub async fn run(
        &self,
        services: &Arc<Services>,
        context: &Arc<CallContext>,
        request: RouteRequest,
    ) -> Result<RouteAnswer, ServiceError> {
        (self.run)(Arc::clone(services), Arc::clone(context), request).await
    }

    fn covers(&self, path: &str) -> bool {
        let prefix = self.path.strip_suffix("/*");
        prefix.is_some_and(|prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/')))
    }
}

/// Checks method and path of a route, and returns the method in upper case.
pub fn check_route(method: &str, path: &str) -> Result<&'static str, ServiceError> {
    let known = ROUTE_METHODS.into_iter().find(|known| known.eq_ignore_ascii_case(method));
    let Some(method) = known else {
        let known = ROUTE_METHODS.join(", ");
        return Err(ServiceError::invalid(format!("Method {method:.16} cannot have routes. Use one of {known}.")));
    };
    let inner = path.strip_suffix("/*").unwrap_or(path);
    let is_plain = inner.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte));
    if !path.starts_with('/') || path.len() > ROUTE_PATH_BYTES_MAX || !is_plain {
        let message = format!(
            "Path {path:.64} cannot be a route: it must begin with a slash, have at most {ROUTE_PATH_BYTES_MAX} bytes, \
             and contain only letters, digits, and /-_.~, with /* at the end for all paths below."
        );
        return Err(ServiceError::invalid(message));
    }
    Ok(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(all: &[(&str, &str)]) -> HttpRoutes {
        let mut routes = HttpRoutes::default();
        for (method, path) in all {
            let run = async |_, _, _| Ok(RouteAnswer { status: 200, headers: Vec::new(), body: Vec::new() });
            routes.register(method, path, run).expect("the route is valid");
        }
        routes
    }

    #[test]
    fn the_exact_path_comes_first_then_the_longest_prefix() {
        let routes = routes(&[("GET", "/a/*"), ("get", "/a/b/*"), ("GET", "/a/b/c"), ("POST", "/a/b/c")]);
        let path_of = |method: &str, path: &str| match routes.find(method, path) {
            FoundRoute::Route(route) => route.path.clone(),
            FoundRoute::OtherMethods(methods) => methods.join(" "),
            FoundRoute::None => "-".to_owned(),
        };
        assert_eq!(path_of("GET", "/a/b/c"), "/a/b/c");
        assert_eq!(path_of("GET", "/a/b/d"), "/a/b/*");
        assert_eq!(path_of("GET", "/a/x/y"), "/a/*");
        assert_eq!(path_of("PUT", "/a/b/c"), "GET POST");
        assert_eq!(path_of("GET", "/a"), "-");
        assert_eq!(path_of("GET", "/ab"), "-");
    }

    #[test]
    fn invalid_and_duplicate_routes_are_refused() {
        let long = format!("/{}", "a".repeat(ROUTE_PATH_BYTES_MAX));
        for (method, path) in
            [("TRACE", "/a"), ("GET", "a"), ("GET", "/a b"), ("GET", "/a/*/b"), ("GET", long.as_str())]
        {
            assert!(check_route(method, path).is_err(), "{method} {path:.20}");
        }
        let mut routes = routes(&[("GET", "/a")]);
        let run = async |_, _, _| Ok(RouteAnswer { status: 200, headers: Vec::new(), body: Vec::new() });
        assert!(routes.register("get", "/a", run).is_err());
        for index in 1..ROUTES_MAX {
            routes.register("GET", &format!("/{index}"), run).expect("the route fits");
        }
        assert!(routes.register("GET", "/more", run).is_err());
    }
}
