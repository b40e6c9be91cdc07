//! A cluster: a data folder and its server.

use crate::account::Account;
use crate::{ClusterError, programs};
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit of a start or a stop on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Time between two checks for readiness.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Settings of the server. Commits are on disk as in production. Many concurrent tests have a few connections each.
const SETTINGS: &str = "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nmax_connections = 400\n\
    shared_buffers = '64MB'\nfsync = on\nsynchronous_commit = on\n";
/// File in the data folder with process id and port of a running server.
const PROCESS_FILE: &str = "postmaster.pid";
/// Log of the server.
const LOG_FILE: &str = "server.log";

/// A PostgreSQL cluster that listens on a loopback port and requires no password.
///
/// Dropping it stops the server and removes the folder, unless it is left running.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    account: Option<Account>,
    port: u16,
    child: Option<Child>,
    keeps_running: bool,
}

impl Cluster {
    /// Creates a cluster in a folder, whose content is removed. The server is not started.
    pub fn create(folder: &Path) -> Result<Cluster, ClusterError> {
        let (programs, account) = (programs::folder()?, Account::needed()?);
        let failed = |error: std::io::Error| ClusterError::new(format!("{}: {error}", folder.display()));
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(failed)?;
        }
        fs::create_dir_all(folder).map_err(failed)?;
        Account::change_owner(account, folder)?;
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).map_err(failed)?.port();
        let cluster = Cluster { folder: folder.to_owned(), programs, account, port, child: None, keeps_running: false };
        let mut initdb = cluster.program("initdb");
        initdb.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata"]);
        run(initdb.arg(folder))?;
        let file = folder.join("postgresql.conf");
        let settings = fs::read_to_string(&file).map_err(failed)?;
        fs::write(&file, format!("{settings}\n{SETTINGS}port = {port}\n")).map_err(failed)?;
        Ok(cluster)
    }

    /// Returns the cluster that runs in this folder, if there is one. It is left running.
    #[must_use]
    pub fn running(folder: &Path) -> Option<Cluster> {
        // The first line is the process id, the fourth is the port.
        let text = fs::read_to_string(folder.join(PROCESS_FILE)).ok()?;
        let port = text.lines().nth(3)?.trim().parse().ok()?;
        let (programs, account) = (programs::folder().ok()?, Account::needed().ok()?);
        let cluster = Cluster { folder: folder.to_owned(), programs, account, port, child: None, keeps_running: true };
        cluster.is_ready().then_some(cluster)
    }

    /// Enables TLS from the next start on.
    pub fn enable_tls(&mut self, certificate: &str, key: &str) -> Result<(), ClusterError> {
        let failed = |error: std::io::Error| ClusterError::new(format!("{}: {error}", self.folder.display()));
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let file = self.folder.join(name);
            fs::write(&file, text).map_err(failed)?;
            Account::change_owner(self.account, &file)?;
            // PostgreSQL refuses a key that other users can read.
            #[cfg(unix)]
            fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(failed)?;
        }
        let file = self.folder.join("postgresql.conf");
        let settings = fs::read_to_string(&file).map_err(failed)?;
        fs::write(&file, format!("{settings}ssl = on\n")).map_err(failed)
    }

    /// Starts the server and waits until it accepts connections.
    pub fn start(&mut self) -> Result<(), ClusterError> {
        let started = Instant::now();
        let mut child = self.spawn()?;
        while !self.is_ready() {
            let ended = child.try_wait().map_err(|error| ClusterError::new(format!("PostgreSQL: {error}")))?;
            if started.elapsed() > TIME_MAX {
                let _ = child.kill();
                let _ = child.wait();
                return Err(ClusterError::new(format!("PostgreSQL did not start in time:\n{}", self.log())));
            }
            if ended.is_some() {
                // After a kill, remaining processes may use the shared memory for a moment.
                if !self.log().contains("shared memory") {
                    return Err(ClusterError::new(format!("PostgreSQL did not start:\n{}", self.log())));
                }
                std::thread::sleep(POLL_INTERVAL);
                child = self.spawn()?;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        self.child = Some(child);
        Ok(())
    }

    /// Stops the server cleanly and disconnects its clients.
    pub fn stop(&mut self) -> Result<(), ClusterError> {
        let mut stop = self.program("pg_ctl");
        stop.args(["stop", "--mode=fast", "--wait", "--timeout", &TIME_MAX.as_secs().to_string(), "--pgdata"]);
        run(stop.arg(&self.folder))?;
        self.reap();
        Ok(())
    }

    /// Stops the server and removes its data.
    pub fn discard(&mut self) -> Result<(), ClusterError> {
        self.stop()?;
        fs::remove_dir_all(&self.folder)
            .map_err(|error| ClusterError::new(format!("{}: {error}", self.folder.display())))
    }

    /// Kills the server, as a failure of the machine would.
    pub fn kill(&mut self) -> Result<(), ClusterError> {
        let process = self.process().ok_or_else(|| ClusterError::new("PostgreSQL is not running"))?;
        run(Command::new("kill").args(["-9", &process.to_string()]))?;
        self.reap();
        Ok(())
    }

    /// Leaves the server running when this is dropped.
    pub fn leave_running(&mut self) {
        self.keeps_running = true;
    }

    /// Returns the connection string of the default database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the data folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the process id of the server, if it runs.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        let text = fs::read_to_string(self.folder.join(PROCESS_FILE)).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    fn is_ready(&self) -> bool {
        let mut ready = self.program("pg_isready");
        ready.args(["--quiet", "--host=127.0.0.1", "--port", &self.port.to_string()]);
        ready.stdin(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    fn spawn(&self) -> Result<Child, ClusterError> {
        let path = self.folder.join(LOG_FILE);
        let failed = |error| ClusterError::new(format!("cannot start PostgreSQL: {error}"));
        let log = File::create(&path).map_err(failed)?;
        let log_copy = log.try_clone().map_err(failed)?;
        let mut server = self.program("postgres");
        server.arg("-D").arg(&self.folder).stdin(Stdio::null()).stdout(log).stderr(log_copy);
        // Ctrl-C must reach only the parent process, which stops the server or leaves it running.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut server, 0);
        server.spawn().map_err(failed)
    }

    fn reap(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        // PostgreSQL warns about a current folder that its account may not enter.
        command.current_dir("/");
        Account::apply(self.account, &mut command);
        command
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join(LOG_FILE)).unwrap_or_default()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.keeps_running {
            return;
        }
        if self.child.is_some() {
            let _ = self.stop();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn run(command: &mut Command) -> Result<(), ClusterError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| ClusterError::new(format!("{name}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(ClusterError::new(format!(
        "{name} ended with {}:\n{}",
        output.status,
        String::from_utf8_lossy(&text).trim_end()
    )))
}
