//! Where PostgreSQL is, and whether the way there is encrypted.
//!
//! `sslmode` in the connection string says what is wanted: `disable`; `prefer`, encrypted if the server can; `require` or
//! `verify-full`, encrypted or not at all. Whenever it is encrypted the server's certificate is verified, its name
//! included, against the public authorities or, with `sslrootcert`, those of a file: what is encrypted for anyone who
//! answers is no secret. Without `sslmode`, it is `disable` on this machine and `prefer` elsewhere.

use super::session::CONNECT_TIME_MAX;
use super::tls::Tls;
use crate::error::StoreError;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Error, NoTls};

/// How long what was sent may stay without an answer of the other machine's system.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How often a quiet connection is tried.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Where PostgreSQL is, and how to get there.
#[derive(Debug)]
pub(crate) struct Address {
    config: Config,
    tls: Option<Tls>,
}

impl Address {
    /// Reads a connection string.
    pub fn parse(text: &str) -> Result<Address, StoreError> {
        let (rest, own) = split(text);
        let mut config: Config = rest.parse().map_err(|error| {
            StoreError::Refused(format!("database.url is no connection string of PostgreSQL: {error}"))
        })?;
        config.connect_timeout(CONNECT_TIME_MAX).tcp_user_timeout(SILENCE_MAX).keepalives_idle(KEEP_ALIVE);
        if config.get_application_name().is_none() {
            config.application_name("aether");
        }
        let mode = match own.mode.as_deref() {
            None if config.get_hosts().iter().all(is_here) => SslMode::Disable,
            None | Some("prefer") => SslMode::Prefer,
            Some("disable") => SslMode::Disable,
            Some("require" | "verify-full") => SslMode::Require,
            Some(other) => {
                return Err(StoreError::Refused(format!(
                    "sslmode in database.url is `{other}`. Set it to disable, prefer, require or verify-full."
                )));
            }
        };
        config.ssl_mode(mode);
        let tls = if mode == SslMode::Disable { None } else { Some(Tls::new(own.root_file.as_deref())?) };
        Ok(Address { config, tls })
    }

    /// Connects. The connection's own part goes on in a task of the runtime that this is called in.
    pub async fn connect(&self) -> Result<Client, Error> {
        // The tasks end with their connection, and whoever uses the client is told why.
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

/// Shows the machines and the database: neither a name nor a password.
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

/// What we read of a connection string ourselves.
#[derive(Default)]
struct Own {
    mode: Option<String>,
    root_file: Option<String>,
}

/// Takes out of a connection string what is ours to read. There are two forms of it: `postgres://…?name=value&…`, and
/// `name=value` with spaces between.
fn split(text: &str) -> (String, Own) {
    let mut own = Own::default();
    if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
        let rest: Vec<&str> = text
            .split_whitespace()
            .filter(|pair| !own.take(pair, |value| value.trim_matches('\'').to_owned()))
            .collect();
        return (rest.join(" "), own);
    }
    let Some((start, query)) = text.split_once('?') else { return (text.to_owned(), own) };
    let rest: Vec<&str> = query.split('&').filter(|pair| !own.take(pair, decoded)).collect();
    let mark = if rest.is_empty() { "" } else { "?" };
    (format!("{start}{mark}{}", rest.join("&")), own)
}

impl Own {
    /// Whether this pair is ours.
    fn take(&mut self, pair: &str, read: impl FnOnce(&str) -> String) -> bool {
        match pair.split_once('=') {
            Some(("sslmode", value)) => self.mode = Some(read(value)),
            Some(("sslrootcert", value)) => self.root_file = Some(read(value)),
            _ => return false,
        }
        true
    }
}

/// Undoes the `%2F` of addresses. What is not well-formed stays as it is.
fn decoded(value: &str) -> String {
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

/// Whether it is on this machine, where nobody listens in between.
fn is_here(host: &Host) -> bool {
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
    fn the_way_is_plain_on_this_machine_and_encrypted_elsewhere_unless_told_otherwise() {
        assert_eq!(mode("postgres://someone@127.0.0.1/game"), SslMode::Disable);
        assert_eq!(mode("host=localhost user=someone"), SslMode::Disable);
        assert_eq!(mode("postgres://someone@database.example/game"), SslMode::Prefer);
        assert_eq!(mode("postgres://someone@database.example/game?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://someone@127.0.0.1/game?sslmode=require"), SslMode::Require);
        assert_eq!(mode("host=database.example sslmode=verify-full user=someone"), SslMode::Require);
    }

    #[test]
    fn an_unknown_mode_and_a_missing_file_are_refused_with_a_sentence() {
        let refused = |text: &str| Address::parse(text).unwrap_err().to_string();
        assert!(refused("postgres://a@b/c?sslmode=verify-ca").contains("verify-full"));
        assert!(refused("postgres://a@b/c?sslrootcert=%2Fno%2Fsuch.pem").contains("/no/such.pem"));
        assert!(refused("postgres://a@b:port/c").contains("database.url"));
    }

    #[test]
    fn what_else_is_in_the_connection_string_stays() {
        let address = Address::parse("postgres://a:b@c:6000/d?sslmode=disable&application_name=e").unwrap();
        assert_eq!(address.config.get_application_name(), Some("e"));
        assert_eq!(address.to_string(), "c:6000/d");
    }
}
