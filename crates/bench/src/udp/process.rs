//! An echo server in its own process on its own core. `peers/udp` includes this file.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::workload::Outcome;

/// Running server. Dropping it ends the process.
pub struct ServerProcess {
    process: Child,
    /// Held open, so that the server can write to it.
    _output: BufReader<ChildStdout>,
    pub address: SocketAddr,
}

impl ServerProcess {
    /// Starts this program with other arguments on a core. The server prints its address as its first line.
    pub fn start(core: usize, arguments: &[String]) -> Outcome<ServerProcess> {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &core.to_string()]).arg(std::env::current_exe()?).args(arguments);
        let mut process = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let output = process.stdout.take().map(BufReader::new);
        let mut output = output.ok_or("the server has no output")?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        let address = line.trim().parse().map_err(|_| format!("the server did not start: {line:?}"))?;
        Ok(ServerProcess { process, _output: output, address })
    }

    /// CPU time of the server's only thread.
    pub fn cpu_seconds(&self) -> Outcome<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", self.process.id()))?;
        let nanoseconds: u64 = text.split_whitespace().next().ok_or("schedstat is empty")?.parse()?;
        Ok(nanoseconds as f64 / 1e9)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Fails if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
