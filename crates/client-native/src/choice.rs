//! Which transport is used: the best that can be had soon.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::connection::Connection;
use crate::connector::Connector;
use crate::error::ConnectionError;
use crate::transport::TransportKind;

/// How long a transport may take that another one stands in for: two seconds to learn where it is, and three round trips
/// over a slow network.
const OPEN_TIME_MAX_REPLACEABLE: Duration = Duration::from_secs(5);

/// How long a transport may take that nothing stands in for.
const OPEN_TIME_MAX: Duration = Duration::from_secs(8);

/// A network that did not let a transport through is not asked again for this long.
const FAILURE_TIME: Duration = Duration::from_secs(300);

/// What a game wants to be carried by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransportPreference {
    /// The best that works: WebTransport where it can be had soon, else WebSocket.
    #[default]
    Best,
    /// A certain one, or none.
    Only(TransportKind),
}

/// Opens a transport. A server opens them; so does a test.
pub(crate) trait OpenTransport {
    type Opened;

    fn open(&self, transport: TransportKind) -> impl Future<Output = Result<Self::Opened, ConnectionError>> + Send;
}

impl OpenTransport for Connector {
    type Opened = Connection;

    async fn open(&self, transport: TransportKind) -> Result<Connection, ConnectionError> {
        Connector::open(self, transport).await
    }
}

/// Chooses, and remembers what did not work.
#[derive(Debug)]
pub(crate) struct TransportChooser {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    wish: TransportPreference,
    failed_at: BTreeMap<TransportKind, Instant>,
}

impl TransportChooser {
    pub(crate) fn new(wish: TransportPreference) -> Self {
        Self { state: Mutex::new(State { wish, failed_at: BTreeMap::new() }) }
    }

    /// Wants something else from now on, whatever failed before.
    pub(crate) fn set_wish(&self, wish: TransportPreference) {
        *self.state() = State { wish, failed_at: BTreeMap::new() };
    }

    /// A transport did not lead into a room, though it seemed to open.
    pub(crate) fn failed(&self, transport: TransportKind) {
        self.state().failed_at.insert(transport, Instant::now());
    }

    /// The network may be another one by now.
    pub(crate) fn forget_failures(&self) {
        self.state().failed_at.clear();
    }

    /// Opens the best transport that there is.
    pub(crate) async fn open<O: OpenTransport>(&self, ways: &O) -> Result<O::Opened, ConnectionError> {
        let candidates = self.candidates();
        let (last, better) = candidates.split_last().expect("there is always one to try");
        let mut failed = Vec::new();
        for transport in better {
            match within(OPEN_TIME_MAX_REPLACEABLE, ways, *transport).await {
                Ok(opened) => return Ok(opened),
                // Nothing is wrong with the network, and the server may have it the next time.
                Err(ConnectionError::NotOffered(_)) => {}
                Err(_) => failed.push(*transport),
            }
        }
        let opened = within(OPEN_TIME_MAX, ways, *last).await?;
        // Where nothing gets through, the server is away, and no transport is to blame.
        failed.into_iter().for_each(|transport| self.failed(transport));
        Ok(opened)
    }

    /// What is to be tried, in this order. What nothing stands in for is tried though it has failed.
    fn candidates(&self) -> Vec<TransportKind> {
        let state = self.state();
        if let TransportPreference::Only(transport) = state.wish {
            return vec![transport];
        }
        let has_failed =
            |transport: &TransportKind| state.failed_at.get(transport).is_some_and(|at| at.elapsed() < FAILURE_TIME);
        let [better @ .., last] = TransportKind::BY_PREFERENCE;
        better.into_iter().filter(|transport| !has_failed(transport)).chain([last]).collect()
    }

