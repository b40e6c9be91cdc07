//! [`Scripts`]: the scripts of a server, which are loaded at its start and replaced while it runs.

use crate::call_module;
use crate::context::context_table;
use crate::error::ScriptError;
use crate::event_queue::EventQueue;
use crate::failures::Failures;
use crate::indexes::AddedIndexes;
use crate::matches::reload_code;
use crate::program::{CallLimits, MatchLimits, Program};
use crate::registrations::{RegistrationKind, SINGLE};
use crate::reload::Loads;
use crate::schedules::ScheduleTimes;
use crate::source::Sources;
use aether_metrics::Registry;
use aether_rooms::RoomHost;
use aether_services::Services;
use mlua::MultiValue;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;
use tracing::{error, info, warn};

/// Name of the scripts' module in the call table.
pub const MODULE: &str = "lua";

/// Longest time of the function that runs when the server stops, including its calls of services.
pub const SHUTDOWN_TIME_MAX: Duration = Duration::from_secs(5);

/// Settings of the scripts.
#[derive(Clone, Debug, Default)]
pub struct ScriptSettings {
    /// Folder of the modules.
    pub folder: PathBuf,
    /// Modules that are part of the program: names and texts. Files of the folder replace them.
    pub built_in: Vec<(&'static str, &'static str)>,
    /// Limits of calls.
    pub limits: CallLimits,
    /// Limits of matches.
    pub match_limits: MatchLimits,
    /// Texts that scripts get as `context.env`.
    pub environment: BTreeMap<String, String>,
    /// True if scripts may run SQL.
    pub sql: bool,
    /// Settings of the server that scripts may read, without secrets.
    pub config: serde_json::Value,
    /// Name of the node.
    pub node: String,
    /// Version of the server.
    pub version: String,
    /// Registry of the metrics.
    pub registry: Registry,
}

/// Scripts of a server.
pub struct Scripts {
    settings: ScriptSettings,
    program: RwLock<Option<Arc<Program>>>,
    /// Host of the matches, which get new code.
    rooms: OnceLock<Weak<RoomHost>>,
    /// Locked while the scripts are loaded, so that concurrent reloads follow each other.
    loading: tokio::sync::Mutex<()>,
    /// Outcomes of loading.
    pub(crate) loads: Loads,
    /// Services of the first load. Weak, because they own the forwarders.
    services: OnceLock<Weak<Services>>,
    /// True once the functions of `run_once` have run.
    has_run_once: AtomicBool,
    pub(crate) failures: Failures,
    pub(crate) events: EventQueue,
    pub(crate) schedule_times: ScheduleTimes,
    pub(crate) added_indexes: AddedIndexes,
}

/// Services as a call of a script uses them.
#[derive(Clone)]
pub(crate) struct ScriptServices {
    pub services: Arc<Services>,
    pub scripts: Arc<Scripts>,
}

impl ScriptServices {
    /// Returns the time, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.services.clock.now_ms()
    }

    /// Returns a seed for random numbers.
    pub fn seed(&self) -> u64 {
        uuid::Uuid::new_v4().as_u64_pair().0
    }
}

