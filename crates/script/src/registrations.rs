//! [`Registrations`]: functions of a script that the server calls.

use crate::matches::Form;
use aether_services::leaderboard::Schedule;
use aether_services::storage::IndexDefinition;
use mlua::Table;
use std::collections::{BTreeMap, HashMap};

/// Most functions of one kind that the modules of a program register. A script that registers them in a loop must not exhaust
/// memory.
pub const REGISTERED_MAX: usize = 1_024;
/// Most scheduled functions of a program. Each has an object in the storage.
pub const SCHEDULES_MAX: usize = 64;
/// Most bytes of the name of a scheduled function: a key of the storage.
pub const SCHEDULE_NAME_BYTES_MAX: usize = 128;

/// Kind of a registered function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegistrationKind {
    /// Function that clients call by name.
    Rpc,
    /// Runs before an operation. The name is that of the operation.
    Before,
    /// Runs after an operation.
    After,
    /// Runs before an operation of the socket, with the envelope of its message.
    SocketBefore,
    /// Runs after an operation of the socket, with the envelopes of its messages.
    SocketAfter,
    /// Decides on players that the matchmaker put together.
    MatchmakerMatched,
    /// Runs at the reset of a leaderboard.
    LeaderboardReset,
    /// Runs at the end of the active time of a tournament.
    TournamentEnd,
    /// Runs at the reset of a tournament.
    TournamentReset,
    /// Runs when a session of the socket has started.
    SessionStart,
    /// Runs when a session of the socket has ended.
    SessionEnd,
    /// Receives reported events.
    Event,
    /// Runs when the server stops.
    Shutdown,
    /// Runs once, at the start of the server. The name is the number of the registration.
    Once,
    /// Runs at times of a schedule.
    Schedule,
    /// Serves an HTTP route. The name is method and path.
    Route,
    /// Decides which objects are in a storage index.
    IndexFilter,
}

/// Name of functions of which a program has one.
pub const SINGLE: &str = "";

/// Functions that the modules of a VM registered, by kind and name.
#[derive(Default)]
pub(crate) struct Registrations {
    functions: BTreeMap<RegistrationKind, HashMap<Box<str>, mlua::Function>>,
    /// Schedules by name.
    schedules: BTreeMap<String, Schedule>,
    /// Storage indexes by name.
    indexes: BTreeMap<String, IndexDefinition>,
    /// True once the modules are loaded.
    is_complete: bool,
    /// Match handlers, by name.
    matches: BTreeMap<String, RegisteredMatch>,
    /// Module that is being loaded.
    module: String,
    /// Modules whose text the VM has loaded.
    loaded: Vec<String>,
}

/// Match handler of a module.
#[derive(Clone)]
pub(crate) struct RegisteredMatch {
    /// Module whose loading registered it.
    pub module: String,
    pub form: Form,
    pub table: Table,
}

impl Registrations {
    /// Adds a function. It replaces one of the same kind and name, as a later module does elsewhere too.
    pub fn add(&mut self, kind: RegistrationKind, name: &str, function: mlua::Function) -> Result<(), String> {
        self.check_open()?;
        let functions = self.functions.entry(kind).or_default();
        if functions.len() >= REGISTERED_MAX && !functions.contains_key(name) {
            return Err(format!("at most {REGISTERED_MAX} functions of a kind can be registered"));
        }
        functions.insert(name.into(), function);
        Ok(())
    }

    /// Adds a function that runs once.
    pub fn add_once(&mut self, function: mlua::Function) -> Result<(), String> {
        // Sorted by name, they are in the order of their registration.
        let name = format!("{:04}", self.functions.get(&RegistrationKind::Once).map_or(0, HashMap::len));
        self.add(RegistrationKind::Once, &name, function)
    }

    /// Adds a scheduled function.
    pub fn add_schedule(&mut self, name: &str, text: &str, function: mlua::Function) -> Result<(), String> {
        if name.is_empty() || name.len() > SCHEDULE_NAME_BYTES_MAX {
            return Err(format!("the name of a schedule must have 1 to {SCHEDULE_NAME_BYTES_MAX} bytes"));
        }
        if self.schedules.len() >= SCHEDULES_MAX && !self.schedules.contains_key(name) {
            return Err(format!("at most {SCHEDULES_MAX} schedules can be registered"));
        }
        let schedule = Schedule::parse(text, 0).map_err(|error| error.to_string())?;
        self.add(RegistrationKind::Schedule, name, function)?;
        self.schedules.insert(name.to_owned(), schedule);
        Ok(())
    }

    /// Adds a storage index.
    pub fn add_index(&mut self, definition: IndexDefinition) -> Result<(), String> {
        self.check_open()?;
        if self.indexes.len() >= REGISTERED_MAX {
            return Err(format!("at most {REGISTERED_MAX} storage indexes can be registered"));
        }
        self.indexes.insert(definition.name.clone(), definition);
        Ok(())
    }

    /// Ends the registration: the modules are loaded.
    pub fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Returns a function.
    pub fn find(&self, kind: RegistrationKind, name: &str) -> Option<mlua::Function> {
        self.functions.get(&kind)?.get(name).cloned()
    }

    /// Notes the module that is loaded next.
    pub fn begin_module(&mut self, module: &str) {
        module.clone_into(&mut self.module);
    }

    /// Notes a module whose text the VM has loaded.
    pub fn note_loaded(&mut self, module: &str) {
        self.loaded.push(module.replace('/', "."));
    }

    /// Returns the modules whose text the VM has loaded.
    pub fn loaded(&self) -> &[String] {
        &self.loaded
    }

    /// Adds the match handler of `aether.register_match`.
    pub fn add_match(&mut self, name: &str, table: Table) {
        let handler = RegisteredMatch { module: self.module.clone(), form: Form::Aether, table };
        self.matches.insert(name.to_owned(), handler);
    }

    /// Adds a module that is a match handler itself, unless a handler of its name is registered.
    pub fn add_match_module(&mut self, module: &str, table: Table) {
        let handler = RegisteredMatch { module: module.to_owned(), form: Form::Nk, table };
        self.matches.entry(module.to_owned()).or_insert(handler);
    }

    /// Returns all match handlers, by name.
    pub fn matches(&self) -> impl Iterator<Item = (&str, &RegisteredMatch)> {
        self.matches.iter().map(|(name, handler)| (name.as_str(), handler))
    }

    /// Returns the table of a handler of `aether.register_match`.
    pub fn match_table(&self, name: &str) -> Option<Table> {
        self.matches.get(name).map(|handler| handler.table.clone())
    }

    /// Returns kinds and names, sorted.
    pub fn names(&self) -> Vec<(RegistrationKind, String)> {
        let names = self.functions.iter().flat_map(|(kind, functions)| {
            let names = functions.keys();
            names.map(|name| (*kind, name.to_string()))
        });
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    }

    /// Returns the schedules with their names.
    pub fn schedules(&self) -> Vec<(String, Schedule)> {
        self.schedules.clone().into_iter().collect()
    }

    /// Returns the storage indexes.
    pub fn indexes(&self) -> Vec<IndexDefinition> {
        self.indexes.values().cloned().collect()
    }

    fn check_open(&self) -> Result<(), String> {
        if self.is_complete {
            return Err("functions can be registered only while modules load, outside of functions".to_owned());
        }
        Ok(())
    }
}
