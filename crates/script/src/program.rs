//! [`Program`]: the sources of a folder at one moment, loaded, with a pool of VMs that run its functions.

use crate::arguments::Arguments;
use crate::context;
use crate::error::{ErrorKind, ScriptError};
use crate::function::Run;
use crate::matches::{HandlerInfo, is_handler, read_settings, schema_of};
use crate::registrations::{RegisteredMatch, RegistrationKind};
use crate::scripts::ScriptServices;
use crate::source::Sources;
use crate::value::Value;
use crate::vm::{Step, Suspended, Vm, VmKind, VmSettings};
use aether_services::leaderboard::Schedule;
use aether_services::storage::IndexDefinition;
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
    /// Kinds and names of the registered functions, sorted.
    registered: Vec<(RegistrationKind, String)>,
    schedules: Vec<(String, Schedule)>,
    indexes: Vec<IndexDefinition>,
    handlers: Vec<HandlerInfo>,
    idle: Mutex<Vec<Vm>>,
    places: Semaphore,
    /// VM of filters of storage indexes, which run at once and call no services. None if there are no filters.
    filters: Option<Mutex<Vm>>,
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
        let (registered, schedules, indexes) = {
            let registrations = vm.state().registrations();
            (registrations.names(), registrations.schedules(), registrations.indexes())
        };
        let has_filters = registered.iter().any(|(kind, _)| *kind == RegistrationKind::IndexFilter);
        let filters = if has_filters { Some(Mutex::new(load_vm(&sources, &limits, services).await?)) } else { None };
        let handlers = match_handlers(&vm)?;
        let (idle, places) = (Mutex::new(vec![vm]), Semaphore::new(limits.vms_max));
        Ok(Program { sources, limits, registered, handlers, schedules, indexes, idle, places, filters })
    }

    /// Returns the sources.
    #[must_use]
    pub fn sources(&self) -> &Arc<Sources> {
        &self.sources
    }

    /// Returns kinds and names of the registered functions.
    #[must_use]
    pub fn registered(&self) -> &[(RegistrationKind, String)] {
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

    /// Returns true if there is a function of this kind and name.
    #[must_use]
    pub fn has(&self, kind: RegistrationKind, name: &str) -> bool {
        self.registered.binary_search_by(|(known, of)| (*known, of.as_str()).cmp(&(kind, name))).is_ok()
    }

    /// Returns the schedules with the names of their functions.
    pub(crate) fn schedules(&self) -> &[(String, Schedule)] {
        &self.schedules
    }

    /// Returns the storage indexes.
    pub(crate) fn indexes(&self) -> &[IndexDefinition] {
        &self.indexes
    }

    /// Returns the match handlers.
    pub(crate) fn handlers(&self) -> &[HandlerInfo] {
        &self.handlers
    }

    /// Calls a registered function in a VM of the pool. `arguments` makes its arguments, and `read` its result.
    pub(crate) async fn call<T>(
        &self,
        services: &ScriptServices,
        (kind, name): (RegistrationKind, &str),
        arguments: impl FnOnce(&Vm) -> mlua::Result<MultiValue>,
        read: impl FnOnce(MultiValue) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        let _place = self.places.acquire().await.map_err(|_| ScriptError::invalid("the scripts were stopped"))?;
        let vm = self.vm(services).await?;
        let outcome = self.call_in(&vm, services, (kind, name), arguments).await.and_then(read);
        if !outcome.as_ref().is_err_and(ScriptError::spoils_vm) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(vm);
        }
        outcome
    }

    async fn call_in(
        &self,
        vm: &Vm,
        services: &ScriptServices,
        (kind, name): (RegistrationKind, &str),
        arguments: impl FnOnce(&Vm) -> mlua::Result<MultiValue>,
    ) -> Result<MultiValue, ScriptError> {
        vm.state().set_now_ms(services.now_ms());
        let step = self.start(vm, (kind, name), arguments)?;
        run(vm, step, services).await
    }

    /// Calls a filter of a storage index. It may not call services.
    pub(crate) fn filter(
        &self,
        index: &str,
        arguments: impl FnOnce(&Vm) -> mlua::Result<MultiValue>,
    ) -> Result<bool, ScriptError> {
        let Some(filters) = &self.filters else { return Ok(true) };
        let vm = filters.lock().unwrap_or_else(PoisonError::into_inner);
        match self.start(&vm, (RegistrationKind::IndexFilter, index), arguments)? {
            Step::Done(results) => Ok(results.front().is_some_and(|value| value.as_boolean() == Some(true))),
            Step::Suspended(_) => Err(ScriptError::invalid("the filter of a storage index cannot call services")),
        }
    }

    fn start(
        &self,
        vm: &Vm,
        (kind, name): (RegistrationKind, &str),
        arguments: impl FnOnce(&Vm) -> mlua::Result<MultiValue>,
    ) -> Result<Step, ScriptError> {
        let function = vm.state().registrations().find(kind, name).ok_or_else(|| {
            ScriptError::new(ErrorKind::Missing, format!("the function `{name}` is registered no longer"))
        })?;
        let arguments = arguments(vm).map_err(|error| vm.error(&error))?;
        vm.start(&function, arguments, self.limits.time_max)
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
    context::prepare(&vm, services.scripts.settings()).map_err(|error| vm.error(&error))?;
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
    vm.state().registrations().complete();
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
