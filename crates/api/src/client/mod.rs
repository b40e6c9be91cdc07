//! The client API: operations that game clients call over HTTP, by the protocol that existing client SDKs speak.
//!
//! Each operation is in the table of the services ([`aether_services::calls`]); here it is given one or more routes, a file
//! per noun. Everything in between is the HTTP layer's.

mod access;
mod account;
mod around;
mod event;
mod leaderboard;
mod profile;
mod purchase;
mod rpc;
mod session;
mod storage;

pub use crate::routing::{RateSettings, RequestRates, usual_rate};
pub use access::ApiKeys;
pub use aether_services::calls::RatePreset;

use crate::peer::{PeerAddress, TrustedProxies};
use crate::routing::{Calls, CustomRoute, Description, ErrorAnswer, Interface, Routes, answer};
use aether_metrics::Registry;
use aether_services::calls::Access;
use aether_services::{Caller, GrpcCode, ServiceError, Services};
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use http::{HeaderMap, Method};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use uuid::Uuid;

/// The interface of the client API: the services, and who may ask them how often.
#[derive(Clone)]
pub struct ClientApi(Arc<Inner>);

struct Inner {
    services: Arc<Services>,
    keys: ApiKeys,
    rates: RequestRates,
    proxies: Arc<TrustedProxies>,
    registry: Registry,
}

impl ClientApi {
    /// A desk before these services, that counts what is asked of it.
    #[must_use]
    pub fn new(
        services: Arc<Services>,
        keys: ApiKeys,
        rates: RequestRates,
        proxies: Arc<TrustedProxies>,
        registry: &Registry,
    ) -> ClientApi {
        ClientApi(Arc::new(Inner { services, keys, rates, proxies, registry: registry.clone() }))
    }

    /// The same where it is known which users are connected.
    ///
    /// # Panics
    /// If the services know it from elsewhere already.
    #[must_use]
    pub fn with_presence(self, is_online: impl Fn(Uuid) -> bool + Send + Sync + 'static) -> ClientApi {
        self.0.services.set_presence(is_online);
        self
    }
}

impl Interface for ClientApi {
    fn admit(&self, access: Access, headers: &HeaderMap) -> Result<Caller, ServiceError> {
        access::admit(&self.0.keys, &self.0.services.sessions, access, headers)
    }

    fn refuse(refused: ErrorAnswer) -> Response {
        refused.into_response()
    }
}

impl Calls for ClientApi {
    fn services(&self) -> &Arc<Services> {
        &self.0.services
    }

    fn rates(&self) -> &RequestRates {
        &self.0.rates
    }

    fn registry(&self) -> &Registry {
        &self.0.registry
    }

    fn address(&self, request: &Request) -> IpAddr {
        let address = request.extensions().get::<PeerAddress>();
        address.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| {
            self.0.proxies.peer(address.socket.ip(), request.headers()).address
        })
    }
}

/// All routes of the client API, behind one desk; to be part of a router of any state.
pub fn router<S: Clone + Send + Sync + 'static>(desk: ClientApi) -> Router<S> {
    routes()
        .described(&description())
        .into_router(desk)
        .method_not_allowed_fallback(async || {
            ErrorAnswer::from(ServiceError::new(GrpcCode::Unimplemented, "Method Not Allowed"))
        })
        .route("/v2/{*anything}", any(async || ErrorAnswer::from(ServiceError::new(GrpcCode::NotFound, "Not Found"))))
        .layer(axum::middleware::from_fn(around::around))
}

/// The names of all operations that are served, each with what kind of work it is.
#[must_use]
pub fn operations() -> Vec<(&'static str, RatePreset)> {
    routes().table.iter().filter_map(|route| Some((route.id, route.preset?))).collect()
}

pub(crate) fn routes() -> Routes<ClientApi> {
    // It tells that the process answers, so it goes neither through the table nor through limits.
    let health = CustomRoute {
        method: Method::GET,
        path: "/healthcheck",
        id: "Healthcheck",
        access: Access::Everyone,
        content_type: "application/json",
    };
    Routes::default()
        .with(account::routes)
        .with(event::routes)
        .with(leaderboard::routes)
        .with(profile::routes)
        .with(purchase::routes)
        .with(rpc::routes)
        .with(session::routes)
        .with(storage::routes)
        .own(health, get(async || answer(&aether_messages::Empty::default())))
}

pub(crate) fn description() -> Description {
    Description {
        title: "Aether client API",
        text: "What game clients ask. Fields at their zero value are left out of answers; numbers of 64 bits are text. \
            Fields are also read in lowerCamelCase, and unknown ones are ignored. Bodies may be compressed by gzip or \
            deflate. What is asked too often is refused with 429 and Retry-After; x-rate-preset says what is counted \
            together.",
        refused: json!({
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": { "type": "integer", "minimum": 1, "maximum": 16, "description": "The code of gRPC." },
                "message": { "type": "string", "description": "A sentence for people." },
            },
        }),
    }
}
