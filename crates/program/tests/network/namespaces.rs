//! Network namespaces that are joined by virtual cables.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// Distinguishes the namespaces of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Network namespace with one interface or more. It is deleted when it is dropped, with its interfaces.
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Creates a namespace with a loopback interface. Fails with the reason if this machine does not allow it.
    pub fn new() -> Result<Namespace, String> {
        let name = format!("aether-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        ip(&["netns", "add", &name])?;
        let namespace = Namespace { name };
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Joins two namespaces by a cable, each with an address such as `10.77.0.1/24`. Returns the names of its ends.
    pub fn join(left: (&Namespace, &str), right: (&Namespace, &str)) -> Result<[String; 2], String> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // An interface name has at most 15 characters.
        let names = ["a", "b"].map(|end| format!("ae{}{end}{number}", std::process::id() % 1_000_000));
        ip(&["link", "add", &names[0], "type", "veth", "peer", "name", &names[1]])?;
        for ((namespace, address), name) in [left, right].into_iter().zip(&names) {
            ip(&["link", "set", name, "netns", &namespace.name])?;
            namespace.ip(&["addr", "add", address, "dev", name])?;
            namespace.ip(&["link", "set", name, "up"])?;
        }
        Ok(names)
    }

    /// Returns a command that runs a program in the namespace, without the `AETHER_` variables of the environment. The
    /// process ends with the test.
    pub fn command(&self, program: &Path, arguments: &[&str]) -> tokio::process::Command {
        let mut all = vec!["netns", "exec", &self.name, program.to_str().expect("the path is UTF-8")];
        all.extend(arguments);
        aether_testkit_server::command(Path::new("ip"), &all)
    }

    /// Runs `ip` in the namespace.
    fn ip(&self, arguments: &[&str]) -> Result<(), String> {
        let mut all = vec!["-n", &self.name];
        all.extend(arguments);
        ip(&all)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let Output { status, stderr, .. } =
        Command::new("ip").args(arguments).output().map_err(|error| format!("`ip` does not start: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("`ip {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&stderr).trim()))
}
