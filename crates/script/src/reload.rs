//! Reload: the scripts are loaded again while the server runs, because a file changed or an operator wants it.

use crate::error::ScriptError;
use crate::program::Program;
use crate::scripts::Scripts;
use crate::source::Fingerprint;
use aether_messages::timestamp;
use aether_metrics::{Counter, Gauge, Registry};
use aether_services::admin::script::{ScriptList, ScriptReload, ShownModule, ShownScriptError, ShownScriptFunction};
use aether_services::admin::{ScriptFuture, ScriptOperator};
use aether_services::{GrpcCode, ServiceError, Services};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tracing::warn;

/// Time between two looks at the folder. A change is loaded if the next look finds no further one: editors and copying
/// programs write a file in parts.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Outcomes of loading.
pub(crate) struct Loads {
    latest: Mutex<Latest>,
    succeeded: Counter,
    failed: Counter,
    is_outdated: Gauge,
}

/// Latest outcomes.
#[derive(Default)]
struct Latest {
    /// Files that were tried last.
    files: Option<Fingerprint>,
    /// Last failure and its time in seconds since 1970, unless a later load succeeded.
    failure: Option<(ScriptError, i64)>,
    /// Time of the last success, in seconds since 1970.
    loaded_at: i64,
    /// Number of successes.
    count: u32,
}

impl Loads {
    pub fn new(registry: &Registry) -> Loads {
        let (name, help) = ("aether_script_loads_total", "Loads of the scripts, by result.");
        let result = |result: &str| registry.counter(name, help, &[("result", result)]);
        let help = "1 if the files of the scripts could not be loaded and former ones are in use.";
        Loads {
            latest: Mutex::default(),
            succeeded: result("ok"),
            failed: result("failed"),
            is_outdated: registry.gauge("aether_script_outdated", help, &[]),
        }
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the outcome of a load.
    fn note(&self, outcome: Result<(), &ScriptError>, now: i64) {
        let mut latest = self.latest();
        match outcome {
            Ok(()) => {
                self.succeeded.inc();
                (latest.failure, latest.loaded_at, latest.count) = (None, now, latest.count.saturating_add(1));
            }
            Err(error) => {
                self.failed.inc();
                latest.failure = Some((error.clone(), now));
            }
        }
        self.is_outdated.set(f64::from(u8::from(latest.failure.is_some())));
    }
}

impl Scripts {
    /// Loads the modules of the folder, as [`Scripts::load`] does, and keeps the outcome for operators. After an error the
    /// former modules stay in use.
    pub async fn reload(self: &Arc<Self>, services: &Arc<Services>) -> Result<Arc<Program>, ScriptError> {
        // Taken before the files are read: a file that changes meanwhile is loaded again.
        let files = self.fingerprint().await;
        self.loads.latest().files = Some(files);
        let outcome = self.load(services).await;
        let now = services.clock.now_ms() / 1_000;
        self.loads.note(outcome.as_ref().map(|_| ()), now);
        outcome
    }

    async fn fingerprint(&self) -> Fingerprint {
        let folder = self.settings().folder.clone();
        tokio::task::spawn_blocking(move || Fingerprint::of(&folder)).await.unwrap_or_default()
    }
}

/// Reloads the scripts of a server for operators, and when files change.
pub struct ScriptReloader {
    scripts: Arc<Scripts>,
    services: Weak<Services>,
}

impl ScriptReloader {
    /// Creates it for the scripts of a server.
    #[must_use]
    pub fn new(scripts: &Arc<Scripts>, services: &Arc<Services>) -> ScriptReloader {
        ScriptReloader { scripts: Arc::clone(scripts), services: Arc::downgrade(services) }
    }

    /// Watches the folder, and loads the modules when a file was added, changed or removed. Runs until it is dropped.
    ///
    /// It compares names, sizes and times. Notifications of the system would be sooner, but network file systems and
    /// containers do not deliver them.
    pub async fn watch(self: Arc<Self>) {
        let mut interval = tokio::time::interval(WATCH_INTERVAL);
        let mut seen = None;
        loop {
            interval.tick().await;
            let files = self.scripts.fingerprint().await;
            let is_settled = seen.as_ref() == Some(&files);
            let is_tried = self.scripts.loads.latest().files.as_ref() == Some(&files);
            seen = Some(files);
            if is_settled && !is_tried {
                // A failure is logged, and the next change is tried.
                let _ = self.load().await;
            }
        }
    }

    async fn load(&self) -> Result<ScriptReload, ServiceError> {
        let Some(services) = self.services.upgrade() else {
            return Err(ServiceError::new(GrpcCode::Unavailable, "The server is shutting down."));
        };
        match self.scripts.reload(&services).await {
            Ok(program) => Ok(ScriptReload {
                modules: count(program.sources().names().count()),
                functions: count(functions(&program).len()),
                loads: self.scripts.loads.latest().count,
            }),
            Err(error) => {
                warn!(module = error.module, line = error.line, %error, "scripts not loaded; former ones stay in use");
                let message = format!("The modules were not loaded, and former ones stay in use: {}", error.message);
                Err(ServiceError::with(GrpcCode::FailedPrecondition, message))
            }
        }
    }
}

impl ScriptOperator for ScriptReloader {
    fn list(&self) -> ScriptList {
        let program = self.scripts.program();
        let latest = self.scripts.loads.latest();
        let module = |program: &Program, name: &str| ShownModule {
            name: name.to_owned(),
            bytes: count(program.sources().text(name).map_or(0, |text| text.len())),
        };
        let modules = program.iter().flat_map(|program| program.sources().names().map(|name| module(program, name)));
        let failure = latest.failure.as_ref().map(|(error, at)| ShownScriptError {
            module: error.module.clone().unwrap_or_default(),
            line: error.line.unwrap_or(0),
            message: error.message.clone(),
            time: timestamp(*at).to_string(),
        });
        ScriptList {
            modules: modules.collect(),
            functions: program.as_deref().map(functions).unwrap_or_default(),
            error: Some(failure.unwrap_or_default()),
            load_time: timestamp(latest.loaded_at).to_string(),
            loads: latest.count,
        }
    }

    fn reload(&self) -> ScriptFuture<'_> {
        Box::pin(self.load())
    }
}

/// Returns the functions that a program registered, with its match handlers.
fn functions(program: &Program) -> Vec<ShownScriptFunction> {
    let registered = program.registered().iter().map(|(kind, name)| (snake_case(&format!("{kind:?}")), name));
    let handlers = program.handlers().iter().map(|handler| ("match".to_owned(), &handler.name));
    registered.chain(handlers).map(|(kind, name)| ShownScriptFunction { kind, name: name.clone() }).collect()
}

fn snake_case(name: &str) -> String {
    name.char_indices().fold(String::new(), |mut text, (index, letter)| {
        if letter.is_ascii_uppercase() && index > 0 {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
        text
    })
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
