//! Context tables: the first argument of every function that the server calls.

use crate::scripts::ScriptSettings;
use crate::vm::Vm;
use aether_services::CallContext;
use mlua::{Function, Lua, MultiValue, Table};
use std::collections::BTreeMap;

/// Most headers of a request that a script gets.
const HEADERS_MAX: usize = 64;

/// Makes context tables in one call, which is faster than to set each field from outside.
const MAKER: &str = "
local env, node, version = ...
return function(
    mode, headers, query, user_id, username, vars, expires_at, session_id, language, address, port, trace
)
    return {
        env = env,
        execution_mode = mode,
        node = node,
        version = version,
        headers = headers or {},
        query_params = query or {},
        user_id = user_id,
        username = username,
        vars = vars or {},
        user_session_exp = expires_at,
        session_id = session_id,
        lang = language,
        client_ip = address,
        client_port = port,
        trace_id = trace,
    }
end
";

/// Function of a VM that makes context tables.
struct ContextMaker(Function);

/// Prepares a VM for [`context_table`].
pub(crate) fn prepare(vm: &Vm, settings: &ScriptSettings) -> mlua::Result<()> {
    let lua = vm.lua();
    let environment =
        lua.create_table_from(settings.environment.iter().map(|(key, text)| (key.as_str(), text.as_str())))?;
    // All calls share it.
    environment.set_readonly(true);
    let maker = lua.load(MAKER).set_name("=context");
    let maker: Function = maker.call((environment, settings.node.as_str(), settings.version.as_str()))?;
    lua.set_app_data(ContextMaker(maker));
    Ok(())
}

/// Returns the context of a call in a mode such as `rpc`, with the fields that are known. Server code has no user.
pub(crate) fn context_table(vm: &Vm, mode: &str, context: Option<&CallContext>) -> mlua::Result<Table> {
    let lua = vm.lua();
    let mut fields = MultiValue::with_capacity(12);
    fields.push_back(text(lua, mode)?);
    if let Some(context) = context {
        let user = context.caller.user();
        fields.push_back(headers(lua, context)?);
        fields.push_back(query(lua, &context.query)?);
        match user {
            Some(user) => {
                fields.push_back(id(lua, user.user)?);
                fields.push_back(text(lua, &user.username)?);
                fields.push_back(variables(lua, &user.variables)?);
                fields.push_back(mlua::Value::Number(user.expires_at as f64));
            }
            None => fields.extend([const { mlua::Value::Nil }; 4]),
        }
        let session = context.socket.or(user.map(|user| user.session));
        fields.push_back(session.map_or(Ok(mlua::Value::Nil), |session| id(lua, session))?);
        fields.push_back(context.language.as_ref().map_or(Ok(mlua::Value::Nil), |language| text(lua, language))?);
        let address = context.address.map(|address| text(lua, &address.to_canonical().to_string()));
        fields.push_back(address.unwrap_or(Ok(mlua::Value::Nil))?);
        fields.push_back(context.port.map_or(Ok(mlua::Value::Nil), |port| text(lua, &port.to_string()))?);
        fields.push_back(if context.number == 0 { mlua::Value::Nil } else { id(lua, context.trace_id())? });
    }
    let maker = lua.app_data_ref::<ContextMaker>().ok_or_else(|| mlua::Error::runtime("the VM makes no contexts"))?;
    maker.0.call(fields)
}

fn text(lua: &Lua, text: &str) -> mlua::Result<mlua::Value> {
    lua.create_string(text).map(mlua::Value::String)
}

fn id(lua: &Lua, id: uuid::Uuid) -> mlua::Result<mlua::Value> {
    let mut buffer = [0; uuid::fmt::Hyphenated::LENGTH];
    text(lua, id.hyphenated().encode_lower(&mut buffer))
}

fn headers(lua: &Lua, context: &CallContext) -> mlua::Result<mlua::Value> {
    let Some(headers) = &context.headers else { return Ok(mlua::Value::Nil) };
    let table = lua.create_table_with_capacity(0, headers.keys_len().min(HEADERS_MAX))?;
    for name in headers.keys().take(HEADERS_MAX) {
        let values = headers.get_all(name).iter();
        let values = values.map(|value| lua.create_string(value.as_bytes())).collect::<mlua::Result<Vec<_>>>()?;
        table.raw_set(name.as_str(), values)?;
    }
    Ok(mlua::Value::Table(table))
}

fn query(lua: &Lua, query: &BTreeMap<String, Vec<String>>) -> mlua::Result<mlua::Value> {
    if query.is_empty() {
        return Ok(mlua::Value::Nil);
    }
    let table = lua.create_table_with_capacity(0, query.len())?;
    for (name, values) in query {
        table.raw_set(name.as_str(), values.clone())?;
    }
    Ok(mlua::Value::Table(table))
}

fn variables(lua: &Lua, variables: &BTreeMap<String, String>) -> mlua::Result<mlua::Value> {
    if variables.is_empty() {
        return Ok(mlua::Value::Nil);
    }
    let table = lua.create_table_from(variables.iter().map(|(key, text)| (key.as_str(), text.as_str())))?;
    Ok(mlua::Value::Table(table))
}
