//! Functions that the program or a module adds to the server: for clients (RPC), or for rooms and server code.

use super::limits::{FUNCTION_NAME_BYTES_MAX, FUNCTIONS_MAX, PAYLOAD_BYTES_MAX};
use super::serve::{Access, Call, Serve};
use crate::caller::{CallContext, Caller};
use crate::error::{GrpcCode, INTERNAL, ServiceError};
use crate::services::Services;
use aether_messages::api::Rpc;
use aether_messages::operation::RpcFunc;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use tracing::error;

/// The function does not exist, or is not for clients.
pub const FUNCTION_NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "RPC function not found");
/// A call names no function.
pub const FUNCTION_NAME_MISSING: ServiceError = ServiceError::new(GrpcCode::InvalidArgument, "RPC ID missing");

type FunctionFuture = Pin<Box<dyn Future<Output = Result<Option<Vec<u8>>, ServiceError>> + Send>>;
type RunFunction = Box<dyn Fn(Arc<Services>, Arc<CallContext>, Vec<u8>) -> FunctionFuture + Send + Sync>;

/// Functions by name. Names are compared case-insensitively for ASCII letters, as clients of this protocol expect.
#[derive(Default)]
pub struct Functions {
    by_name: HashMap<String, Arc<Function>>,
}

/// Function that is called by name.
pub(super) struct Function {
    /// True if clients may call it.
    is_rpc: bool,
    run: RunFunction,
}

impl Functions {
    /// Adds a function for clients (RPC), rooms and server code. It receives and returns text.
    pub fn register_rpc<F>(
        &mut self,
        name: &str,
        function: impl Fn(Arc<Services>, Arc<CallContext>, String) -> F + Send + Sync + 'static,
    ) -> Result<(), ServiceError>
    where
        F: Future<Output = Result<String, ServiceError>> + Send + 'static,
    {
        let function = Arc::new(function);
        let run: RunFunction = Box::new(move |services, context, payload| {
            let function = Arc::clone(&function);
            Box::pin(async move {
                let payload =
                    String::from_utf8(payload).map_err(|_| ServiceError::invalid("The payload is not UTF-8."))?;
                Ok(Some(function(services, context, payload).await?.into_bytes()))
            })
        });
        self.add(name, Function { is_rpc: true, run })
    }

    /// Adds a function for rooms and server code only. It receives bytes, and returns bytes or nothing.
    pub fn register_call<F>(
        &mut self,
        name: &str,
        function: impl Fn(Arc<Services>, Vec<u8>) -> F + Send + Sync + 'static,
    ) -> Result<(), ServiceError>
    where
        F: Future<Output = Result<Option<Vec<u8>>, ServiceError>> + Send + 'static,
    {
        let run: RunFunction = Box::new(move |services, _, payload| Box::pin(function(services, payload)));
        self.add(name, Function { is_rpc: false, run })
    }

    /// Returns the number of functions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns true if there are no functions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    fn add(&mut self, name: &str, function: Function) -> Result<(), ServiceError> {
        if name.is_empty() || name.len() > FUNCTION_NAME_BYTES_MAX {
            let message = format!("The name of a function must have 1 to {FUNCTION_NAME_BYTES_MAX} bytes.");
            return Err(ServiceError::invalid(message));
        }
        if self.by_name.len() >= FUNCTIONS_MAX {
            let message =
                format!("Function {name} cannot be added: the limit of {FUNCTIONS_MAX} functions is reached.");
            return Err(ServiceError::with(GrpcCode::ResourceExhausted, message));
        }
        let name = name.to_ascii_lowercase();
        if self.by_name.contains_key(&name) {
            return Err(already_exists(&name));
        }
        self.by_name.insert(name, Arc::new(function));
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Arc<Function>)> {
        self.by_name.iter()
    }
}

impl Function {
    /// Returns true if clients may call it.
    pub(super) fn is_rpc(&self) -> bool {
        self.is_rpc
    }

    /// Runs the function. Clients get "not found" for a function that is not for them.
    pub(super) async fn run(
        &self,
        services: &Arc<Services>,
        context: &Arc<CallContext>,
        payload: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, ServiceError> {
        if !self.is_rpc && context.caller != Caller::Server {
            return Err(FUNCTION_NOT_FOUND);
        }
        if payload.len() > PAYLOAD_BYTES_MAX {
            let message = format!("The payload of a function must have at most {PAYLOAD_BYTES_MAX} bytes.");
            return Err(ServiceError::invalid(message));
        }
        (self.run)(Arc::clone(services), Arc::clone(context), payload).await
    }
}

impl Serve for RpcFunc {
    const ACCESS: Access = Access::SessionOrHttpKey;

    async fn serve(call: &Call<'_>, request: Rpc) -> Result<Rpc, ServiceError> {
        let Rpc { id, payload, .. } = request;
        if id.is_empty() {
            return Err(FUNCTION_NAME_MISSING);
        }
        let function = find(call.registered, &id)?;
        let answer = function.run(call.services, call.context, payload.into_bytes()).await?;
        let payload = String::from_utf8(answer.unwrap_or_default()).map_err(|_| {
            error!(function = id, "function answer is not UTF-8");
            INTERNAL
        })?;
        Ok(Rpc { id, payload, http_key: String::new() })
    }
}

/// Form of bytes that are not text, for hooks: a JSON object with this start and end, and base64 between them.
const BYTES_START: &str = "{\"base64\":\"";
const BYTES_END: &str = "\"}";

/// Returns a payload as hooks see it. [`from_text`] restores it.
pub(super) fn to_text(payload: Vec<u8>) -> String {
    match String::from_utf8(payload) {
        Ok(text) if !text.starts_with(BYTES_START) => text,
        Ok(text) => encoded(text.as_bytes()),
        Err(error) => encoded(error.as_bytes()),
    }
}

/// Returns the bytes of a payload that hooks may have changed.
pub(super) fn from_text(text: String) -> Vec<u8> {
    let base64 = text.strip_prefix(BYTES_START).and_then(|rest| rest.strip_suffix(BYTES_END));
    base64.and_then(|base64| STANDARD.decode(base64).ok()).unwrap_or_else(|| text.into_bytes())
}

fn encoded(bytes: &[u8]) -> String {
    format!("{BYTES_START}{}{BYTES_END}", STANDARD.encode(bytes))
}

/// Finds a function by name. The name may come from a client.
pub(super) fn find<'a>(
    registered: &'a super::modules::Registered,
    name: &str,
) -> Result<&'a Arc<Function>, ServiceError> {
    if name.len() > FUNCTION_NAME_BYTES_MAX {
        return Err(FUNCTION_NOT_FOUND);
    }
    registered.function(&name.to_ascii_lowercase()).ok_or(FUNCTION_NOT_FOUND)
}

/// Returns the error for a duplicate function name.
pub(super) fn already_exists(name: &str) -> ServiceError {
    ServiceError::with(GrpcCode::AlreadyExists, format!("Function {name} already exists. Choose another name."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_payload_is_restored_and_text_stays_text() {
        let payloads: [&[u8]; 5] = [b"", b"words", &[0, 255, 7], br#"{"base64":"AA=="}"#, br#"{"base64":"!"#];
        for payload in payloads {
            assert_eq!(from_text(to_text(payload.to_vec())), payload);
        }
        assert_eq!(to_text(b"words".to_vec()), "words");
    }
}
