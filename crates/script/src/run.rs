//! Runs one module, for `aether script run`.

use crate::context::context_table;
use crate::error::{ErrorKind, ScriptError};
use crate::program::{Program, load_vm, run};
use crate::registrations::RegistrationKind;
use crate::scripts::{ScriptServices, Scripts};
use crate::value::Value;
use crate::vm::Vm;
use aether_services::Services;
use mlua::MultiValue;
use std::sync::Arc;

/// Function of a module to run.
#[derive(Clone, Copy, Debug)]
pub struct RunRequest<'a> {
    /// Module.
    pub module: &'a str,
    /// Function: a field of the table that the module returns, or a registered RPC function. Without it, the module itself
    /// is run.
    pub function: Option<&'a str>,
    /// Argument of the function; empty by default.
    pub payload: &'a str,
}

impl Scripts {
    /// Runs a module or one of its functions in a VM of its own, after all modules of the folder were loaded, and returns
    /// what it returned.
    pub async fn run(
        self: &Arc<Self>,
        services: &Arc<Services>,
        request: RunRequest<'_>,
    ) -> Result<Vec<Value>, ScriptError> {
        let program = match self.program() {
            Some(program) => program,
            None => self.load(services).await?,
        };
        let used = ScriptServices { services: Arc::clone(services), scripts: Arc::clone(self) };
        let limits = &self.settings().limits;
        let vm = load_vm(program.sources(), limits, &used).await?;
        let returned = vm.require(request.module, limits.time_max)?;
        let returned = run(&vm, returned, &used).await?;
        let Some(name) = request.function else { return printable(&returned) };
        let (function, arguments) = find(&vm, &program, (returned.front(), name), request.payload)?;
        let step = vm.start(&function, arguments, limits.time_max)?;
        printable(&run(&vm, step, &used).await?)
    }
}

/// Returns a function with its arguments: the payload alone, or context and payload of an RPC function.
fn find(
    vm: &Vm,
    program: &Program,
    (module, name): (Option<&mlua::Value>, &str),
    payload: &str,
) -> Result<(mlua::Function, MultiValue), ScriptError> {
    let text = vm.lua().create_string(payload).map_err(|error| vm.error(&error))?;
    let payload = mlua::Value::String(text);
    if let Some(mlua::Value::Table(module)) = module
        && let Ok(function) = module.raw_get::<mlua::Function>(name)
    {
        return Ok((function, MultiValue::from_iter([payload])));
    }
    let registered = vm.state().registrations().find(RegistrationKind::Rpc, &name.to_ascii_lowercase());
    if let Some(function) = registered {
        let context = context_table(vm, "rpc", None).map_err(|error| vm.error(&error))?;
        return Ok((function, MultiValue::from_iter([mlua::Value::Table(context), payload])));
    }
    let rpcs =
        program.registered().iter().filter(|(kind, _)| *kind == RegistrationKind::Rpc).map(|(_, name)| name.as_str());
    let hint = crate::check::suggestion(name, rpcs);
    let sentence = format!("the module returns no function `{name}`, and no RPC function has this name{hint}");
    Err(ScriptError::new(ErrorKind::Missing, sentence))
}

/// Returns values for people: what cannot leave the VM, such as a function, is named by its type.
fn printable(results: &MultiValue) -> Result<Vec<Value>, ScriptError> {
    Ok(results.iter().map(|value| describe(value, 0)).collect())
}

fn describe(value: &mlua::Value, depth: usize) -> Value {
    match value {
        mlua::Value::Table(table) if depth < crate::value::VALUE_DEPTH_MAX => match crate::vm::from_lua(value) {
            Ok(value) => value,
            Err(_) => {
                let pairs = table.pairs::<mlua::Value, mlua::Value>().filter_map(Result::ok);
                let name = |key: &mlua::Value| key.to_string().unwrap_or_else(|_| key.type_name().to_owned());
                Value::Map(
                    pairs.map(|(key, value)| (name(&key).as_str().into(), describe(&value, depth + 1))).collect(),
                )
            }
        },
        other => crate::vm::from_lua(other).unwrap_or_else(|_| Value::from(format!("<{}>", other.type_name()))),
    }
}
