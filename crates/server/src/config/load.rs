//! From the layers to one configuration.

use super::declare::{Group, Refused};
use super::problem::closest;
use super::value::Written;
use super::{Config, ConfigError, ConfigProblem, SettingSource, dotted, normalized};
use std::borrow::Cow;
use std::io;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// What every environment variable of the server begins with.
pub(crate) const ENVIRONMENT_PREFIX: &str = "AETHER_";

/// The environment variable that names the configuration file: the one that is no setting.
pub(crate) const ENVIRONMENT_CONFIG: &str = "AETHER_CONFIG";

/// The end of an environment variable that names a file with a secret.
const FILE_SUFFIX: &str = "_FILE";

/// Where a configuration comes from. Everything is given, so that loading depends on nothing else.
pub struct Sources<'a> {
    /// The TOML file, if there is one.
    pub file: Option<ConfigFile>,
    /// Environment variables; those that do not begin with `AETHER_` are passed over.
    pub environment: Vec<(String, String)>,
    /// Flags, in their order.
    pub flags: Vec<Flag>,
    /// Reads the file with a secret that an environment variable ending in `_FILE` names.
    pub read_file: &'a dyn Fn(&Path) -> io::Result<String>,
}

/// A configuration file.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Its path, for messages.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// A flag that sets something.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The flag as it is spelled, for messages.
    pub spelled: String,
    /// The full name of the setting, such as `http.address`.
    pub key: String,
    /// The value.
    pub value: String,
}

impl Config {
    /// Puts the layers over the defaults: file, environment, flags. Everything that is unknown or wrong is told at
    /// once, each with its place.
    pub fn load(sources: &Sources<'_>) -> Result<Self, ConfigError> {
        let mut loading = Loading { config: Self::default(), problems: Vec::new() };
        if let Some(file) = &sources.file {
            loading.file(file);
        }
        loading.environment(&sources.environment, sources.read_file);
        for flag in &sources.flags {
            loading.flag(flag);
        }
        // Values that were refused would only cause false problems here.
        if loading.problems.is_empty() {
            loading.problems = loading.config.validate();
        }
        if loading.problems.is_empty() { Ok(loading.config) } else { Err(ConfigError { problems: loading.problems }) }
    }
}

struct Loading {
    config: Config,
    problems: Vec<ConfigProblem>,
}

impl Loading {
    fn file(&mut self, file: &ConfigFile) {
        let table = match DeTable::parse(&file.text) {
            Ok(table) => table,
            Err(error) => {
                let place = file.place(error.span().map_or(0, |span| span.start));
                self.problems.push(ConfigProblem::new(place, format!("This is not TOML: {}.", error.message())));
                return;
            }
        };
        for (name, value) in table.get_ref() {
            let place = file.place(name.span().start);
            match (value.get_ref(), group(name.get_ref())) {
                (DeValue::Table(sections), Some(group)) => self.file_group(file, &group, sections),
                (DeValue::Table(keys), None) => self.file_section(file, name.get_ref(), keys, &place),
                (value, _) => self.put("", name.get_ref(), &written(value), place),
            }
        }
        self.problems.sort_by_key(|problem| match problem.place {
            SettingSource::File { line, .. } => line,
            _ => 0,
        });
    }

    fn file_group(&mut self, file: &ConfigFile, group: &Group, sections: &DeTable<'_>) {
        for (name, value) in sections {
            let place = file.place(name.span().start);
            let name = name.get_ref();
            match value.get_ref() {
                DeValue::Table(keys) if group.takes(name) => {
                    if keys.is_empty() {
                        // It says nothing, but it is there: what is missing has to be told.
                        self.config.open_section(group.name, &normalized(name));
                        self.config.places.insert(dotted(group.name, &normalized(name)), place);
                    }
                    for (key, value) in keys {
                        let place = file.place(key.span().start);
                        self.put(&dotted(group.name, name), key.get_ref(), &written(value.get_ref()), place);
                    }
                }
                DeValue::Table(_) => self.problems.push(ConfigProblem::new(place, group.refusal(name))),
                _ => self.problems.push(ConfigProblem::new(
                    place,
                    format!("{name} stands in a section with a name: write {} above it.", group.heading()),
                )),
            }
        }
    }

