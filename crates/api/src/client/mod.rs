//! The client API: what game clients ask over HTTP, by the protocol that existing client SDKs speak.
//!
//! An operation is declared in [`aether_messages::operation`], or where the protocol has nothing of it, as in
//! [`aether_services::profile::operation`]; here it is given what it does (`Serve`) and one or more
//! routes (`Routes`). Everything in between is the same for all: who asks, how often, reading the request, hooks,
//! writing the answer.

mod access;
mod account;
mod answer;
mod event;
mod figures;
mod leaderboard;
mod openapi;
mod profile;
mod purchase;
mod query;
mod rate;
mod routes;
mod session;
mod storage;

pub use access::Keys;
pub use rate::{Preset, RateSettings, Rates};
pub(crate) use routes::{Routes, Serve};

use crate::peer::{Peer, PeerAddress, TrustedProxies};
use aether_metrics::Registry;
use aether_services::{Caller, Context, Identity, Refusal, Services, refusal};
use axum::Router;
use axum::routing::get;
use http::HeaderMap;
use std::sync::Arc;
use uuid::Uuid;

/// What the operations work with.
#[derive(Clone)]
pub struct Desk(Arc<Inner>);

struct Inner {
    services: Arc<Services>,
    keys: Keys,
    rates: Rates,
    proxies: Arc<TrustedProxies>,
    registry: Registry,
    is_online: IsOnline,
}

/// Tells whether a user is connected.
type IsOnline = Box<dyn Fn(Uuid) -> bool + Send + Sync>;

/// One call of an operation.
pub(crate) struct Call {
    /// Who asks, and from where.
    pub context: Arc<Context>,
}

impl Desk {
    /// A desk before these services, that counts what is asked of it.
    #[must_use]
    pub fn new(
        services: Arc<Services>,
        keys: Keys,
        rates: Rates,
        proxies: Arc<TrustedProxies>,
        registry: &Registry,
    ) -> Desk {
        let (registry, is_online) = (registry.clone(), Box::new(|_| false) as IsOnline);
        Desk(Arc::new(Inner { services, keys, rates, proxies, registry, is_online }))
    }

    /// The same where it is known which users are connected.
    ///
    /// # Panics
    /// If the desk is in use already.
    #[must_use]
    pub fn with_presence(mut self, is_online: impl Fn(Uuid) -> bool + Send + Sync + 'static) -> Desk {
        let inner = Arc::get_mut(&mut self.0).expect("a desk is complete before it is used");
        inner.is_online = Box::new(is_online);
        self
    }

    fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Whether a user is connected.
    fn is_online(&self, user: Uuid) -> bool {
        (self.0.is_online)(user)
    }

    pub(crate) fn services(&self) -> &Services {
        &self.0.services
    }

    fn peer(&self, address: PeerAddress, headers: &HeaderMap) -> Peer {
        self.0.proxies.peer(address.socket.ip(), headers)
    }
}

impl Call {
    /// The user who asks.
    pub fn identity(&self) -> Result<&Arc<Identity>, Refusal> {
        self.context.caller.user().ok_or(refusal::TOKEN_REQUIRED)
    }

    /// Who asks.
    pub fn caller(&self) -> &Caller {
        &self.context.caller
    }
}

/// All routes of the client API, behind one desk; to be part of a router of any state.
pub fn router<S: Clone + Send + Sync + 'static>(desk: Desk) -> Router<S> {
    routes().described().into_router(desk)
}

/// The names of all operations that are served, each with what kind of work it is.
#[must_use]
pub fn operations() -> Vec<(&'static str, Preset)> {
    routes().table.iter().map(|route| (route.operation, route.preset)).collect()
}

fn routes() -> Routes {
    Routes::default()
        .with(account::routes)
        .with(event::routes)
        .with(leaderboard::routes)
        .with(profile::routes)
        .with(purchase::routes)
        .with(session::routes)
        .with(storage::routes)
        .own("/healthcheck", get(async || answer::answer(&aether_messages::Empty::default())))
}
