//! System packages and toolchain components that the commands need: installed if permitted, otherwise listed.

use std::process::Command;

use crate::failure::{Failure, Outcome};
use crate::process;
use crate::project::Project;

/// Something from outside cargo that a command needs.
pub struct Package {
    /// Package name in Debian and Ubuntu.
    pub debian: &'static str,
    /// Purpose, for people who install it on another system.
    pub purpose: &'static str,
    /// Returns true if it is installed.
    pub present: fn() -> bool,
}

/// Packages that `cargo xtask test` needs beside the Rust toolchain.
pub const FOR_TESTS: &[Package] = &[
    Package {
        debian: "g++",
        purpose: "a C++ compiler, which builds libFuzzer for the fuzz targets",
        present: || process::find_program("c++").is_some(),
    },
    Package {
        debian: "iproute2",
        purpose: "network namespaces, in which tests of the local network and of UDP run",
        present: || process::find_program("ip").is_some(),
    },
    Package {
        debian: "tmux",
        purpose: "a terminal in which a test plays Asteroids",
        present: || process::find_program("tmux").is_some(),
    },
];

/// Installs missing packages, or lists them.
pub fn ensure(packages: &[Package]) -> Outcome {
    let missing: Vec<&Package> = packages.iter().filter(|package| !(package.present)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_debian() || !is_root() {
        return Err(Failure::new(missing_text(&missing)));
    }
    apt_get(&["update"])?;
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(missing.iter().map(|package| package.debian));
    apt_get(&install)?;
    let still: Vec<&Package> = missing.into_iter().filter(|package| !(package.present)()).collect();
    if still.is_empty() { Ok(()) } else { Err(Failure::new(missing_text(&still))) }
}

/// Installs rustfmt and clippy if they are missing.
pub fn ensure_components(project: &Project) -> Outcome {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if process::succeeds(project.cargo().args([subcommand, "--version"])) {
            continue;
        }
        process::run(Command::new("rustup").args(["component", "add", component]))
            .map_err(|failure| Failure::new(format!("{failure}; install {component} for this toolchain")))?;
    }
    Ok(())
}

/// Returns true if Debian's package manager is available.
pub fn is_debian() -> bool {
    process::find_program("apt-get").is_some() && process::find_program("dpkg-query").is_some()
}

/// Returns true if Debian's package manager has installed this package.
pub fn is_installed(name: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=${db:Status-Status}", name]);
    process::output(&mut query).is_ok_and(|status| status.trim() == "installed")
}

fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn apt_get(arguments: &[&str]) -> Outcome {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet=2");
    process::run(command.args(arguments))
}

fn missing_text(missing: &[&Package]) -> String {
    let mut text = String::from("missing on this system:");
    for package in missing {
        text += &format!("\n  {}: {}", package.debian, package.purpose);
    }
    let names: Vec<&str> = missing.iter().map(|package| package.debian).collect();
    text += &format!("\nInstall them and try again; on Debian or Ubuntu: sudo apt-get install {}", names.join(" "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_package_is_named_with_its_purpose_and_the_remedy() {
        let package = Package { debian: "g++", purpose: "a C++ compiler", present: || false };
        let text = missing_text(&[&package]);
        assert!(text.contains("g++: a C++ compiler"));
        assert!(text.contains("sudo apt-get install g++"));
    }

    #[test]
    fn nothing_is_asked_for_when_everything_is_present() {
        let package = Package { debian: "g++", purpose: "a C++ compiler", present: || true };
        assert!(ensure(&[package]).is_ok());
    }
}
