//! The table of calls: every operation of the services, with the hooks around it, and every function and match
//! type that the program or a module adds. Operations and functions are called by name with JSON, and matches of a type
//! are created by its name; Rust code calls operations by their types.
//!
//! ```text
//!   HTTP route ──→ run::<O> ──┐
//!   Rust code ───→ call::<O> ─┼─→ access → before hooks → Serve::serve → after hooks
//!   by name ─────→ call_json ─┘   (hooks of the program, then of the modules in their order)
//! ```
//!
//! Operations and the hooks of the program are fixed once the services are shared. Modules come and go while the server
//! runs, each as a whole ([`CallTable::replace`]): a call that has begun ends with the modules that it began with. A call
//! takes them by a read lock that is held for as long as it takes to copy a pointer, and goes through JSON only for a hook
//! that was registered by name.

mod figures;
mod functions;
mod limits;
mod match_types;
mod modules;
mod serve;

pub use figures::OperationMetrics;
pub use functions::Functions;
pub use limits::{
    FUNCTION_NAME_BYTES_MAX, FUNCTIONS_MAX, HOOKS_MAX, MATCH_TYPE_NAME_BYTES_MAX, MATCH_TYPES_MAX,
    MODULE_NAME_BYTES_MAX, MODULES_MAX, PAYLOAD_BYTES_MAX,
};
pub use match_types::{MatchTypes, MatchTypesByName};
pub use modules::{Module, PROGRAM};
pub use serve::{Access, Call, RatePreset, Serve};

use crate::caller::CallContext;
use crate::hooks::{Around, run_around};
use crate::refusal::{GrpcCode, INTERNAL, ServiceError};
use crate::services::Services;
use crate::{account, event, leaderboard, profile, purchase, session, storage};
use aether_messages::api::Rpc;
use aether_messages::operation::{self, RpcFunc};
use aether_messages::prost::Name as _;
use aether_metrics::Registry;
use modules::Registered;
use serde_json::Value;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;
use tracing::error;

const OPERATOR_ONLY: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "Only the operator of the server may do this.");
const OPERATION_NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "There is no operation of this name.");
const OPERATION_NOT_SERVED: ServiceError =
    ServiceError::new(GrpcCode::Unimplemented, "This server does not serve the operation.");

/// The table of calls of a server.
pub struct CallTable {
    operations: BTreeMap<&'static str, Entry>,
    registered: RwLock<Arc<Registered>>,
    /// Held by whoever prepares the next modules, so that none of two replacements is lost.
    replacing: Mutex<()>,
    registry: Registry,
}

/// An operation of the table, as descriptions show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationInfo {
    /// Its name.
    pub name: &'static str,
    /// Access that a caller needs.
    pub access: Access,
    /// Kind of work that it is.
    pub preset: RatePreset,
    /// Full name of its request's message.
    pub request: String,
    /// Full name of its answer's message.
    pub answer: String,
}

struct Entry {
    info: OperationInfo,
    figures: OperationMetrics,
    call: CallJson,
}

type Answering<'a> = Pin<Box<dyn Future<Output = Result<Value, ServiceError>> + Send + 'a>>;
type CallJson = for<'a> fn(&'a Arc<Services>, &'a Arc<CallContext>, Value) -> Answering<'a>;

/// Operations of the table, noun by noun.
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
        let entry = Entry { info, figures: OperationMetrics::new(O::NAME), call: call_as::<O> };
        let former = self.0.insert(O::NAME, entry);
        debug_assert!(former.is_none(), "the operation {} is in the table twice", O::NAME);
        self
    }

    /// Adds the operations of a noun.
    pub fn and(self, add: impl FnOnce(Operations) -> Operations) -> Operations {
        add(self)
    }

    fn all() -> Operations {
        Operations::default()
            .and(account::serve::operations)
            .and(event::serve::operations)
            .and(leaderboard::serve::operations)
            .and(profile::serve::operations)
            .and(purchase::serve::operations)
            .and(session::serve::operations)
            .and(storage::serve::operations)
            .with::<RpcFunc>()
    }
}

impl CallTable {
    /// Creates a table of all operations and of the program's own functions and match types, which counts calls in a
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

    /// Operations of the table, in the order of their names.
    pub fn operations(&self) -> impl Iterator<Item = &OperationInfo> {
        self.operations.values().map(|entry| &entry.info)
    }

    /// Names of the functions that clients may call, in order.
    #[must_use]
    pub fn functions(&self) -> Vec<String> {
        self.registered().rpc_names()
    }

    /// Tells if there is a function of that name, for clients or not.
    #[must_use]
    pub fn has_function(&self, name: &str) -> bool {
        functions::find(&self.registered(), name).is_ok()
    }