    fn file_section(&mut self, file: &ConfigFile, section: &str, keys: &DeTable<'_>, place: &SettingSource) {
        let names: Vec<&str> = Config::sections().iter().map(|(name, ..)| *name).collect();
        if section.is_empty() || !names.contains(&section) {
            let groups = Config::groups();
            let known = names.into_iter().filter(|name| !name.is_empty()).chain(groups.iter().map(|group| group.name));
            let heading = |name: &str| group(name).map_or_else(|| format!("[{name}]"), |group| group.heading());
            let hint = hint(closest(section, known).map(heading));
            self.problems.push(ConfigProblem::new(place.clone(), format!("There is no section [{section}]{hint}")));
            return;
        }
        for (key, value) in keys {
            self.put(section, key.get_ref(), &written(value.get_ref()), file.place(key.span().start));
        }
    }

    fn environment(&mut self, variables: &[(String, String)], read_file: &dyn Fn(&Path) -> io::Result<String>) {
        let ours = |name: &str| name.starts_with(ENVIRONMENT_PREFIX) && name != ENVIRONMENT_CONFIG;
        for (name, value) in variables.iter().filter(|(name, _)| ours(name)) {
            let place = SettingSource::Environment(name.clone());
            let direct = name.strip_suffix(FILE_SUFFIX).filter(|_| setting_of(name).is_none());
            let Some((section, key)) = setting_of(direct.unwrap_or(name)) else {
                self.problems.push(ConfigProblem::new(place, unknown_variable(name)));
                continue;
            };
            let text = match direct {
                Some(direct) if variables.iter().any(|(other, _)| other == direct) => {
                    Err(format!("{direct} is set too: take out one of them."))
                }
                // The content of a private key must not be taken for its path, and then stand in messages.
                Some(direct) if !is_secret(&section, &key) => {
                    Err(format!("Only secrets are read from a file: set {direct} itself."))
                }
                Some(_) => {
                    read_file(Path::new(value)).map_err(|error| format!("The file it names cannot be read: {error}."))
                }
                None => Ok(value.clone()),
            };
            match text {
                // Editors and `echo` end a file with a new line, which is no part of a secret.
                Ok(text) => {
                    let text = text.trim_end_matches(['\r', '\n']).to_owned();
                    self.put(&section, &key, &Written::Loose(text), place);
                }
                Err(sentence) => self.problems.push(ConfigProblem::new(place, sentence)),
            }
        }
    }

    fn flag(&mut self, flag: &Flag) {
        let (section, key) = flag.key.rsplit_once('.').unwrap_or(("", &flag.key));
        let place = SettingSource::Flag(flag.spelled.clone());
        match section.split_once('.').and_then(|(first, name)| Some((group(first)?, name))) {
            Some((group, name)) if !group.takes(name) => {
                self.problems.push(ConfigProblem::new(place, group.refusal(name)))
            }
            _ => self.put(section, key, &Written::Loose(flag.value.clone()), place),
        }
    }

    fn put(&mut self, section: &str, key: &str, written: &Written, place: SettingSource) {
        let section = if section.contains('.') { Cow::from(normalized(section)) } else { Cow::from(section) };
        let answer = self.config.set(&section, key, written);
        let name = dotted(&section, key);
        match answer {
            Ok(()) => {
                self.config.places.insert(name, place);
            }
            Err(Refused::BadValue(sentence)) => {
                self.problems.push(ConfigProblem::new(place, format!("{name}: {sentence}.")));
            }
            Err(Refused::UnknownKey) => {
                self.problems.push(ConfigProblem::new(place, unknown_key(&section, key)));
            }
        }
    }
}

impl ConfigFile {
    fn place(&self, offset: usize) -> SettingSource {
        let before = self.text.as_bytes().iter().take(offset);
        SettingSource::File { path: self.path.clone(), line: 1 + before.filter(|byte| **byte == b'\n').count() }
    }
}

/// The environment variable of a setting.
pub(crate) fn environment_name(section: &str, key: &str) -> String {
    format!("{ENVIRONMENT_PREFIX}{}", dotted(section, key).replace(['.', '-'], "_").to_uppercase())
}

