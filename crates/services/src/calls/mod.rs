//! Call table: all operations with their hooks, and all functions and match types that the program or a module adds.
//! Operations and functions can be called by name with JSON, and matches are created by the name of their type. Rust
//! code calls operations by type.
//!
//! ```text
//!   HTTP route ──→ run::<O> ──┐
//!   Rust code ───→ call::<O> ─┼─→ access → before hooks → Serve::serve → after hooks
//!   socket ──────→ call::<O> ─┤
//!   rooms ───────→ call_bytes ┤
//!   by name ─────→ call_json ─┘   (hooks of the program, then of the modules in their order)
//! ```
//!
//! Operations and the program's hooks are fixed once the services are shared. Modules are replaced as a whole while the
//! server runs ([`CallTable::replace`]); a call uses the modules of its start until it ends. A call takes them under a
//! read lock that is held only to copy a pointer, and converts to JSON only for hooks registered by name.

mod functions;
mod limits;
mod match_types;
mod metrics;
mod modules;
mod routes;
mod serve;

pub use functions::{FUNCTION_NAME_MISSING, FUNCTION_NOT_FOUND, Functions};
pub(crate) use limits::answer_blocks;
pub use limits::{
    ANSWER_BLOCK_BYTES, ANSWER_BYTES_MAX, FUNCTION_NAME_BYTES_MAX, FUNCTIONS_MAX, HOOKS_MAX, MATCH_TYPE_NAME_BYTES_MAX,
    MATCH_TYPES_MAX, MODULE_NAME_BYTES_MAX, MODULES_MAX, PAYLOAD_BYTES_MAX, ROUTE_ANSWER_BYTES_MAX,
    ROUTE_HEADER_BYTES_MAX, ROUTE_HEADERS_MAX, ROUTE_PATH_BYTES_MAX, ROUTES_MAX,
};
pub use match_types::{MatchTypes, MatchTypesByName};
pub use metrics::OperationMetrics;
pub use modules::{Module, PROGRAM};
pub use routes::{FoundRoute, HttpRoute, HttpRoutes, ROUTE_METHODS, RouteAnswer, RouteRequest, check_route};
pub use serve::{Access, Call, RatePreset, Serve};

use crate::caller::CallContext;
use crate::error::{GrpcCode, INTERNAL, ServiceError};
use crate::hooks::{OperationHooks, run_with_hooks};
use crate::services::Services;
use crate::{
    account, admin, bracket, chat, event, friend, group, leaderboard, matches, matchmaker, moderation, notification,
    party, profile, purchase, remote_value, router, session, status, storage, tournament,
};
use aether_messages::api::Rpc;
use aether_messages::operation::{self, Operation, RpcFunc};
use aether_messages::prost::Name as _;
use aether_messages::socket;
use aether_metrics::Registry;
use aether_store::on_behalf_of;
use modules::Registered;
use serde_json::Value;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Instant;
use tracing::error;

const OPERATOR_ONLY: ServiceError = ServiceError::new(
    GrpcCode::PermissionDenied,
    "This needs a role with a permission, or the operator of the server.",
);
const OPERATION_NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "Operation not found.");
const OPERATION_NOT_SERVED: ServiceError =
    ServiceError::new(GrpcCode::Unimplemented, "This server does not serve the operation.");

/// Call table of a server.
pub struct CallTable {
    operations: BTreeMap<&'static str, Entry>,
    registered: RwLock<Arc<Registered>>,
    /// Locked while the next modules are prepared, so that concurrent replacements are not lost.
    replacing: Mutex<()>,
    registry: Registry,
}

/// Description of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationInfo {
    /// Name.
    pub name: &'static str,
    /// Access that a caller needs.
    pub access: Access,
    /// Kind of work, for rate limits.
    pub preset: RatePreset,
    /// Full name of the request message.
    pub request: String,
    /// Full name of the answer message.
    pub answer: String,
}

