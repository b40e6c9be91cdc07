//! Which transport is used: the best that can be had soon.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::connection::Connection;
use crate::connector::Connector;
use crate::error::ConnectionError;
use crate::transport::Transport;

/// How long a transport may take that another one stands in for: two seconds to learn where it is, and three round trips
/// over a slow network.
const OPEN_TIME_MAX_REPLACEABLE: Duration = Duration::from_secs(5);

/// How long a transport may take that nothing stands in for.
const OPEN_TIME_MAX: Duration = Duration::from_secs(8);

/// A network that did not let a transport through is not asked again for this long.
const FAILURE_TIME: Duration = Duration::from_secs(300);

/// What a game wants to be carried by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// The best that works: WebTransport where it can be had soon, else WebSocket.
    #[default]
    Best,
    /// A certain one, or none.
    Only(Transport),
}

/// Opens a transport. A server opens them; so does a test.
pub(crate) trait Open {
    type Opened;

    fn open(&self, transport: Transport) -> impl Future<Output = Result<Self::Opened, ConnectionError>> + Send;
}

impl Open for Connector {
    type Opened = Connection;

    async fn open(&self, transport: Transport) -> Result<Connection, ConnectionError> {
        Connector::open(self, transport).await
    }
}

/// Chooses, and remembers what did not work.
#[derive(Debug)]
pub(crate) struct Choice {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    wish: Wish,
    failed_at: BTreeMap<Transport, Instant>,
}

impl Choice {
    pub(crate) fn new(wish: Wish) -> Self {
        Self { state: Mutex::new(State { wish, failed_at: BTreeMap::new() }) }
    }

    /// Wants something else from now on, whatever failed before.
    pub(crate) fn set_wish(&self, wish: Wish) {
        *self.state() = State { wish, failed_at: BTreeMap::new() };
    }

    /// A transport did not lead into a room, though it seemed to open.
    pub(crate) fn failed(&self, transport: Transport) {
        self.state().failed_at.insert(transport, Instant::now());
    }

    /// The network may be another one by now.
    pub(crate) fn forget_failures(&self) {
        self.state().failed_at.clear();
    }

    /// Opens the best transport that there is.
    pub(crate) async fn open<O: Open>(&self, ways: &O) -> Result<O::Opened, ConnectionError> {
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
    fn candidates(&self) -> Vec<Transport> {
        let state = self.state();
        if let Wish::Only(transport) = state.wish {
            return vec![transport];
        }
        let has_failed =
            |transport: &Transport| state.failed_at.get(transport).is_some_and(|at| at.elapsed() < FAILURE_TIME);
        let [better @ .., last] = Transport::BY_PREFERENCE;
        better.into_iter().filter(|transport| !has_failed(transport)).chain([last]).collect()
    }

    /// Nothing is left half done under the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn within<O: Open>(time: Duration, ways: &O, transport: Transport) -> Result<O::Opened, ConnectionError> {
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
        tried: Mutex<Vec<Transport>>,
    }

    impl Network {
        fn new(webtransport: Fate, websocket: Fate) -> Self {
            Network { webtransport, websocket, tried: Mutex::default() }
        }

        fn tried(&self) -> Vec<Transport> {
            std::mem::take(&mut *self.tried.lock().expect("no test panics in it"))
        }
    }

    impl Open for Network {
        type Opened = Transport;

        async fn open(&self, transport: Transport) -> Result<Transport, ConnectionError> {
            self.tried.lock().expect("no test panics in it").push(transport);
            match if transport == Transport::WebSocket { self.websocket } else { self.webtransport } {
                Fate::Opens => Ok(transport),
                Fate::Hangs => pending().await,
                Fate::Fails => Err(ConnectionError::closed()),
                Fate::NotOffered => Err(ConnectionError::NotOffered(transport)),
            }
        }
    }

    const BOTH: [Transport; 2] = Transport::BY_PREFERENCE;

    #[tokio::test(start_paused = true)]
    async fn the_better_one_is_taken_where_it_works() {
        let network = Network::new(Fate::Opens, Fate::Opens);
        let choice = Choice::new(Wish::Best);
        assert_eq!(choice.open(&network).await.ok(), Some(Transport::WebTransport));
        assert_eq!(network.tried(), [Transport::WebTransport]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_is_not_tried_again_until_it_is_forgotten() {
        for fate in [Fate::Hangs, Fate::Fails] {
            let network = Network::new(fate, Fate::Opens);
            let choice = Choice::new(Wish::Best);
            assert_eq!(choice.open(&network).await.ok(), Some(Transport::WebSocket));
            assert_eq!(network.tried(), BOTH);
            assert_eq!(choice.open(&network).await.ok(), Some(Transport::WebSocket));
            assert_eq!(network.tried(), [Transport::WebSocket]);
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
        let choice = Choice::new(Wish::Best);
        choice.failed(Transport::WebTransport);
        assert_eq!(choice.open(&network).await.ok(), Some(Transport::WebSocket));
        // The last resort is tried though it failed.
        choice.failed(Transport::WebSocket);
        assert_eq!(choice.open(&network).await.ok(), Some(Transport::WebSocket));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_without_it_is_asked_each_time() {
        let network = Network::new(Fate::NotOffered, Fate::Opens);
        let choice = Choice::new(Wish::Best);
        for _ in 0..2 {
            assert_eq!(choice.open(&network).await.ok(), Some(Transport::WebSocket));
            assert_eq!(network.tried(), BOTH);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn while_a_server_is_away_nothing_is_held_against_a_transport() {
        let away = Network::new(Fate::Fails, Fate::Fails);
        let choice = Choice::new(Wish::Best);
        assert!(choice.open(&away).await.is_err());
        let back = Network::new(Fate::Opens, Fate::Opens);
        assert_eq!(choice.open(&back).await.ok(), Some(Transport::WebTransport));
    }

    #[tokio::test(start_paused = true)]
    async fn a_certain_one_has_no_replacement_and_is_always_tried() {
        let network = Network::new(Fate::Fails, Fate::Opens);
        let choice = Choice::new(Wish::Only(Transport::WebTransport));
        for _ in 0..2 {
            assert!(choice.open(&network).await.is_err());
            assert_eq!(network.tried(), [Transport::WebTransport]);
        }
        choice.set_wish(Wish::Only(Transport::WebSocket));
        assert_eq!(choice.open(&network).await.ok(), Some(Transport::WebSocket));
    }

    #[tokio::test(start_paused = true)]
    async fn no_attempt_lasts_for_ever() {
        let network = Network::new(Fate::Hangs, Fate::Hangs);
        let began = Instant::now();
        let result = Choice::new(Wish::Best).open(&network).await;
        assert!(matches!(result, Err(ConnectionError::TimedOut)));
        assert_eq!(began.elapsed().as_secs(), (OPEN_TIME_MAX_REPLACEABLE + OPEN_TIME_MAX).as_secs());
    }
}
