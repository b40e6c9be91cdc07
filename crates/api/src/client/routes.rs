//! Routes: where an operation is found, and how its request is read from there.

use super::access::Access;
use super::answer::{Refused, answer};
use super::figures::Figures;
use super::query::Asked;
use super::rate::Preset;
use super::{Call, Desk};
use crate::cors;
use crate::encoding::{self, Packed};
use crate::peer::PeerAddress;
use aether_messages::operation::Operation;
use aether_messages::prost::Name as _;
use aether_services::{Code, Context, Refusal};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, any, on};
use axum::{RequestExt, Router};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a request's body, also after it was unpacked.
const BODY_BYTES_MAX: usize = 262_144;

/// What an operation does.
pub(crate) trait Serve: Operation {
    /// What it asks of its caller.
    const ACCESS: Access = Access::User;

    /// What kind of work it is.
    const PRESET: Preset = Preset::Write;

    /// Does it.
    fn serve(
        desk: &Desk,
        call: &Call,
        request: Self::Request,
    ) -> impl Future<Output = Result<Self::Answer, Refusal>> + Send;
}

/// The routes of operations.
#[derive(Default)]
pub(crate) struct Routes {
    router: Router<Desk>,
    /// Each route once: method, path, operation. The API's description is made from it.
    pub(super) table: Vec<Route>,
    /// The paths of what is no operation.
    pub(super) own: Vec<&'static str>,
}

/// A route.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub method: Method,
    pub path: &'static str,
    pub operation: &'static str,
    /// The full names of its messages.
    pub request: String,
    pub answer: String,
    pub access: Access,
    pub preset: Preset,
    pub source: Source,
}

/// What is known of an operation before it is asked for.
#[derive(Clone, Copy)]
struct Kind {
    operation: &'static str,
    access: Access,
    preset: Preset,
}

/// Where a request is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Path and query.
    Address,
    /// The body.
    Body,
    /// Path and query, and the body is one of its fields.
    Field,
}

impl Routes {
    /// Adds the routes of a noun.
    pub fn with(self, add: impl FnOnce(Routes) -> Routes) -> Routes {
        add(self)
    }

    /// An operation whose request stands in path and query.
    pub fn address<O: Serve>(self, method: Method, path: &'static str) -> Routes {
        self.add::<O>(method, path, Source::Address, |received| received.asked()?.read())
    }

    /// An operation whose request is the body.
    pub fn body<O: Serve>(self, method: Method, path: &'static str) -> Routes {
        self.add::<O>(method, path, Source::Body, |received| read_json(&received.body))
    }

    /// An operation whose request stands in path and query but for one part, which is the body.
    pub fn field<O: Serve, B: DeserializeOwned + Default + 'static>(
        self,
        method: Method,
        path: &'static str,
        place: fn(&mut O::Request, B),
    ) -> Routes {
        self.add::<O>(method, path, Source::Field, move |received| {
            let mut request = received.asked()?.read()?;
            place(&mut request, read_json(&received.body)?);
            Ok(request)
        })
    }

    /// A route that is no operation: something of our own, without hooks.
    pub fn own(mut self, path: &'static str, handlers: MethodRouter<Desk>) -> Routes {
        self.own.push(path);
        self.router = self.router.route(path, handlers);
        self
    }

    fn add<O: Serve>(
        mut self,
        method: Method,
        path: &'static str,
        source: Source,
        read: impl Fn(&Received) -> Result<O::Request, Refusal> + Send + Sync + 'static,
    ) -> Routes {
        let handler: Handler = Arc::new(move |desk, received| {
            let request = read(&received);
            Box::pin(async move {
                let message = run::<O>(&desk, &received.call, request?).await?;
                Ok(answer(&message))
            })
        });
        let kind = Kind { operation: O::NAME, access: O::ACCESS, preset: O::PRESET };
        self.router = self.router.route(path, on_method(&method, kind, handler));
        let (request, answer) = (O::Request::full_name(), O::Answer::full_name());
        let Kind { operation, access, preset } = kind;
        self.table.push(Route { method, path, operation, request, answer, access, preset, source });
        self
    }

    /// All of them, behind one desk.
    pub fn into_router<S: Clone + Send + Sync + 'static>(self, desk: Desk) -> Router<S> {
        let router = self.router.method_not_allowed_fallback(async || {
            Refused::from(Refusal::new(Code::Unimplemented, "Method Not Allowed")).into_response()
        });
        router
            .route("/v2/{*anything}", any(async || Refused::from(Refusal::new(Code::NotFound, "Not Found"))))
            .layer(axum::middleware::from_fn(around))
            .with_state(desk)
    }
}

