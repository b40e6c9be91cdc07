//! Routes: the path of an operation, and how its request is read.

use super::answer::{ErrorAnswer, answer};
use super::encoding::{self, EncodingError};
use super::query::{self, QueryValues};
use super::{Calls, Interface};
use crate::answers::AnswerShare;
use crate::peer::PeerAddress;
use aether_limits::NetworkShare;
use aether_messages::Operation;
use aether_messages::prost::Name as _;
use aether_services::calls::{Access, OperationMetrics, RatePreset, Serve, invalid_body};
use aether_services::{CallContext, ServiceError};
use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{RequestExt, Router};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

/// Upper bound of a request body in bytes, before and after decompression.
pub(crate) const BODY_BYTES_MAX: usize = 262_144;
/// Upper bound of the headers that code of the game gets, in bytes. Those beyond are left out.
const SHOWN_HEADERS_BYTES_MAX: usize = 8_192;
/// Headers that code of the game does not get: it does not need the secrets, and might repeat them.
const CREDENTIALS: [HeaderName; 3] = [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];

/// Routes of an interface.
pub(crate) struct Routes<I> {
    router: Router<I>,
    /// Routes without an operation, with their access. They are added to the router once the interface is known.
    custom: Vec<(&'static str, MethodRouter<I>, Access)>,
    /// All routes; the OpenAPI description is generated from them.
    pub table: Vec<Route>,
}

/// Declaration of a route.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub method: Method,
    pub path: &'static str,
    /// Name of the operation or of the custom route.
    pub id: &'static str,
    pub access: Access,
    /// Rate preset; none for a custom route, which has no rate limit.
    pub preset: Option<RatePreset>,
    pub form: RouteForm,
}

/// Form of a route's request and answer, for the OpenAPI description.
#[derive(Clone, Debug)]
pub(crate) enum RouteForm {
    /// Messages, by their full names.
    Messages { request: String, answer: String, source: Source },
    /// A form that is written by hand.
    Written(WrittenForm),
}

/// Form of a route that is written by hand.
#[derive(Clone, Debug)]
pub(crate) struct WrittenForm {
    /// Parameters in path and query.
    pub parameters: Vec<Value>,
    /// Schema of the JSON in the body.
    pub body: Option<Value>,
    /// Content type of the answer.
    pub content_type: &'static str,
    /// Schema of the answer.
    pub answer: Value,
    /// Schema of an error; that of the interface if there is none.
    pub error_schema: Option<Value>,
}

/// Part of the HTTP request that the operation's request is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Path and query.
    Address,
    /// The body.
    Body,
    /// Path and query; the body is one field.
    Field,
    /// The body, except for the fields in the path.
    BodyAndPath,
}

/// A route without an operation and without hooks.
pub(crate) struct CustomRoute {
    pub method: Method,
    pub path: &'static str,
    pub id: &'static str,
    pub access: Access,
    pub content_type: &'static str,
}

/// Form of an operation whose request and answer are not the JSON of its messages.
pub(crate) struct Form<O: Serve, W> {
    /// Reads the request, and the state that `write` needs.
    pub read: fn(&mut Received) -> ReadResult<O, W>,
    /// Writes the answer.
    pub write: fn(W, &O::Answer) -> Response,
    /// Writes an error.
    pub write_error: fn(ErrorAnswer) -> Response,
    /// Form for the OpenAPI description.
    pub form: WrittenForm,
}

/// A request, with the state that writing its answer needs.
type ReadResult<O, W> = Result<(<O as Operation>::Request, W), ServiceError>;

/// Properties of an operation that all requests to its route share.
#[derive(Clone, Copy)]
struct RouteOperation {
    name: &'static str,
    access: Access,
    preset: RatePreset,
    /// Bytes of an answer, and bytes of a streamed one that are in memory at a time.
    answer_bytes_max: usize,
    streamed_bytes: usize,
    write_error: fn(ErrorAnswer) -> Response,
}

