//! Where a server is, and whether it may be loaded.

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::str::FromStr;

/// Longer than any host name (253 bytes) with its port.
const ADDRESS_BYTES_MAX: usize = 300;

/// The address of a server's HTTP listener, such as `http://127.0.0.1:7350`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Host and port, as they stand in a `Host` header.
    authority: String,
}

impl Address {
    /// Host and port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The socket addresses behind the name.
    pub async fn resolve(&self) -> Result<Vec<SocketAddr>, AddressError> {
        let found = tokio::net::lookup_host(&self.authority).await;
        let addresses: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
        if addresses.is_empty() { Err(AddressError::Unknown(self.authority.clone())) } else { Ok(addresses) }
    }

    /// Fails unless every address behind the name is on this machine. A load test against
    /// somebody else's server is an attack.
    pub async fn require_loopback(&self) -> Result<(), AddressError> {
        let local = self.resolve().await?.iter().all(|address| address.ip().to_canonical().is_loopback());
        if local { Ok(()) } else { Err(AddressError::Remote(self.authority.clone())) }
    }

    /// The host and port of a URL with this scheme.
    pub(crate) fn of_url(url: &str, scheme: &str) -> Result<Self, AddressError> {
        let malformed = || AddressError::Malformed(url.chars().take(ADDRESS_BYTES_MAX).collect());
        let rest = url.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://")).ok_or_else(malformed)?;
        let authority = rest.split('/').next().unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
        let (host, port) = authority.rsplit_once(':').ok_or_else(malformed)?;
        let well_formed = !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0);
        if url.len() > ADDRESS_BYTES_MAX || !well_formed || !authority.bytes().all(plain) {
            return Err(malformed());
        }
        Ok(Self { authority: authority.to_owned() })
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let path = text.strip_prefix("http://").and_then(|rest| rest.split_once('/'));
        if path.is_some_and(|(_, path)| !path.is_empty()) {
            return Err(AddressError::Malformed(text.to_owned()));
        }
        Self::of_url(text, "http")
    }
}

impl Display for Address {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "http://{}", self.authority)
    }
}

/// Why an address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// It is not of the form `http://host:port`.
    Malformed(String),
    /// The name leads nowhere.
    Unknown(String),
    /// It is not on this machine.
    Remote(String),
}

impl Display for AddressError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(address) => write!(formatter, "`{address}` is not of the form http://host:port"),
            Self::Unknown(address) => write!(formatter, "nothing is known of `{address}`"),
            Self::Remote(address) => {
                write!(formatter, "`{address}` is not on this machine; --allow-remote, if it is yours to load")
            }
        }
    }
}

impl std::error::Error for AddressError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for good in ["http://127.0.0.1:7350", "http://localhost:1/", "http://[::1]:7350"] {
            assert!(good.parse::<Address>().is_ok(), "{good}");
        }
        for bad in [
            "127.0.0.1:7350",
            "https://127.0.0.1:7350",
            "http://127.0.0.1",
            "http://:7350",
            "http://a:0",
            "http://a:70000",
            "http://a:1/path",
            "http://a b:1",
            "http://a\r\nX:1",
        ] {
            assert!(matches!(bad.parse::<Address>(), Err(AddressError::Malformed(_))), "{bad}");
        }
        let long = format!("http://{}:1", "a".repeat(ADDRESS_BYTES_MAX));
        assert!(long.parse::<Address>().is_err());
    }

    #[tokio::test]
    async fn only_this_machine_is_loopback() {
        for (text, local) in [("http://127.0.0.1:1", true), ("http://[::1]:1", true), ("http://192.0.2.1:1", false)] {
            let address: Address = text.parse().expect("it is well-formed");
            assert_eq!(address.require_loopback().await.is_ok(), local, "{text}");
        }
    }
}
