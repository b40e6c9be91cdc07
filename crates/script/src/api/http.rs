//! HTTP requests to other servers.

use crate::arguments::Arguments;
use crate::error::{ErrorKind, ScriptError};
use crate::function::{Function, Outcome, optional, required};
use crate::scripts::ScriptServices;
use crate::value::{Key, Value};
use aether_services::http_client::{HttpRequest, Method};
use std::time::Duration;

/// Time limit of a request if the script sets none.
const TIME_MS_DEFAULT: i64 = 5_000;
/// Most bytes of a request body: as many as of an answer.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Most headers of a request.
const HEADERS_MAX: usize = 64;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[Function::service("http_request", |used, args| {
    Box::pin(request(used, args))
})
.about(
    "Sends an HTTP request. Returns the status, the headers with names in lower case, and the body. Only public addresses \
     and `outgoing.allowed_networks` are reached; redirects are not followed.",
)
.parameters(&[
    required("url", "string", "URL that begins with `https://` or `http://`."),
    required("method", "string", "`get`, `post`, `put`, `patch`, `delete` or `head`."),
    optional("headers", "{[string]: string}", "Headers of the request."),
    optional("body", "string", "Body of the request, at most 1 MiB."),
    optional("timeout", "number", "Time limit in milliseconds; default 5,000, at most that of the server."),
    optional("insecure", "boolean", "Must not be true: certificates are always checked."),
])
.returns("(number, {[string]: string}, string)")];

async fn request(used: ScriptServices, args: Arguments) -> Outcome {
    if args.boolean_or(5, false)? {
        return Err(args.expected(5, "false: certificates are always checked"));
    }
    let body = if args.is_nil(3) { Vec::new() } else { args.bytes(3)?.to_vec() };
    if body.len() > BODY_BYTES_MAX {
        return Err(args.expected(3, &format!("at most {BODY_BYTES_MAX} bytes")));
    }
    let time_ms = args.optional_integer(4)?.filter(|time_ms| *time_ms > 0).unwrap_or(TIME_MS_DEFAULT);
    let request = HttpRequest {
        url: args.present_text(0)?.to_owned(),
        method: method(&args)?,
        headers: headers(&args)?,
        body: body.into(),
        time_max: Some(Duration::from_millis(time_ms.unsigned_abs())),
    };
    let response = used.services.http_client.request(request).await;
    let response =
        response.map_err(|error| ScriptError::new(ErrorKind::Service, format!("the HTTP request failed: {error}")))?;
    let headers =
        response.headers.iter().map(|(name, value)| (Key::from(name.as_str()), Value::from(value.as_bytes().to_vec())));
    Ok(vec![
        Value::from(i64::from(response.status)),
        Value::Map(headers.collect()),
        Value::from(response.body.to_vec()),
    ])
}

fn method(args: &Arguments) -> Result<Method, ScriptError> {
    match args.text(1)?.to_ascii_lowercase().as_str() {
        "get" => Ok(Method::GET),
        "post" => Ok(Method::POST),
        "put" => Ok(Method::PUT),
        "patch" => Ok(Method::PATCH),
        "delete" => Ok(Method::DELETE),
        "head" => Ok(Method::HEAD),
        _ => Err(args.expected(1, "`get`, `post`, `put`, `patch`, `delete` or `head`")),
    }
}

fn headers(args: &Arguments) -> Result<Vec<(String, String)>, ScriptError> {
    let Some(map) = args.optional_map(2)? else { return Ok(Vec::new()) };
    if map.len() > HEADERS_MAX {
        return Err(args.expected(2, &format!("at most {HEADERS_MAX} headers")));
    }
    let header = |(key, value): (&Key, &Value)| match value.as_str() {
        Some(text) => Ok((key.to_text(), text.to_owned())),
        None => Err(args.expected(2, "a table of strings")),
    };
    map.iter().map(header).collect()
}
