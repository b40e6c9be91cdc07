//! Choice of the transport: the best one that opens in time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aether_wire::Token;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::connector::Connector;
use crate::error::ConnectionError;
use crate::transport::TransportKind;

/// Longest time to open a transport that has a fallback: two seconds to find its address, and three round trips over a
/// slow network.
const OPEN_TIME_MAX_WITH_FALLBACK: Duration = Duration::from_secs(5);

/// Longest time to open the last transport.
const OPEN_TIME_MAX: Duration = Duration::from_secs(8);

/// Time for which a failed transport is not tried again.
const FAILURE_MEMORY: Duration = Duration::from_secs(300);

/// Preferred transport of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransportPreference {
    /// Best transport that works: UDP, then WebTransport, if they open in time, otherwise WebSocket.
    #[default]
    Best,
    /// Only this transport.
    Only(TransportKind),
}

/// Opens a transport. Implemented by [`TokenConnector`] and by tests.
pub(crate) trait OpenTransport {
    type Opened;

    fn open(&self, transport: TransportKind) -> impl Future<Output = Result<Self::Opened, ConnectionError>> + Send;
}

/// Connector with the token of the hello, which UDP needs.
pub(crate) struct TokenConnector<'a> {
    pub(crate) connector: &'a Connector,
    pub(crate) token: Option<&'a Token>,
}

impl OpenTransport for TokenConnector<'_> {
    type Opened = Connection;

    async fn open(&self, transport: TransportKind) -> Result<Connection, ConnectionError> {
        self.connector.open_for(transport, self.token).await
    }
}

/// Chooses a transport and remembers failures.
#[derive(Debug)]
pub(crate) struct TransportChooser {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    preference: TransportPreference,
    failed_at: BTreeMap<TransportKind, Instant>,
}

impl TransportChooser {
    pub(crate) fn new(preference: TransportPreference) -> Self {
        Self { state: Mutex::new(State { preference, failed_at: BTreeMap::new() }) }
    }

    /// Changes the preference and clears all failures.
    pub(crate) fn set_preference(&self, preference: TransportPreference) {
        *self.state() = State { preference, failed_at: BTreeMap::new() };
    }

    /// Records that a transport failed, for example that it opened but no welcome followed.
    pub(crate) fn add_failure(&self, transport: TransportKind) {
        self.state().failed_at.insert(transport, Instant::now());
    }

    /// Clears all failures, because the network may have changed.
    pub(crate) fn clear_failures(&self) {
        self.state().failed_at.clear();
    }

    /// Opens the best transport that works.
    pub(crate) async fn open<O: OpenTransport>(&self, opener: &O) -> Result<O::Opened, ConnectionError> {
        let candidates = self.candidates();
        let (last, better) = candidates.split_last().expect("at least one candidate");
        let mut failed = Vec::new();
        for transport in better {
            match open_within(OPEN_TIME_MAX_WITH_FALLBACK, opener, *transport).await {
                Ok(opened) => {
                    self.add_failures(failed);
                    return Ok(opened);
                }
                // The network is not at fault. The server may offer it later, and the next hello may have another token;
                // the server answers this one on the next transport.
                Err(ConnectionError::NotOffered(_) | ConnectionError::NoToken(_) | ConnectionError::TokenRejected) => {}
                Err(_) => failed.push(*transport),
            }
        }
        let opened = open_within(OPEN_TIME_MAX, opener, *last).await?;
        self.add_failures(failed);
        Ok(opened)
    }

    /// Records failures after another transport has opened. If none does, the server is down.
    fn add_failures(&self, failed: Vec<TransportKind>) {
        failed.into_iter().for_each(|transport| self.add_failure(transport));
    }

    /// Transports to try, in order. The last one is tried even if it failed.
    fn candidates(&self) -> Vec<TransportKind> {
        let state = self.state();
        if let TransportPreference::Only(transport) = state.preference {
            return vec![transport];
        }
        let has_failed =
            |transport: &TransportKind| state.failed_at.get(transport).is_some_and(|at| at.elapsed() < FAILURE_MEMORY);
        let [better @ .., last] = TransportKind::BY_PREFERENCE;
        better.into_iter().filter(|transport| !has_failed(transport)).chain([last]).collect()
    }

