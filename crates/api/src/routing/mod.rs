//! HTTP layer of all interfaces: routes, access, rate limits, answers, errors, and the OpenAPI description.
//!
//! An interface defines access, rate limits and the form of errors ([`Interface`], [`Calls`]). A route is declared once
//! ([`Routes`]): its method, its path, and the operation that it calls. Access and rate preset come from the call table
//! of the services. Reading requests, calling and counting are the same for all routes. The OpenAPI description is
//! generated from the same declarations.

mod answer;
pub(crate) mod encoding;
mod error;
mod openapi;
mod parts;
pub(crate) mod query;
mod rate;
mod routes;

pub(crate) use answer::{ErrorAnswer, JSON, answer, json, with_headers};
pub use error::ApiError;
pub(crate) use error::{complete, not_found, shown_path};
pub(crate) use openapi::Description;
pub use rate::{RateSettings, RequestRates, default_rate};
pub(crate) use routes::{BODY_BYTES_MAX, CustomRoute, Form, Received, Routes, WrittenForm, read_body, shown_headers};

use crate::answers::AnswerBudget;
use crate::slow_bodies::SlowBodies;
use aether_metrics::Registry;
use aether_services::calls::Access;
use aether_services::{Caller, ServiceError, Services};
use axum::extract::Request;
use axum::response::Response;
use http::{HeaderMap, Uri};
use std::net::IpAddr;
use std::sync::Arc;

/// An interface whose routes are declared with [`Routes`].
pub(crate) trait Interface: Clone + Send + Sync + 'static {
    /// Returns the caller of a request, if it has this access.
    fn admit(&self, access: Access, uri: &Uri, headers: &HeaderMap) -> Result<Caller, ServiceError>;

    /// Writes an error in the form of the interface.
    fn write_error(answer: ErrorAnswer) -> Response;
}

/// An interface whose routes call operations.
pub(crate) trait Calls: Interface {
    /// Returns the access that the interface requires for an operation with this access. An operator's interface
    /// requires that of the operator for all operations.
    fn access(operation: Access) -> Access {
        operation
    }

    /// Services whose operations are called.
    fn services(&self) -> &Arc<Services>;

    /// Rate limits of callers.
    fn rates(&self) -> &RequestRates;

    /// Registry of the call metrics.
    fn registry(&self) -> &Registry;

    /// Memory of answers.
    fn answers(&self) -> &AnswerBudget;

    /// Request bodies that have not arrived yet.
    fn bodies(&self) -> &SlowBodies;

    /// Returns the address of the client, past any trusted proxy.
    fn address(&self, request: &Request) -> IpAddr;
}