/// What an operation does with a request, its type forgotten: so the way to it is compiled once and not for each.
type Handler = Arc<dyn Fn(Desk, Received) -> Serving + Send + Sync>;
type Serving = Pin<Box<dyn Future<Output = Result<Response, Refusal>> + Send>>;

/// A request whose sender is known and whose body is there.
struct Received {
    call: Call,
    path: Option<RawPathParams>,
    parts: Parts,
    body: Bytes,
}

impl Received {
    /// What stands in path and query.
    fn asked(&self) -> Result<Asked<'_>, Refusal> {
        let mut asked = Asked::default();
        for (name, value) in self.path.iter().flat_map(RawPathParams::iter) {
            asked.add(Cow::Borrowed(name), Cow::Borrowed(value));
        }
        asked.add_query(self.parts.uri.query().unwrap_or(""))?;
        Ok(asked)
    }
}

fn on_method(method: &Method, kind: Kind, handler: Handler) -> MethodRouter<Desk> {
    let filter = MethodFilter::try_from(method.clone()).expect("routes use the methods of the web");
    let figures = Arc::new(Figures::new(kind.operation));
    on(filter, move |State(desk): State<Desk>, request: Request| async move {
        let began = Instant::now();
        let outcome = match take_in(&desk, kind, request).await {
            Ok(received) => handler(desk.clone(), received).await.map_err(Refused::from),
            Err(refused) => Err(refused),
        };
        let code = outcome.as_ref().err().map(|refused| refused.refusal.code);
        figures.count(desk.registry(), began.elapsed(), code);
        outcome.unwrap_or_else(IntoResponse::into_response)
    })
}

async fn take_in(desk: &Desk, kind: Kind, mut request: Request) -> Result<Received, Refused> {
    let call = desk.receive(kind, &request)?;
    let path = request.extract_parts::<RawPathParams>().await.ok();
    let (parts, body) = request.into_parts();
    let body = read_body(body).await?;
    let body = encoding::decompress(body, &parts.headers, BODY_BYTES_MAX).map_err(not_unpacked)?;
    Ok(Received { call, path, parts, body })
}

/// Has a request served, with what is around it.
async fn run<O: Serve>(desk: &Desk, call: &Call, request: O::Request) -> Result<O::Answer, Refusal> {
    desk.services().hooks.run::<O, _>(&call.context, request, |request| O::serve(desk, call, request)).await
}

impl Desk {
    /// Who asks, if they may, and not too often.
    fn receive(&self, kind: Kind, request: &Request) -> Result<Call, Refusal> {
        let headers = request.headers();
        let address = request.extensions().get::<PeerAddress>().copied();
        let address = address.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| self.peer(address, headers).address);
        let caller = self.admit(kind.access, headers)?;
        self.0.rates.take(&caller, address, (kind.operation, kind.preset))?;
        Ok(Call { context: Arc::new(Context { caller, address: Some(address) }) })
    }
}

/// The whole body, if it is not too long.
async fn read_body(body: Body) -> Result<Bytes, Refusal> {
    to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| {
        Refusal::invalid(format!("The body of a request has at most {BODY_BYTES_MAX} bytes, and has to arrive whole."))
    })
}

/// Why a body cannot be unpacked.
fn not_unpacked(why: Packed) -> Refused {
    match why {
        Packed::TooLarge => {
            let sentence = format!("The body of a request has at most {BODY_BYTES_MAX} bytes after it is unpacked.");
            Refused::with_status(StatusCode::PAYLOAD_TOO_LARGE, Refusal::invalid(sentence))
        }
        Packed::Damaged => Refusal::invalid("The body is not compressed as its Content-Encoding says.").into(),
        Packed::Unknown => {
            let sentence = "The body's Content-Encoding is not known: use gzip, deflate or identity.";
            Refused::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, Refusal::invalid(sentence))
        }
    }
}

/// A message from JSON. Nothing is a message without anything in it.
fn read_json<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, Refusal> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    serde_json::from_slice(body)
        .map_err(|error| Refusal::invalid(format!("The body is not what it should be: {error}.")))
}

/// Compresses answers, and lets pages of any origin ask: they prove who they are by a header, not by a cookie.
async fn around(request: Request, next: Next) -> Response {
    let is_question = request.method() == Method::OPTIONS;
    let mut response = if is_question {
        StatusCode::OK.into_response()
    } else {
        let accepted = request.headers().get(header::ACCEPT_ENCODING).cloned();
        encoding::compress(next.run(request).await, accepted).await
    };
    let headers = response.headers_mut();
    if headers.contains_key(header::RETRY_AFTER) {
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Retry-After"));
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-cache, must-revalidate"));
    if is_question {
        let methods = "GET, HEAD, POST, PUT, DELETE";
        let names = "Authorization, Content-Encoding, Content-Type, User-Agent";
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(names));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, cors::REMEMBERED_SECONDS);
    }
    response
}