    /// Locks the state. A poisoned lock is fine, because every update is a single assignment.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn open_within<O: OpenTransport>(
    time: Duration,
    opener: &O,
    transport: TransportKind,
) -> Result<O::Opened, ConnectionError> {
    tokio::time::timeout(time, opener.open(transport)).await.unwrap_or(Err(ConnectionError::TimedOut))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    /// Outcome of an attempt.
    #[derive(Clone, Copy)]
    enum Outcome {
        Opens,
        Hangs,
        Fails,
        NotOffered,
    }

    /// Network with fixed outcomes that records the attempts.
    struct Network {
        udp: Outcome,
        webtransport: Outcome,
        websocket: Outcome,
        tried: Mutex<Vec<TransportKind>>,
    }

    impl Network {
        /// Network of a server without UDP.
        fn new(webtransport: Outcome, websocket: Outcome) -> Self {
            Network::with_udp(Outcome::NotOffered, webtransport, websocket)
        }

        fn with_udp(udp: Outcome, webtransport: Outcome, websocket: Outcome) -> Self {
            Network { udp, webtransport, websocket, tried: Mutex::default() }
        }

        fn tried(&self) -> Vec<TransportKind> {
            std::mem::take(&mut *self.tried.lock().expect("not poisoned"))
        }
    }

    impl OpenTransport for Network {
        type Opened = TransportKind;

        async fn open(&self, transport: TransportKind) -> Result<TransportKind, ConnectionError> {
            self.tried.lock().expect("not poisoned").push(transport);
            let outcome = match transport {
                TransportKind::WebSocket => self.websocket,
                TransportKind::WebTransport => self.webtransport,
                TransportKind::Udp => self.udp,
            };
            match outcome {
                Outcome::Opens => Ok(transport),
                Outcome::Hangs => pending().await,
                Outcome::Fails => Err(ConnectionError::closed()),
                Outcome::NotOffered => Err(ConnectionError::NotOffered(transport)),
            }
        }
    }

    const ALL: [TransportKind; 3] = TransportKind::BY_PREFERENCE;
    const UDP: TransportKind = TransportKind::Udp;

    #[tokio::test(start_paused = true)]
    async fn webtransport_is_used_if_it_works() {
        let network = Network::new(Outcome::Opens, Outcome::Opens);
        let chooser = TransportChooser::new(TransportPreference::Best);
        assert_eq!(chooser.open(&network).await.ok(), Some(TransportKind::WebTransport));
        assert_eq!(network.tried(), [UDP, TransportKind::WebTransport]);
    }

    #[tokio::test(start_paused = true)]
    async fn udp_is_used_first_and_remembered_if_it_fails() {
        let network = Network::with_udp(Outcome::Opens, Outcome::Opens, Outcome::Opens);
        let chooser = TransportChooser::new(TransportPreference::Best);
        assert_eq!(chooser.open(&network).await.ok(), Some(UDP));
        assert_eq!(network.tried(), [UDP]);
        for outcome in [Outcome::Hangs, Outcome::Fails] {
            let network = Network::with_udp(outcome, Outcome::Opens, Outcome::Opens);
            let chooser = TransportChooser::new(TransportPreference::Best);
            for tried in [&[UDP, TransportKind::WebTransport][..], &[TransportKind::WebTransport]] {
                assert_eq!(chooser.open(&network).await.ok(), Some(TransportKind::WebTransport));
                assert_eq!(network.tried(), tried);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_transport_is_not_tried_again_until_it_is_cleared() {
        for outcome in [Outcome::Hangs, Outcome::Fails] {
            let network = Network::new(outcome, Outcome::Opens);
            let chooser = TransportChooser::new(TransportPreference::Best);
            assert_eq!(chooser.open(&network).await.ok(), Some(TransportKind::WebSocket));
            assert_eq!(network.tried(), ALL);
            assert_eq!(chooser.open(&network).await.ok(), Some(TransportKind::WebSocket));
            assert_eq!(network.tried(), [UDP, TransportKind::WebSocket], "UDP is not offered, which is no failure");
            tokio::time::advance(FAILURE_MEMORY).await;
            chooser.open(&network).await.expect("the fallback opens");
            assert_eq!(network.tried(), ALL);
            chooser.clear_failures();
            chooser.open(&network).await.expect("the fallback opens");
            assert_eq!(network.tried(), ALL);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_transport_without_a_welcome_has_failed() {
        let network = Network::new(Outcome::Opens, Outcome::Opens);
        let chooser = TransportChooser::new(TransportPreference::Best);
        chooser.add_failure(TransportKind::WebTransport);
        assert_eq!(chooser.open(&network).await.ok(), Some(TransportKind::WebSocket));
        // The last transport is tried even if it failed.
        chooser.add_failure(TransportKind::WebSocket);
        assert_eq!(chooser.open(&network).await.ok(), Some(TransportKind::WebSocket));
    }

    #[tokio::test(start_paused = true)]
    async fn a_transport_that_is_not_offered_is_tried_each_time() {
        let network = Network::new(Outcome::NotOffered, Outcome::Opens);
        let chooser = TransportChooser::new(TransportPreference::Best);
        for _ in 0..2 {
            assert_eq!(chooser.open(&network).await.ok(), Some(TransportKind::WebSocket));
            assert_eq!(network.tried(), ALL);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn while_the_server_is_down_no_failure_is_recorded() {
        let away = Network::new(Outcome::Fails, Outcome::Fails);
        let chooser = TransportChooser::new(TransportPreference::Best);
        assert!(chooser.open(&away).await.is_err());
        let back = Network::new(Outcome::Opens, Outcome::Opens);
        assert_eq!(chooser.open(&back).await.ok(), Some(TransportKind::WebTransport));
    }

    #[tokio::test(start_paused = true)]
    async fn a_single_transport_has_no_fallback_and_is_always_tried() {
        let network = Network::new(Outcome::Fails, Outcome::Opens);
        let chooser = TransportChooser::new(TransportPreference::Only(TransportKind::WebTransport));
        for _ in 0..2 {
            assert!(chooser.open(&network).await.is_err());
            assert_eq!(network.tried(), [TransportKind::WebTransport]);
        }
        chooser.set_preference(TransportPreference::Only(TransportKind::WebSocket));
        assert_eq!(chooser.open(&network).await.ok(), Some(TransportKind::WebSocket));
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_time_out() {
        let network = Network::with_udp(Outcome::Hangs, Outcome::Hangs, Outcome::Hangs);
        let began = Instant::now();
        let result = TransportChooser::new(TransportPreference::Best).open(&network).await;
        assert!(matches!(result, Err(ConnectionError::TimedOut)));
        assert_eq!(began.elapsed().as_secs(), (OPEN_TIME_MAX_WITH_FALLBACK * 2 + OPEN_TIME_MAX).as_secs());
    }
}
