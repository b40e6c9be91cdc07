//! Routes: where an operation is found, and how its request is read from there.

use super::answer::{ErrorAnswer, answer};
use super::encoding::{self, EncodingError};
use super::query::{self, QueryValues};
use super::{Calls, Interface};
use aether_messages::Operation;
use aether_messages::prost::Name as _;
use aether_services::calls::{Access, OperationMetrics, RatePreset, Serve, unreadable};
use aether_services::{CallContext, ServiceError};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{RequestExt, Router};
use http::request::Parts;
use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a request's body, also after it was unpacked.
const BODY_BYTES_MAX: usize = 262_144;

/// Routes of an interface.
pub(crate) struct Routes<I> {
    router: Router<I>,
    /// Routes that are no operations, with what they ask for; the interface is not known yet when they are declared.
    own: Vec<(&'static str, MethodRouter<I>, Access)>,
    /// Each route once. The description is made from it.
    pub table: Vec<Route>,
}

/// A route as it was declared.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub method: Method,
    pub path: &'static str,
    /// Name of the operation, or of what is none.
    pub id: &'static str,
    pub access: Access,
    /// Rate preset; none for what is no operation, which has no limit.
    pub preset: Option<RatePreset>,
    pub form: Described,
}

/// Form of a route's request and answer, for the description.
#[derive(Clone, Debug)]
pub(crate) enum Described {
    /// Messages, by their full names.
    Messages { request: String, answer: String, source: Source },
    /// Something that is described by hand.
    Written(Written),
}

/// Form of a route that is described by hand.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// Parameters in path and query.
    pub parameters: Vec<Value>,
    /// Schema of the JSON in the body.
    pub body: Option<Value>,
    /// Content type of the answer.
    pub content_type: &'static str,
    /// Schema of the answer.
    pub answer: Value,
    /// Response of a refusal; that of the interface if there is none.
    pub refused: Option<Value>,
}

/// Place where a request is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Path and query.
    Address,
    /// The body.
    Body,
    /// Path and query, and the body is one of its fields.
    Field,
}

/// A route that is no operation: something of our own, without hooks.
pub(crate) struct CustomRoute {
    pub method: Method,
    pub path: &'static str,
    pub id: &'static str,
    pub access: Access,
    pub content_type: &'static str,
}

/// Form of an operation's request and answer where they are not the JSON of its messages.
pub(crate) struct Form<O: Serve, W> {
    /// Reads the request, and what writing the answer needs of it.
    pub read: fn(&mut Received) -> Reading<O, W>,
    /// Writes the answer.
    pub write: fn(W, &O::Answer) -> Response,
    /// Writes a refusal.
    pub refuse: fn(ErrorAnswer) -> Response,
    pub written: Written,
}

/// A request that was read, with what writing its answer needs.
type Reading<O, W> = Result<(<O as Operation>::Request, W), ServiceError>;

/// Properties of an operation's route that do not depend on a request.
#[derive(Clone, Copy)]
struct Kind {
    operation: &'static str,
    access: Access,
    preset: RatePreset,
    refuse: fn(ErrorAnswer) -> Response,
}

impl<I: Interface> Default for Routes<I> {
    fn default() -> Routes<I> {
        Routes { router: Router::new(), own: Vec::new(), table: Vec::new() }
    }
}

impl<I: Interface> Routes<I> {
    /// Adds the routes of a noun.
    pub fn with(self, add: impl FnOnce(Routes<I>) -> Routes<I>) -> Routes<I> {
        add(self)
    }

    /// Adds a route that is no operation.
    pub fn own(mut self, own: CustomRoute, handlers: MethodRouter<I>) -> Routes<I> {
        let CustomRoute { method, path, id, access, content_type } = own;
        let answer =
            serde_json::json!({ "type": if content_type == "application/json" { "object" } else { "string" } });
        let form = Written { parameters: Vec::new(), body: None, content_type, answer, refused: None };
        self.table.push(Route { method, path, id, access, preset: None, form: Described::Written(form) });
        self.undescribed(path, access, handlers)
    }

