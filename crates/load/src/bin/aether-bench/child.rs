//! The server as a process of its own, on a core of its own.

use crate::Outcome;
use aether_server::keys::KeyRing;
use aether_server::tokens::{Claims, Tokens};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// The server refuses variables of its own that it does not know.
const ENVIRONMENT_PREFIX: &str = "AETHER_";
/// Long enough for every benchmark.
const TOKEN_SECONDS: u32 = 86_400;

/// A server that runs; it ends with this.
pub struct Server {
    process: Child,
    /// Kept open, so that the server may still write to it.
    _output: BufReader<ChildStdout>,
    folder: PathBuf,
    /// Where WebSockets are.
    pub http: SocketAddr,
    /// Where the metrics are, if it has some.
    pub admin: Option<SocketAddr>,
}

impl Server {
    /// Starts the `aether` program with these settings.
    pub fn aether(settings: &[String]) -> Outcome<Server> {
        let program = std::env::current_exe()?.with_file_name("aether");
        if !program.is_file() {
            return Err(format!("{} is missing: cargo build --release -p aether", program.display()).into());
        }
        Server::serve(&program, settings)
    }

    /// Starts this program as a server with the games of the benchmarks.
    pub fn games(settings: &[String]) -> Outcome<Server> {
        Server::serve(&std::env::current_exe()?, settings)
    }

    /// Starts one of the bare loops of this program.
    pub fn bare(arguments: &[String]) -> Outcome<Server> {
        Server::start(&std::env::current_exe()?, arguments, scratch_folder())
    }

    fn serve(program: &Path, settings: &[String]) -> Outcome<Server> {
        let folder = scratch_folder();
        let mut arguments: Vec<String> = ["serve", "--address", "127.0.0.1:0", "--admin-address", "127.0.0.1:0"]
            .into_iter()
            .chain(["--log", "warn", "--data-dir"])
            .map(str::to_owned)
            .collect();
        arguments.push(folder.display().to_string());
        for setting in settings {
            arguments.extend(["--set".to_owned(), setting.clone()]);
        }
        Server::start(program, &arguments, folder)
    }

    fn start(program: &Path, arguments: &[String], folder: PathBuf) -> Outcome<Server> {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &cores().0.to_string()]).arg(program).args(arguments);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with(ENVIRONMENT_PREFIX) {
                command.env_remove(name);
            }
        }
        let mut process = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let output = process.stdout.take().map(BufReader::new);
        let mut output = output.ok_or("the server has no output")?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        let listening: serde_json::Value =
            serde_json::from_str(&line).map_err(|_| format!("the server did not start; it said {:?}", line.trim()))?;
        let address = |name: &str| listening["listening"][name].as_str().and_then(|text| text.parse().ok());
        let http = address("http").ok_or("the server did not say where it is")?;
        Ok(Server { process, _output: output, folder, http, admin: address("admin") })
    }

    /// Access tokens for so many accounts.
    pub fn tokens(&self, count: usize) -> Outcome<Vec<String>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let tokens = Tokens::new(KeyRing::open(&self.folder, now)?, "aether");
        let claims = |number| Claims::new(Uuid::new_v4(), format!("client-{number}"), now, TOKEN_SECONDS);
        Ok((0..count).map(|number| tokens.sign(&claims(number))).collect())
    }

    /// Processor time so far, in seconds.
    pub fn cpu_seconds(&self) -> Outcome<f64> {
        cpu_seconds(self.process.id())
    }

    /// Memory that it has resident, in bytes.
    pub fn memory_bytes(&self) -> Outcome<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("there is no VmRSS")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1_024)
    }

    /// Asks it to end, and tells how it did.
    pub fn stop(mut self) -> Outcome<std::process::ExitStatus> {
        let id = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(id, rustix::process::Signal::TERM)?;
        Ok(self.process.wait()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The processor time of this process so far, in seconds.
pub fn own_cpu_seconds() -> Outcome<f64> {
    cpu_seconds(std::process::id())
}

/// Keeps this thread, and those that it starts, on the core of the load.
pub fn pin_load() -> Outcome {
    let mut set = CpuSet::new();
    set.set(cores().1);
    Ok(sched_setaffinity(None, &set)?)
}

/// Keeps another process, and those that it starts, on the core of the server.
pub fn pin_to_server(process: u32) -> Outcome {
    let core = cores().0.to_string();
    let arguments = ["--all-tasks", "--cpu-list", "--pid", &core, &process.to_string()];
    let status = Command::new("taskset").args(arguments).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("taskset could not place the database".into()) }
}

/// The core of the server and that of the load: the first and the last that this process may use. The first call counts,
/// because the load is pinned later.
fn cores() -> (usize, usize) {
    static CORES: std::sync::OnceLock<(usize, usize)> = std::sync::OnceLock::new();
    *CORES.get_or_init(|| {
        let allowed = sched_getaffinity(None).unwrap_or_default();
        let mut usable = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
        let first = usable.next().unwrap_or(0);
        let last = usable.next_back().unwrap_or(first);
        if first == last {
            println!("There is only one core: server and load share it, so the figures mean little.");
        }
        (first, last)
    })
}

fn cpu_seconds(process: u32) -> Outcome<f64> {
    aether_load::cpu_seconds(process).ok_or_else(|| "/proc does not tell the time of a process".into())
}

fn scratch_folder() -> PathBuf {
    std::env::temp_dir().join(format!("aether-bench-{}", Uuid::new_v4().simple()))
}
