//! Context tables: the first argument of every function that the server calls.

use crate::scripts::ScriptServices;
use crate::value::{Key, Value};
use aether_services::CallContext;

/// Returns the context of a call, with the fields that are known.
pub(crate) fn call_context(used: &ScriptServices, mode: &str, context: &CallContext) -> Value {
    let settings = used.scripts.settings();
    let environment =
        settings.environment.iter().map(|(key, text)| (Key::from(key.as_str()), Value::from(text.as_str())));
    let query = context.query.iter().map(|(key, values)| {
        let values = values.iter().map(|text| Value::from(text.as_str()));
        (Key::from(key.as_str()), Value::list(values))
    });
    let user = context.caller.user();
    let variables = user.into_iter().flat_map(|user| &user.variables);
    let variables = variables.map(|(key, text)| (Key::from(key.as_str()), Value::from(text.as_str())));
    Value::table([
        ("env", Value::Map(environment.collect())),
        ("execution_mode", Value::from(mode)),
        ("node", Value::from(settings.node.as_str())),
        ("version", Value::from(settings.version.as_str())),
        ("query_params", Value::Map(query.collect())),
        ("user_id", user.map(|user| user.user.to_string()).into()),
        ("username", user.map(|user| user.username.clone()).into()),
        ("vars", Value::Map(variables.collect())),
        ("user_session_exp", user.map(|user| user.expires_at as f64).into()),
        ("session_id", context.socket.map(|session| session.to_string()).into()),
        ("client_ip", context.address.map(|address| address.to_string()).into()),
    ])
}
