//! Asteroids in the terminal. `aether-asteroids --help` lists the options.

use aether_asteroids::Arguments;
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    match aether_asteroids::run(&Arguments::parse(), data_dir().as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Folder of the device id.
fn data_dir() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")));
    Some(data.or_else(|| folder("APPDATA"))?.join("aether-asteroids"))
}
