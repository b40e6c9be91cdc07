//! HTTP routes that modules add: every path below [`PREFIX`].
//!
//! A request has no user. The route gets its method, path, headers and body, and the query; credentials in headers are left
//! out. Errors have the form of the client API.

use crate::peer::PeerAddress;
use crate::public::PublicApi;
use crate::routing::{ApiError, BODY_BYTES_MAX, Calls as _, ErrorAnswer, encoding, query, read_body, shown_headers};
use aether_services::calls::{
    FoundRoute, ROUTE_ANSWER_BYTES_MAX, ROUTE_HEADER_BYTES_MAX, ROUTE_HEADERS_MAX, RatePreset, RouteAnswer,
    RouteRequest,
};
use aether_services::{CallContext, Caller, GrpcCode, ServiceError};
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use std::sync::Arc;
use tracing::error;

/// Prefix of the paths.
pub(crate) const PREFIX: &str = "/custom";
/// Name of the routes in rate limits.
const OPERATION: &str = "CustomRoute";

const INVALID_ANSWER: ServiceError = ServiceError::new(
    GrpcCode::Internal,
    "The answer of the route is not valid. The log of the server has the reason.",
);

/// Serves the route of a module.
pub(crate) async fn serve(
    State(api): State<PublicApi>,
    Extension(address): Extension<PeerAddress>,
    request: Request,
) -> Response {
    match run(&api, address, request).await {
        Ok(response) => response,
        Err(error) => ApiError::from(ErrorAnswer::from(error)).into_response(),
    }
}

async fn run(api: &PublicApi, address: PeerAddress, request: Request) -> Result<Response, ServiceError> {
    let (parts, body) = request.into_parts();
    let peer = api.peer(address, &parts.headers).address;
    let client = &api.client_api;
    client.rates().take(&Caller::Anonymous, peer, (OPERATION, RatePreset::Write))?;
    let path = parts.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let route = match client.services().calls.route(parts.method.as_str(), path) {
        FoundRoute::Route(route) => route,
        FoundRoute::OtherMethods(methods) => return Ok(method_not_allowed(&methods)),
        FoundRoute::None => {
            let message = "No module has a route for this path. Check the URL.";
            return Err(ServiceError::new(GrpcCode::NotFound, message));
        }
    };
    let body = read_body(body, || client.bodies().take(peer)).await?;
    let body = encoding::decompress(body, &parts.headers, BODY_BYTES_MAX)
        .map_err(|_| ServiceError::invalid("The body does not match its Content-Encoding, or is too long."))?;
    let context = Arc::new(CallContext {
        query: query::by_name(parts.uri.query().unwrap_or(""))?,
        port: Some(address.socket.port()),
        headers: Some(Arc::new(shown_headers(&parts.headers))),
        ..CallContext::from_address(Caller::Anonymous, peer)
    });
    let _share = client.answers().take_request(&context, body.len())?;
    let request = RouteRequest { method: parts.method.to_string(), path: path.to_owned(), body: body.to_vec() };
    let answer = route.run(client.services(), &context, request).await?;
    let bytes = answer.body.len() as u64;
    let mut response = response(answer)?;
    // The answer is in memory until the client has read it.
    response.extensions_mut().insert(client.answers().take(&Caller::Anonymous, peer, bytes)?);
    Ok(response)
}

fn method_not_allowed(methods: &[&'static str]) -> Response {
    let sentence = "This path does not support the method. The Allow header lists the supported methods.";
    let error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", sentence);
    let mut response = error.into_response();
    if let Ok(methods) = HeaderValue::from_str(&methods.join(", ")) {
        response.headers_mut().insert(header::ALLOW, methods);
    }
    response
}

/// Returns the response of an answer. Headers that belong to the connection are left out.
fn response(answer: RouteAnswer) -> Result<Response, ServiceError> {
    let invalid = |problem: &str| {
        error!(problem, "route of a module answered invalidly");
        INVALID_ANSWER
    };
    let status = StatusCode::from_u16(answer.status).ok().filter(|status| !status.is_informational());
    let status = status.ok_or_else(|| invalid("the status is not within 200 to 999"))?;
    if answer.body.len() > ROUTE_ANSWER_BYTES_MAX {
        return Err(invalid("the body is too long"));
    }
    if answer.headers.len() > ROUTE_HEADERS_MAX {
        return Err(invalid("there are too many headers"));
    }
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = status;
    for (name, value) in answer.headers {
        let name = HeaderName::try_from(name).map_err(|_| invalid("the name of a header is not valid"))?;
        let value = Some(value).filter(|value| value.len() <= ROUTE_HEADER_BYTES_MAX);
        let value = value.and_then(|value| HeaderValue::try_from(value).ok());
        let value = value.ok_or_else(|| invalid("the value of a header is not valid or too long"))?;
        if ![header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::UPGRADE].contains(&name) {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], bytes: usize) -> RouteAnswer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        RouteAnswer { status, headers, body: vec![b'x'; bytes] }
    }

    #[test]
    fn invalid_answers_are_refused() {
        let many = vec![("x-a", "1"); ROUTE_HEADERS_MAX + 1];
        let long = "x".repeat(ROUTE_HEADER_BYTES_MAX + 1);
        for refused in [
            answer(101, &[], 0),
            answer(0, &[], 0),
            answer(200, &many, 0),
            answer(200, &[("x-a", &long)], 0),
            answer(200, &[("a b", "1")], 0),
            answer(200, &[("x-a", "1\n2")], 0),
            answer(200, &[], ROUTE_ANSWER_BYTES_MAX + 1),
        ] {
            assert_eq!(response(refused).err(), Some(INVALID_ANSWER));
        }
        let answered = response(answer(201, &[("X-A", "1"), ("Content-Length", "7")], ROUTE_ANSWER_BYTES_MAX));
        let answered = answered.expect("the answer is valid");
        assert_eq!((answered.status().as_u16(), answered.headers().len()), (201, 1));
    }
}
