//! Merges the layers into one configuration.

use super::declare::{FixedSection, Group, SetError};
use super::problem::closest;
use super::value::RawValue;
use super::{Config, ConfigError, ConfigProblem, SettingSource, dotted, normalized};
use std::borrow::Cow;
use std::io;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Prefix of the server's environment variables.
pub(crate) const ENVIRONMENT_PREFIX: &str = "AETHER_";

/// Environment variable that names the configuration file. It is not a setting.
pub(crate) const ENVIRONMENT_CONFIG: &str = "AETHER_CONFIG";

/// Suffix of an environment variable that names a file with a secret.
const FILE_SUFFIX: &str = "_FILE";

/// Layers of a configuration. Loading depends on nothing else, such as the environment of the process.
pub struct Sources<'a> {
    /// TOML file, if there is one.
    pub file: Option<ConfigFile>,
    /// Environment variables. Those without the prefix `AETHER_` are ignored.
    pub environment: Vec<(String, String)>,
    /// Flags in their order on the command line.
    pub flags: Vec<Flag>,
    /// Reads the file that an environment variable ending in `_FILE` names.
    pub read_file: &'a dyn Fn(&Path) -> io::Result<String>,
}

/// A configuration file.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Path, for error messages.
    pub path: String,
    /// Content of the file.
    pub text: String,
}

/// A command-line flag that sets a setting.
#[derive(Clone, Debug)]
pub struct Flag {
    /// Flag with its dashes, for error messages.
    pub spelled: String,
    /// Full name of the setting, such as `http.address`.
    pub key: String,
    /// Value as text.
    pub value: String,
}

impl Config {
    /// Applies the layers to the defaults: file, environment, flags. Fails with all unknown settings and invalid values at
    /// once.
    pub fn load(sources: &Sources<'_>) -> Result<Self, ConfigError> {
        let mut loader = ConfigLoader { config: Self::default(), problems: Vec::new() };
        if let Some(file) = &sources.file {
            loader.load_file(file);
        }
        loader.load_environment(&sources.environment, sources.read_file);
        for flag in &sources.flags {
            loader.load_flag(flag);
        }
        // With rejected values missing, validation would report false problems.
        if loader.problems.is_empty() {
            loader.problems = loader.config.validate();
        }
        if loader.problems.is_empty() { Ok(loader.config) } else { Err(ConfigError { problems: loader.problems }) }
    }
}

struct ConfigLoader {
    config: Config,
    problems: Vec<ConfigProblem>,
}

impl ConfigLoader {
    fn load_file(&mut self, file: &ConfigFile) {
        let table = match DeTable::parse(&file.text) {
            Ok(table) => table,
            Err(error) => {
                let source = file.source_at(error.span().map_or(0, |span| span.start));
                self.problems.push(ConfigProblem::new(source, format!("Invalid TOML: {}.", error.message())));
                return;
            }
        };
        for (name, value) in table.get_ref() {
            let source = file.source_at(name.span().start);
            match (value.get_ref(), group(name.get_ref())) {
                (DeValue::Table(sections), Some(group)) => self.load_group(file, &group, sections),
                (DeValue::Table(keys), None) => self.load_section(file, name.get_ref(), keys, &source),
                (value, _) => self.set("", name.get_ref(), &raw_value(value), source),
            }
        }
        self.problems.sort_by_key(|problem| match problem.source {
            SettingSource::File { line, .. } => line,
            _ => 0,
        });
    }

    fn load_group(&mut self, file: &ConfigFile, group: &Group, sections: &DeTable<'_>) {
        for (name, value) in sections {
            let source = file.source_at(name.span().start);
            let name = name.get_ref();
            match value.get_ref() {
                DeValue::Table(keys) if group.accepts_name(name) => {
                    if keys.is_empty() {
                        // An empty section still exists, so that validation reports what it lacks.
                        self.config.add_section(group.name, &normalized(name));
                        self.config.sources.insert(dotted(group.name, &normalized(name)), source);
                    }
                    for (key, value) in keys {
                        let source = file.source_at(key.span().start);
                        self.set(&dotted(group.name, name), key.get_ref(), &raw_value(value.get_ref()), source);
                    }
                }
                DeValue::Table(_) => self.problems.push(ConfigProblem::new(source, group.invalid_name(name))),
                _ => self.problems.push(ConfigProblem::new(
                    source,
                    format!("{name} belongs in a section with a name: write {} above it.", group.heading()),
                )),
            }
        }
    }

