//! Hooks: what the program or a module does before and after operations.
//!
//! A before hook may change the request, reject it with a [`ServiceError`], or take it away (`None`), and then the resource
//! does not exist for the caller. An after hook observes. Several run in the order in which they were registered. A hook is
//! registered by the type of its operation, or by the operation's name, and then it gets JSON.

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

/// Hooks around operations, of the program or of one module.
#[derive(Default)]
pub struct Hooks {
    by_operation: HashMap<String, Around>,
}

/// Hooks around one operation, in the order in which they were registered.
#[derive(Default)]
pub(crate) struct Around {
    before: Vec<Hook<BeforeJson>>,
    after: Vec<Hook<AfterJson>>,
}

enum Hook<Json> {
    /// A [`Before`] or [`After`] of the operation.
    Typed(Box<dyn Any + Send + Sync>),
    /// One that was registered by name.
    Json(Json),
}

impl Hooks {
    /// Adds a hook before an operation.
    pub fn before<O: Operation + 'static, F>(
        &mut self,
        hook: impl Fn(Arc<CallContext>, O::Request) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<Option<O::Request>, ServiceError>> + Send + 'static,
    {
        let hook: Before<O> = Box::new(move |context, request| Box::pin(hook(context, request)));
        self.entry(O::NAME).before.push(Hook::Typed(Box::new(hook)));
    }

    /// Adds a hook after an operation that succeeded. The caller's answer waits for it.
    pub fn after<O: Operation + 'static, F>(
        &mut self,
        hook: impl Fn(Arc<CallContext>, Arc<O::Request>, Arc<O::Answer>) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let hook: After<O> = Box::new(move |context, request, answer| Box::pin(hook(context, request, answer)));
        self.entry(O::NAME).after.push(Hook::Typed(Box::new(hook)));
    }

    /// Adds a hook before an operation by its name. It gets the request in its JSON form, and returns it in that form.
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

    /// Adds a hook after an operation by its name. It gets request and answer in their JSON form.
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

    /// Number of hooks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_operation.values().map(|around| around.before.len() + around.after.len()).sum()
    }

    /// Tells if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_operation.is_empty()
    }

    /// Runs an operation with these hooks around it.
    pub async fn run<O: Operation + 'static, F>(
        &self,
        context: &Arc<CallContext>,
        request: O::Request,
        operation: impl FnOnce(O::Request) -> F,
    ) -> Result<O::Answer, ServiceError>
    where
        F: Future<Output = Result<O::Answer, ServiceError>>,
    {
        run_around::<O, F>(self.around(O::NAME).as_slice(), context, request, operation).await
    }

    /// Hooks around an operation.
    pub(crate) fn around(&self, operation: &str) -> Option<&Around> {
        self.by_operation.get(operation)
    }

    /// Names of the operations that have hooks.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &str> {
        self.by_operation.keys().map(String::as_str)
    }

    fn named(&mut self, operation: &str) -> Result<&mut Around, ServiceError> {
        if !is_operation(operation) {
            // The precision bounds how much of a script's text the refusal repeats.
            let sentence = format!("There is no operation {operation:.64}; a hook needs the name of an operation.");
            return Err(ServiceError::with(GrpcCode::NotFound, sentence));
        }
        Ok(self.entry(operation))
    }

    fn entry(&mut self, operation: &str) -> &mut Around {
        self.by_operation.entry(operation.to_owned()).or_default()
    }
}

/// Runs an operation with hooks around it, set by set.
pub(crate) async fn run_around<O: Operation + 'static, F>(
    around: &[&Around],
    context: &Arc<CallContext>,
    mut request: O::Request,
    operation: impl FnOnce(O::Request) -> F,
) -> Result<O::Answer, ServiceError>
where
    F: Future<Output = Result<O::Answer, ServiceError>>,
{
    for hook in around.iter().flat_map(|around| &around.before) {
        request = hook.before::<O>(context, request).await?.ok_or(NOT_FOUND)?;
    }
    if around.iter().all(|around| around.after.is_empty()) {
        return operation(request).await;
    }
    let kept = Arc::new(request.clone());
    let answer = Arc::new(operation(request).await?);
    let mut json = None;
    for hook in around.iter().flat_map(|around| &around.after) {
        match hook {
            Hook::Typed(hook) => {
                typed::<After<O>>(&**hook)(Arc::clone(context), Arc::clone(&kept), Arc::clone(&answer))
            }
            Hook::Json(hook) => {
                let (request, answer) = match &json {
                    Some(json) => json,
                    None => json.insert((Arc::new(to_json::<O>(&*kept)?), Arc::new(to_json::<O>(&*answer)?))),
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
            // The caller sent a good request, so it is not for them to mend.
            error!(operation = O::NAME, %error, "a before hook returned what is no request of the operation");
            INTERNAL
        })?;
        Ok(Some(request))
    }
}

fn typed<H: 'static>(hook: &(dyn Any + Send + Sync)) -> &H {
    hook.downcast_ref().expect("no two operations have the same name")
}

fn to_json<O: Operation>(message: &impl Serialize) -> Result<Value, ServiceError> {
    serde_json::to_value(message).map_err(|error| {
        error!(operation = O::NAME, %error, "a message has no JSON form");
        INTERNAL
    })
}