    /// Adds a route that the description does not tell of.
    pub fn undescribed(mut self, path: &'static str, access: Access, handlers: MethodRouter<I>) -> Routes<I> {
        self.own.push((path, handlers, access));
        self
    }

    /// All routes, for a router of any state.
    pub fn into_router<S: Clone + Send + Sync + 'static>(self, interface: I) -> Router<S> {
        let mut router = self.router;
        for (path, handlers, access) in self.own {
            let handlers = if access == Access::Everyone {
                handlers
            } else {
                handlers.route_layer(axum::middleware::from_fn_with_state((interface.clone(), access), guard::<I>))
            };
            router = router.route(path, handlers);
        }
        router.with_state(interface)
    }
}

impl<I: Calls> Routes<I> {
    /// Adds an operation whose request stands in path and query.
    pub fn address<O: Serve>(self, method: Method, path: &'static str) -> Routes<I> {
        self.messages::<O>(method, path, Source::Address, |received| received.asked()?.read())
    }

    /// Adds an operation whose request is the body.
    pub fn body<O: Serve>(self, method: Method, path: &'static str) -> Routes<I> {
        self.messages::<O>(method, path, Source::Body, |received| read_json(&received.body))
    }

    /// Adds an operation whose request stands in path and query but for one part, which is the body.
    pub fn field<O: Serve, B: DeserializeOwned + Default + 'static>(
        self,
        method: Method,
        path: &'static str,
        place: fn(&mut O::Request, B),
    ) -> Routes<I> {
        self.messages::<O>(method, path, Source::Field, move |received| {
            let mut request = received.asked()?.read()?;
            place(&mut request, read_json(&received.body)?);
            Ok(request)
        })
    }

    /// Adds an operation whose request and answer have a form of their own.
    pub fn formed<O: Serve, W: Send + 'static>(
        self,
        method: Method,
        path: &'static str,
        form: Form<O, W>,
    ) -> Routes<I> {
        let Form { read, write, refuse, written } = form;
        let kind = Kind { operation: O::NAME, access: I::access(O::ACCESS), preset: O::PRESET, refuse };
        self.add::<O, W>((method, path), kind, Described::Written(written), read, write)
    }

    fn messages<O: Serve>(
        self,
        method: Method,
        path: &'static str,
        source: Source,
        read: impl Fn(&mut Received) -> Result<O::Request, ServiceError> + Send + Sync + 'static,
    ) -> Routes<I> {
        let kind = Kind { operation: O::NAME, access: I::access(O::ACCESS), preset: O::PRESET, refuse: I::refuse };
        let (request, answered) = (O::Request::full_name(), O::Answer::full_name());
        let described = Described::Messages { request, answer: answered, source };
        let read = move |received: &mut Received| Ok((read(received)?, ()));
        self.add::<O, ()>((method, path), kind, described, read, |(), message| answer(message))
    }

    fn add<O: Serve, W: Send + 'static>(
        mut self,
        (method, path): (Method, &'static str),
        kind: Kind,
        form: Described,
        read: impl Fn(&mut Received) -> Reading<O, W> + Send + Sync + 'static,
        write: fn(W, &O::Answer) -> Response,
    ) -> Routes<I> {
        let handler: Handler<I> = Arc::new(move |interface, mut received| {
            let request = read(&mut received);
            // The rest of what was received is not held while the operation runs.
            let context = received.context;
            Box::pin(async move {
                let (request, writing) = request?;
                let message = interface.services().run::<O>(&context, request).await?;
                Ok(write(writing, &message))
            })
        });
        self.router = self.router.route(path, on_method(&method, kind, handler));
        let Kind { operation: id, access, preset, .. } = kind;
        self.table.push(Route { method, path, id, access, preset: Some(preset), form });
        self
    }
}

/// Calls an operation for a request, its type forgotten: so the way to it is compiled once and not for each.
type Handler<I> = Arc<dyn Fn(I, Received) -> Serving + Send + Sync>;
type Serving = Pin<Box<dyn Future<Output = Result<Response, ServiceError>> + Send>>;

/// A request whose sender is known and whose body is there.
pub(crate) struct Received {
    pub context: Arc<CallContext>,
    path: Option<RawPathParams>,
    pub parts: Parts,
    pub body: Bytes,
}