impl RouteOperation {
    fn of<I: Calls, O: Serve>(write_error: fn(ErrorAnswer) -> Response) -> RouteOperation {
        RouteOperation {
            name: O::NAME,
            access: I::access(O::ACCESS),
            preset: O::PRESET,
            answer_bytes_max: O::ANSWER_BYTES_MAX,
            streamed_bytes: O::STREAMED_BYTES,
            write_error,
        }
    }
}

impl<I: Interface> Default for Routes<I> {
    fn default() -> Routes<I> {
        Routes { router: Router::new(), custom: Vec::new(), table: Vec::new() }
    }
}

impl<I: Interface> Routes<I> {
    /// Adds the routes of a noun.
    pub fn with(self, add: impl FnOnce(Routes<I>) -> Routes<I>) -> Routes<I> {
        add(self)
    }

    /// Adds a route without an operation.
    pub fn custom(mut self, route: CustomRoute, handlers: MethodRouter<I>) -> Routes<I> {
        let CustomRoute { method, path, id, access, content_type } = route;
        let answer =
            serde_json::json!({ "type": if content_type == "application/json" { "object" } else { "string" } });
        let form = WrittenForm { parameters: Vec::new(), body: None, content_type, answer, error_schema: None };
        self.table.push(Route { method, path, id, access, preset: None, form: RouteForm::Written(form) });
        self.undescribed(path, access, handlers)
    }

    /// Adds a route that is not part of the OpenAPI description.
    pub fn undescribed(mut self, path: &'static str, access: Access, handlers: MethodRouter<I>) -> Routes<I> {
        self.custom.push((path, handlers, access));
        self
    }

    /// Returns a router with all routes, to be merged into a router of any state.
    pub fn into_router<S: Clone + Send + Sync + 'static>(self, interface: I) -> Router<S> {
        let mut router = self.router;
        for (path, handlers, access) in self.custom {
            let handlers = if access == Access::Everyone {
                handlers
            } else {
                handlers
                    .route_layer(axum::middleware::from_fn_with_state((interface.clone(), access), check_access::<I>))
            };
            router = router.route(path, handlers);
        }
        router.with_state(interface)
    }
}

impl<I: Calls> Routes<I> {
    /// Adds an operation whose request is in path and query.
    pub fn address<O: Serve>(self, method: Method, path: &'static str) -> Routes<I> {
        self.messages::<O>(method, path, Source::Address, |received| received.query_values()?.read())
    }

    /// Adds an operation whose request is the body.
    pub fn body<O: Serve>(self, method: Method, path: &'static str) -> Routes<I> {
        self.messages::<O>(method, path, Source::Body, |received| read_json(&received.body))
    }

