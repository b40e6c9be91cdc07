//! Calls of services by matches: requests of the room, and direct calls while a match is created.

use super::game::Origin;
use crate::api;
use crate::arguments::Arguments;
use crate::codes::code_of;
use crate::error::{ErrorKind, ScriptError};
use crate::function::{Outcome, Run};
use crate::scripts::{ScriptServices, Scripts};
use crate::value::Value;
use aether_engine::Request;
use aether_services::{ServiceError, Services};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// Name of the function in the call table that carries out calls of matches.
pub(crate) const SERVICE_FUNCTION: &str = "lua_service";
/// Longest wait for one answer while a match is created.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);

/// Calls services while a match is created, and waits for them.
#[derive(Clone)]
pub(crate) struct ServiceCaller {
    pub services: Weak<Services>,
    pub scripts: Weak<Scripts>,
    pub runtime: Handle,
}

impl ServiceCaller {
    /// Calls a function. Rooms are built on threads that may wait, so this does not block the runtime.
    pub fn call(&self, index: usize, arguments: &[Value]) -> Value {
        let (Some(services), Some(scripts)) = (self.services.upgrade(), self.scripts.upgrade()) else {
            return write_answer(Err(ScriptError::invalid("the server is shutting down")));
        };
        let used = ScriptServices { services, scripts };
        let arguments = arguments.to_vec();
        let answer = self.runtime.block_on(async move { timeout(ANSWER_TIME_MAX, run(used, index, arguments)).await });
        write_answer(answer.unwrap_or_else(|_| {
            let seconds = ANSWER_TIME_MAX.as_secs();
            Err(ScriptError::new(ErrorKind::Service, format!("no answer within {seconds} seconds")))
        }))
    }
}

/// Returns the request of a room for a call.
pub(crate) fn service_request(index: usize, arguments: &[Value]) -> Request {
    let payload = Value::list([Value::Number(index as f64), Value::List(arguments.to_vec())]);
    Request::Call { name: SERVICE_FUNCTION.to_owned(), payload: payload.to_bytes() }
}

/// Carries out the request of a room.
pub(crate) async fn serve(used: ScriptServices, payload: Vec<u8>) -> Result<Option<Vec<u8>>, ServiceError> {
    let invalid = |_| ServiceError::invalid("The payload is not a call of a script.");
    let Value::List(call) = Value::from_bytes(&payload).map_err(invalid)? else { return Ok(None) };
    let (Some(Value::Number(index)), Some(Value::List(arguments))) = (call.first(), call.get(1)) else {
        return Ok(None);
    };
    let answer = run(used, *index as usize, arguments.clone()).await;
    Ok(Some(write_answer(answer).to_bytes()))
}

async fn run(used: ScriptServices, index: usize, arguments: Vec<Value>) -> Outcome {
    let function = api::function_at(index);
    let Some((function, Run::Service(run))) = function.map(|function| (function, function.run)) else {
        return Err(ScriptError::invalid("the function does not wait for the services"));
    };
    run(used, Arguments::new(function, arguments)).await
}

/// Encodes an answer: true and the values, or false, the message and the code.
fn write_answer(answer: Outcome) -> Value {
    match answer {
        Ok(values) => Value::list([Value::Boolean(true)].into_iter().chain(values)),
        Err(error) => {
            let code = error.code.map(|code| f64::from(code as u8));
            Value::list([Value::Boolean(false), Value::from(error.message), code.into()])
        }
    }
}

/// Returns the answer to a call of a match without a server.
pub(crate) fn no_services() -> Value {
    write_answer(Err(ScriptError::new(ErrorKind::Service, "this match runs without a server, so it has no services")))
}

/// Decodes an answer.
pub(crate) fn read_answer(answer: Value) -> Outcome {
    let Value::List(mut values) = answer else { return Ok(Vec::new()) };
    match values.first() {
        Some(Value::Boolean(true)) => {
            values.remove(0);
            Ok(values)
        }
        _ => {
            let message = values.get(1).and_then(Value::as_str).unwrap_or("the services did not answer");
            let error = ScriptError::new(ErrorKind::Service, message);
            match values.get(2) {
                Some(Value::Number(code)) => match code_of(*code as i64) {
                    Some(code) => Err(error.with_code(code)),
                    None => Err(error),
                },
                _ => Err(error),
            }
        }
    }
}

/// Returns the origin of a match that is created on a server: threads that build rooms belong to a runtime.
pub(crate) fn origin(services: &Arc<Services>, scripts: &Arc<Scripts>) -> Origin {
    match Handle::try_current() {
        Ok(runtime) => {
            let (services, scripts) = (Arc::downgrade(services), Arc::downgrade(scripts));
            Origin::Server(ServiceCaller { services, scripts, runtime })
        }
        Err(_) => Origin::Local,
    }
}
