//! Modules of scripts, for the developer of a server: a page on the same machine reads and changes them while the server
//! runs.
//!
//! | request | answer |
//! |---|---|
//! | `GET /api/development/modules` | names of all modules |
//! | `GET /api/development/modules/{name}` | text of a module |
//! | `PUT /api/development/modules/{name}` | stores the text, and loads the modules |
//! | `DELETE /api/development/modules/{name}` | removes the stored text: the module of the program is used again |
//!
//! The sender must be on the machine of the server and show the developer secret, as for the role of a developer. The answers
//! have no CORS headers: pages of other origins cannot read them.

use crate::peer::PeerAddress;
use crate::public::PublicApi;
use crate::routing::ApiError;
use axum::extract::{Extension, Path, State};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use http::{HeaderMap, StatusCode, header};
use serde::Serialize;
use serde_json::json;
use std::pin::Pin;
use std::sync::Arc;

/// Modules of scripts, as their developer changes them.
pub trait ModuleEditor: Send + Sync {
    /// Returns all modules, sorted by name.
    fn list(&self) -> Vec<ModuleEntry>;

    /// Returns the text of a module; none if there is no such module.
    fn read(&self, name: &str) -> Option<String>;

    /// Stores the text of a module, or removes the stored text, and loads all modules. After an error everything is as
    /// before.
    fn change(&self, name: &str, text: Option<String>) -> ModuleChange;
}

/// Outcome of a change of a module.
pub type ModuleChange = Pin<Box<dyn Future<Output = Result<ModulesLoaded, ModuleProblem>> + Send>>;

/// A module in a list.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct ModuleEntry {
    /// Name, such as `shop.items`.
    pub name: String,
    /// True if the module is part of the program.
    pub is_built_in: bool,
    /// True if a stored text replaces that of the program.
    pub is_edited: bool,
}

/// Modules that were loaded.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct ModulesLoaded {
    /// Number of modules.
    pub modules: usize,
    /// Matches whose schema changed: those that run keep their code.
    pub kept: Vec<String>,
}

/// Problem of a module that was not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleProblem {
    /// HTTP status.
    pub status: StatusCode,
    /// Sentence with the reason.
    pub sentence: String,
    /// Module with the problem, which may be another one.
    pub module: Option<String>,
    /// Line in the module.
    pub line: Option<u32>,
}

/// Returns the routes.
pub(crate) fn routes() -> Router<PublicApi> {
    use axum::routing::{delete, get, put};
    Router::new()
        .route("/api/development/modules", get(list))
        .route("/api/development/modules/{name}", get(read))
        .route("/api/development/modules/{name}", put(write))
        .route("/api/development/modules/{name}", delete(remove))
}

async fn list(State(api): State<PublicApi>, sender: Sender, headers: HeaderMap) -> Result<Response, ApiError> {
    let editor = editor(&api, sender, &headers)?;
    Ok(fresh(Json(json!({ "modules": editor.list() }))))
}

async fn read(
    State(api): State<PublicApi>,
    sender: Sender,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    let text = editor(&api, sender, &headers)?.read(&name).ok_or_else(|| {
        let sentence = format!("The module `{name:.80}` does not exist. List the modules to find their names.");
        ApiError::new(StatusCode::NOT_FOUND, "not_found", sentence)
    })?;
    Ok(fresh(Json(json!({ "name": name, "text": text }))))
}

async fn write(
    State(api): State<PublicApi>,
    sender: Sender,
    headers: HeaderMap,
    Path(name): Path<String>,
    text: String,
) -> Result<Response, ApiError> {
    Ok(changed(editor(&api, sender, &headers)?.change(&name, Some(text)).await))
}

async fn remove(
    State(api): State<PublicApi>,
    sender: Sender,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    Ok(changed(editor(&api, sender, &headers)?.change(&name, None).await))
}

type Sender = Extension<PeerAddress>;

fn editor(api: &PublicApi, Extension(address): Sender, headers: &HeaderMap) -> Result<Arc<dyn ModuleEditor>, ApiError> {
    let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let secret = shown.and_then(|shown| shown.strip_prefix("Bearer "));
    api.backend.module_editor(&api.peer(address, headers), secret)
}

fn changed(outcome: Result<ModulesLoaded, ModuleProblem>) -> Response {
    match outcome {
        Ok(loaded) => fresh(Json(loaded)),
        Err(ModuleProblem { status, sentence, module, line }) => {
            let body = json!({ "code": "not_loaded", "error": sentence, "module": module, "line": line });
            (status, fresh(Json(body))).into_response()
        }
    }
}

/// Returns an answer that is not cached: modules change.
fn fresh(answer: impl IntoResponse) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], answer).into_response()
}
