//! A cluster: a folder with data, and the server that has it in hand.

use crate::account::Account;
use crate::{ClusterError, programs};
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a start or a stop may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether it has started.
const GLANCE: Duration = Duration::from_millis(50);
/// Settings of the server. What is committed is on the disk, as where it counts; many tests at once have a few
/// connections each.
const SETTINGS: &str = "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nmax_connections = 400\n\
    shared_buffers = '64MB'\nfsync = on\nsynchronous_commit = on\n";
/// The file by which a running server is known, in the folder of its data.
const PROCESS_FILE: &str = "postmaster.pid";
/// What the server has to say.
const LOG_FILE: &str = "server.log";

/// A cluster of PostgreSQL that listens on a port of the loopback and trusts whoever comes from there.
///
/// When it is dropped it is stopped and its folder is removed, unless it was to be left running.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    account: Option<Account>,
    port: u16,
    child: Option<Child>,
    stays: bool,
}

impl Cluster {
    /// Makes a new cluster in a folder, in place of what was there. It does not run yet.
    pub fn create(folder: &Path) -> Result<Cluster, ClusterError> {
        let (programs, account) = (programs::folder()?, Account::needed()?);
        let trouble = |error: std::io::Error| ClusterError::new(format!("{}: {error}", folder.display()));
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(trouble)?;
        }
        fs::create_dir_all(folder).map_err(trouble)?;
        Account::own(account, folder)?;
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).map_err(trouble)?.port();
        let cluster = Cluster { folder: folder.to_owned(), programs, account, port, child: None, stays: false };
        let mut initdb = cluster.program("initdb");
        initdb.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata"]);
        quietly(initdb.arg(folder))?;
        let file = folder.join("postgresql.conf");
        let settings = fs::read_to_string(&file).map_err(trouble)?;
        fs::write(&file, format!("{settings}\n{SETTINGS}port = {port}\n")).map_err(trouble)?;
        Ok(cluster)
    }

    /// The cluster that runs in this folder, if one does. It is left running.
    #[must_use]
    pub fn running(folder: &Path) -> Option<Cluster> {
        // The server writes its process id on the first line and its port on the fourth.
        let text = fs::read_to_string(folder.join(PROCESS_FILE)).ok()?;
        let port = text.lines().nth(3)?.trim().parse().ok()?;
        let (programs, account) = (programs::folder().ok()?, Account::needed().ok()?);
        let cluster = Cluster { folder: folder.to_owned(), programs, account, port, child: None, stays: true };
        cluster.is_ready().then_some(cluster)
    }

    /// Lets the server encrypt connections, from its next start on.
    pub fn encrypt(&mut self, certificate: &str, key: &str) -> Result<(), ClusterError> {
        let trouble = |error: std::io::Error| ClusterError::new(format!("{}: {error}", self.folder.display()));
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let file = self.folder.join(name);
            fs::write(&file, text).map_err(trouble)?;
            Account::own(self.account, &file)?;
            // It refuses a key that others can read.
            #[cfg(unix)]
            fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(trouble)?;
        }
        let file = self.folder.join("postgresql.conf");
        let settings = fs::read_to_string(&file).map_err(trouble)?;
        fs::write(&file, format!("{settings}ssl = on\n")).map_err(trouble)
    }

    /// Starts the server and waits until it takes connections.
    pub fn start(&mut self) -> Result<(), ClusterError> {
        let started = Instant::now();
        let mut child = self.spawn()?;
        while !self.is_ready() {
            let ended = child.try_wait().map_err(|error| ClusterError::new(format!("PostgreSQL: {error}")))?;
            if started.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                return Err(ClusterError::new(format!("PostgreSQL did not start in time:\n{}", self.last_words())));
            }
            if ended.is_some() {
                // After a kill, what it left behind may hold the memory for a moment longer.
                if !self.last_words().contains("shared memory") {
                    return Err(ClusterError::new(format!("PostgreSQL did not start:\n{}", self.last_words())));
                }
                std::thread::sleep(GLANCE);
                child = self.spawn()?;
            }
            std::thread::sleep(GLANCE);
        }
        self.child = Some(child);
        Ok(())
    }

    /// Stops the server in good order: whoever is connected is sent away.
    pub fn stop(&mut self) -> Result<(), ClusterError> {
        let mut stop = self.program("pg_ctl");
        stop.args(["stop", "--mode=fast", "--wait", "--timeout", &PATIENCE.as_secs().to_string(), "--pgdata"]);
        quietly(stop.arg(&self.folder))?;
        self.reap();
        Ok(())
    }

    /// Stops the server and removes its data.
    pub fn discard(&mut self) -> Result<(), ClusterError> {
        self.stop()?;
        fs::remove_dir_all(&self.folder)
            .map_err(|error| ClusterError::new(format!("{}: {error}", self.folder.display())))
    }

    /// Ends the server at once, as a failure of the machine would.
    pub fn kill(&mut self) -> Result<(), ClusterError> {
        let process = self.process().ok_or_else(|| ClusterError::new("PostgreSQL does not run"))?;
        quietly(Command::new("kill").args(["-9", &process.to_string()]))?;
        self.reap();
        Ok(())
    }

    /// Lets the server go on when this is dropped.
    pub fn leave_running(&mut self) {
        self.stays = true;
    }

    /// The connection string of its first database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Where its data is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The id of the server's process, if it runs.
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
        let trouble = |error| ClusterError::new(format!("PostgreSQL cannot be started: {error}"));
        let log = File::create(&path).map_err(trouble)?;
        let again = log.try_clone().map_err(trouble)?;
        let mut server = self.program("postgres");
        server.arg("-D").arg(&self.folder).stdin(Stdio::null()).stdout(log).stderr(again);
        // Ctrl-C at the terminal is for whoever started it, who then stops it or leaves it running.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut server, 0);
        server.spawn().map_err(trouble)
    }

    fn reap(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        // It complains about a folder that its account may not enter.
        command.current_dir("/");
        Account::apply(self.account, &mut command);
        command
    }

    fn last_words(&self) -> String {
        fs::read_to_string(self.folder.join(LOG_FILE)).unwrap_or_default()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        if self.child.is_some() {
            let _ = self.stop();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn quietly(command: &mut Command) -> Result<(), ClusterError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| ClusterError::new(format!("{name}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(ClusterError::new(format!(
        "{name} ended with {}:\n{}",
        output.status,
        String::from_utf8_lossy(&said).trim_end()
    )))
}
