//! The flags that configure, and the thin layer that reads the real file and environment.

use super::load::{ENVIRONMENT_CONFIG, ENVIRONMENT_PREFIX};
use super::{Config, ConfigError, ConfigFile, ConfigProblem, Flag, SettingSource, Sources};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The file that is read when none is named, if it is there.
const FILE_DEFAULT: &str = "aether.toml";

/// The flags that configure, the same for every command.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArguments {
    /// The configuration file; otherwise AETHER_CONFIG, or aether.toml if it is there
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The folder for everything the server keeps
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<String>,
    /// Where pages, the API and WebSockets are served
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<String>,
    /// Where metrics and profiles are served
    #[arg(long, value_name = "ADDRESS")]
    pub admin_address: Option<String>,
    /// What is logged, such as info or info,aether_net=debug
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,
    /// Any setting, by its full name; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl ConfigArguments {
    /// The configuration of this process: its file, its environment and these flags.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let environment = std::env::vars_os().filter_map(|(name, value)| own_variable(name, value));
        self.load_with(environment.collect::<Result<_, _>>()?, &|path| std::fs::read_to_string(path))
    }

    /// As [`ConfigArguments::load`], of a given environment and files.
    pub fn load_with(
        &self,
        environment: Vec<(String, String)>,
        read_file: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Result<Config, ConfigError> {
        let file = self.file(&environment, read_file)?;
        Config::load(&Sources { file, environment, flags: self.flags()?, read_file })
    }

    /// The settings that the flags give. The short ones come first, so that `--set` wins over them.
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
        let (path, place) = match (&self.config, variable) {
            (Some(path), _) => (path.clone(), Some(SettingSource::Flag("--config".to_owned()))),
            (None, Some((name, path))) => (PathBuf::from(path), Some(SettingSource::Environment(name.clone()))),
            (None, None) => (PathBuf::from(FILE_DEFAULT), None),
        };
        match (read_file(&path), place) {
            (Ok(text), _) => Ok(Some(ConfigFile { path: path.display().to_string(), text })),
            (Err(error), None) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            (Err(error), place) => {
                let sentence = format!("The configuration file {} cannot be read: {error}.", path.display());
                Err(ConfigProblem::new(place.unwrap_or(SettingSource::Default), sentence).into())
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
            format!("{pair:?} sets nothing: write a key and a value, such as --set http.address=127.0.0.1:7350."),
        )
        .into()),
    }
}

/// A variable of the server as text. Others are passed over, so that what they hold cannot matter.
fn own_variable(name: OsString, value: OsString) -> Option<Result<(String, String), ConfigError>> {
    let name = name.into_string().ok().filter(|name| name.starts_with(ENVIRONMENT_PREFIX))?;
    Some(match value.into_string() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(ConfigProblem::new(SettingSource::Environment(name), "Its value is not UTF-8.").into()),
    })
}