    /// Adds an operation whose request is in path and query, except for one field, which is the body.
    pub fn field<O: Serve, B: DeserializeOwned + Default + 'static>(
        self,
        method: Method,
        path: &'static str,
        set_field: fn(&mut O::Request, B),
    ) -> Routes<I> {
        self.messages::<O>(method, path, Source::Field, move |received| {
            let mut request = received.query_values()?.read()?;
            set_field(&mut request, read_json(&received.body)?);
            Ok(request)
        })
    }

    /// Adds an operation whose request is the body, except for fields in the path, which `set_path` copies.
    pub fn body_and_path<O: Serve>(
        self,
        method: Method,
        path: &'static str,
        set_path: fn(&mut O::Request, O::Request),
    ) -> Routes<I> {
        self.messages::<O>(method, path, Source::BodyAndPath, move |received| {
            let mut request = read_json(&received.body)?;
            set_path(&mut request, received.query_values()?.read()?);
            Ok(request)
        })
    }

    /// Adds an operation whose request and answer have a custom form.
    pub fn with_form<O: Serve, W: Send + 'static>(
        self,
        method: Method,
        path: &'static str,
        form: Form<O, W>,
    ) -> Routes<I> {
        let Form { read, write, write_error, form } = form;
        let operation = RouteOperation::of::<I, O>(write_error);
        let write = move |_: &I, _: &CallContext, state: W, message: &O::Answer| write(state, message);
        self.add::<O, W>((method, path), operation, RouteForm::Written(form), read, write)
    }

    /// Adds an operation whose request is in path and query, and whose answer is streamed: the answer of the operation only
    /// begins it.
    pub fn streamed<O: Serve>(
        self,
        method: Method,
        path: &'static str,
        write: fn(&I, &CallContext) -> Response,
    ) -> Routes<I> {
        let operation = RouteOperation::of::<I, O>(I::write_error);
        let (request, answered) = (O::Request::full_name(), O::Answer::full_name());
        let form = RouteForm::Messages { request, answer: answered, source: Source::Address };
        let read = |received: &mut Received| Ok((received.query_values()?.read()?, ()));
        let write = move |interface: &I, context: &CallContext, (), _: &O::Answer| write(interface, context);
        self.add::<O, ()>((method, path), operation, form, read, write)
    }

    fn messages<O: Serve>(
        self,
        method: Method,
        path: &'static str,
        source: Source,
        read: impl Fn(&mut Received) -> Result<O::Request, ServiceError> + Send + Sync + 'static,
    ) -> Routes<I> {
        let operation = RouteOperation::of::<I, O>(I::write_error);
        let (request, answered) = (O::Request::full_name(), O::Answer::full_name());
        let form = RouteForm::Messages { request, answer: answered, source };
        let read = move |received: &mut Received| Ok((read(received)?, ()));
        let write = |_: &I, _: &CallContext, (), message: &O::Answer| answer(message);
        self.add::<O, ()>((method, path), operation, form, read, write)
    }

    fn add<O: Serve, W: Send + 'static>(
        mut self,
        (method, path): (Method, &'static str),
        operation: RouteOperation,
        form: RouteForm,
        read: impl Fn(&mut Received) -> ReadResult<O, W> + Send + Sync + 'static,
        write: impl Fn(&I, &CallContext, W, &O::Answer) -> Response + Copy + Send + Sync + 'static,
    ) -> Routes<I> {
        let handler: Handler<I> = Arc::new(move |interface, mut received| {
            let request = read(&mut received);
            // The rest of the request is dropped before the operation runs.
            let context = received.context;
            Box::pin(async move {
                let (request, write_state) = request?;
                let running = interface.answers().start(&context.caller, O::answer_blocks(&request)).await;
                let message = interface.services().run::<O>(&context, request).await?;
                let mut response = write(&interface, &context, write_state, &message);
                running.and_then(|running| response.extensions_mut().insert(running));
                bound_answer(&interface, &context, operation, response)
            })
        });
        self.router = self.router.route(path, on_method(&method, operation, handler));
        let RouteOperation { name: id, access, preset, .. } = operation;
        self.table.push(Route { method, path, id, access, preset: Some(preset), form });
        self
    }
}

/// Adds the share of an answer to it. Fails if the answer is too long, or if too many are unread.
fn bound_answer<I: Calls>(
    interface: &I,
    context: &CallContext,
    operation: RouteOperation,
    mut response: Response,
) -> Result<Response, ServiceError> {
    let (bytes, bytes_max) = (response.body().size_hint().lower(), operation.answer_bytes_max);
    if bytes > bytes_max as u64 {
        let message = format!("The answer has {bytes} bytes; at most {bytes_max} are sent. Ask for fewer entries.");
        return Err(ServiceError::invalid(message));
    }
    let address = context.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let bytes = bytes.max(operation.streamed_bytes as u64);
    response.extensions_mut().insert(interface.answers().take(&context.caller, address, bytes)?);
    Ok(response)
}

