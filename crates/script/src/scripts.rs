//! [`Scripts`]: the scripts of a server, which are loaded at its start and replaced while it runs.

use crate::context::call_context;
use crate::error::ScriptError;
use crate::matches::{SERVICE_FUNCTION, reload_code, room_type, serve};
use crate::program::{CallLimits, MatchLimits, Program};
use crate::registrations::Kind;
use crate::reload::Loads;
use crate::source::Sources;
use crate::value::Value;
use aether_metrics::Registry;
use aether_rooms::RoomHost;
use aether_services::calls::Module;
use aether_services::{CallContext, ServiceError, Services};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use tracing::{error, info};

/// Name of the scripts' module in the call table.
pub const MODULE: &str = "lua";

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
    /// Registry of the metrics of match types.
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
        i64::try_from(self.services.clock.now_ms()).unwrap_or(i64::MAX)
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
        let (program, rooms, loading) = (RwLock::default(), OnceLock::new(), tokio::sync::Mutex::default());
        let loads = Loads::new(&settings.registry);
        Arc::new(Scripts { settings, program, rooms, loading, loads })
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

    /// Reads the folder, loads its modules, and lets the server use them. After an error the former modules stay in use.
    pub async fn load(self: &Arc<Self>, services: &Arc<Services>) -> Result<Arc<Program>, ScriptError> {
        let _loading = self.loading.lock().await;
        let (folder, built_in) = (self.settings.folder.clone(), self.settings.built_in.clone());
        let read = tokio::task::spawn_blocking(move || Sources::read_with(&folder, &built_in)).await;
        let sources = read.map_err(|error| ScriptError::invalid(error.to_string()))??;
        let used = ScriptServices { services: Arc::clone(services), scripts: Arc::clone(self) };
        let program = Arc::new(Program::load(sources, self.settings.limits, &used).await?);
        services.calls.replace(MODULE, self.module(&program, services)?)?;
        *self.program.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&program));
        self.reload_matches(&program);
        info!(modules = program.sources().names().count(), functions = program.registered().len(), "scripts loaded");
        Ok(program)
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
    }

    /// Returns the module of the call table: functions and hooks that run the program.
    fn module(self: &Arc<Self>, program: &Arc<Program>, services: &Arc<Services>) -> Result<Module, ServiceError> {
        let mut module = Module::default();
        let scripts = Arc::downgrade(self);
        module.functions.register_call(SERVICE_FUNCTION, move |services, payload| {
            let scripts = scripts.upgrade();
            async move { serve(ScriptServices { services, scripts: scripts.ok_or_else(stopped)? }, payload).await }
        })?;
        for handler in program.handlers() {
            module.match_types.register(Arc::new(room_type(handler, program, self, services)))?;
        }
        for (kind, name) in program.registered() {
            let (scripts, program) = (Arc::downgrade(self), Arc::clone(program));
            let called = name.clone();
            match kind {
                Kind::Rpc => module.functions.register_rpc(name, move |services, context, payload| {
                    let (scripts, program, name) = (scripts.clone(), Arc::clone(&program), called.clone());
                    async move {
                        let Some(scripts) = scripts.upgrade() else { return Err(stopped()) };
                        let used = ScriptServices { services, scripts };
                        rpc(&program, &used, &name, &context, payload).await
                    }
                })?,
                Kind::Before | Kind::After => {}
            }
        }
        Ok(module)
    }
}

fn stopped() -> ServiceError {
    ServiceError::new(aether_services::GrpcCode::Unavailable, "The scripts were stopped. Try again later.")
}

async fn rpc(
    program: &Program,
    used: &ScriptServices,
    name: &str,
    context: &CallContext,
    payload: String,
) -> Result<String, ServiceError> {
    let arguments = [call_context(used, "rpc", context), Value::from(payload)];
    let results = program.call(used, (Kind::Rpc, name), &arguments).await.map_err(|error| log(name, error))?;
    match results.into_iter().next().unwrap_or_default() {
        Value::Nil => Ok(String::new()),
        Value::Text(bytes) => String::from_utf8(bytes).map_err(|_| log(name, not_text("bytes"))),
        other => Err(log(name, not_text(other.type_name()))),
    }
}

fn not_text(found: &str) -> ScriptError {
    ScriptError::invalid(format!("an RPC function must return a string, got {found}; use json_encode for tables"))
}

/// Logs an error of a script, and returns that of the caller.
fn log(function: &str, error: ScriptError) -> ServiceError {
    error!(function, kind = error.kind.name(), %error, "script failed");
    error.into()
}
