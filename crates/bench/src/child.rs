//! Server as a separate process on its own core.

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

/// Variables with this prefix are removed, because the server rejects unknown ones.
const ENVIRONMENT_PREFIX: &str = "AETHER_";
/// Validity of tokens, longer than any benchmark.
const TOKEN_SECONDS: u32 = 86_400;

/// Running server process. Dropping it ends the process.
pub struct Server {
    process: Child,
    /// Held open, so that the server can write to it.
    _output: BufReader<ChildStdout>,
    folder: PathBuf,
    /// Address of the HTTP listener.
    pub http: SocketAddr,
    /// Address of the admin listener, if there is one.
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

    /// Starts one of the minimal servers of this program.
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
        let listening: serde_json::Value = serde_json::from_str(&line)
            .map_err(|_| format!("the server did not start; its output: {:?}", line.trim()))?;
        let address = |name: &str| listening["listening"][name].as_str().and_then(|text| text.parse().ok());
        let http = address("http").ok_or("the server did not report its HTTP address")?;
        Ok(Server { process, _output: output, folder, http, admin: address("admin") })
    }

    /// Signs access tokens for `count` accounts.
    pub fn tokens(&self, count: usize) -> Outcome<Vec<String>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let tokens = Tokens::new(KeyRing::open(&self.folder, now)?, "aether");
        let claims = |number| Claims::new(Uuid::new_v4(), format!("client-{number}"), now, TOKEN_SECONDS);
        Ok((0..count).map(|number| tokens.sign(&claims(number))).collect())
    }

    /// CPU time in seconds.
    pub fn cpu_seconds(&self) -> Outcome<f64> {
        cpu_seconds(self.process.id())
    }

    /// Resident memory in bytes.
    pub fn memory_bytes(&self) -> Outcome<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("there is no VmRSS")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1_024)
    }

    /// Stops the server and returns its exit status.
    pub fn stop(mut self) -> Outcome<std::process::ExitStatus> {
        let id = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(id, rustix::process::Signal::TERM)?;
        Ok(self.process.wait()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// CPU time of this process in seconds.
pub fn own_cpu_seconds() -> Outcome<f64> {
    cpu_seconds(std::process::id())
}

/// Pins this thread, and those that it starts, to the core of the load.
pub fn pin_load() -> Outcome {
    let mut set = CpuSet::new();
    set.set(cores().1);
    Ok(sched_setaffinity(None, &set)?)
}

/// Pins another process, and those that it starts, to the core of the server.
pub fn pin_to_server(process: u32) -> Outcome {
    let core = cores().0.to_string();
    let arguments = ["--all-tasks", "--cpu-list", "--pid", &core, &process.to_string()];
    let status = Command::new("taskset").args(arguments).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("taskset could not pin the database".into()) }
}

/// Core of the server.
pub fn server_core() -> usize {
    cores().0
}

/// Cores of the server and of the load: the first and the last that this process may use. Computed once, because the
/// load is pinned later.
fn cores() -> (usize, usize) {
    static CORES: std::sync::OnceLock<(usize, usize)> = std::sync::OnceLock::new();
    *CORES.get_or_init(|| {
        let allowed = sched_getaffinity(None).unwrap_or_default();
        let mut usable = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
        let first = usable.next().unwrap_or(0);
        let last = usable.next_back().unwrap_or(first);
        if first == last {
            println!("Only one core: server and load share it, so the results mean little.");
        }
        (first, last)
    })
}

fn cpu_seconds(process: u32) -> Outcome<f64> {
    aether_load::cpu_seconds(process).ok_or_else(|| "/proc does not report the CPU time of a process".into())
}

fn scratch_folder() -> PathBuf {
    std::env::temp_dir().join(format!("aether-bench-{}", Uuid::new_v4().simple()))
}
