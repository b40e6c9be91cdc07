//! Origins of pages that may connect.

use crate::peer::is_local_name;
use crate::routing::ApiError;
use aether_metrics::{Counter, Registry};
use http::{HeaderMap, StatusCode, header};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tracing::warn;

/// Longest origin that is shown: a scheme, a host name of 253 bytes and a port.
const ORIGIN_BYTES_MAX: usize = 272;
/// Number of refused origins that are logged, each once. A peer can send any number of them.
const ORIGINS_LOGGED_MAX: usize = 32;

/// The origins whose pages may connect: this server's own, and those on a list.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins {
    allowed: Vec<String>,
    allows_local_pages: bool,
    refused: Arc<RefusedOrigins>,
}

/// Refused origins: their number, and those that were logged.
#[derive(Debug, Default)]
struct RefusedOrigins {
    total: Counter,
    logged: Mutex<BTreeSet<String>>,
}

impl AllowedOrigins {
    /// Allows the server's own origin and these, such as `https://game.example`; `*` allows all.
    #[must_use]
    pub fn new(allowed: Vec<String>) -> AllowedOrigins {
        let allowed = allowed.into_iter().map(|origin| origin.trim_end_matches('/').to_owned()).collect();
        AllowedOrigins { allowed, ..AllowedOrigins::default() }
    }

    /// Allows also pages that any server on this machine serves, such as `http://localhost:5173`, if they reached this
    /// server by a local name. For a server on loopback.
    #[must_use]
    pub fn with_local_pages(self) -> AllowedOrigins {
        AllowedOrigins { allows_local_pages: true, ..self }
    }

    /// Counts refused origins in a registry.
    #[must_use]
    pub fn counted(self, registry: &Registry) -> AllowedOrigins {
        let help = "Requests and sessions of pages that were refused because of their origin.";
        let total = registry.counter("aether_origins_refused_total", help, &[]);
        AllowedOrigins { refused: Arc::new(RefusedOrigins { total, ..RefusedOrigins::default() }), ..self }
    }

    /// Checks the origin of a request. A refused origin is counted, and logged the first time.
    pub fn check_request(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        // A header that is not text matches no name.
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or(""));
        self.check(text(header::ORIGIN), text(header::HOST).unwrap_or(""))
    }

    /// Checks the origin of a page that reached the server as `host`. A refused origin is counted, and logged the first
    /// time.
    pub fn check(&self, origin: Option<&str>, host: &str) -> Result<(), ApiError> {
        match origin {
            Some(origin) if !self.allow(Some(origin), host) => {
                self.refused.record(origin);
                Err(foreign_origin(origin))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if a page of an origin may connect to the server, which the page reached as `host`. Programs other
    /// than browsers send no origin and are allowed.
    #[must_use]
    pub fn allow(&self, origin: Option<&str>, host: &str) -> bool {
        let Some(origin) = origin else { return true };
        let name = origin.split_once("://").map_or("", |(_, name)| name);
        let is_local_page = self.allows_local_pages && is_local_name(name) && is_local_name(host);
        let is_listed = || self.allowed.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin));
        is_same(name, host) || is_local_page || is_listed()
    }
}

impl RefusedOrigins {
    fn record(&self, origin: &str) {
        self.total.inc();
        if !is_presentable(origin) {
            return;
        }
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() < ORIGINS_LOGGED_MAX && logged.insert(origin.to_owned()) {
            warn!(origin, "page refused: its origin is not in http.allowed_origins");
        }
    }
}

/// Returns the error for a page whose origin is not allowed.
fn foreign_origin(origin: &str) -> ApiError {
    let origin = if is_presentable(origin) { format!("the origin {origin}") } else { "this origin".to_owned() };
    let sentence =
        format!("Pages of {origin} may not connect. If the page is yours, add its origin to `http.allowed_origins`.");
    ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", sentence)
}

/// Returns true for text that browsers send as an origin. Only this much of a peer's bytes is logged or answered.
fn is_presentable(origin: &str) -> bool {
    let is_plain = |text: &str, others: &[u8]| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || others.contains(&byte))
    };
    let has_form = |(scheme, name)| is_plain(scheme, b"+-.") && is_plain(name, b"-._:[]");
    origin == "null" || origin.len() <= ORIGIN_BYTES_MAX && origin.split_once("://").is_some_and(has_form)
}

