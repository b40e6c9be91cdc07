//! Address of a server.

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::str::FromStr;

/// Longer than any host name (253 bytes) with its scheme and port.
const ADDRESS_BYTES_MAX: usize = 300;

/// Default ports.
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// Address of a server's HTTP listener, such as `https://play.example.com` or `http://127.0.0.1:7350`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    is_secure: bool,
    /// Host and port, as in a `Host` header.
    authority: String,
    /// Length of the host within the authority.
    host_bytes: usize,
}

impl ServerAddress {
    /// Host and port.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Host. An IPv6 address has no brackets, as in certificates.
    #[must_use]
    pub fn host(&self) -> &str {
        self.authority[..self.host_bytes].trim_start_matches('[').trim_end_matches(']')
    }

    /// Returns true if connections use TLS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Resolves the socket addresses of the host.
    pub async fn resolve(&self) -> Result<Vec<SocketAddr>, ServerAddressError> {
        let found = tokio::net::lookup_host(&self.authority).await;
        let addresses: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
        if addresses.is_empty() { Err(ServerAddressError::Unknown(self.authority.clone())) } else { Ok(addresses) }
    }

    /// Parses the server of a URL and ignores its path.
    pub(crate) fn of_url(url: &str) -> Result<Self, ServerAddressError> {
        let malformed = || ServerAddressError::Malformed(url.chars().take(ADDRESS_BYTES_MAX).collect());
        let (scheme, rest) = url.split_once("://").ok_or_else(malformed)?;
        let (is_secure, default_port) = match scheme {
            "http" => (false, HTTP_PORT),
            "https" => (true, HTTPS_PORT),
            _ => return Err(malformed()),
        };
        let authority = rest.split('/').next().unwrap_or_default();
        let host_bytes = host_bytes(authority).ok_or_else(malformed)?;
        let (host, port) = authority.split_at(host_bytes);
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(malformed)?,
            None => default_port,
        };
        if url.len() > ADDRESS_BYTES_MAX {
            return Err(malformed());
        }
        Ok(Self { is_secure, authority: format!("{host}:{port}"), host_bytes })
    }
}

impl FromStr for ServerAddress {
    type Err = ServerAddressError;

    fn from_str(text: &str) -> Result<Self, ServerAddressError> {
        let path = text.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
        if path.is_some_and(|(_, path)| !path.is_empty()) {
            return Err(ServerAddressError::Malformed(text.chars().take(ADDRESS_BYTES_MAX).collect()));
        }
        Self::of_url(text)
    }
}

impl Display for ServerAddress {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(formatter, "{scheme}://{}", self.authority)
    }
}

/// Reason why an address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddressError {
    /// Not of the form `http://host:port` or `https://host:port`.
    Malformed(String),
    /// The host name cannot be resolved.
    Unknown(String),
    /// The host resolves to an address that the connector's filter rejects.
    Forbidden(String),
}

impl Display for ServerAddressError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(address) => {
                write!(formatter, "`{address}` is not of the form http://host:port or https://host:port")
            }
            Self::Unknown(address) => write!(formatter, "`{address}` cannot be resolved; check the host name"),
            Self::Forbidden(address) => write!(formatter, "`{address}` resolves to an address that is not allowed"),
        }
    }
}

impl std::error::Error for ServerAddressError {}

/// Length of the host in an authority. `None` if it is malformed. The accepted characters are safe in a request.
fn host_bytes(authority: &str) -> Option<usize> {
    if let Some(rest) = authority.strip_prefix('[') {
        let end = rest.find(']')?;
        let is_plain = rest[..end].bytes().all(|byte| byte.is_ascii_hexdigit() || b".:".contains(&byte));
        let is_whole = matches!(rest.as_bytes().get(end + 1), None | Some(b':'));
        return (is_plain && is_whole && end > 0).then_some(end + 2);
    }
    let host = authority.split(':').next().unwrap_or_default();
    let is_plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    (is_plain && !host.is_empty()).then_some(host.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_scheme_a_host_and_a_port() {
        for (text, whole, host) in [
            ("http://127.0.0.1:7350", "http://127.0.0.1:7350", "127.0.0.1"),
            ("http://localhost:1/", "http://localhost:1", "localhost"),
            ("http://[::1]:7350", "http://[::1]:7350", "::1"),
            ("https://[::1]", "https://[::1]:443", "::1"),
            ("https://play.example.com", "https://play.example.com:443", "play.example.com"),
            ("http://a/", "http://a:80", "a"),
        ] {
            let address: ServerAddress = text.parse().expect("a valid address");
            assert_eq!((address.to_string().as_str(), address.host()), (whole, host), "{text}");
            assert_eq!(address.is_secure(), text.starts_with("https"), "{text}");
        }
    }

    #[test]
    fn malformed_addresses_are_rejected() {
        for bad in [
            "127.0.0.1:7350",
            "ftp://127.0.0.1:7350",
            "http://:7350",
            "http://a:",
            "http://a:0",
            "http://a:70000",
            "http://a:1:2",
            "http://a:1/path",
            "http://::1:1",
            "http://[::1",
            "http://[]:1",
            "http://[::1]x:1",
            "http://a b:1",
            "http://a\r\nX:1",
            "http://me:secret@a:1",
        ] {
            assert!(matches!(bad.parse::<ServerAddress>(), Err(ServerAddressError::Malformed(_))), "{bad}");
        }
        let long = format!("http://{}:1", "a".repeat(ADDRESS_BYTES_MAX));
        assert!(long.parse::<ServerAddress>().is_err());
    }
}
