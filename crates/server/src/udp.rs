//! Reliable UDP: its listener, its connect tokens, and the task that serves its connections.

use crate::backend::{LOCAL_GUESTS, NetworkRates};
use crate::clock::unix_seconds;
use crate::config::Config;
use crate::running::StartError;
use crate::shared_memory::DriverUdp;
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

/// Issues connect tokens. Their key is that of this start of the server, or of the driver's start, so a token of an earlier
/// start is not accepted.
pub(crate) struct UdpTokens {
    endpoint: UdpEndpoint,
    token_seconds: u32,
    rates: NetworkRates,
}

/// Owner of the socket.
enum UdpEndpoint {
    /// This process.
    Own(Arc<TokenKey>, SocketAddr),
    /// A driver process, while one is attached.
    Driver(DriverUdp),
}

/// The listener on its address, before anyone is served.
pub(crate) struct OpenUdp {
    /// None if a driver process listens.
    pub listener: Option<UdpListener>,
    pub tokens: UdpTokens,
}

/// Opens the listener, if it is enabled.
pub(crate) fn open(
    config: &Config,
    http: SocketAddr,
    driver: Option<DriverUdp>,
    registry: &Registry,
) -> Result<Option<OpenUdp>, StartError> {
    if !config.udp.enabled {
        return Ok(None);
    }
    let token_seconds = config.udp.token_seconds;
    if let Some(driver) = driver {
        let endpoint = UdpEndpoint::Driver(driver);
        let tokens = UdpTokens { endpoint, token_seconds, rates: NetworkRates::default() };
        return Ok(Some(OpenUdp { listener: None, tokens }));
    }
    // The IP address of HTTP is known to be one of this machine.
    let wanted = config.udp.address.unwrap_or_else(|| SocketAddr::new(http.ip(), config.udp_address().port()));
    let failed = |error: String| StartError::Udp(wanted, error);
    let key = Arc::new(TokenKey::random().map_err(|error| failed(error.to_string()))?);
    let listener = UdpListener::bind(&listener_settings(config, wanted), Arc::clone(&key), registry)
        .map_err(|error| failed(error.to_string()))?;
    let endpoint = UdpEndpoint::Own(key, listener.local_address());
    let tokens = UdpTokens { endpoint, token_seconds, rates: NetworkRates::default() };
    Ok(Some(OpenUdp { listener: Some(listener), tokens }))
}

/// Returns the settings of a listener.
pub(crate) fn listener_settings(config: &Config, address: SocketAddr) -> UdpListenerSettings {
    let idle = Duration::from_secs(config.connections.idle_seconds.into());
    UdpListenerSettings {
        sockets: u8::try_from(config.udp.sockets).unwrap_or(u8::MAX),
        requests: config.udp_request_rate(),
        ..UdpListenerSettings::new(address, idle)
    }
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
    /// Endpoint for the server information; none while no driver listens.
    pub fn info(&self) -> Option<UdpInfo> {
        self.endpoint().map(|(_, address)| UdpInfo { port: address.port() })
    }

    fn endpoint(&self) -> Option<(Arc<TokenKey>, SocketAddr)> {
        match &self.endpoint {
            UdpEndpoint::Own(key, address) => Some((Arc::clone(key), *address)),
            UdpEndpoint::Driver(driver) => driver.endpoint(),
        }
    }

    /// Takes a share of the rate of the peer's network.
    pub fn is_within_rate(&self, peer: &RequestPeer, now: Duration) -> bool {
        self.rates.take(peer.address, if peer.is_local { LOCAL_GUESTS } else { RateLimit::STANDARD }, now)
    }

    /// Issues a token to an account. `host` is the name that the client used for this server.
    pub fn issue(&self, account: String, host: Option<&str>) -> Result<UdpGrant, ApiError> {
        let Some((key, listening)) = self.endpoint() else {
            let sentence = "No driver of reliable UDP is attached now: use WebTransport or WebSocket, or try again.";
            return Err(ApiError::new(StatusCode::NOT_FOUND, "no_udp", sentence));
        };
        let expires = unix_seconds() + u64::from(self.token_seconds);
        let token = key.issue(&TokenGrant { account, expires }).map_err(|_| {
            let sentence = "The server has no randomness for a token; its operator must look at the machine.";
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", sentence)
        })?;
        let address = match host.filter(|_| listening.ip().is_unspecified()) {
            // A server that listens on all addresses is reachable at the host that the client used.
            Some(host) => format!("{host}:{}", listening.port()),
            None => listening.to_string(),
        };
        Ok(UdpGrant { address, token: URL_SAFE_NO_PAD.encode(token.to_bytes()), expires })
    }
}