/// Returns true if two hosts are the same server. Loopback has several names.
fn is_same(name: &str, host: &str) -> bool {
    let port = |host: &str| host.rsplit_once(':').map(|(_, port)| port.to_owned());
    let same_machine = is_local_name(name) && is_local_name(host) && port(name) == port(host);
    !name.is_empty() && (same_machine || name.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "play.example:7350";

    #[test]
    fn only_pages_of_the_server_may_connect_by_default() {
        let origins = AllowedOrigins::default();
        assert!(origins.allow(Some("http://play.example:7350"), HOST));
        assert!(origins.allow(Some("https://PLAY.example:7350"), HOST));
        for foreign in ["http://elsewhere.example", "http://play.example", "http://play.example:7350.evil", "null", ""]
        {
            assert!(!origins.allow(Some(foreign), HOST), "{foreign}");
        }
        assert!(!origins.allow(Some("http://"), ""));
        assert!(origins.allow(None, HOST), "programs other than browsers send no origin");
    }

    #[test]
    fn all_names_of_loopback_are_the_same_host() {
        let origins = AllowedOrigins::default();
        assert!(origins.allow(Some("http://localhost:7350"), "127.0.0.1:7350"));
        assert!(origins.allow(Some("http://[::1]:7350"), "localhost:7350"));
        assert!(!origins.allow(Some("http://localhost:8080"), "127.0.0.1:7350"), "the page of another program");
        assert!(!origins.allow(Some("http://localhost.example:7350"), "127.0.0.1:7350"));
    }

    #[test]
    fn pages_of_this_machine_may_connect_to_a_server_on_loopback() {
        let origins = AllowedOrigins::default().with_local_pages();
        for page in ["http://localhost:5173", "https://localhost:8443", "http://127.0.0.1", "http://[::1]:3000"] {
            for host in ["127.0.0.1:7350", "localhost:7350", "[::1]:7350"] {
                assert!(origins.allow(Some(page), host), "{page} at {host}");
            }
            assert!(!origins.allow(Some(page), "rebound.example:7350"), "{page} at a name of another machine");
        }
        for page in ["http://elsewhere.example", "http://localhost.example:5173", "http://192.168.0.4:5173", "null", ""]
        {
            assert!(!origins.allow(Some(page), "127.0.0.1:7350"), "{page}");
        }
    }

    #[test]
    fn the_error_names_the_origin_only_if_it_looks_like_one() {
        let sentence = |origin: &str| foreign_origin(origin).sentence;
        assert_eq!(
            sentence("https://game.example:8443"),
            "Pages of the origin https://game.example:8443 may not connect. If the page is yours, add its origin to \
             `http.allowed_origins`."
        );
        assert!(sentence("null").starts_with("Pages of the origin null may not connect."));
        let long = format!("http://{}", "x".repeat(ORIGIN_BYTES_MAX));
        for odd in ["", "http://", "http://a b", "http://a/path", "://a", "http://a\u{1b}[31m", &long] {
            assert!(sentence(odd).starts_with("Pages of this origin may not connect."), "{odd:?}");
        }
    }

    #[test]
    fn refused_origins_are_counted_and_a_bounded_number_is_remembered() {
        let registry = Registry::new();
        let origins = AllowedOrigins::default().counted(&registry);
        assert!(origins.check(None, HOST).is_ok() && origins.check(Some("http://play.example:7350"), HOST).is_ok());
        for number in 0..100 {
            for _ in 0..2 {
                let refused = origins.check(Some(&format!("http://{number}.example")), HOST).unwrap_err();
                assert_eq!((refused.status, refused.code), (StatusCode::FORBIDDEN, "foreign_origin"));
            }
        }
        assert_eq!(origins.refused.logged.lock().unwrap().len(), ORIGINS_LOGGED_MAX);
        assert!(registry.render().contains("\naether_origins_refused_total 200\n"), "{}", registry.render());
    }

    #[test]
    fn pages_of_listed_origins_may_connect() {
        let origins = AllowedOrigins::new(vec!["https://game.example/".into()]);
        assert!(origins.allow(Some("https://game.example"), HOST));
        assert!(!origins.allow(Some("https://game.example.elsewhere.example"), HOST));
        assert!(AllowedOrigins::new(vec!["*".into()]).allow(Some("null"), HOST));
    }
}