/// Calls an operation, with its type erased so that the code around it is compiled once.
type Handler<I> = Arc<dyn Fn(I, Received) -> HandlerFuture + Send + Sync>;
type HandlerFuture = Pin<Box<dyn Future<Output = Result<Response, ServiceError>> + Send>>;

/// A request with a known caller and a complete body.
pub(crate) struct Received {
    pub context: Arc<CallContext>,
    path: Option<RawPathParams>,
    pub parts: Parts,
    pub body: Bytes,
}

impl Received {
    /// Returns a value of the path, by its name there.
    pub fn path_value(&self, name: &str) -> Option<&str> {
        let mut values = self.path.iter().flat_map(RawPathParams::iter);
        values.find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns the values of the query by name. Fails if there are too many.
    pub fn query(&self) -> Result<BTreeMap<String, Vec<String>>, ServiceError> {
        query::by_name(self.parts.uri.query().unwrap_or(""))
    }

    /// Returns the values of path and query.
    fn query_values(&self) -> Result<QueryValues<'_>, ServiceError> {
        let mut values = QueryValues::default();
        for (name, value) in self.path.iter().flat_map(RawPathParams::iter) {
            values.add(Cow::Borrowed(name), Cow::Borrowed(value));
        }
        values.add_query(self.parts.uri.query().unwrap_or(""))?;
        Ok(values)
    }
}

/// Passes a request on to a custom route, if its sender has the access.
async fn check_access<I: Interface>(
    State((interface, access)): State<(I, Access)>,
    request: Request,
    next: Next,
) -> Response {
    match interface.admit(access, request.uri(), request.headers()) {
        Ok(_) => next.run(request).await,
        Err(error) => I::write_error(error.into()),
    }
}

fn on_method<I: Calls>(method: &Method, operation: RouteOperation, handler: Handler<I>) -> MethodRouter<I> {
    let filter = MethodFilter::try_from(method.clone()).expect("routes use standard HTTP methods");
    let metrics = Arc::new(OperationMetrics::new(operation.name));
    on(filter, move |State(interface): State<I>, request: Request| async move {
        let began = Instant::now();
        let outcome = match receive(&interface, operation, request).await {
            Ok((received, _share)) => handler(interface.clone(), received).await.map_err(ErrorAnswer::from),
            Err(error) => Err(error),
        };
        let code = outcome.as_ref().err().map(|answer| answer.error.code);
        metrics.count(interface.registry(), began.elapsed(), code);
        outcome.unwrap_or_else(operation.write_error)
    })
}

/// Receives a whole request, with the share of its memory for as long as its call runs.
async fn receive<I: Calls>(
    interface: &I,
    operation: RouteOperation,
    mut request: Request,
) -> Result<(Received, Option<AnswerShare>), ErrorAnswer> {
    let mut context = authorize(interface, operation, &request)?;
    let path = request.extract_parts::<RawPathParams>().await.ok();
    let (parts, body) = request.into_parts();
    if interface.services().calls.wants_headers(operation.name) {
        Arc::make_mut(&mut context).headers = Some(Arc::new(shown_headers(&parts.headers)));
    }
    let address = context.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let body = read_body(body, || interface.bodies().take(address)).await?;
    let body = encoding::decompress(body, &parts.headers, BODY_BYTES_MAX).map_err(encoding_error)?;
    let share = interface.answers().take_request(&context, body.len())?;
    Ok((Received { context, path, parts, body }, share))
}

/// Checks access and rate limits.
fn authorize<I: Calls>(
    interface: &I,
    operation: RouteOperation,
    request: &Request,
) -> Result<Arc<CallContext>, ServiceError> {
    let address = interface.address(request);
    let caller = interface.admit(operation.access, request.uri(), request.headers())?;
    interface.rates().take(&caller, address, (operation.name, operation.preset))?;
    let port = request.extensions().get::<PeerAddress>().map(|peer| peer.socket.port());
    Ok(Arc::new(CallContext { port, ..CallContext::from_address(caller, address) }))
}

