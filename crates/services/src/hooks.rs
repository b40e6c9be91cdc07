//! Hooks: code of the program or a module that runs before and after operations.
//!
//! A before hook may change the request, reject it with a [`ServiceError`], or discard it (`None`), in which case the
//! caller gets "not found". An after hook observes. Hooks run in the order of registration. A hook is registered by the
//! type of its operation, or by the operation's name; in the latter case it gets JSON.

use crate::caller::CallContext;
use crate::calls::is_operation;
use crate::error::{GrpcCode, INTERNAL, NOT_FOUND, ServiceError};
use aether_messages::operation::Operation;
use serde::Serialize;
use serde_json::Value;
use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tracing::error;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Before<O> = Box<
    dyn Fn(
            Arc<CallContext>,
            <O as Operation>::Request,
        ) -> BoxFuture<Result<Option<<O as Operation>::Request>, ServiceError>>
        + Send
        + Sync,
>;
type After<O> = Box<
    dyn Fn(Arc<CallContext>, Arc<<O as Operation>::Request>, Arc<<O as Operation>::Answer>) -> BoxFuture<()>
        + Send
        + Sync,
>;
type BeforeJson = Box<dyn Fn(Arc<CallContext>, Value) -> BoxFuture<Result<Option<Value>, ServiceError>> + Send + Sync>;
type AfterJson = Box<dyn Fn(Arc<CallContext>, Arc<Value>, Arc<Value>) -> BoxFuture<()> + Send + Sync>;

/// Hooks of the program or of one module.
#[derive(Default)]
pub struct Hooks {
    by_operation: HashMap<String, OperationHooks>,
}

/// Hooks of one operation, in the order of registration.
#[derive(Default)]
pub(crate) struct OperationHooks {
    before: Vec<Hook<BeforeJson>>,
    after: Vec<Hook<AfterJson>>,
}

enum Hook<Json> {
    /// A boxed [`Before`] or [`After`] of the operation.
    Typed(Box<dyn Any + Send + Sync>),
    /// A hook that was registered by name.
    Json(Json),
}

impl Hooks {
    /// Adds a hook that runs before an operation.
    pub fn before<O: Operation + 'static, F>(
        &mut self,
        hook: impl Fn(Arc<CallContext>, O::Request) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<Option<O::Request>, ServiceError>> + Send + 'static,
    {
        let hook: Before<O> = Box::new(move |context, request| Box::pin(hook(context, request)));
        self.entry(O::NAME).before.push(Hook::Typed(Box::new(hook)));
    }

    /// Adds a hook that runs after a successful operation. The answer to the caller waits for it.
    pub fn after<O: Operation + 'static, F>(
        &mut self,
        hook: impl Fn(Arc<CallContext>, Arc<O::Request>, Arc<O::Answer>) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let hook: After<O> = Box::new(move |context, request, answer| Box::pin(hook(context, request, answer)));
        self.entry(O::NAME).after.push(Hook::Typed(Box::new(hook)));
    }

    /// Adds a hook that runs before the named operation. It receives and returns the request as JSON.
    pub fn before_named<F>(
        &mut self,
        operation: &str,
        hook: impl Fn(Arc<CallContext>, Value) -> F + Send + Sync + 'static,
    ) -> Result<(), ServiceError>
    where
        F: Future<Output = Result<Option<Value>, ServiceError>> + Send + 'static,
    {
        let hook: BeforeJson = Box::new(move |context, request| Box::pin(hook(context, request)));
        self.named(operation)?.before.push(Hook::Json(hook));
        Ok(())
    }

    /// Adds a hook that runs after the named operation. It receives request and answer as JSON.
    pub fn after_named<F>(
        &mut self,
        operation: &str,
        hook: impl Fn(Arc<CallContext>, Arc<Value>, Arc<Value>) -> F + Send + Sync + 'static,
    ) -> Result<(), ServiceError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let hook: AfterJson = Box::new(move |context, request, answer| Box::pin(hook(context, request, answer)));
        self.named(operation)?.after.push(Hook::Json(hook));
        Ok(())
    }

    /// Returns the number of hooks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_operation.values().map(|hooks| hooks.before.len() + hooks.after.len()).sum()
    }

    /// Returns true if there are no hooks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_operation.is_empty()
    }

    /// Runs an operation with these hooks.
    pub async fn run<O: Operation + 'static, F>(
        &self,
        context: &Arc<CallContext>,
        request: O::Request,
        operation: impl FnOnce(O::Request) -> F,
    ) -> Result<O::Answer, ServiceError>
    where
        F: Future<Output = Result<O::Answer, ServiceError>>,
    {
        run_with_hooks::<O, F>(self.of_operation(O::NAME).as_slice(), context, request, operation).await
    }

    /// Returns the hooks of an operation.
    pub(crate) fn of_operation(&self, operation: &str) -> Option<&OperationHooks> {
        self.by_operation.get(operation)
    }

    /// Returns the names of the operations that have hooks.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &str> {
        self.by_operation.keys().map(String::as_str)
    }

    fn named(&mut self, operation: &str) -> Result<&mut OperationHooks, ServiceError> {
        if !is_operation(operation) {
            // The precision limits how much of a script's text the error repeats.
            let message =
                format!("Operation {operation:.64} does not exist. Register the hook for an operation of the API.");
            return Err(ServiceError::with(GrpcCode::NotFound, message));
        }
        Ok(self.entry(operation))
    }

    fn entry(&mut self, operation: &str) -> &mut OperationHooks {
        self.by_operation.entry(operation.to_owned()).or_default()
    }
}

