//! The client API: operations that game clients call over HTTP, in the protocol of existing client SDKs.
//!
//! Each operation is in the call table of the services ([`aether_services::calls`]). This module declares its routes, a
//! file per noun; the HTTP layer in `routing` does the rest.

mod access;
mod account;
mod bracket;
mod chat;
mod event;
mod friend;
mod group;
mod layer;
mod leaderboard;
mod matches;
mod moderation;
mod notification;
mod party;
mod profile;
mod purchase;
mod remote_value;
mod rpc;
mod session;
mod storage;
mod tournament;

pub use crate::routing::{RateSettings, RequestRates, default_rate};
pub use access::ApiKeys;
pub(crate) use access::{bearer_token, digest};
pub use aether_services::calls::RatePreset;

use crate::answers::AnswerBudget;
use crate::peer::{PeerAddress, TrustedProxies};
use crate::routing::{Calls, CustomRoute, Description, ErrorAnswer, Interface, Routes, answer, shown_path};
use crate::slow_bodies::SlowBodies;
use aether_metrics::Registry;
use aether_services::calls::Access;
use aether_services::{Caller, GrpcCode, ServiceError, Services};
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use http::{HeaderMap, Method, Uri};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use uuid::Uuid;

/// The client API: the services, access to them, and rate limits.
#[derive(Clone)]
pub struct ClientApi(Arc<Inner>);

struct Inner {
    services: Arc<Services>,
    keys: ApiKeys,
    rates: RequestRates,
    proxies: Arc<TrustedProxies>,
    registry: Registry,
    answers: AnswerBudget,
    bodies: SlowBodies,
}

impl ClientApi {
    /// Creates the client API of these services.
    #[must_use]
    pub fn new(
        services: Arc<Services>,
        keys: ApiKeys,
        rates: RequestRates,
        proxies: Arc<TrustedProxies>,
        registry: &Registry,
    ) -> ClientApi {
        let (answers, bodies) = (AnswerBudget::new(registry), SlowBodies::default());
        ClientApi(Arc::new(Inner { services, keys, rates, proxies, registry: registry.clone(), answers, bodies }))
    }

    /// Sets the function that tells which users are connected.
    ///
    /// # Panics
    /// If the services already have such a function.
    #[must_use]
    pub fn with_presence(self, is_online: impl Fn(Uuid) -> bool + Send + Sync + 'static) -> ClientApi {
        self.0.services.set_presence(is_online);
        self
    }
}

impl Interface for ClientApi {
    fn admit(&self, access: Access, uri: &Uri, headers: &HeaderMap) -> Result<Caller, ServiceError> {
        access::admit(&self.0.keys, &self.0.services.sessions, access, (uri, headers))
    }

    fn write_error(answer: ErrorAnswer) -> Response {
        answer.into_response()
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

    fn answers(&self) -> &AnswerBudget {
        &self.0.answers
    }

    fn bodies(&self) -> &SlowBodies {
        &self.0.bodies
    }

    fn address(&self, request: &Request) -> IpAddr {
        let address = request.extensions().get::<PeerAddress>();
        address.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| {
            self.0.proxies.peer(address.socket.ip(), request.headers()).address
        })
    }
}

/// Returns a router with all routes of the client API, to be merged into a router of any state.
pub fn router<S: Clone + Send + Sync + 'static>(api: ClientApi) -> Router<S> {
    routes()
        .described(&description())
        .into_router(api)
        .method_not_allowed_fallback(method_not_allowed)
        .route("/v2/{*anything}", any(unknown_call))
        .layer(axum::middleware::from_fn(layer::layer))
}

/// Answers a method that a path does not have. The protocol has this code and status for it.
async fn method_not_allowed(method: Method, uri: Uri) -> ErrorAnswer {
    let path = shown_path(&uri);
    let message = format!("Method Not Allowed: {path} has no {method}. The Allow header lists its methods.");
    ServiceError::with(GrpcCode::Unimplemented, message).into()
}

async fn unknown_call(uri: Uri) -> ErrorAnswer {
    let path = shown_path(&uri);
    let message = format!("Not Found: {path} is no call of this API. GET /openapi.json lists its calls.");
    ServiceError::with(GrpcCode::NotFound, message).into()
}

/// Returns the names and rate presets of all operations that are served.
#[must_use]
pub fn operations() -> Vec<(&'static str, RatePreset)> {
    let routes = routes();
    let of_routes = routes.table.iter().filter_map(|route| Some((route.id, route.preset?)));
    of_routes.chain(crate::socket::operations()).collect()
}

pub(crate) fn routes() -> Routes<ClientApi> {
    // It only shows that the process answers, so it bypasses the call table and rate limits.
    let health = CustomRoute {
        method: Method::GET,
        path: "/healthcheck",
        id: "Healthcheck",
        access: Access::Everyone,
        content_type: "application/json",
    };
    Routes::default()
        .with(account::routes)
        .with(bracket::routes)
        .with(chat::routes)
        .with(event::routes)
        .with(group::routes)
        .with(friend::routes)
        .with(leaderboard::routes)
        .with(matches::routes)
        .with(moderation::routes)
        .with(notification::routes)
        .with(party::routes)
        .with(profile::routes)
        .with(purchase::routes)
        .with(remote_value::routes)
        .with(rpc::routes)
        .with(session::routes)
        .with(storage::routes)
        .with(tournament::routes)
        .custom(health, get(async || answer(&aether_messages::Empty::default())))
}

pub(crate) fn description() -> Description {
    Description {
        title: "Aether client API",
        text: "Operations for game clients. Answers omit fields at their zero value; 64-bit numbers are text. Requests \
            may also use lowerCamelCase, and unknown fields are ignored. Bodies may be compressed with gzip or \
            deflate. Requests beyond a rate limit get 429 and Retry-After; operations with the same x-rate-preset \
            share a limit.",
        error_schema: json!({
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": { "type": "integer", "minimum": 1, "maximum": 16, "description": "gRPC status code." },
                "message": { "type": "string", "description": "Error message for people." },
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const PAGE: &str = include_str!("../../../../docs/reference/compatibility.md");

    /// Returns the rows of a table of the page, as method, path and operation.
    fn listed(heading: &str) -> BTreeSet<(String, String, String)> {
        let part = PAGE.split("\n## ").find(|part| part.starts_with(heading)).expect("the page has this heading");
        let rows = part.lines().filter_map(|line| line.strip_prefix("| `"));
        let cells = |row: &str| {
            let (request, rest) = row.split_once("` | ")?;
            let (method, path) = request.split_once(' ')?;
            let operation = rest.split([' ', '|']).next()?;
            Some((method.to_owned(), path.to_owned(), operation.to_owned()))
        };
        rows.map(|row| cells(row).unwrap_or_else(|| panic!("{row} is a row"))).collect()
    }

    #[test]
    fn the_page_lists_every_call_and_no_others() {
        let owned = |method: &Method, path: &str, id: &str| (method.to_string(), path.to_owned(), id.to_owned());
        let routes = routes();
        let built = routes.table.iter().map(|route| owned(&route.method, route.path, route.id));
        let listed_built: BTreeSet<_> = listed("Calls").union(&listed("Additions")).cloned().collect();
        assert_eq!(listed_built, built.collect());
    }
}
