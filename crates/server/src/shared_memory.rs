//! Driver processes on this machine, attached through shared memory.

#[cfg(target_os = "linux")]
pub(crate) use linux::{DriverUdp, Drivers, open, serve};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{DriverUdp, Drivers, open, serve};

#[cfg(target_os = "linux")]
mod linux {
    use crate::config::Config;
    use crate::running::StartError;
    use aether_metrics::Registry;
    use aether_net::shared_memory::{DriverOffer, SharedMemoryServer, SharedMemorySettings};
    use aether_net::{Gateway, PendingClient};
    use aether_rudp::TokenKey;
    use aether_wire::Encodings;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use tokio::sync::watch;
    use tokio::task::JoinHandle;
    use tracing::info;

    /// Drivers that are attached, and those to come.
    pub(crate) type Drivers = SharedMemoryServer;

    /// Creates the socket for drivers, if a path is configured.
    pub(crate) fn open(
        config: &Config,
        encodings: &Encodings,
        registry: &Registry,
    ) -> Result<Option<SharedMemoryServer>, StartError> {
        let Some(path) = &config.shared_memory.path else { return Ok(None) };
        let settings = SharedMemorySettings {
            path: path.clone(),
            ring_bytes: config.shared_memory.ring_bytes,
            // A driver forgets used tokens when it ends, so each driver has a key of its own. Without randomness the
            // greeting is empty, and the driver says so.
            greeting: Arc::new(|| TokenKey::random().map(|key| key.to_bytes().to_vec()).unwrap_or_default()),
            encodings: encodings.clone(),
        };
        let server = SharedMemoryServer::bind(settings, registry)
            .map_err(|error| StartError::Config(format!("shared_memory.path: {error}.")))?;
        info!(path = %path.display(), "waiting for drivers");
        Ok(Some(server))
    }

    /// Starts the task that serves the clients of drivers.
    pub(crate) fn serve(mut drivers: SharedMemoryServer, gateway: &Arc<Gateway>) -> JoinHandle<()> {
        let gateway = Arc::clone(gateway);
        tokio::spawn(async move {
            while let Some(client) = drivers.accept().await {
                // Above the limit the transport is dropped, which closes the connection.
                let Some(permit) = gateway.permit(client.address) else { continue };
                let transport = client.transport;
                let client = PendingClient {
                    address: client.address,
                    is_local: client.is_local,
                    room: client.room,
                    account: client.account,
                    permit,
                };
                tokio::spawn(Arc::clone(&gateway).serve(transport, client));
            }
        })
    }

    /// Reliable UDP of the newest driver.
    pub(crate) struct DriverUdp(watch::Receiver<Option<DriverOffer>>);

    impl DriverUdp {
        pub fn of(drivers: &SharedMemoryServer) -> DriverUdp {
            DriverUdp(drivers.offer())
        }

        /// Key and address; none while no driver listens.
        pub fn endpoint(&self) -> Option<(Arc<TokenKey>, SocketAddr)> {
            let offer = self.0.borrow().clone()?;
            let key = (*offer.greeting).try_into().ok()?;
            Some((Arc::new(TokenKey::from_bytes(key)), offer.udp))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use crate::config::Config;
    use crate::running::StartError;
    use aether_metrics::Registry;
    use aether_net::Gateway;
    use aether_rudp::TokenKey;
    use aether_wire::Encodings;
    use std::convert::Infallible;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use tokio::task::JoinHandle;

    /// Never exists.
    pub(crate) type Drivers = Infallible;

    /// Refuses the setting.
    pub(crate) fn open(config: &Config, _: &Encodings, _: &Registry) -> Result<Option<Infallible>, StartError> {
        match config.shared_memory.path {
            None => Ok(None),
            Some(_) => Err(StartError::Config("shared_memory.path needs Linux. Remove the setting.".to_owned())),
        }
    }

    pub(crate) fn serve(drivers: Infallible, _: &Arc<Gateway>) -> JoinHandle<()> {
        match drivers {}
    }

    /// Never exists.
    pub(crate) struct DriverUdp(Infallible);

    impl DriverUdp {
        pub fn of(drivers: &Infallible) -> DriverUdp {
            match *drivers {}
        }

        pub fn endpoint(&self) -> Option<(Arc<TokenKey>, SocketAddr)> {
            match self.0 {}
        }
    }
}
