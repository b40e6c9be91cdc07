//! The module of the scripts in the call table: RPC functions, hooks and HTTP routes that run a program.

use crate::context::context_table;
use crate::error::ScriptError;
use crate::hook_name::envelope_field;
use crate::json::{json_to_lua, message_from_lua};
use crate::matches::{SERVICE_FUNCTION, room_type, serve};
use crate::program::Program;
use crate::registrations::RegistrationKind;
use crate::scripts::{ScriptServices, Scripts, table};
use crate::vm::Vm;
use aether_services::calls::{Module, RouteAnswer, RouteRequest};
use aether_services::{CallContext, GrpcCode, ServiceError, Services};
use mlua::{MultiValue, Table};
use serde_json::Value;
use std::sync::{Arc, Weak};

const STOPPED: ServiceError = ServiceError::new(GrpcCode::Unavailable, "The scripts were stopped. Try again later.");

/// Function of a program that the call table calls.
#[derive(Clone)]
struct Target {
    scripts: Weak<Scripts>,
    program: Arc<Program>,
    function: Arc<TargetFunction>,
}

struct TargetFunction {
    kind: RegistrationKind,
    name: String,
    /// Fields of the envelopes that hold request and answer. None for messages without envelopes.
    fields: Option<(String, Option<String>)>,
}

/// Returns the module of a program.
pub(crate) fn build(
    scripts: &Arc<Scripts>,
    program: &Arc<Program>,
    services: &Arc<Services>,
) -> Result<Module, ServiceError> {
    let mut module = Module { wants_headers: true, ..Module::default() };
    let of_matches = Arc::downgrade(scripts);
    module.functions.register_call(SERVICE_FUNCTION, move |services, payload| {
        let scripts = of_matches.upgrade();
        async move { serve(ScriptServices { services, scripts: scripts.ok_or(STOPPED)? }, payload).await }
    })?;
    for handler in program.handlers() {
        module.match_types.register(Arc::new(room_type(handler, program, scripts, services)))?;
    }
    for (kind, name) in program.registered() {
        let fields = matches!(kind, RegistrationKind::SocketBefore | RegistrationKind::SocketAfter)
            .then(|| envelope_fields(services, name));
        let function = Arc::new(TargetFunction { kind: *kind, name: name.clone(), fields });
        let target = Target { scripts: Arc::downgrade(scripts), program: Arc::clone(program), function };
        match kind {
            RegistrationKind::Rpc => module.functions.register_rpc(name, move |services, context, payload| {
                let target = target.clone();
                async move { target.rpc(services, &context, payload).await }
            })?,
            RegistrationKind::Before | RegistrationKind::SocketBefore => {
                module.hooks.before_named(name, move |context, request| {
                    let target = target.clone();
                    async move { target.before(&context, &request).await }
                })?
            }
            RegistrationKind::After | RegistrationKind::SocketAfter => {
                module.hooks.after_named(name, move |context, request, answer| {
                    let target = target.clone();
                    async move { target.after(&context, &request, &answer).await }
                })?
            }
            RegistrationKind::Route => {
                let (method, path) = name.split_once(' ').unwrap_or(("GET", name));
                module.routes.register(method, path, move |services, context, request| {
                    let target = target.clone();
                    async move { target.route(services, &context, &request).await }
                })?;
            }
            _ => {}
        }
    }
    Ok(module)
}

/// Returns the fields of the envelopes of a request and of its answer. An answer without contents has no field.
fn envelope_fields(services: &Services, operation: &str) -> (String, Option<String>) {
    let info = services.calls.operations().find(|info| info.name == operation);
    let answer = info.and_then(|info| info.answer.rsplit('.').next()).filter(|name| *name != "Empty");
    (envelope_field(operation), answer.map(envelope_field))
}

impl Target {
    fn used(&self) -> Result<ScriptServices, ServiceError> {
        self.scripts.upgrade().and_then(|scripts| scripts.used()).ok_or(STOPPED)
    }

    async fn call<T>(
        &self,
        used: &ScriptServices,
        arguments: impl FnOnce(&Vm) -> mlua::Result<MultiValue>,
        read: impl FnOnce(MultiValue) -> Result<T, ScriptError>,
    ) -> Result<T, ServiceError> {
        let TargetFunction { kind, name, .. } = &*self.function;
        let called = self.program.call(used, (*kind, name), arguments, read).await;
        called.map_err(|error| used.scripts.failures.report(name, error))
    }

    async fn rpc(
        &self,
        services: Arc<Services>,
        context: &CallContext,
        payload: String,
    ) -> Result<String, ServiceError> {
        let scripts = self.used()?.scripts;
        let used = ScriptServices { services, scripts };
        let arguments = |vm: &Vm| {
            let payload = mlua::Value::String(vm.lua().create_string(&payload)?);
            Ok(MultiValue::from_iter([table(context_table(vm, "rpc", Some(context))?), payload]))
        };
        self.call(&used, arguments, rpc_answer).await
    }

    /// Runs a hook before an operation. None discards the request.
    async fn before(&self, context: &CallContext, request: &Value) -> Result<Option<Value>, ServiceError> {
        let used = self.used()?;
        let field = self.function.fields.as_ref().map(|(field, _)| field.as_str());
        let arguments = |vm: &Vm| {
            let context = table(context_table(vm, "before", Some(context))?);
            Ok(MultiValue::from_iter([context, message(vm, Some(request), field)?]))
        };
        self.call(&used, arguments, |results| changed_request(results, field)).await
    }

