//! The HTTP layer that every interface is declared with: routes, access, rates, answers, errors, and the description by
//! OpenAPI.
//!
//! An interface says who may ask, how often, and how a refusal is written ([`Interface`], [`Calls`]). A route is declared
//! once ([`Routes`]): its method, its path, and the operation that it calls through the table of the services, which knows
//! access and rate preset. Reading the request, calling and counting are the same for all, and the description is made from
//! the same declaration.

mod answer;
pub(crate) mod encoding;
mod error;
mod openapi;
mod query;
mod rate;
mod routes;

pub(crate) use answer::{ErrorAnswer, answer, json, with_headers};
pub use error::ApiError;
pub(crate) use error::complete;
pub(crate) use openapi::Description;
pub use rate::{RateSettings, RequestRates, usual_rate};
pub(crate) use routes::{CustomRoute, Form, Received, Routes, Written};

use aether_metrics::Registry;
use aether_services::calls::Access;
use aether_services::{Caller, ServiceError, Services};
use axum::extract::Request;
use axum::response::Response;
use http::HeaderMap;
use std::net::IpAddr;
use std::sync::Arc;

/// An interface whose routes are declared by [`Routes`].
pub(crate) trait Interface: Clone + Send + Sync + 'static {
    /// Returns who sent a request, if they have this access.
    fn admit(&self, access: Access, headers: &HeaderMap) -> Result<Caller, ServiceError>;

    /// Writes a refusal in the form of the interface.
    fn refuse(refused: ErrorAnswer) -> Response;
}

/// An interface whose routes call operations.
pub(crate) trait Calls: Interface {
    /// Access that the interface asks for, given that of an operation. An operator's interface asks for the operator's for
    /// all of them.
    fn access(operation: Access) -> Access {
        operation
    }

    /// The services whose operations are called.
    fn services(&self) -> &Arc<Services>;

    /// Limits of how often callers may ask.
    fn rates(&self) -> &RequestRates;

    /// Registry where calls are counted.
    fn registry(&self) -> &Registry;

    /// Address that a request comes from, past any trusted proxy.
    fn address(&self, request: &Request) -> IpAddr;
}