impl Scripts {
    /// Creates the scripts without loading them.
    #[must_use]
    pub fn new(settings: ScriptSettings) -> Arc<Scripts> {
        Arc::new(Scripts {
            failures: Failures::new(&settings.registry),
            loads: Loads::new(&settings.registry),
            settings,
            program: RwLock::new(None),
            rooms: OnceLock::new(),
            loading: tokio::sync::Mutex::new(()),
            services: OnceLock::new(),
            has_run_once: AtomicBool::new(false),
            events: EventQueue::default(),
            schedule_times: ScheduleTimes::default(),
            added_indexes: AddedIndexes::default(),
        })
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &ScriptSettings {
        &self.settings
    }

    /// Sets the host of the matches. Matches that run get the code of later loads.
    pub fn host_matches(&self, rooms: Weak<RoomHost>) {
        // The first host stays.
        let _ = self.rooms.set(rooms);
    }

    /// Returns the loaded program.
    #[must_use]
    pub fn program(&self) -> Option<Arc<Program>> {
        self.program.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the folder, loads its modules, and lets the server use them. After an error the former modules stay in use. The
    /// first load also runs the functions of `run_once`.
    pub async fn load(self: &Arc<Self>, services: &Arc<Services>) -> Result<Arc<Program>, ScriptError> {
        let _loading = self.loading.lock().await;
        let (folder, built_in) = (self.settings.folder.clone(), self.settings.built_in.clone());
        let read = tokio::task::spawn_blocking(move || Sources::read_with(&folder, &built_in)).await;
        let sources = read.map_err(|error| ScriptError::invalid(error.to_string()))??;
        let used = ScriptServices { services: Arc::clone(services), scripts: Arc::clone(self) };
        let program = Arc::new(Program::load(sources, self.settings.limits, &used).await?);
        let module = call_module::build(self, &program, services)?;
        let is_running = self.program().is_some();
        self.added_indexes.add(self, &program, (services, is_running)).await?;
        if !self.has_run_once.swap(true, Ordering::Relaxed) {
            self.run_once(&program, &used).await.inspect_err(|_| self.has_run_once.store(false, Ordering::Relaxed))?;
        }
        let _ = self.services.set(Arc::downgrade(services));
        services.calls.replace(MODULE, module)?;
        *self.program.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&program));
        self.events.start(self);
        self.reload_matches(&program);
        info!(modules = program.sources().names().count(), functions = program.registered().len(), "scripts loaded");
        Ok(program)
    }

    async fn run_once(&self, program: &Program, used: &ScriptServices) -> Result<(), ScriptError> {
        let functions = program.registered().iter().filter(|(kind, _)| *kind == RegistrationKind::Once);
        for (kind, name) in functions {
            let arguments =
                |vm: &crate::vm::Vm| Ok(MultiValue::from_iter([table(context_table(vm, "run_once", None)?)]));
            program.call(used, (*kind, name), arguments, |_| Ok(())).await?;
        }
        Ok(())
    }

    /// Runs the function that modules registered for the stop of the server, for at most [`SHUTDOWN_TIME_MAX`].
    pub async fn shut_down(self: &Arc<Self>) {
        let Some((program, used)) = self.with_function(RegistrationKind::Shutdown) else { return };
        let arguments = |vm: &crate::vm::Vm| Ok(MultiValue::from_iter([table(context_table(vm, "shutdown", None)?)]));
        let call = program.call(&used, (RegistrationKind::Shutdown, SINGLE), arguments, |_| Ok(()));
        match tokio::time::timeout(SHUTDOWN_TIME_MAX, call).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => drop(self.failures.report("shutdown", error)),
            Err(_) => warn!(seconds = SHUTDOWN_TIME_MAX.as_secs(), "shutdown function of the scripts took too long"),
        }
    }

    /// Passes the code of a program to the running matches of its handlers.
    fn reload_matches(&self, program: &Program) {
        let Some(rooms) = self.rooms.get().and_then(Weak::upgrade) else { return };
        let types: Vec<&str> = program.handlers().iter().map(|handler| handler.name.as_str()).collect();
        match rooms.reload(&types, &reload_code(program.sources())) {
            Ok(report) => info!(matches = report.rooms, matches_full = report.rooms_full, "matches get new code"),
            Err(error) => error!(%error, "matches keep their code"),
        }
    }

    /// Releases the scripts, so that the services can be closed.
    pub fn stop(&self, services: &Services) {
        let _ = services.calls.remove(MODULE);
        *self.program.write().unwrap_or_else(PoisonError::into_inner) = None;
        self.events.stop();
    }

    /// Returns the services; none before the first load and after they were closed.
    pub(crate) fn used(self: &Arc<Self>) -> Option<ScriptServices> {
        let services = self.services.get()?.upgrade()?;
        Some(ScriptServices { services, scripts: Arc::clone(self) })
    }

    /// Returns the program and the services, if the program has a function of a kind that has one function.
    pub(crate) fn with_function(self: &Arc<Self>, kind: RegistrationKind) -> Option<(Arc<Program>, ScriptServices)> {
        let program = self.program().filter(|program| program.has(kind, SINGLE))?;
        Some((program, self.used()?))
    }
}

pub(crate) fn table(table: mlua::Table) -> mlua::Value {
    mlua::Value::Table(table)
}