    /// Runs a hook after an operation. Its errors do not reach the client, whose operation has succeeded.
    async fn after(&self, context: &CallContext, request: &Value, answer: &Value) {
        let Ok(used) = self.used() else { return };
        let fields = self.function.fields.as_ref();
        let arguments = |vm: &Vm| {
            let context = table(context_table(vm, "after", Some(context))?);
            let answered = match fields {
                Some((_, None)) => message(vm, None, None)?,
                Some((_, Some(field))) => message(vm, Some(answer), Some(field))?,
                None => message(vm, Some(answer), None)?,
            };
            let request = message(vm, Some(request), fields.map(|(field, _)| field.as_str()))?;
            Ok(MultiValue::from_iter([context, answered, request]))
        };
        // The error is logged.
        let _ = self.call(&used, arguments, |_| Ok(())).await;
    }

    async fn route(
        &self,
        services: Arc<Services>,
        context: &CallContext,
        request: &RouteRequest,
    ) -> Result<RouteAnswer, ServiceError> {
        let scripts = self.used()?.scripts;
        let used = ScriptServices { services, scripts };
        let arguments = |vm: &Vm| {
            let context = context_table(vm, "http", Some(context))?;
            let shown = vm.lua().create_table_with_capacity(0, 5)?;
            shown.raw_set("method", request.method.as_str())?;
            shown.raw_set("path", request.path.as_str())?;
            shown.raw_set("headers", context.raw_get::<mlua::Value>("headers")?)?;
            shown.raw_set("query", context.raw_get::<mlua::Value>("query_params")?)?;
            shown.raw_set("body", vm.lua().create_string(&request.body)?)?;
            Ok(MultiValue::from_iter([table(context), table(shown)]))
        };
        self.call(&used, arguments, route_answer).await
    }
}

/// Returns a message as a table, in an envelope if it has a field there.
fn message(vm: &Vm, json: Option<&Value>, field: Option<&str>) -> mlua::Result<mlua::Value> {
    let lua = vm.lua();
    let message = match json {
        Some(json) => json_to_lua(lua, json)?,
        None => table(lua.create_table()?),
    };
    match field {
        None => Ok(message),
        Some(field) => {
            let envelope = lua.create_table_with_capacity(0, 1)?;
            envelope.raw_set(field, message)?;
            Ok(table(envelope))
        }
    }
}

/// Reads the request that a hook returned; none if it discards the request.
fn changed_request(mut results: MultiValue, field: Option<&str>) -> Result<Option<Value>, ScriptError> {
    let returned = match (results.pop_front(), field) {
        (Some(mlua::Value::Table(envelope)), Some(field)) => envelope.raw_get(field).unwrap_or(mlua::Value::Nil),
        (returned, _) => returned.unwrap_or(mlua::Value::Nil),
    };
    match returned {
        mlua::Value::Nil => Ok(None),
        mlua::Value::Table(message) => message_from_lua(&message).map(Some),
        other => {
            let sentence = format!(
                "a before hook must return the request as a table, or nil; it returned a {}",
                other.type_name()
            );
            Err(ScriptError::invalid(sentence))
        }
    }
}

fn rpc_answer(mut results: MultiValue) -> Result<String, ScriptError> {
    let not_text = |found: &str| {
        ScriptError::invalid(format!("an RPC function must return a string, got {found}; use json_encode for tables"))
    };
    match results.pop_front() {
        None | Some(mlua::Value::Nil) => Ok(String::new()),
        Some(mlua::Value::String(text)) => match text.to_str() {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(not_text("bytes that are not UTF-8")),
        },
        Some(other) => Err(not_text(other.type_name())),
    }
}

/// Reads the answer of a route: a table with status, headers and body, a string as the body, or nothing.
fn route_answer(mut results: MultiValue) -> Result<RouteAnswer, ScriptError> {
    let mut answer = RouteAnswer { status: 200, headers: Vec::new(), body: Vec::new() };
    match results.pop_front() {
        None | Some(mlua::Value::Nil) => answer.status = 204,
        Some(mlua::Value::String(text)) => answer.body = text.as_bytes().to_vec(),
        Some(mlua::Value::Table(returned)) => read_route_answer(&returned, &mut answer)
            .map_err(|error| ScriptError::invalid(format!("the answer of a route is not valid: {error}")))?,
        Some(other) => {
            let sentence = format!("a route must return a table, a string or nil, got a {}", other.type_name());
            return Err(ScriptError::invalid(sentence));
        }
    }
    if !answer.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        answer.headers.push(("content-type".to_owned(), "text/plain; charset=utf-8".to_owned()));
    }
    Ok(answer)
}

fn read_route_answer(returned: &Table, answer: &mut RouteAnswer) -> mlua::Result<()> {
    answer.status = returned.raw_get::<Option<u16>>("status")?.unwrap_or(200);
    if let Some(body) = returned.raw_get::<Option<mlua::LuaString>>("body")? {
        answer.body = body.as_bytes().to_vec();
    }
    if let Some(headers) = returned.raw_get::<Option<Table>>("headers")? {
        for entry in headers.pairs::<String, String>() {
            answer.headers.push(entry?);
        }
    }
    Ok(())
}
