//! [`Program`]: the sources of a folder at one moment, loaded, with a pool of VMs that run its functions.

use crate::arguments::Arguments;
use crate::error::{ErrorKind, ScriptError};
use crate::function::Run;
use crate::matches::{HandlerInfo, is_handler, read_settings, schema_of};
use crate::registrations::{Kind, RegisteredMatch};
use crate::scripts::ScriptServices;
use crate::source::Sources;
use crate::value::Value;
use crate::vm::{Step, Suspended, Vm, VmKind, VmSettings};
use mlua::MultiValue;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Time that all modules together may take to load.
const LOAD_TIME_MAX: Duration = Duration::from_secs(5);

/// Limits of calls.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// Processor time of one call.
    pub time_max: Duration,
    /// Memory of one VM, in bytes.
    pub memory_max: usize,
    /// Most VMs, which is the number of calls that run at once. Further calls wait.
    pub vms_max: usize,
}

impl Default for CallLimits {
    fn default() -> CallLimits {
        CallLimits { time_max: Duration::from_millis(50), memory_max: 64 << 20, vms_max: 16 }
    }
}

/// Limits of matches.
#[derive(Clone, Copy, Debug)]
pub struct MatchLimits {
    /// Share of a tick that a call of a match may take.
    pub tick_share: f64,
    /// Memory of the VM of one match, in bytes.
    pub memory_max: usize,
}

impl Default for MatchLimits {
    fn default() -> MatchLimits {
        MatchLimits { tick_share: 0.25, memory_max: 16 << 20 }
    }
}

/// Loaded sources.
pub struct Program {
    sources: Arc<Sources>,
    limits: CallLimits,
    registered: Vec<(Kind, String)>,
    handlers: Vec<HandlerInfo>,
    idle: Mutex<Vec<Vm>>,
    places: Semaphore,
}

impl Program {
    /// Loads all modules. An error names module and line.
    pub(crate) async fn load(
        sources: Sources,
        limits: CallLimits,
        services: &ScriptServices,
    ) -> Result<Program, ScriptError> {
        let sources = Arc::new(sources);
        let vm = load_vm(&sources, &limits, services).await?;
        let registered = vm.state().registrations().names();
        let handlers = match_handlers(&vm)?;
        let (idle, places) = (Mutex::new(vec![vm]), Semaphore::new(limits.vms_max));
        Ok(Program { sources, limits, registered, handlers, idle, places })
    }

    /// Returns the sources.
    #[must_use]
    pub fn sources(&self) -> &Arc<Sources> {
        &self.sources
    }

    /// Returns kinds and names of the registered functions.
    #[must_use]
    pub fn registered(&self) -> &[(Kind, String)] {
        &self.registered
    }

    /// Returns the match handlers whose schema differs from that of the same handler in another program. Their running
    /// matches keep the code that they have.
    #[must_use]
    pub fn handlers_with_another_schema(&self, other: &Program) -> Vec<String> {
        let differs = |handler: &&HandlerInfo| {
            other.handlers.iter().any(|before| before.name == handler.name && before.schema != handler.schema)
        };
        self.handlers.iter().filter(differs).map(|handler| handler.name.clone()).collect()
    }

    /// Returns the match handlers.
    pub(crate) fn handlers(&self) -> &[HandlerInfo] {
        &self.handlers
    }

    /// Calls a registered function with values.
    pub(crate) async fn call(
        &self,
        services: &ScriptServices,
        (kind, name): (Kind, &str),
        arguments: &[Value],
    ) -> Result<Vec<Value>, ScriptError> {
        let _place = self.places.acquire().await.map_err(|_| ScriptError::invalid("the scripts were stopped"))?;
        let vm = self.vm(services).await?;
        let outcome = self.call_in(&vm, services, (kind, name), arguments).await;
        if !outcome.as_ref().is_err_and(ScriptError::spoils_vm) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(vm);
        }
        outcome
    }

    async fn call_in(
        &self,
        vm: &Vm,
        services: &ScriptServices,
        (kind, name): (Kind, &str),
        arguments: &[Value],
    ) -> Result<Vec<Value>, ScriptError> {
        let function = vm.state().registrations().find(kind, name).ok_or_else(|| {
            ScriptError::new(ErrorKind::Missing, format!("the function `{name}` is registered no longer"))
        })?;
        vm.state().set_now_ms(services.now_ms());
        let step = vm.call(&function, arguments, self.limits.time_max)?;
        let results = run(vm, step, services).await?;
        vm.values(&results)
    }

    async fn vm(&self, services: &ScriptServices) -> Result<Vm, ScriptError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(vm) => Ok(vm),
            None => load_vm(&self.sources, &self.limits, services).await,
        }
    }
}

/// Returns the match handlers of a VM that has loaded all modules.
fn match_handlers(vm: &Vm) -> Result<Vec<HandlerInfo>, ScriptError> {
    let registrations = vm.state().registrations();
    let info = |(name, handler): (&str, &RegisteredMatch)| {
        let settings = read_settings(name, &handler.table)?;
        let (module, schema) = (handler.module.clone(), schema_of(name, &handler.table)?.schema().hash());
        Ok(HandlerInfo { name: name.to_owned(), module, form: handler.form, schema, settings })
    };
    registrations.matches().map(info).collect()
}

/// Creates a VM and loads all modules into it.
pub(crate) async fn load_vm(
    sources: &Arc<Sources>,
    limits: &CallLimits,
    services: &ScriptServices,
) -> Result<Vm, ScriptError> {
    let settings = VmSettings { kind: VmKind::Call, memory_max: limits.memory_max, seed: services.seed() };
    let vm = Vm::new(Arc::clone(sources), &settings)?;
    vm.state().record_metrics(Some(&services.services.game_metrics));
    vm.state().set_now_ms(services.now_ms());
    for module in sources.names() {
        vm.state().registrations().begin_module(module);
        let step = vm.require(module, LOAD_TIME_MAX)?;
        let returned = run(&vm, step, services).await?;
        if let Some(mlua::Value::Table(table)) = returned.front()
            && is_handler(table)
        {
            vm.state().registrations().add_match_module(module, table.clone());
        }
    }
    Ok(vm)
}

/// Runs a script until it returns, and answers its requests.
pub(crate) async fn run(vm: &Vm, mut step: Step, services: &ScriptServices) -> Result<MultiValue, ScriptError> {
    loop {
        match step {
            Step::Done(results) => return Ok(results),
            Step::Suspended(suspended) => {
                let answer = answer(services, &suspended).await;
                vm.state().set_now_ms(services.now_ms());
                step = vm.resume(suspended, answer)?;
            }
        }
    }
}

/// Runs the service function that a script waits for.
async fn answer(services: &ScriptServices, suspended: &Suspended) -> Result<Vec<Value>, ScriptError> {
    let Run::Service(run) = suspended.function.run else {
        return Err(ScriptError::invalid("the function does not wait for the services"));
    };
    run(services.clone(), Arguments::new(suspended.function, suspended.arguments.clone())).await
}
