//! [`ScriptOperator`]: the operator's access to the scripts of a server.

use super::script::{ScriptList, ScriptReload};
use crate::error::ServiceError;
use std::pin::Pin;

/// Future of an operation on scripts.
pub type ScriptFuture<'a> = Pin<Box<dyn Future<Output = Result<ScriptReload, ServiceError>> + Send + 'a>>;

/// Scripts as operators manage them. Implemented by the crate that runs them.
pub trait ScriptOperator: Send + Sync {
    /// Returns modules, functions and the last failure.
    fn list(&self) -> ScriptList;

    /// Loads the modules again. The error names module and line.
    fn reload(&self) -> ScriptFuture<'_>;
}
