//! Address of PostgreSQL and encryption of the connection.
//!
//! `sslmode` in the connection string is `disable`, `prefer` (TLS if the server supports it), or `require` or `verify-full`
//! (only TLS). With TLS the server's certificate and its name are always verified, against the public authorities or, with
//! `sslrootcert`, those of a file: encryption without verification does not protect from an attacker on the network. The
//! default is `disable` on this machine and `prefer` elsewhere.

use super::connection::CONNECT_TIME_MAX;
use super::tls::Tls;
use crate::error::StoreError;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Error, NoTls};

/// Time limit for the acknowledgement of sent data by the other machine (`TCP_USER_TIMEOUT`).
const UNACKNOWLEDGED_TIME_MAX: Duration = Duration::from_secs(10);
/// Idle time after which TCP probes a connection.
const KEEP_ALIVE_IDLE: Duration = Duration::from_secs(30);

/// Address of PostgreSQL, with its credentials and TLS settings.
#[derive(Debug)]
pub(crate) struct Address {
    config: Config,
    tls: Option<Tls>,
}

impl Address {
    /// Parses a connection string.
    pub fn parse(text: &str) -> Result<Address, StoreError> {
        let (rest, tls) = split(text);
        let mut config: Config = rest.parse().map_err(|error| {
            StoreError::Refused(format!("database.url is not a PostgreSQL connection string: {error}"))
        })?;
        config
            .connect_timeout(CONNECT_TIME_MAX)
            .tcp_user_timeout(UNACKNOWLEDGED_TIME_MAX)
            .keepalives_idle(KEEP_ALIVE_IDLE);
        if config.get_application_name().is_none() {
            config.application_name("aether");
        }
        let mode = match tls.mode.as_deref() {
            None if config.get_hosts().iter().all(is_local) => SslMode::Disable,
            None | Some("prefer") => SslMode::Prefer,
            Some("disable") => SslMode::Disable,
            Some("require" | "verify-full") => SslMode::Require,
            Some(other) => {
                return Err(StoreError::Refused(format!(
                    "sslmode `{other}` in database.url is not supported. Use disable, prefer, require or verify-full."
                )));
            }
        };
        config.ssl_mode(mode);
        let tls = if mode == SslMode::Disable { None } else { Some(Tls::new(tls.root_file.as_deref())?) };
        Ok(Address { config, tls })
    }

    /// Connects. A task on the current runtime drives the connection.
    pub async fn connect(&self) -> Result<Client, Error> {
        // A task ends with its connection. The client reports the error.
        match &self.tls {
            Some(tls) => {
                let (client, connection) = self.config.connect(tls.clone()).await?;
                tokio::spawn(async move { drop(connection.await) });
                Ok(client)
            }
            None => {
                let (client, connection) = self.config.connect(NoTls).await?;
                tokio::spawn(async move { drop(connection.await) });
                Ok(client)
            }
        }
    }
}

/// Shows hosts and database, without user name and password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.config.get_ports();
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
            let comma = if index == 0 { "" } else { ", " };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{comma}{}:{port}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

/// TLS parameters of a connection string, which tokio-postgres does not support.
#[derive(Default)]
struct TlsParameters {
    mode: Option<String>,
    root_file: Option<String>,
}

/// Removes the TLS parameters from a connection string. It has two forms: `postgres://…?name=value&…`, and `name=value`
/// pairs separated by spaces.
fn split(text: &str) -> (String, TlsParameters) {
    let mut tls = TlsParameters::default();
    if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
        let rest: Vec<&str> = text
            .split_whitespace()
            .filter(|pair| !tls.take(pair, |value| value.trim_matches('\'').to_owned()))
            .collect();
        return (rest.join(" "), tls);
    }
    let Some((start, query)) = text.split_once('?') else { return (text.to_owned(), tls) };
    let rest: Vec<&str> = query.split('&').filter(|pair| !tls.take(pair, percent_decoded)).collect();
    let mark = if rest.is_empty() { "" } else { "?" };
    (format!("{start}{mark}{}", rest.join("&")), tls)
}

impl TlsParameters {
    /// Takes a pair if it is a TLS parameter. Returns true if it was.
    fn take(&mut self, pair: &str, read: impl FnOnce(&str) -> String) -> bool {
        match pair.split_once('=') {
            Some(("sslmode", value)) => self.mode = Some(read(value)),
            Some(("sslrootcert", value)) => self.root_file = Some(read(value)),
            _ => return false,
        }
        true
    }
}

/// Decodes percent-encoding. Malformed sequences stay as they are.
fn percent_decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        let digits = others.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[2..];
            }
            None => {
                bytes.push(first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns true if the host is this machine, where no network is involved.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(text: &str) -> SslMode {
        Address::parse(text).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn the_default_is_no_tls_on_this_machine_and_tls_elsewhere() {
        assert_eq!(mode("postgres://someone@127.0.0.1/game"), SslMode::Disable);
        assert_eq!(mode("host=localhost user=someone"), SslMode::Disable);
        assert_eq!(mode("postgres://someone@database.example/game"), SslMode::Prefer);
        assert_eq!(mode("postgres://someone@database.example/game?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://someone@127.0.0.1/game?sslmode=require"), SslMode::Require);
        assert_eq!(mode("host=database.example sslmode=verify-full user=someone"), SslMode::Require);
    }

    #[test]
    fn an_unknown_mode_and_a_missing_file_are_errors() {
        let refused = |text: &str| Address::parse(text).unwrap_err().to_string();
        assert!(refused("postgres://a@b/c?sslmode=verify-ca").contains("verify-full"));
        assert!(refused("postgres://a@b/c?sslrootcert=%2Fno%2Fsuch.pem").contains("/no/such.pem"));
        assert!(refused("postgres://a@b:port/c").contains("database.url"));
    }

    #[test]
    fn other_parameters_of_the_connection_string_stay() {
        let address = Address::parse("postgres://a:b@c:6000/d?sslmode=disable&application_name=e").unwrap();
        assert_eq!(address.config.get_application_name(), Some("e"));
        assert_eq!(address.to_string(), "c:6000/d");
    }
}
