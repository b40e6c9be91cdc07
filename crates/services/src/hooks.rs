//! What a game wants to do before and after operations: one mechanism for all of them.
//!
//! A before hook may change the request, reject it with a [`Refusal`], or take it away (`None`), and then the resource
//! does not exist for the caller. An after hook observes. Several run in the order in which they were registered.

use crate::caller::Context;
use crate::refusal::{NOT_FOUND, Refusal};
use aether_messages::operation::Operation;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Before<O> = Box<
    dyn Fn(Arc<Context>, <O as Operation>::Request) -> BoxFuture<Result<Option<<O as Operation>::Request>, Refusal>>
        + Send
        + Sync,
>;
type After<O> = Box<
    dyn Fn(Arc<Context>, Arc<<O as Operation>::Request>, Arc<<O as Operation>::Answer>) -> BoxFuture<()> + Send + Sync,
>;

/// The hooks of all operations. They are registered before the server starts.
#[derive(Default)]
pub struct Hooks {
    by_operation: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
}

struct Around<O: Operation> {
    before: Vec<Before<O>>,
    after: Vec<After<O>>,
}

impl Hooks {
    /// Has something done before an operation.
    pub fn before<O: Operation + 'static, F>(
        &mut self,
        hook: impl Fn(Arc<Context>, O::Request) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<Option<O::Request>, Refusal>> + Send + 'static,
    {
        self.around::<O>().before.push(Box::new(move |context, request| Box::pin(hook(context, request))));
    }

    /// Has something done after an operation that succeeded. The caller's answer waits for it.
    pub fn after<O: Operation + 'static, F>(
        &mut self,
        hook: impl Fn(Arc<Context>, Arc<O::Request>, Arc<O::Answer>) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let boxed: After<O> = Box::new(move |context, request, answer| Box::pin(hook(context, request, answer)));
        self.around::<O>().after.push(boxed);
    }

    /// Runs an operation with what was registered around it.
    pub async fn run<O: Operation + 'static, F>(
        &self,
        context: &Arc<Context>,
        mut request: O::Request,
        operation: impl FnOnce(O::Request) -> F,
    ) -> Result<O::Answer, Refusal>
    where
        F: Future<Output = Result<O::Answer, Refusal>>,
    {
        let around = self.by_operation.get(&TypeId::of::<O>()).and_then(|around| around.downcast_ref::<Around<O>>());
        let Some(around) = around else { return operation(request).await };
        for before in &around.before {
            request = before(Arc::clone(context), request).await?.ok_or(NOT_FOUND)?;
        }
        if around.after.is_empty() {
            return operation(request).await;
        }
        let kept = Arc::new(request.clone());
        let answer = Arc::new(operation(request).await?);
        for after in &around.after {
            after(Arc::clone(context), Arc::clone(&kept), Arc::clone(&answer)).await;
        }
        Ok(Arc::unwrap_or_clone(answer))
    }

    fn around<O: Operation + 'static>(&mut self) -> &mut Around<O> {
        let around = self
            .by_operation
            .entry(TypeId::of::<O>())
            .or_insert_with(|| Box::new(Around::<O> { before: Vec::new(), after: Vec::new() }));
        around.downcast_mut().expect("each entry is of the type that is its key")
    }
}