/// Returns the headers that code of the game gets: without credentials, and without those that would keep more than
/// [`SHOWN_HEADERS_BYTES_MAX`] in memory while the call runs.
pub(crate) fn shown_headers(headers: &HeaderMap) -> HeaderMap {
    let mut left = SHOWN_HEADERS_BYTES_MAX;
    let mut shown = HeaderMap::with_capacity(headers.len().min(64));
    for (name, value) in headers {
        let bytes = name.as_str().len() + value.len();
        if CREDENTIALS.contains(name) || bytes > left {
            continue;
        }
        left -= bytes;
        // A copy, so that the buffer of the connection is not kept.
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            shown.append(name, value);
        }
    }
    shown
}

/// Reads the whole body, if it is not too long. A body that has to be waited for takes a share meanwhile.
pub(crate) async fn read_body(
    body: Body,
    take_share: impl FnOnce() -> Result<NetworkShare, ServiceError>,
) -> Result<Bytes, ServiceError> {
    let mut whole = pin!(to_bytes(body, BODY_BYTES_MAX));
    let read = match poll_fn(|context| Poll::Ready(whole.as_mut().poll(context))).await {
        Poll::Ready(read) => read,
        Poll::Pending => {
            let _share = take_share()?;
            whole.await
        }
    };
    read.map_err(|_| {
        let message =
            format!("The request body is incomplete or too long: at most {BODY_BYTES_MAX} bytes are accepted.");
        ServiceError::invalid(message)
    })
}

/// Turns a decompression error into an answer.
fn encoding_error(error: EncodingError) -> ErrorAnswer {
    match error {
        EncodingError::TooLarge => {
            let sentence = format!("The decompressed request body is longer than {BODY_BYTES_MAX} bytes.");
            ErrorAnswer::with_status(StatusCode::PAYLOAD_TOO_LARGE, ServiceError::invalid(sentence))
        }
        EncodingError::Damaged => ServiceError::invalid("The body does not match its Content-Encoding.").into(),
        EncodingError::Unknown => {
            let sentence = "The Content-Encoding of the body is not supported. Use gzip, deflate or identity.";
            ErrorAnswer::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, ServiceError::invalid(sentence))
        }
    }
}

/// Reads a message from JSON. An empty body is an empty message.
fn read_json<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, ServiceError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    serde_json::from_slice(body).map_err(|error| invalid_body(&error))
}

#[cfg(test)]
mod tests {
    use super::super::{ApiError, RequestRates};
    use super::*;
    use crate::answers::AnswerBudget;
    use crate::routing::{Description, RateSettings};
    use crate::slow_bodies::SlowBodies;
    use aether_messages::operation::{GetUsers, ListStorageObjects};
    use aether_metrics::Registry;
    use aether_services::clock::{ManualClock, WallClock};
    use aether_services::session::{self, keys::KeyRing, tokens::Tokens};
    use aether_services::{Caller, GrpcCode, Services, ServicesExtensions, ServicesParts, ServicesSettings};
    use axum::response::IntoResponse;
    use http::Uri;
    use serde_json::json;
    use tower::ServiceExt;

    /// An interface that requires the operator's key.
    #[derive(Clone)]
    struct Operator(Arc<(Arc<Services>, RequestRates, Registry, AnswerBudget, SlowBodies)>);

    impl Interface for Operator {
        fn admit(&self, access: Access, _: &Uri, headers: &HeaderMap) -> Result<Caller, ServiceError> {
            assert_eq!(access, Access::Operator, "it does not depend on the operation");
            let shown = headers.get(header::AUTHORIZATION).is_some_and(|key| key == "Bearer key");
            if shown { Ok(Caller::Server) } else { Err(ServiceError::new(GrpcCode::Unauthenticated, "Send the key.")) }
        }