    fn load_section(&mut self, file: &ConfigFile, section: &str, keys: &DeTable<'_>, source: &SettingSource) {
        let names: Vec<&str> = Config::sections().iter().map(|section| section.name).collect();
        if section.is_empty() || !names.contains(&section) {
            let groups = Config::groups();
            let known = names.into_iter().filter(|name| !name.is_empty()).chain(groups.iter().map(|group| group.name));
            let heading = |name: &str| group(name).map_or_else(|| format!("[{name}]"), |group| group.heading());
            let hint = hint(closest(section, known).map(heading));
            self.problems.push(ConfigProblem::new(source.clone(), format!("Unknown section [{section}]{hint}")));
            return;
        }
        for (key, value) in keys {
            self.set(section, key.get_ref(), &raw_value(value.get_ref()), file.source_at(key.span().start));
        }
    }

    fn load_environment(&mut self, variables: &[(String, String)], read_file: &dyn Fn(&Path) -> io::Result<String>) {
        let is_setting = |name: &str| name.starts_with(ENVIRONMENT_PREFIX) && name != ENVIRONMENT_CONFIG;
        for (name, value) in variables.iter().filter(|(name, _)| is_setting(name)) {
            let source = SettingSource::Environment(name.clone());
            let variable = name.strip_suffix(FILE_SUFFIX).filter(|_| setting_of(name).is_none());
            let Some((section, key)) = setting_of(variable.unwrap_or(name)) else {
                self.problems.push(ConfigProblem::new(source, unknown_variable(name)));
                continue;
            };
            let text = match variable {
                Some(variable) if variables.iter().any(|(other, _)| other == variable) => {
                    Err(format!("{variable} is set too: remove one of them."))
                }
                // Otherwise the content of a key file could be taken for a path and appear in error messages.
                Some(variable) if !is_secret(&section, &key) => {
                    Err(format!("Only secrets can be read from a file: set {variable} itself."))
                }
                Some(_) => {
                    read_file(Path::new(value)).map_err(|error| format!("Cannot read the file that it names: {error}."))
                }
                None => Ok(value.clone()),
            };
            match text {
                // Editors and `echo` end a file with a line break, which is not part of the secret.
                Ok(text) => {
                    let text = text.trim_end_matches(['\r', '\n']).to_owned();
                    self.set(&section, &key, &RawValue::Untyped(text), source);
                }
                Err(sentence) => self.problems.push(ConfigProblem::new(source, sentence)),
            }
        }
    }

    fn load_flag(&mut self, flag: &Flag) {
        let (section, key) = flag.key.rsplit_once('.').unwrap_or(("", &flag.key));
        let source = SettingSource::Flag(flag.spelled.clone());
        match section.split_once('.').and_then(|(first, name)| Some((group(first)?, name))) {
            Some((group, name)) if !group.accepts_name(name) => {
                self.problems.push(ConfigProblem::new(source, group.invalid_name(name)))
            }
            _ => self.set(section, key, &RawValue::Untyped(flag.value.clone()), source),
        }
    }

    fn set(&mut self, section: &str, key: &str, raw: &RawValue, source: SettingSource) {
        let section = if section.contains('.') { Cow::from(normalized(section)) } else { Cow::from(section) };
        let result = self.config.set(&section, key, raw);
        let name = dotted(&section, key);
        match result {
            Ok(()) => {
                self.config.sources.insert(name, source);
            }
            Err(SetError::InvalidValue(sentence)) => {
                self.problems.push(ConfigProblem::new(source, format!("{name}: {sentence}.")));
            }
            Err(SetError::UnknownKey) => {
                self.problems.push(ConfigProblem::new(source, unknown_key(&section, key)));
            }
        }
    }
}

impl ConfigFile {
    fn source_at(&self, offset: usize) -> SettingSource {
        let before = self.text.as_bytes().iter().take(offset);
        SettingSource::File { path: self.path.clone(), line: 1 + before.filter(|byte| **byte == b'\n').count() }
    }
}

/// Returns the environment variable of a setting.
pub(crate) fn environment_name(section: &str, key: &str) -> String {
    format!("{ENVIRONMENT_PREFIX}{}", dotted(section, key).replace(['.', '-'], "_").to_uppercase())
}

