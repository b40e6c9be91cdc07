//! Functions that clients call by name: `GET` and `POST /v2/rpc/{id}`.
//!
//! The payload is text that only the function interprets. `POST` sends it in the body as a JSON string, and the answer
//! is `{"payload": text}`. With `?unwrap` in the query, body and answer are the bare payload, of the same content type.
//! `GET` has an empty payload. The function gets the query in [`CallContext::query`].
//!
//! Callers are signed in, or send the HTTP key (`?http_key=`, or as the user name of the scheme Basic). Then the function
//! is called without a user.
//!
//! An error has one more field than on other routes: `{"code": number, "error": text, "message": text}`.
//!
//! [`CallContext::query`]: aether_services::CallContext::query

use super::ClientApi;
use super::access::HTTP_KEY;
use crate::routing::{ErrorAnswer, Form, Received, Routes, WrittenForm, json, with_headers};
use aether_messages::api::Rpc;
use aether_messages::operation::RpcFunc;
use aether_services::ServiceError;
use aether_services::calls::invalid_body;
use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, Method, StatusCode, header};
use serde::Serialize;
use serde_json::json as value;
use std::sync::Arc;

const PATH: &str = "/v2/rpc/{id}";
/// Query parameter for payloads that are not wrapped in JSON.
const UNWRAP: &str = "unwrap";
/// Content type of an unwrapped answer if the request had none.
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    let form = |read, body| Form::<RpcFunc, Wrapping> { read, write, write_error, form: written_form(body) };
    routes.with_form(Method::POST, PATH, form(read_body, Some(value!({ "type": "string" })))).with_form(
        Method::GET,
        PATH,
        form(read_address, None),
    )
}

/// Content type of an unwrapped answer; none if the payload is wrapped in JSON.
type Wrapping = Option<HeaderValue>;

fn read_address(received: &mut Received) -> Result<(Rpc, Wrapping), ServiceError> {
    read(received, |_, _| Ok(String::new()))
}

fn read_body(received: &mut Received) -> Result<(Rpc, Wrapping), ServiceError> {
    read(received, |body, is_wrapped| match body {
        [] => Ok(String::new()),
        body if is_wrapped => serde_json::from_slice(body).map_err(|error| invalid_body(&error)),
        body => match std::str::from_utf8(body) {
            Ok(payload) => Ok(payload.to_owned()),
            Err(_) => Err(ServiceError::invalid("The payload is not UTF-8.")),
        },
    })
}

fn read(
    received: &mut Received,
    payload: fn(&[u8], bool) -> Result<String, ServiceError>,
) -> Result<(Rpc, Wrapping), ServiceError> {
    let id = received.path_value("id").unwrap_or_default().to_owned();
    let mut query = received.query()?;
    // A function does not need the secret, and might repeat it.
    query.remove(HTTP_KEY);
    let content_type = || received.parts.headers.get(header::CONTENT_TYPE).cloned().unwrap_or(TEXT);
    let wrapping = query.contains_key(UNWRAP).then(content_type);
    let payload = payload(&received.body, wrapping.is_none())?;
    Arc::make_mut(&mut received.context).query = query;
    Ok((Rpc { id, payload, http_key: String::new() }, wrapping))
}

fn write(wrapping: Wrapping, answer: &Rpc) -> Response {
    #[derive(Serialize)]
    struct Wrapped<'a> {
        payload: &'a str,
    }
    let Some(content_type) = wrapping else {
        return json(StatusCode::OK, &Wrapped { payload: &answer.payload });
    };
    let mut response = Response::new(Body::from(answer.payload.clone()));
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

fn write_error(answer: ErrorAnswer) -> Response {
    #[derive(Serialize)]
    struct ErrorBody<'a> {
        code: u8,
        error: &'a str,
        message: &'a str,
    }
    let ErrorAnswer { status, error } = answer;
    let body = ErrorBody { code: error.code as u8, error: &error.message, message: &error.message };
    with_headers(json(status, &body), &error)
}

fn written_form(body: Option<serde_json::Value>) -> WrittenForm {
    let text = || value!({ "type": "string" });
    let id = value!({ "name": "id", "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } });
    let unwrap = value!({
        "name": UNWRAP,
        "in": "query",
        "required": false,
        "allowEmptyValue": true,
        "description": "Body and answer are the bare payload.",
        "schema": { "type": "string" },
    });
    WrittenForm {
        parameters: vec![id, unwrap],
        body,
        content_type: "application/json",
        answer: value!({ "type": "object", "required": ["payload"], "properties": { "payload": text() } }),
        error_schema: Some(value!({
            "type": "object",
            "required": ["code", "error", "message"],
            "properties": {
                "code": { "type": "integer", "minimum": 1, "maximum": 16, "description": "gRPC status code." },
                "error": { "type": "string", "description": "Same as `message`." },
                "message": { "type": "string", "description": "Error message for people." },
            },
        })),
    }
}