        fn write_error(answer: ErrorAnswer) -> Response {
            ApiError::from(answer).into_response()
        }
    }

    impl Calls for Operator {
        fn access(_: Access) -> Access {
            Access::Operator
        }

        fn services(&self) -> &Arc<Services> {
            &self.0.0
        }

        fn rates(&self) -> &RequestRates {
            &self.0.1
        }

        fn registry(&self) -> &Registry {
            &self.0.2
        }

        fn answers(&self) -> &AnswerBudget {
            &self.0.3
        }

        fn bodies(&self) -> &SlowBodies {
            &self.0.4
        }

        fn address(&self, _: &Request) -> IpAddr {
            IpAddr::from([127, 0, 0, 1])
        }
    }

    async fn services(registry: &Registry) -> Arc<Services> {
        let store = aether_testkit_store::memory().open().await;
        let folder = std::env::temp_dir().join(format!("aether-routing-{}", uuid::Uuid::new_v4()));
        let ring = KeyRing::open(&folder, 0).expect("the folder can be created");
        let _ = std::fs::remove_dir_all(&folder);
        let settings = ServicesSettings {
            sessions: session::Settings {
                access_seconds: 900,
                refresh_seconds: 900,
                refresh_again_seconds: 10,
                single: false,
            },
            accounts: Default::default(),
            http_client: Default::default(),
            webhook: None,
            providers: Default::default(),
            purchases: Default::default(),
            storage: Default::default(),
            reserved_collections: std::collections::BTreeSet::new(),
            matchmaker: Default::default(),
        };
        let clock = Arc::new(ManualClock::at(0)) as Arc<dyn WallClock>;
        let tokens = Arc::new(Tokens::new(ring, "aether"));
        let parts = ServicesParts { store, clock, tokens, registry };
        let services = Services::open(parts, settings, ServicesExtensions::default()).await;
        Arc::new(services.expect("the services open"))
    }

    #[tokio::test]
    async fn an_operators_interface_is_declared_with_the_same_routes() {
        let registry = Registry::new();
        let operator = Operator(Arc::new((
            services(&registry).await,
            RequestRates::new(RateSettings::default()),
            registry.clone(),
            AnswerBudget::new(&registry),
            SlowBodies::default(),
        )));
        let description = Description { title: "", text: "", error_schema: json!({}) };
        let routes = Routes::default()
            .address::<GetUsers>(Method::GET, "/users")
            .address::<ListStorageObjects>(Method::GET, "/storage/{collection}")
            .described(&description);
        let router: Router<()> = routes.into_router(operator);
        let ask = async |path: &str, key: &str| {
            let request = Request::get(path).header(header::AUTHORIZATION, key).body(Body::empty());
            let response =
                router.clone().oneshot(request.expect("the request is valid")).await.expect("a router always answers");
            let status = response.status().as_u16();
            let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("the body is in memory");
            (status, serde_json::from_slice::<Value>(&bytes).expect("every answer is JSON"))
        };
        assert_eq!(ask("/users", "Bearer key").await, (200, json!({})));
        assert_eq!(ask("/storage/saves?limit=1", "Bearer key").await, (200, json!({})));
        let refused = json!({ "code": "unauthenticated", "error": "Send the key." });
        assert_eq!(ask("/users", "Bearer wrong").await, (401, refused));
        let (status, refused) = ask("/users?ids=ann", "Bearer key").await;
        assert_eq!((status, &refused["code"]), (400, &json!("invalid_argument")));
        let (_, document) = ask("/openapi.json", "").await;
        assert_eq!(document["paths"]["/users"]["get"]["security"], json!([{ "operatorKey": [] }]));
        assert!(document["components"]["securitySchemes"]["operatorKey"].is_object());
        let text = registry.render();
        assert!(text.contains("aether_operation_duration_seconds_count{operation=\"GetUsers\"} 3\n"), "{text}");
    }
}
