//! [`Failures`]: log and metrics of scripts that failed.

use crate::error::{ErrorKind, ScriptError};
use aether_metrics::{Counter, Registry};
use aether_services::ServiceError;
use std::sync::OnceLock;
use tracing::{error, info};

/// Label of errors that a script raised with a code, to refuse a request.
const REFUSED: &str = "refused";

/// Counts and logs errors of scripts.
#[derive(Default)]
pub(crate) struct Failures {
    counters: OnceLock<Counters>,
}

struct Counters {
    registry: Registry,
    dropped: Counter,
}

impl Failures {
    /// Registers the metrics. Later calls have no effect.
    pub fn count_in(&self, registry: &Registry) {
        self.counters.get_or_init(|| {
            let help = "Events and sessions that no script was told of, because too many waited.";
            Counters { registry: registry.clone(), dropped: registry.counter("aether_script_dropped_total", help, &[]) }
        });
    }

    /// Returns the registry of the metrics.
    pub fn registry(&self) -> Registry {
        self.counters.get().map(|counters| counters.registry.clone()).unwrap_or_default()
    }

    /// Counts an event that no script was told of.
    pub fn count_dropped(&self) {
        if let Some(counters) = self.counters.get() {
            counters.dropped.inc();
        }
    }

    /// Counts and logs an error, and returns that of the caller. An error with a code is an answer of the script: to a
    /// request that it refuses.
    pub fn report(&self, function: &str, error: ScriptError) -> ServiceError {
        let is_refusal = error.kind == ErrorKind::Runtime && error.code.is_some();
        let kind = if is_refusal { REFUSED } else { error.kind.name() };
        if let Some(counters) = self.counters.get() {
            let (name, help) = ("aether_script_errors_total", "Errors of scripts, by kind.");
            counters.registry.counter(name, help, &[("kind", kind)]).inc();
        }
        let (module, line) = (error.module.as_deref(), error.line);
        let stack = error.stack.join("\n");
        if is_refusal {
            info!(function, kind, module, line, reason = error.message, "script refused a request");
        } else {
            error!(function, kind, module, line, stack, error = error.message, "script failed");
        }
        error.into()
    }
}