impl Received {
    /// A value in the path, by its name there.
    pub fn in_path(&self, name: &str) -> Option<&str> {
        let mut values = self.path.iter().flat_map(RawPathParams::iter);
        values.find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Values of the query by their names, if there are not too many.
    pub fn query(&self) -> Result<BTreeMap<String, Vec<String>>, ServiceError> {
        query::by_name(self.parts.uri.query().unwrap_or(""))
    }

    /// Reads the values in path and query.
    fn asked(&self) -> Result<QueryValues<'_>, ServiceError> {
        let mut asked = QueryValues::default();
        for (name, value) in self.path.iter().flat_map(RawPathParams::iter) {
            asked.add(Cow::Borrowed(name), Cow::Borrowed(value));
        }
        asked.add_query(self.parts.uri.query().unwrap_or(""))?;
        Ok(asked)
    }
}

/// Lets a request pass to what is no operation, if its sender has the access.
async fn guard<I: Interface>(State((interface, access)): State<(I, Access)>, request: Request, next: Next) -> Response {
    match interface.admit(access, request.headers()) {
        Ok(_) => next.run(request).await,
        Err(refusal) => I::refuse(refusal.into()),
    }
}

fn on_method<I: Calls>(method: &Method, kind: Kind, handler: Handler<I>) -> MethodRouter<I> {
    let filter = MethodFilter::try_from(method.clone()).expect("routes use the methods of the web");
    let figures = Arc::new(OperationMetrics::new(kind.operation));
    on(filter, move |State(interface): State<I>, request: Request| async move {
        let began = Instant::now();
        let outcome = match take_in(&interface, kind, request).await {
            Ok(received) => handler(interface.clone(), received).await.map_err(ErrorAnswer::from),
            Err(refused) => Err(refused),
        };
        let code = outcome.as_ref().err().map(|refused| refused.refusal.code);
        figures.count(interface.registry(), began.elapsed(), code);
        outcome.unwrap_or_else(kind.refuse)
    })
}

async fn take_in<I: Calls>(interface: &I, kind: Kind, mut request: Request) -> Result<Received, ErrorAnswer> {
    let context = receive(interface, kind, &request)?;
    let path = request.extract_parts::<RawPathParams>().await.ok();
    let (parts, body) = request.into_parts();
    let body = read_body(body).await?;
    let body = encoding::decompress(body, &parts.headers, BODY_BYTES_MAX).map_err(not_unpacked)?;
    Ok(Received { context, path, parts, body })
}

/// Returns who asks, if they may, and not too often.
fn receive<I: Calls>(interface: &I, kind: Kind, request: &Request) -> Result<Arc<CallContext>, ServiceError> {
    let address = interface.address(request);
    let caller = interface.admit(kind.access, request.headers())?;
    interface.rates().take(&caller, address, (kind.operation, kind.preset))?;
    Ok(Arc::new(CallContext::from_address(caller, address)))
}

/// The whole body, if it is not too long.
async fn read_body(body: Body) -> Result<Bytes, ServiceError> {
    to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| {
        ServiceError::invalid(format!(
            "The body of a request has at most {BODY_BYTES_MAX} bytes, and has to arrive whole."
        ))
    })
}

/// Refuses a body that cannot be unpacked.
fn not_unpacked(why: EncodingError) -> ErrorAnswer {
    match why {
        EncodingError::TooLarge => {
            let sentence = format!("The body of a request has at most {BODY_BYTES_MAX} bytes after it is unpacked.");
            ErrorAnswer::with_status(StatusCode::PAYLOAD_TOO_LARGE, ServiceError::invalid(sentence))
        }
        EncodingError::Damaged => {
            ServiceError::invalid("The body is not compressed as its Content-Encoding says.").into()
        }
        EncodingError::Unknown => {
            let sentence = "The body's Content-Encoding is not known: use gzip, deflate or identity.";
            ErrorAnswer::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, ServiceError::invalid(sentence))
        }
    }
}

/// A message from JSON. Nothing is a message without anything in it.
fn read_json<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, ServiceError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    serde_json::from_slice(body).map_err(|error| unreadable(&error))
}

