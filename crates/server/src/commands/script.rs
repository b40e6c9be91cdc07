//! `aether script`: checks and runs Lua modules, and prints their types and the reference of the functions.

use crate::config::{Config, ConfigArguments, LogFormat, Secret};
use crate::logging;
use crate::running::RunningServer;
use crate::server::Server;
use aether_script::{RunRequest, Sources, Value, check, function_reference, type_definitions};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use uuid::Uuid;

/// Flags of `aether script`.
#[derive(clap::Args, Clone, Debug)]
pub struct ScriptArguments {
    /// Action on Lua modules.
    #[command(subcommand)]
    pub action: ScriptAction,
}

/// Actions of `aether script`.
#[derive(clap::Subcommand, Clone, Debug)]
pub enum ScriptAction {
    /// Check all modules of a folder: syntax, names and arguments of functions, required modules; then load them
    Check {
        /// Folder of the modules [default: script.folder, or `modules` in the data folder]
        folder: Option<PathBuf>,
        /// Configuration file and flags.
        #[command(flatten)]
        config: ConfigArguments,
    },
    /// Run a module or one of its functions with a database in memory, and print what it returns
    Run {
        /// File of the module; other modules of its folder can be required
        file: PathBuf,
        /// Field of the returned table, or RPC function [default: run the module only]
        function: Option<String>,
        /// Argument of the function
        #[arg(default_value = "")]
        payload: String,
        /// Configuration file and flags. Limits and environment are those of the section `[script]`.
        #[command(flatten)]
        config: ConfigArguments,
    },
    /// Print type definitions of `aether` and `nk` for luau-lsp
    Types,
    /// Print the reference of the functions as Markdown
    Reference,
}

/// Runs the command, and returns the text to print.
pub(super) fn run(server: Server, arguments: ScriptArguments) -> Result<String, String> {
    match arguments.action {
        ScriptAction::Types => Ok(type_definitions()),
        ScriptAction::Reference => Ok(function_reference()),
        ScriptAction::Check { folder, config } => {
            let config = config.load().map_err(|error| error.to_string())?;
            let folder = folder.or_else(|| config.script_folder()).ok_or(NO_FOLDER)?;
            let modules = check_texts(&folder)?;
            let trial = Trial::new(&config, folder);
            block_on(async {
                trial.start(server).await?.stop(Duration::ZERO).await;
                Ok(())
            })?;
            Ok(format!("{modules} modules are valid.\n"))
        }
        ScriptAction::Run { file, function, payload, config } => {
            let config = config.load().map_err(|error| error.to_string())?;
            let (folder, module) = locate(&file, config.script_folder())?;
            let log = crate::config::Log { filter: RUN_LOG_FILTER.to_owned(), format: LogFormat::Pretty };
            logging::start(&log).map_err(|error| error.to_string())?;
            let trial = Trial::new(&config, folder);
            let request = RunRequest { module: &module, function: function.as_deref(), payload: &payload };
            block_on(run_in(&trial, server, request))
        }
    }
}

const NO_FOLDER: &str = "There is no folder of modules. Name it, or set script.folder.";
/// Lines of scripts, and problems of the server.
const RUN_LOG_FILTER: &str = "warn,lua=debug";

/// Checks the texts of all modules, and returns their number.
fn check_texts(folder: &Path) -> Result<usize, String> {
    let sources = Sources::read(folder).map_err(|error| error.to_string())?;
    let findings = check(&sources);
    if findings.is_empty() {
        return Ok(sources.names().count());
    }
    let file = |module: &str| {
        let file = folder.join(module.replace('.', "/"));
        let luau = file.with_extension("luau");
        if luau.is_file() { luau } else { file.with_extension("lua") }
    };
    let line = |finding: &aether_script::Finding| {
        format!("{}:{}: {}", file(&finding.module).display(), finding.line, finding.message)
    };
    Err(findings.iter().map(line).collect::<Vec<_>>().join("\n"))
}

async fn run_in(trial: &Trial, server: Server, request: RunRequest<'_>) -> Result<String, String> {
    let running = trial.start(server).await?;
    let outcome = match running.scripts() {
        Some(scripts) => scripts.run(running.services(), request).await.map_err(|error| error.to_string()),
        None => Err(NO_FOLDER.to_owned()),
    };
    running.stop(Duration::ZERO).await;
    let text = |value: &Value| match value.as_str() {
        Some(text) => format!("{text}\n"),
        None => format!("{}\n", value.to_json()),
    };
    outcome.map(|values| values.iter().map(text).collect())
}

/// Server with a database in memory, which nobody can reach but this machine and which leaves nothing behind.
struct Trial {
    config: Config,
}

impl Trial {
    fn new(config: &Config, folder: PathBuf) -> Trial {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let data_dir = std::env::temp_dir().join(format!("aether-script-{}", Uuid::new_v4().simple()));
        let mut trial = Config { data_dir, ..Config::default() };
        trial.database.url = Some(Secret::new("memory"));
        (trial.http.address, trial.http.admin_address) = (loopback, loopback);
        trial.webtransport.enabled = false;
        trial.script = config.script.clone();
        (trial.script.folder, trial.script.watch) = (Some(folder), Some(false));
        Trial { config: trial }
    }

    async fn start(&self, server: Server) -> Result<RunningServer, String> {
        RunningServer::start(server, self.config.clone(), None).await.map_err(|error| error.to_string())
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.config.data_dir);
    }
}

/// Returns the folder of a file's modules and the name of its module: that of the configured folder, if the file is in it,
/// otherwise its own.
fn locate(file: &Path, configured: Option<PathBuf>) -> Result<(PathBuf, String), String> {
    let missing = |error: std::io::Error| format!("Cannot read {}: {error}.", file.display());
    let file = file.canonicalize().map_err(missing)?;
    let configured = configured.and_then(|folder| folder.canonicalize().ok());
    let folder = configured.filter(|folder| file.starts_with(folder));
    let folder = folder.or_else(|| file.parent().map(Path::to_path_buf)).unwrap_or_default();
    let relative = file.strip_prefix(&folder).unwrap_or(&file).with_extension("");
    let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    Ok((folder, parts.join(".")))
}

fn block_on<T>(command: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("io").build();
    let runtime = runtime.map_err(|error| format!("Cannot start the async runtime: {error}"))?;
    let outcome = runtime.block_on(command);
    // Does not wait for tasks that hang.
    runtime.shutdown_background();
    outcome
}
