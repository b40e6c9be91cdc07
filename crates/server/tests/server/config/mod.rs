//! The configuration: layers, errors, and the page that documents it.

mod errors;
mod layers;
mod matchmaker;
mod platforms;
mod public;
mod rates;
mod reference;
mod rooms;

use aether_server::config::{Config, ConfigError, ConfigFile, Flag, Sources};
use std::io;
use std::path::Path;

/// Loads a configuration from the text of a file, environment variables and flags.
fn load(text: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::load(&Sources {
        file: Some(ConfigFile { path: "aether.toml".to_owned(), text: text.to_owned() }),
        environment: environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        flags: flags.iter().map(|(key, value)| flag(key, value)).collect(),
        read_file: &read_file,
    })
}

/// Returns the messages of an invalid configuration.
fn errors(text: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Vec<String> {
    let error = load(text, environment, flags).expect_err("the configuration is invalid");
    error.problems.iter().map(ToString::to_string).collect()
}

/// Returns the only message of an invalid configuration file.
fn error(text: &str) -> String {
    let mut errors = errors(text, &[], &[]);
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.remove(0)
}

fn flag(key: &str, value: &str) -> Flag {
    Flag { spelled: "--set".to_owned(), key: key.to_owned(), value: value.to_owned() }
}

/// Reads the only file that a `_FILE` variable of a test can name.
fn read_file(path: &Path) -> io::Result<String> {
    match path.to_str() {
        Some("/run/secrets/admin") => Ok("0123456789abcdef0123\n".to_owned()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}