#[cfg(test)]
mod tests {
    use super::super::{ApiError, RequestRates};
    use super::*;
    use crate::routing::{Description, RateSettings};
    use aether_messages::operation::{GetUsers, ListStorageObjects};
    use aether_metrics::Registry;
    use aether_services::clock::{ManualClock, WallClock};
    use aether_services::session::{self, keys::KeyRing, tokens::Tokens};
    use aether_services::{Caller, GrpcCode, Services, ServicesExtensions, ServicesParts, ServicesSettings};
    use axum::response::IntoResponse;
    use http::{HeaderMap, header};
    use serde_json::json;
    use std::net::IpAddr;
    use tower::ServiceExt;

    /// An interface for an operator who has a key.
    #[derive(Clone)]
    struct Operator(Arc<(Arc<Services>, RequestRates, Registry)>);

    impl Interface for Operator {
        fn admit(&self, access: Access, headers: &HeaderMap) -> Result<Caller, ServiceError> {
            assert_eq!(access, Access::Operator, "whatever the operation asks for");
            let shown = headers.get(header::AUTHORIZATION).is_some_and(|key| key == "Bearer key");
            if shown { Ok(Caller::Server) } else { Err(ServiceError::new(GrpcCode::Unauthenticated, "Show the key.")) }
        }

        fn refuse(refused: ErrorAnswer) -> Response {
            ApiError::from(refused).into_response()
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

        fn address(&self, _: &Request) -> IpAddr {
            IpAddr::from([127, 0, 0, 1])
        }
    }

    async fn services(registry: &Registry) -> Arc<Services> {
        let store = aether_testkit_store::memory().open().await;
        let folder = std::env::temp_dir().join(format!("aether-routing-{}", uuid::Uuid::new_v4()));
        let ring = KeyRing::open(&folder, 0).expect("the folder can be made");
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
        };
        let clock = Arc::new(ManualClock::at(0)) as Arc<dyn WallClock>;
        let tokens = Arc::new(Tokens::new(ring, "aether"));
        let parts = ServicesParts { store, clock, tokens, registry };
        let services = Services::open(parts, settings, ServicesExtensions::default()).await;
        Arc::new(services.expect("the tables are there"))
    }

    #[tokio::test]
    async fn an_operators_interface_is_declared_with_the_same_routes() {
        let registry = Registry::new();
        let operator = Operator(Arc::new((
            services(&registry).await,
            RequestRates::new(RateSettings::default()),
            registry.clone(),
        )));
        let description = Description { title: "", text: "", refused: json!({}) };
        let routes = Routes::default()
            .address::<GetUsers>(Method::GET, "/users")
            .address::<ListStorageObjects>(Method::GET, "/storage/{collection}")
            .described(&description);
        let router: Router<()> = routes.into_router(operator);
        let ask = async |path: &str, key: &str| {
            let request = Request::get(path).header(header::AUTHORIZATION, key).body(Body::empty());
            let response = router.clone().oneshot(request.expect("it is a request")).await.expect("it answers");
            let status = response.status().as_u16();
            let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("it is in memory");
            (status, serde_json::from_slice::<Value>(&bytes).expect("every answer is JSON"))
        };
        assert_eq!(ask("/users", "Bearer key").await, (200, json!({})));
        assert_eq!(ask("/storage/saves?limit=1", "Bearer key").await, (200, json!({})));
        let refused = json!({ "code": "unauthenticated", "error": "Show the key." });
        assert_eq!(ask("/users", "Bearer wrong").await, (401, refused));
        let (status, refused) = ask("/users?ids=ann", "Bearer key").await;
        assert_eq!((status, &refused["code"]), (400, &json!("invalid_argument")));
        let (_, document) = ask("/openapi.json", "").await;
        assert_eq!(document["paths"]["/users"]["get"]["security"], json!([{ "operatorKey": [] }]));
        assert!(document["components"]["securitySchemes"]["operatorKey"].is_object());
        let text = registry.render();
        assert!(text.contains("aether_operation_seconds_count{operation=\"GetUsers\"} 3\n"), "{text}");
    }
}
