//! The program in a namespace.

use crate::namespaces::Namespace;
use aether_testkit_server::DEADLINE;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

/// Returns the path of the program `aether`.
pub fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_aether"))
}

/// A process whose lines are read.
pub struct Reader {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Reader {
    /// Starts the program with arguments.
    pub fn start(namespace: &Namespace, arguments: &[&str]) -> Reader {
        let mut command = namespace.command(program(), arguments);
        let mut child = command.stderr(Stdio::inherit()).spawn().expect("`ip netns exec` starts");
        let lines = BufReader::new(child.stdout.take().expect("standard output is piped")).lines();
        Reader { _child: child, lines }
    }

    /// Returns the next line, as JSON.
    pub async fn next(&mut self) -> Value {
        let line = timeout(DEADLINE, self.lines.next_line()).await.expect("a line in time").expect("readable");
        serde_json::from_str(&line.expect("the process runs")).expect("a line of JSON")
    }
}
