//! [`Failures`]: log and metrics of scripts that failed.

use crate::error::{ErrorKind, ScriptError};
use aether_metrics::{Counter, Registry};
use aether_services::ServiceError;
use tracing::{error, info};

/// Label of errors that a script raised with a code, to refuse a request.
const REFUSED: &str = "refused";

/// Counts and logs errors of scripts.
pub(crate) struct Failures {
    registry: Registry,
    dropped: Counter,
}

impl Failures {
    /// Registers the metrics.
    pub fn new(registry: &Registry) -> Failures {
        let help = "Events and sessions that no script was told of, because too many waited.";
        Failures { registry: registry.clone(), dropped: registry.counter("aether_script_dropped_total", help, &[]) }
    }

    /// Counts an event that no script was told of.
    pub fn count_dropped(&self) {
        self.dropped.inc();
    }

    /// Counts and logs an error, and returns that of the caller. An error with a code is an answer of the script: to a
    /// request that it refuses.
    pub fn report(&self, function: &str, error: ScriptError) -> ServiceError {
        let is_refusal = error.kind == ErrorKind::Runtime && error.code.is_some();
        let kind = if is_refusal { REFUSED } else { error.kind.name() };
        let (name, help) = ("aether_script_errors_total", "Errors of scripts, by kind.");
        self.registry.counter(name, help, &[("kind", kind)]).inc();
        let (module, line) = (error.module.as_deref(), error.line);
        if is_refusal {
            info!(function, kind, module, line, reason = error.message, "script refused a request");
        } else {
            let stack = error.stack.join("\n");
            error!(function, kind, module, line, stack, error = error.message, "script failed");
        }
        error.into()
    }
}
