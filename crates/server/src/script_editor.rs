//! [`ScriptEditor`]: reads and changes the Lua modules of a development server.

use aether_api::{ModuleChange, ModuleEditor, ModuleEntry, ModuleProblem, ModulesLoaded};
use aether_script::{MODULE_BYTES_MAX, ScriptError, Scripts};
use aether_services::Services;
use axum::http::StatusCode;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;
use tracing::info;

/// Modules of a server. Changed ones are files in its folder of modules.
pub(crate) struct ScriptEditor {
    scripts: Arc<Scripts>,
    services: Weak<Services>,
    /// Locked during a change, so that concurrent changes follow each other.
    changing: Arc<Mutex<()>>,
}

impl ScriptEditor {
    pub fn new(scripts: &Arc<Scripts>, services: &Arc<Services>) -> ScriptEditor {
        ScriptEditor { scripts: Arc::clone(scripts), services: Arc::downgrade(services), changing: Arc::default() }
    }

    fn built_in(&self, name: &str) -> Option<&'static str> {
        let built_in = self.scripts.settings().built_in.iter();
        built_in.clone().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }
}

impl ModuleEditor for ScriptEditor {
    fn list(&self) -> Vec<ModuleEntry> {
        let Some(program) = self.scripts.program() else { return Vec::new() };
        let entry = |name: &str| {
            let built_in = self.built_in(name);
            let text = program.sources().text(name);
            let is_edited = built_in.zip(text).is_some_and(|(built_in, text)| built_in != &**text);
            ModuleEntry { name: name.to_owned(), is_built_in: built_in.is_some(), is_edited }
        };
        program.sources().names().map(entry).collect()
    }

    fn read(&self, name: &str) -> Option<String> {
        Some(self.scripts.program()?.sources().text(name)?.to_string())
    }

    fn change(&self, name: &str, text: Option<String>) -> ModuleChange {
        let (scripts, services, changing) =
            (Arc::clone(&self.scripts), self.services.clone(), Arc::clone(&self.changing));
        let (name, is_built_in) = (name.to_owned(), self.built_in(name).is_some());
        Box::pin(async move {
            let Some(services) = services.upgrade() else { return Err(refused("The server is stopping.")) };
            let _changing = changing.lock().await;
            let folder = &scripts.settings().folder;
            let known = scripts.program().is_some_and(|program| program.sources().text(&name).is_some());
            let file = file_of(folder, &name).filter(|_| known || is_built_in).ok_or_else(|| unknown(&name))?;
            if text.is_none() && !is_built_in {
                return Err(refused("Only modules of the program can be restored; this one is a file of the folder."));
            }
            if text.as_ref().is_some_and(|text| text.len() > MODULE_BYTES_MAX) {
                return Err(refused(&format!("A module may have {MODULE_BYTES_MAX} bytes.")));
            }
            let former = tokio::fs::read(&file).await.ok();
            store(&file, text.as_deref().map(str::as_bytes)).await.map_err(|error| not_stored(&file, &error))?;
            let before = scripts.program();
            match scripts.reload(&services).await {
                Ok(program) => {
                    let kept = before.map_or_else(Vec::new, |before| program.handlers_with_another_schema(&before));
                    info!(module = name, "module changed");
                    Ok(ModulesLoaded { modules: program.sources().names().count(), kept })
                }
                Err(error) => {
                    // A broken file would keep the server from its next start. The former one is in use, and is the latest.
                    store(&file, former.as_deref()).await.map_err(|error| not_stored(&file, &error))?;
                    let _ = scripts.reload(&services).await;
                    Err(not_loaded(&error))
                }
            }
        })
    }
}

/// Returns the file of a module; none if the name is not that of one.
fn file_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    if !name.split('.').all(is_word) {
        return None;
    }
    let path = folder.join(name.replace('.', "/"));
    let luau = path.with_extension("luau");
    Some(if luau.is_file() { luau } else { path.with_extension("lua") })
}

/// Writes a file, or removes it without a text.
async fn store(file: &Path, text: Option<&[u8]>) -> std::io::Result<()> {
    let Some(text) = text else {
        return match tokio::fs::remove_file(file).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    };
    if let Some(folder) = file.parent() {
        tokio::fs::create_dir_all(folder).await?;
    }
    // The file is complete at every moment: the folder may be watched.
    let part = file.with_extension("part");
    tokio::fs::write(&part, text).await?;
    tokio::fs::rename(&part, file).await
}

fn refused(sentence: &str) -> ModuleProblem {
    ModuleProblem { status: StatusCode::BAD_REQUEST, sentence: sentence.to_owned(), module: None, line: None }
}

fn unknown(name: &str) -> ModuleProblem {
    let sentence = format!("The module `{name:.80}` does not exist. Create its file in the folder of the modules.");
    ModuleProblem { status: StatusCode::NOT_FOUND, ..refused(&sentence) }
}

fn not_stored(file: &Path, error: &std::io::Error) -> ModuleProblem {
    let sentence = format!("The module cannot be stored in {}: {error}.", file.display());
    ModuleProblem { status: StatusCode::INTERNAL_SERVER_ERROR, ..refused(&sentence) }
}

fn not_loaded(error: &ScriptError) -> ModuleProblem {
    let (module, line) = (error.module.clone(), error.line);
    ModuleProblem { status: StatusCode::UNPROCESSABLE_ENTITY, sentence: error.to_string(), module, line }
}
