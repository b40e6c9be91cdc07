//! `aether check`: whether the configuration is right, without starting.

use crate::config::{Config, ConfigArguments, ConfigError, reference};
use aether_engine::RoomSettings;

/// The flags of `aether check`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct CheckArguments {
    /// How to configure.
    #[command(flatten)]
    pub config: ConfigArguments,
    /// Write the reference of all settings, in Markdown, and check nothing
    #[arg(long)]
    pub reference: bool,
}

impl CheckArguments {
    /// What to print, or everything that is wrong. The room types are those the server has, as their games declare
    /// them.
    pub fn run(&self, room_types: &[(&str, RoomSettings)]) -> Result<String, ConfigError> {
        if self.reference { Ok(reference()) } else { report(&self.config.load()?, room_types) }
    }
}

/// What is set and where, or everything that is wrong with it for these room types.
pub fn report(config: &Config, room_types: &[(&str, RoomSettings)]) -> Result<String, ConfigError> {
    let names: Vec<&str> = room_types.iter().map(|(name, _)| *name).collect();
    let mut problems = config.validate();
    problems.extend(config.unknown_room_types(&names));
    let settings = room_types.iter().map(|(name, declared)| config.room_settings(name, declared.clone()));
    problems.extend(settings.filter_map(Result::err));
    if !problems.is_empty() {
        return Err(ConfigError { problems });
    }
    let lines = config.effective().into_iter().map(|(key, value, place)| match value.as_str() {
        "" => format!("# {key} is not set ({place})\n"),
        value => format!("{key} = {value}  # {place}\n"),
    });
    let lines: String = lines.collect();
    Ok(if lines.is_empty() {
        "The configuration is right: everything is at its default.\n".to_owned()
    } else {
        format!("The configuration is right. Set, besides the defaults:\n\n{lines}")
    })
}
