//! `aether check`: checks the configuration without starting a server.

use crate::config::{Config, ConfigArguments, ConfigError, EffectiveSetting, reference};
use aether_engine::RoomSettings;
use aether_wire::Encodings;

/// Flags of `aether check`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct CheckArguments {
    /// Configuration file and flags.
    #[command(flatten)]
    pub config: ConfigArguments,
    /// Print the reference of all settings as Markdown instead of checking
    #[arg(long)]
    pub reference: bool,
}

impl CheckArguments {
    /// Returns the text to print, or every problem of the configuration. `room_types` are those of the server, with the
    /// settings that their games declare.
    pub fn run(&self, room_types: &[(&str, RoomSettings)], encodings: &Encodings) -> Result<String, ConfigError> {
        if self.reference { Ok(reference()) } else { report(&self.config.load()?, room_types, encodings) }
    }
}

/// Lists the settings that are not defaults with their sources, or returns every problem for these room types and
/// encodings.
pub fn report(
    config: &Config,
    room_types: &[(&str, RoomSettings)],
    encodings: &Encodings,
) -> Result<String, ConfigError> {
    let names: Vec<&str> = room_types.iter().map(|(name, _)| *name).collect();
    let mut problems = config.validate();
    problems.extend(config.unknown_room_types(&names));
    problems.extend(config.unknown_encodings(encodings));
    let settings = room_types.iter().map(|(name, declared)| config.room_settings(name, declared.clone()));
    problems.extend(settings.filter_map(Result::err));
    if !problems.is_empty() {
        return Err(ConfigError { problems });
    }
    let lines = config.effective().into_iter().map(|EffectiveSetting { key, value, source }| match value.as_str() {
        "" => format!("# {key} is not set ({source})\n"),
        value => format!("{key} = {value}  # {source}\n"),
    });
    let lines: String = lines.collect();
    Ok(if lines.is_empty() {
        "The configuration is valid. All settings have their defaults.\n".to_owned()
    } else {
        format!("The configuration is valid. Settings that are not defaults:\n\n{lines}")
    })
}