    /// Nothing is left half done under the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn within<O: OpenTransport>(
    time: Duration,
    ways: &O,
    transport: TransportKind,
) -> Result<O::Opened, ConnectionError> {
    tokio::time::timeout(time, ways.open(transport)).await.unwrap_or(Err(ConnectionError::TimedOut))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    /// What becomes of an attempt.
    #[derive(Clone, Copy)]
    enum Fate {
        Opens,
        Hangs,
        Fails,
        NotOffered,
    }

    /// A network: what becomes of WebTransport and of WebSocket, and what was tried.
    struct Network {
        webtransport: Fate,
        websocket: Fate,
        tried: Mutex<Vec<TransportKind>>,
    }

    impl Network {
        fn new(webtransport: Fate, websocket: Fate) -> Self {
            Network { webtransport, websocket, tried: Mutex::default() }
        }

        fn tried(&self) -> Vec<TransportKind> {
            std::mem::take(&mut *self.tried.lock().expect("no test panics in it"))
        }
    }

    impl OpenTransport for Network {
        type Opened = TransportKind;

        async fn open(&self, transport: TransportKind) -> Result<TransportKind, ConnectionError> {
            self.tried.lock().expect("no test panics in it").push(transport);
            match if transport == TransportKind::WebSocket { self.websocket } else { self.webtransport } {
                Fate::Opens => Ok(transport),
                Fate::Hangs => pending().await,
                Fate::Fails => Err(ConnectionError::closed()),
                Fate::NotOffered => Err(ConnectionError::NotOffered(transport)),
            }
        }
    }

    const BOTH: [TransportKind; 2] = TransportKind::BY_PREFERENCE;

    #[tokio::test(start_paused = true)]
    async fn the_better_one_is_taken_where_it_works() {
        let network = Network::new(Fate::Opens, Fate::Opens);
        let choice = TransportChooser::new(TransportPreference::Best);
        assert_eq!(choice.open(&network).await.ok(), Some(TransportKind::WebTransport));
        assert_eq!(network.tried(), [TransportKind::WebTransport]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_is_not_tried_again_until_it_is_forgotten() {
        for fate in [Fate::Hangs, Fate::Fails] {
            let network = Network::new(fate, Fate::Opens);
            let choice = TransportChooser::new(TransportPreference::Best);
            assert_eq!(choice.open(&network).await.ok(), Some(TransportKind::WebSocket));
            assert_eq!(network.tried(), BOTH);
            assert_eq!(choice.open(&network).await.ok(), Some(TransportKind::WebSocket));
            assert_eq!(network.tried(), [TransportKind::WebSocket]);
            tokio::time::advance(FAILURE_TIME).await;
            choice.open(&network).await.expect("the other one opens");
            assert_eq!(network.tried(), BOTH);
            choice.forget_failures();
            choice.open(&network).await.expect("the other one opens");
            assert_eq!(network.tried(), BOTH);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_opened_and_led_nowhere_has_failed() {
        let network = Network::new(Fate::Opens, Fate::Opens);
        let choice = TransportChooser::new(TransportPreference::Best);
        choice.failed(TransportKind::WebTransport);
        assert_eq!(choice.open(&network).await.ok(), Some(TransportKind::WebSocket));
        // The last resort is tried though it failed.
        choice.failed(TransportKind::WebSocket);
        assert_eq!(choice.open(&network).await.ok(), Some(TransportKind::WebSocket));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_without_it_is_asked_each_time() {
        let network = Network::new(Fate::NotOffered, Fate::Opens);
        let choice = TransportChooser::new(TransportPreference::Best);
        for _ in 0..2 {
            assert_eq!(choice.open(&network).await.ok(), Some(TransportKind::WebSocket));
            assert_eq!(network.tried(), BOTH);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn while_a_server_is_away_nothing_is_held_against_a_transport() {
        let away = Network::new(Fate::Fails, Fate::Fails);
        let choice = TransportChooser::new(TransportPreference::Best);
        assert!(choice.open(&away).await.is_err());
        let back = Network::new(Fate::Opens, Fate::Opens);
        assert_eq!(choice.open(&back).await.ok(), Some(TransportKind::WebTransport));
    }

    #[tokio::test(start_paused = true)]
    async fn a_certain_one_has_no_replacement_and_is_always_tried() {
        let network = Network::new(Fate::Fails, Fate::Opens);
        let choice = TransportChooser::new(TransportPreference::Only(TransportKind::WebTransport));
        for _ in 0..2 {
            assert!(choice.open(&network).await.is_err());
            assert_eq!(network.tried(), [TransportKind::WebTransport]);
        }
        choice.set_wish(TransportPreference::Only(TransportKind::WebSocket));
        assert_eq!(choice.open(&network).await.ok(), Some(TransportKind::WebSocket));
    }

    #[tokio::test(start_paused = true)]
    async fn no_attempt_lasts_for_ever() {
        let network = Network::new(Fate::Hangs, Fate::Hangs);
        let began = Instant::now();
        let result = TransportChooser::new(TransportPreference::Best).open(&network).await;
        assert!(matches!(result, Err(ConnectionError::TimedOut)));
        assert_eq!(began.elapsed().as_secs(), (OPEN_TIME_MAX_REPLACEABLE + OPEN_TIME_MAX).as_secs());
    }
}
