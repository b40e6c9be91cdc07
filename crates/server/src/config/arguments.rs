//! Configuration flags, and reading of the real file and environment.

use super::load::{ENVIRONMENT_CONFIG, ENVIRONMENT_PREFIX};
use super::{Config, ConfigError, ConfigFile, ConfigProblem, Flag, SettingSource, Sources};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Configuration file that is read if it exists and none is named.
const FILE_DEFAULT: &str = "aether.toml";

/// Configuration flags, the same for every command.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArguments {
    /// Configuration file [default: $AETHER_CONFIG, or aether.toml if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder for keys and the database (data_dir)
    #[arg(long, global = true, value_name = "FOLDER")]
    pub data_dir: Option<String>,
    /// Address for pages, the API and WebSockets (http.address)
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub address: Option<String>,
    /// Address for metrics and profiles (http.admin_address)
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub admin_address: Option<String>,
    /// Log filter, such as info or info,aether_net=debug (log.filter)
    #[arg(long, global = true, value_name = "FILTER")]
    pub log: Option<String>,
    /// Any setting by its full name, such as rooms.max=50; can be repeated
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl ConfigArguments {
    /// Loads the configuration from the file, the environment of the process and these flags.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let environment = std::env::vars_os().filter_map(|(name, value)| server_variable(name, value));
        self.load_with(environment.collect::<Result<_, _>>()?, &|path| std::fs::read_to_string(path))
    }

    /// Loads the configuration as [`ConfigArguments::load`] does, with a given environment and file reader.
    pub fn load_with(
        &self,
        environment: Vec<(String, String)>,
        read_file: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Result<Config, ConfigError> {
        let file = self.file(&environment, read_file)?;
        Config::load(&Sources { file, environment, flags: self.flags()?, read_file })
    }

    /// Returns the settings of the flags. `--set` comes last, so it wins over the other flags.
    pub fn flags(&self) -> Result<Vec<Flag>, ConfigError> {
        let named = [
            ("--data-dir", "data_dir", &self.data_dir),
            ("--address", "http.address", &self.address),
            ("--admin-address", "http.admin_address", &self.admin_address),
            ("--log", "log.filter", &self.log),
        ];
        let named = named.into_iter().filter_map(|(spelled, key, value)| {
            let value = value.clone()?;
            Some(Ok(Flag { spelled: spelled.to_owned(), key: key.to_owned(), value }))
        });
        named.chain(self.set.iter().map(|pair| set_flag(pair))).collect()
    }

    fn file(
        &self,
        environment: &[(String, String)],
        read_file: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Result<Option<ConfigFile>, ConfigError> {
        let variable = environment.iter().find(|(name, value)| name == ENVIRONMENT_CONFIG && !value.is_empty());
        let (path, source) = match (&self.config, variable) {
            (Some(path), _) => (path.clone(), Some(SettingSource::Flag("--config".to_owned()))),
            (None, Some((name, path))) => (PathBuf::from(path), Some(SettingSource::Environment(name.clone()))),
            (None, None) => (PathBuf::from(FILE_DEFAULT), None),
        };
        match (read_file(&path), source) {
            (Ok(text), _) => Ok(Some(ConfigFile { path: path.display().to_string(), text })),
            (Err(error), None) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            (Err(error), source) => {
                let sentence = format!("Cannot read the configuration file {}: {error}.", path.display());
                Err(ConfigProblem::new(source.unwrap_or(SettingSource::Default), sentence).into())
            }
        }
    }
}

fn set_flag(pair: &str) -> Result<Flag, ConfigError> {
    let spelled = "--set".to_owned();
    match pair.split_once('=') {
        Some((key, value)) => Ok(Flag { spelled, key: key.trim().to_owned(), value: value.trim().to_owned() }),
        None => Err(ConfigProblem::new(
            SettingSource::Flag(spelled),
            format!("{pair:?} has no value: write KEY=VALUE, such as --set http.address=127.0.0.1:7350."),
        )
        .into()),
    }
}

/// Returns a variable of the server as text. Variables of other programs are skipped, even if they are not UTF-8.
fn server_variable(name: OsString, value: OsString) -> Option<Result<(String, String), ConfigError>> {
    let name = name.into_string().ok().filter(|name| name.starts_with(ENVIRONMENT_PREFIX))?;
    Some(match value.into_string() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(ConfigProblem::new(SettingSource::Environment(name), "The value is not UTF-8.").into()),
    })
}