    /// Returns the match types at this moment, by name.
    #[must_use]
    pub fn match_types(&self) -> Arc<MatchTypesByName> {
        Arc::clone(self.registered().match_types())
    }

    /// Names of the modules, in the order in which they were first registered.
    #[must_use]
    pub fn modules(&self) -> Vec<String> {
        self.registered().module_names()
    }

    /// Registers a module, in the place of the one of that name if there is one. Calls that have begun end with the former
    /// modules, and no call meets a part of one and a part of the other. If it is refused, nothing changes.
    pub fn replace(&self, name: &str, module: Module) -> Result<(), ServiceError> {
        self.change(name, Some(module))
    }

    /// Removes a module; nothing happens if there is none of that name.
    pub fn remove(&self, name: &str) -> Result<(), ServiceError> {
        self.change(name, None)
    }

    fn change(&self, name: &str, module: Option<Module>) -> Result<(), ServiceError> {
        if name == PROGRAM {
            let sentence = format!("The module {PROGRAM} is the program itself; choose another name.");
            return Err(ServiceError::invalid(sentence));
        }
        let _alone = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let next = Arc::new(self.registered().with(name, module)?);
        let mut registered = self.registered.write().unwrap_or_else(PoisonError::into_inner);
        let former = std::mem::replace(&mut *registered, next);
        // The former modules may be freed here, which is not for those who wait for the lock to wait for.
        drop(registered);
        drop(former);
        Ok(())
    }

    /// The modules at this moment.
    fn registered(&self) -> Arc<Registered> {
        Arc::clone(&self.registered.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn entry(&self, name: &str) -> Result<&Entry, ServiceError> {
        let is_known = || is_operation(name);
        self.operations.get(name).ok_or_else(|| if is_known() { OPERATION_NOT_SERVED } else { OPERATION_NOT_FOUND })
    }

    fn count<T>(&self, entry: &Entry, began: Instant, outcome: &Result<T, ServiceError>) {
        entry.figures.count(&self.registry, began.elapsed(), outcome.as_ref().err().map(|refusal| refusal.code));
    }
}

impl Services {
    /// Calls an operation, with the hooks around it, and counts the call.
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

    /// Calls an operation by its name, with a request in the JSON form of its message; the answer has that form too.
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

    /// Calls a function by its name, as a client does by RPC: with the hooks around [`RpcFunc`].
    pub async fn call_function(
        self: &Arc<Self>,
        name: &str,
        context: &Arc<CallContext>,
        payload: String,
    ) -> Result<String, ServiceError> {
        let request = Rpc { id: name.to_owned(), payload, http_key: String::new() };
        Ok(self.call::<RpcFunc>(context, request).await?.payload)
    }

    /// Calls a function by its name with bytes, as rooms do: without hooks.
    pub async fn call_bytes(
        self: &Arc<Self>,
        name: &str,
        context: &Arc<CallContext>,
        payload: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, ServiceError> {
        let registered = self.calls.registered();
        functions::find(&registered, name)?.run(self, context, payload).await
    }

    /// Calls an operation, with the hooks around it, and leaves counting to the caller: an interface counts what it refuses
    /// before a call, too. [`OperationMetrics`] of the same name count in the same place.
    pub async fn run<O: Serve>(
        self: &Arc<Self>,
        context: &Arc<CallContext>,
        request: O::Request,
    ) -> Result<O::Answer, ServiceError> {
        O::ACCESS.check(&context.caller)?;
        let registered = self.calls.registered();
        let call = Call { services: self, context, registered: &registered };
        let around: Vec<&Around> = self.hooks.around(O::NAME).into_iter().chain(registered.around(O::NAME)).collect();
        // Most operations have no hooks: then nothing was collected, and so nothing allocated.
        if around.is_empty() {
            return O::serve(&call, request).await;
        }
        run_around::<O, _>(&around, context, request, |request| O::serve(&call, request)).await
    }
}

/// Tells if there is an operation of that name, served or not.
pub(crate) fn is_operation(name: &str) -> bool {
    [operation::NAMES, account::operation::NAMES, profile::operation::NAMES].iter().any(|names| names.contains(&name))
}

/// Calls an operation with JSON.
fn call_as<'a, O: Serve>(services: &'a Arc<Services>, context: &'a Arc<CallContext>, request: Value) -> Answering<'a> {
    Box::pin(async move {
        let request = serde_json::from_value(request).map_err(|error| unreadable(&error))?;
        let answer = services.run::<O>(context, request).await?;
        serde_json::to_value(answer).map_err(|error| {
            error!(operation = O::NAME, %error, "an answer has no JSON form");
            INTERNAL
        })
    })
}

/// Refuses a request that is not of the JSON form of its message.
#[must_use]
pub fn unreadable(error: &serde_json::Error) -> ServiceError {
    ServiceError::invalid(format!("The body is not what it should be: {error}."))
}