struct Entry {
    info: OperationInfo,
    metrics: OperationMetrics,
    call: CallJson,
}

type CallFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, ServiceError>> + Send + 'a>>;
type CallJson = for<'a> fn(&'a Arc<Services>, &'a Arc<CallContext>, Value) -> CallFuture<'a>;

/// Builder of the operations of the table.
#[derive(Default)]
pub(crate) struct Operations(BTreeMap<&'static str, Entry>);

impl Operations {
    /// Adds an operation.
    pub fn with<O: Serve>(mut self) -> Operations {
        let info = OperationInfo {
            name: O::NAME,
            access: O::ACCESS,
            preset: O::PRESET,
            request: O::Request::full_name(),
            answer: O::Answer::full_name(),
        };
        let entry = Entry { info, metrics: OperationMetrics::new(O::NAME), call: call_as::<O> };
        let former = self.0.insert(O::NAME, entry);
        debug_assert!(former.is_none(), "operation {} is in the table twice", O::NAME);
        self
    }

    /// Adds the operations of a noun.
    pub fn and(self, add: impl FnOnce(Operations) -> Operations) -> Operations {
        add(self)
    }

    fn all() -> Operations {
        Operations::default()
            .and(account::serve::operations)
            .and(admin::serve::operations)
            .and(admin::serve_moderation::operations)
            .and(admin::serve_remote_value::operations)
            .and(admin::serve_room::operations)
            .and(admin::serve_storage_index::operations)
            .and(admin::serve_script::operations)
            .and(bracket::serve::operations)
            .and(chat::serve::operations)
            .and(event::serve::operations)
            .and(group::serve::operations)
            .and(friend::serve::operations)
            .and(leaderboard::serve::operations)
            .and(matches::serve::operations)
            .and(matchmaker::serve::operations)
            .and(moderation::serve::operations)
            .and(notification::serve::operations)
            .and(party::serve::operations)
            .and(profile::serve::operations)
            .and(purchase::serve::operations)
            .and(remote_value::serve::operations)
            .and(router::serve::operations)
            .and(session::serve::operations)
            .and(status::serve::operations)
            .and(storage::serve::operations)
            .and(tournament::serve::operations)
            .with::<RpcFunc>()
    }
}

impl CallTable {
    /// Creates a table of all operations and of the program's functions and match types. Calls are counted in the
    /// registry.
    pub(crate) fn new(
        functions: Functions,
        match_types: MatchTypes,
        registry: &Registry,
    ) -> Result<CallTable, ServiceError> {
        let program = Module { functions, match_types, ..Module::default() };
        let registered = Registered::default().with(PROGRAM, Some(program))?;
        Ok(CallTable {
            operations: Operations::all().0,
            registered: RwLock::new(Arc::new(registered)),
            replacing: Mutex::new(()),
            registry: registry.clone(),
        })
    }

    /// Returns the operations, sorted by name.
    pub fn operations(&self) -> impl Iterator<Item = &OperationInfo> {
        self.operations.values().map(|entry| &entry.info)
    }

    /// Returns the names of functions that clients may call, sorted.
    #[must_use]
    pub fn functions(&self) -> Vec<String> {
        self.registered().rpc_names()
    }

    /// Returns true if there is a function of this name, for clients or not.
    #[must_use]
    pub fn has_function(&self, name: &str) -> bool {
        functions::find(&self.registered(), name).is_ok()
    }

    /// Returns the current match types by name.
    #[must_use]
    pub fn match_types(&self) -> Arc<MatchTypesByName> {
        Arc::clone(self.registered().match_types())
    }

    /// Finds the HTTP route of a module. The path is that below the prefix of the routes.
    #[must_use]
    pub fn route(&self, method: &str, path: &str) -> FoundRoute {
        self.registered().route(method, path)
    }

    /// Returns true if a function or a hook of the operation wants the headers of requests in [`CallContext::headers`].
    #[must_use]
    pub fn wants_headers(&self, operation: &str) -> bool {
        self.registered.read().unwrap_or_else(PoisonError::into_inner).wants_headers(operation)
    }

    /// Returns the names of modules, in the order of first registration.
    #[must_use]
    pub fn modules(&self) -> Vec<String> {
        self.registered().module_names()
    }

    /// Registers a module, or replaces the one with this name. Running calls finish with the former modules, and no
    /// call sees a mix of both. On an error nothing changes.
    pub fn replace(&self, name: &str, module: Module) -> Result<(), ServiceError> {
        self.change(name, Some(module))
    }

    /// Removes a module, if it exists.
    pub fn remove(&self, name: &str) -> Result<(), ServiceError> {
        self.change(name, None)
    }

    fn change(&self, name: &str, module: Option<Module>) -> Result<(), ServiceError> {
        if name == PROGRAM {
            let message = format!("The module name {PROGRAM} is reserved. Choose another name.");
            return Err(ServiceError::invalid(message));
        }
        let _lock = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let next = Arc::new(self.registered().with(name, module)?);
        let mut registered = self.registered.write().unwrap_or_else(PoisonError::into_inner);
        let former = std::mem::replace(&mut *registered, next);
        // The former modules may be freed here, outside the lock.
        drop(registered);
        drop(former);
        Ok(())
    }

    /// Returns the current modules.
    fn registered(&self) -> Arc<Registered> {
        Arc::clone(&self.registered.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn entry(&self, name: &str) -> Result<&Entry, ServiceError> {
        let is_known = || is_operation(name);
        self.operations.get(name).ok_or_else(|| if is_known() { OPERATION_NOT_SERVED } else { OPERATION_NOT_FOUND })
    }

    fn count<T>(&self, entry: &Entry, began: Instant, outcome: &Result<T, ServiceError>) {
        entry.metrics.count(&self.registry, began.elapsed(), outcome.as_ref().err().map(|error| error.code));
    }
}

impl Services {
    /// Calls an operation with its hooks, and counts the call.
    pub async fn call<O: Serve>(
        self: &Arc<Self>,
        context: &Arc<CallContext>,
        request: O::Request,
    ) -> Result<O::Answer, ServiceError> {
        let (entry, began) = (self.calls.entry(O::NAME)?, Instant::now());
        let outcome = self.run::<O>(context, request).await;
        self.calls.count(entry, began, &outcome);
        outcome
    }

    /// Calls an operation by name. Request and answer are the JSON forms of their messages.
    pub async fn call_json(
        self: &Arc<Self>,
        name: &str,
        context: &Arc<CallContext>,
        request: Value,
    ) -> Result<Value, ServiceError> {
        let (entry, began) = (self.calls.entry(name)?, Instant::now());
        let outcome = (entry.call)(self, context, request).await;
        self.calls.count(entry, began, &outcome);
        outcome
    }

    /// Calls a function by name like an RPC of a client, with the hooks of [`RpcFunc`].
    pub async fn call_function(
        self: &Arc<Self>,
        name: &str,
        context: &Arc<CallContext>,
        payload: String,
    ) -> Result<String, ServiceError> {
        let request = Rpc { id: name.to_owned(), payload, http_key: String::new() };
        Ok(self.call::<RpcFunc>(context, request).await?.payload)
    }

    /// Calls a function by name with bytes like a room, with the hooks of [`RpcFunc`], and counts the call. Hooks see bytes
    /// that are not text as `{"base64":"…"}`.
    pub async fn call_bytes(
        self: &Arc<Self>,
        name: &str,
        context: &Arc<CallContext>,
        payload: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, ServiceError> {
        let (entry, began) = (self.calls.entry(RpcFunc::NAME)?, Instant::now());
        let outcome = self.run_bytes(name, context, payload).await;
        self.calls.count(entry, began, &outcome);
        outcome
    }

    async fn run_bytes(
        self: &Arc<Self>,
        name: &str,
        context: &Arc<CallContext>,
        payload: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, ServiceError> {
        let registered = self.calls.registered();
        let hooks = self.hooks_of::<RpcFunc>(&registered);
        if hooks.is_empty() {
            return functions::find(&registered, name)?.run(self, context, payload).await;
        }
        let bytes = OnceLock::new();
        let request = Rpc { id: name.to_owned(), payload: functions::to_text(payload), http_key: String::new() };
        let run = async |request: Rpc| {
            let Rpc { id, payload, .. } = request;
            let function = functions::find(&registered, &id)?;
            let answer = function.run(self, context, functions::from_text(payload)).await?;
            let answer = bytes.get_or_init(|| answer).clone();
            Ok(Rpc { id, payload: functions::to_text(answer.unwrap_or_default()), http_key: String::new() })
        };
        run_with_hooks::<RpcFunc, _>(&hooks, context, request, run).await?;
        Ok(bytes.into_inner().flatten())
    }

    /// Returns the hooks of an operation: those of the program, then those of the modules.
    fn hooks_of<'a, O: Operation>(&'a self, registered: &'a Registered) -> Vec<&'a OperationHooks> {
        self.hooks.of_operation(O::NAME).into_iter().chain(registered.hooks_of(O::NAME)).collect()
    }

    /// Calls an operation with its hooks, without counting. An interface also counts calls that it rejects earlier,
    /// with [`OperationMetrics`] of the same name.
    pub async fn run<O: Serve>(
        self: &Arc<Self>,
        context: &Arc<CallContext>,
        request: O::Request,
    ) -> Result<O::Answer, ServiceError> {
        O::ACCESS.check(&context.caller)?;
        let registered = self.calls.registered();
        let call = Call { services: self, context, registered: &registered };
        let hooks = self.hooks_of::<O>(&registered);
        let serve = async {
            // Most operations have no hooks; then nothing is collected, and nothing allocated.
            if hooks.is_empty() {
                return O::serve(&call, request).await;
            }
            run_with_hooks::<O, _>(&hooks, context, request, |request| O::serve(&call, request)).await
        };
        match context.turn() {
            Some(caller) => on_behalf_of(caller, serve).await,
            None => serve.await,
        }
    }
}

/// Returns true if there is an operation of this name, served or not.
pub(crate) fn is_operation(name: &str) -> bool {
    operation_names().any(|known| known == name)
}

/// Returns the names of all operations, served or not.
pub fn operation_names() -> impl Iterator<Item = &'static str> {
    let names = [
        operation::NAMES,
        socket::NAMES,
        account::operation::NAMES,
        admin::operation::NAMES,
        admin::moderation::NAMES,
        admin::remote_value::NAMES,
        admin::room::NAMES,
        admin::script::NAMES,
        admin::storage_index::NAMES,
        bracket::operation::NAMES,
        bracket::operator::NAMES,
        moderation::operation::NAMES,
        profile::operation::NAMES,
        remote_value::operation::NAMES,
    ];
    names.into_iter().flatten().copied()
}

/// Calls an operation with JSON.
fn call_as<'a, O: Serve>(services: &'a Arc<Services>, context: &'a Arc<CallContext>, request: Value) -> CallFuture<'a> {
    Box::pin(async move {
        let request = serde_json::from_value(request).map_err(|error| invalid_body(&error))?;
        let answer = services.run::<O>(context, request).await?;
        serde_json::to_value(answer).map_err(|error| {
            error!(operation = O::NAME, %error, "answer cannot be converted to JSON");
            INTERNAL
        })
    })
}

/// Returns the error for a request that is not the JSON form of its message.
#[must_use]
pub fn invalid_body(error: &serde_json::Error) -> ServiceError {
    ServiceError::invalid(format!("The body is not valid: {error}."))
}