/// The section and key that an environment variable sets.
fn setting_of(variable: &str) -> Option<(String, String)> {
    for (section, _, keys) in Config::sections() {
        if let Some(key) = keys.iter().find(|key| environment_name(section, key.name) == variable) {
            return Some((section.to_owned(), key.name.to_owned()));
        }
    }
    Config::groups().iter().find_map(|group| {
        let rest = variable.strip_prefix(&environment_name(group.name, ""))?;
        let found = group.keys.iter().filter_map(|key| {
            let name = rest.strip_suffix(&format!("_{}", key.name.to_uppercase()))?.to_lowercase();
            group.takes(&name).then(|| (dotted(group.name, &name), key.name.to_owned()))
        });
        // The longest key leaves the shortest name.
        found.min_by_key(|(section, _)| section.len())
    })
}

/// Whether a setting is a secret.
pub(super) fn is_secret(section: &str, key: &str) -> bool {
    let keys = match section.split_once('.') {
        Some((first, _)) => group(first).map(|group| group.keys),
        None => Config::sections().into_iter().find(|(name, ..)| *name == section).map(|(_, _, keys)| keys),
    };
    keys.is_some_and(|keys| keys.iter().any(|known| known.name == key && known.is_secret))
}

/// The group of sections of this name.
pub(super) fn group(name: &str) -> Option<Group> {
    Config::groups().into_iter().find(|group| group.name == name)
}

fn unknown_variable(name: &str) -> String {
    let mut known = Vec::new();
    for (section, _, keys) in Config::sections() {
        known.extend(keys.iter().map(|key| environment_name(section, key.name)));
    }
    for group in Config::groups() {
        let prefix = environment_name(group.name, "");
        let rest = name.strip_prefix(&prefix).unwrap_or_default();
        // Where the chosen name ends cannot be seen, so each end is tried.
        for (end, _) in rest.match_indices('_') {
            let keys = group.keys.iter().map(|key| key.name.to_uppercase());
            known.extend(keys.map(|key| format!("{prefix}{}_{key}", &rest[..end])));
        }
    }
    let meant = closest(name, known.iter().map(String::as_str)).map(str::to_owned);
    format!("There is no such setting{}", hint(meant))
}

fn unknown_key(section: &str, key: &str) -> String {
    let name = dotted(section, key);
    let mut known: Vec<String> = Config::sections()
        .iter()
        .flat_map(|(section, _, keys)| keys.iter().map(|key| dotted(section, key.name)).collect::<Vec<_>>())
        .collect();
    if let Some(group) = section.split_once('.').and_then(|(first, _)| group(first)) {
        known.extend(group.keys.iter().map(|key| dotted(section, key.name)));
    }
    let is_section = Config::sections().iter().any(|(name, ..)| *name == key);
    let heading = group(key).map(|group| group.heading()).or_else(|| is_section.then(|| format!("[{key}]")));
    if let Some(heading) = heading.filter(|_| section.is_empty()) {
        return format!("{key} is a section: write its settings below {heading}.");
    }
    let elsewhere = || known.iter().find(|known| known.rsplit('.').next() == Some(key)).cloned();
    let within =
        known.iter().map(String::as_str).filter(|known| known.rsplit_once('.').map_or("", |(own, _)| own) == section);
    let meant = closest(&name, within).map(str::to_owned);
    let meant =
        meant.or_else(elsewhere).or_else(|| closest(&name, known.iter().map(String::as_str)).map(str::to_owned));
    format!("There is no setting {name}{}", hint(meant))
}

/// The end of a sentence about something unknown.
fn hint(meant: Option<String>) -> String {
    meant.map_or_else(|| ".".to_owned(), |meant| format!("; did you mean {meant}?"))
}

fn written(value: &DeValue<'_>) -> Written {
    match value {
        DeValue::String(text) => Written::Text(text.to_string()),
        DeValue::Integer(integer) => match i128::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) => Written::Bare(number.to_string()),
            Err(_) => Written::Bare(integer.as_str().to_owned()),
        },
        DeValue::Float(float) => Written::Bare(float.as_str().to_owned()),
        DeValue::Boolean(boolean) => Written::Bare(boolean.to_string()),
        DeValue::Array(elements) => Written::List(elements.iter().map(|element| written(element.get_ref())).collect()),
        DeValue::Datetime(_) => Written::Other("a date"),
        DeValue::Table(_) => Written::Other("a table"),
    }
}