/// Returns the section and key that an environment variable sets.
fn setting_of(variable: &str) -> Option<(String, String)> {
    for FixedSection { name: section, keys, .. } in Config::sections() {
        if let Some(key) = keys.iter().find(|key| environment_name(section, key.name) == variable) {
            return Some((section.to_owned(), key.name.to_owned()));
        }
    }
    Config::groups().iter().find_map(|group| {
        let rest = variable.strip_prefix(&environment_name(group.name, ""))?;
        let found = group.keys.iter().filter_map(|key| {
            let name = rest.strip_suffix(&format!("_{}", key.name.to_uppercase()))?.to_lowercase();
            group.accepts_name(&name).then(|| (dotted(group.name, &name), key.name.to_owned()))
        });
        // If several keys match, the longest one is meant, which leaves the shortest name.
        found.min_by_key(|(section, _)| section.len())
    })
}

/// Returns true if a setting is a secret.
pub(super) fn is_secret(section: &str, key: &str) -> bool {
    let keys = match section.split_once('.') {
        Some((first, _)) => group(first).map(|group| group.keys),
        None => Config::sections().into_iter().find(|known| known.name == section).map(|known| known.keys),
    };
    keys.is_some_and(|keys| keys.iter().any(|known| known.name == key && known.is_secret))
}

/// Returns the group of sections of this name.
pub(super) fn group(name: &str) -> Option<Group> {
    Config::groups().into_iter().find(|group| group.name == name)
}

fn unknown_variable(name: &str) -> String {
    let mut known = Vec::new();
    for FixedSection { name: section, keys, .. } in Config::sections() {
        known.extend(keys.iter().map(|key| environment_name(section, key.name)));
    }
    for group in Config::groups() {
        let prefix = environment_name(group.name, "");
        let rest = name.strip_prefix(&prefix).unwrap_or_default();
        // The end of the chosen name is ambiguous, so each `_` is tried.
        for (end, _) in rest.match_indices('_') {
            let keys = group.keys.iter().map(|key| key.name.to_uppercase());
            known.extend(keys.map(|key| format!("{prefix}{}_{key}", &rest[..end])));
        }
    }
    let meant = closest(name, known.iter().map(String::as_str)).map(str::to_owned);
    format!("Unknown setting{}", hint(meant))
}

fn unknown_key(section: &str, key: &str) -> String {
    let name = dotted(section, key);
    let mut known: Vec<String> = Config::sections()
        .iter()
        .flat_map(|section| section.keys.iter().map(|key| dotted(section.name, key.name)).collect::<Vec<_>>())
        .collect();
    if let Some(group) = section.split_once('.').and_then(|(first, _)| group(first)) {
        known.extend(group.keys.iter().map(|key| dotted(section, key.name)));
    }
    let is_section = Config::sections().iter().any(|section| section.name == key);
    let heading = group(key).map(|group| group.heading()).or_else(|| is_section.then(|| format!("[{key}]")));
    if let Some(heading) = heading.filter(|_| section.is_empty()) {
        return format!("{key} is a section: write its settings below {heading}.");
    }
    let elsewhere = || known.iter().find(|known| known.rsplit('.').next() == Some(key)).cloned();
    let within = known
        .iter()
        .map(String::as_str)
        .filter(|known| known.rsplit_once('.').map_or("", |(prefix, _)| prefix) == section);
    let meant = closest(&name, within).map(str::to_owned);
    let meant =
        meant.or_else(elsewhere).or_else(|| closest(&name, known.iter().map(String::as_str)).map(str::to_owned));
    format!("Unknown setting {name}{}", hint(meant))
}

/// Returns the end of a sentence about an unknown name.
fn hint(meant: Option<String>) -> String {
    meant.map_or_else(|| ".".to_owned(), |meant| format!("; did you mean {meant}?"))
}

fn raw_value(value: &DeValue<'_>) -> RawValue {
    match value {
        DeValue::String(text) => RawValue::String(text.to_string()),
        DeValue::Integer(integer) => match i128::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) => RawValue::Literal(number.to_string()),
            Err(_) => RawValue::Literal(integer.as_str().to_owned()),
        },
        DeValue::Float(float) => RawValue::Literal(float.as_str().to_owned()),
        DeValue::Boolean(boolean) => RawValue::Literal(boolean.to_string()),
        DeValue::Array(elements) => {
            RawValue::List(elements.iter().map(|element| raw_value(element.get_ref())).collect())
        }
        DeValue::Datetime(_) => RawValue::Unsupported("a date"),
        DeValue::Table(_) => RawValue::Unsupported("a table"),
    }
}
