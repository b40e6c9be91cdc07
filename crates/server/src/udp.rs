//! Reliable UDP: its listener, its connect tokens, and the task that serves its connections.

use crate::backend::{LOCAL_GUESTS, NetworkRates};
use crate::clock::unix_seconds;
use crate::config::Config;
use crate::running::StartError;
use aether_api::{ApiError, RequestPeer};
use aether_limits::RateLimit;
use aether_metrics::Registry;
use aether_net::udp::{UdpListener, UdpListenerSettings, UdpSession};
use aether_net::{Gateway, PendingClient};
use aether_rudp::{TokenGrant, TokenKey};
use aether_wire::{UdpGrant, UdpInfo};
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Issues connect tokens. Their key is that of this start of the server, so a token of an earlier start is not accepted.
pub(crate) struct UdpTokens {
    key: Arc<TokenKey>,
    address: SocketAddr,
    token_seconds: u32,
    rates: NetworkRates,
}

/// The listener on its address, before anyone is served.
pub(crate) struct OpenUdp {
    pub listener: UdpListener,
    pub tokens: UdpTokens,
}

/// Opens the listener, if it is enabled.
pub(crate) fn open(config: &Config, http: SocketAddr, registry: &Registry) -> Result<Option<OpenUdp>, StartError> {
    if !config.udp.enabled {
        return Ok(None);
    }
    // The IP address of HTTP is known to be one of this machine.
    let wanted = config.udp.address.unwrap_or_else(|| SocketAddr::new(http.ip(), config.udp_address().port()));
    let failed = |error: String| StartError::Udp(wanted, error);
    let key = Arc::new(TokenKey::random().map_err(|error| failed(error.to_string()))?);
    let idle = Duration::from_secs(config.connections.idle_seconds.into());
    let settings = UdpListenerSettings {
        sockets: u8::try_from(config.udp.sockets).unwrap_or(u8::MAX),
        requests: config.udp_request_rate(),
        ..UdpListenerSettings::new(wanted, idle)
    };
    let listener =
        UdpListener::bind(&settings, Arc::clone(&key), registry).map_err(|error| failed(error.to_string()))?;
    let (address, token_seconds) = (listener.local_address(), config.udp.token_seconds);
    let tokens = UdpTokens { key, address, token_seconds, rates: NetworkRates::default() };
    Ok(Some(OpenUdp { listener, tokens }))
}

/// Serves connections until the notice to close, and then closes all of them.
pub(crate) async fn serve(mut listener: UdpListener, gateway: Arc<Gateway>, close: Arc<Notify>) {
    loop {
        let session = tokio::select! {
            session = listener.accept() => session,
            () = close.notified() => return listener.close().await,
        };
        let Some(UdpSession { transport, peer, account }) = session else { return };
        let address = peer.ip();
        // Above the limit the transport is dropped, which closes the connection.
        let Some(permit) = gateway.permit(address) else { continue };
        // A page cannot send UDP, so whoever sends from loopback is a program of this machine.
        let is_local = address.is_loopback();
        let client = PendingClient { address, is_local, room: None, account: Some(account), permit };
        tokio::spawn(Arc::clone(&gateway).serve(transport, client));
    }
}

impl UdpTokens {
    /// Endpoint for the server information.
    pub fn info(&self) -> UdpInfo {
        UdpInfo { port: self.address.port() }
    }

    /// Takes a share of the rate of the peer's network.
    pub fn is_within_rate(&self, peer: &RequestPeer, now: Duration) -> bool {
        self.rates.take(peer.address, if peer.is_local { LOCAL_GUESTS } else { RateLimit::STANDARD }, now)
    }

    /// Issues a token to an account. `host` is the name that the client used for this server.
    pub fn issue(&self, account: String, host: Option<&str>) -> Result<UdpGrant, ApiError> {
        let expires = unix_seconds() + u64::from(self.token_seconds);
        let token = self.key.issue(&TokenGrant { account, expires }).map_err(|_| {
            let sentence = "The server has no randomness for a token; its operator must look at the machine.";
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", sentence)
        })?;
        let address = match host.filter(|_| self.address.ip().is_unspecified()) {
            // A server that listens on all addresses is reachable at the host that the client used.
            Some(host) => format!("{host}:{}", self.address.port()),
            None => self.address.to_string(),
        };
        Ok(UdpGrant { address, token: URL_SAFE_NO_PAD.encode(token.to_bytes()), expires })
    }
}