/// Runs an operation with several sets of hooks, in order.
pub(crate) async fn run_with_hooks<O: Operation + 'static, F>(
    sets: &[&OperationHooks],
    context: &Arc<CallContext>,
    mut request: O::Request,
    operation: impl FnOnce(O::Request) -> F,
) -> Result<O::Answer, ServiceError>
where
    F: Future<Output = Result<O::Answer, ServiceError>>,
{
    for hook in sets.iter().flat_map(|hooks| &hooks.before) {
        request = hook.before::<O>(context, request).await?.ok_or(NOT_FOUND)?;
    }
    if sets.iter().all(|hooks| hooks.after.is_empty()) {
        return operation(request).await;
    }
    let original = Arc::new(request.clone());
    let answer = Arc::new(operation(request).await?);
    let mut json = None;
    for hook in sets.iter().flat_map(|hooks| &hooks.after) {
        match hook {
            Hook::Typed(hook) => {
                typed::<After<O>>(&**hook)(Arc::clone(context), Arc::clone(&original), Arc::clone(&answer))
            }
            Hook::Json(hook) => {
                let (request, answer) = match &json {
                    Some(json) => json,
                    None => json.insert((Arc::new(to_json::<O>(&*original)?), Arc::new(to_json::<O>(&*answer)?))),
                };
                hook(Arc::clone(context), Arc::clone(request), Arc::clone(answer))
            }
        }
        .await;
    }
    Ok(Arc::unwrap_or_clone(answer))
}

impl Hook<BeforeJson> {
    async fn before<O: Operation + 'static>(
        &self,
        context: &Arc<CallContext>,
        request: O::Request,
    ) -> Result<Option<O::Request>, ServiceError> {
        let hook = match self {
            Hook::Typed(hook) => return typed::<Before<O>>(&**hook)(Arc::clone(context), request).await,
            Hook::Json(hook) => hook,
        };
        let Some(request) = hook(Arc::clone(context), to_json::<O>(&request)?).await? else { return Ok(None) };
        let request = serde_json::from_value(request).map_err(|error| {
            // The caller's request was valid, so this is a server error.
            error!(operation = O::NAME, %error, "before hook returned an invalid request");
            INTERNAL
        })?;
        Ok(Some(request))
    }
}

fn typed<H: 'static>(hook: &(dyn Any + Send + Sync)) -> &H {
    hook.downcast_ref().expect("operation names are unique")
}

fn to_json<O: Operation>(message: &impl Serialize) -> Result<Value, ServiceError> {
    serde_json::to_value(message).map_err(|error| {
        error!(operation = O::NAME, %error, "message cannot be converted to JSON");
        INTERNAL
    })
}
