//! Origins of pages that may connect.

use crate::peer::is_local_name;
use crate::routing::ApiError;
use http::{HeaderMap, StatusCode, header};

/// The origins whose pages may connect: this server's own, and those on a list.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins {
    allowed: Vec<String>,
}

impl AllowedOrigins {
    /// Allows the server's own origin and these, such as `https://game.example`; `*` allows all.
    #[must_use]
    pub fn new(allowed: Vec<String>) -> AllowedOrigins {
        AllowedOrigins { allowed: allowed.into_iter().map(|origin| origin.trim_end_matches('/').to_owned()).collect() }
    }

    /// Returns true if a request may be served.
    #[must_use]
    pub fn allow_request(&self, headers: &HeaderMap) -> bool {
        // A header that is not text matches no name.
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or(""));
        self.allow(text(header::ORIGIN), text(header::HOST).unwrap_or(""))
    }

    /// Returns true if a page of an origin may connect to the server, which the page reached as `host`. Programs other
    /// than browsers send no origin and are allowed.
    #[must_use]
    pub fn allow(&self, origin: Option<&str>, host: &str) -> bool {
        let Some(origin) = origin else { return true };
        let own = origin.split_once("://").is_some_and(|(_, name)| is_same(name, host));
        own || self.allowed.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
    }
}

/// Returns the error for a page whose origin is not allowed.
pub(crate) fn foreign_origin() -> ApiError {
    let sentence = "Pages of this origin may not connect. Add the origin to the server's `http.allowed_origins`.";
    ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", sentence)
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
    fn pages_of_listed_origins_may_connect() {
        let origins = AllowedOrigins::new(vec!["https://game.example/".into()]);
        assert!(origins.allow(Some("https://game.example"), HOST));
        assert!(!origins.allow(Some("https://game.example.elsewhere.example"), HOST));
        assert!(AllowedOrigins::new(vec!["*".into()]).allow(Some("null"), HOST));
    }
}
