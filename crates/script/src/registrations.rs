//! [`Registrations`]: functions of a script that the server calls.

use crate::matches::Form;
use mlua::Table;
use std::collections::BTreeMap;

/// Kind of a registered function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Function that clients call by name.
    Rpc,
    /// Runs before an operation.
    Before,
    /// Runs after an operation.
    After,
}

/// Functions that the modules of a VM registered, by kind and name.
#[derive(Default)]
pub(crate) struct Registrations {
    functions: BTreeMap<(Kind, String), mlua::Function>,
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
    pub fn add(&mut self, kind: Kind, name: &str, function: mlua::Function) {
        self.functions.insert((kind, name.to_owned()), function);
    }

    /// Returns a function.
    pub fn find(&self, kind: Kind, name: &str) -> Option<mlua::Function> {
        // The key of a map of tuples cannot be borrowed in parts.
        self.functions.get(&(kind, name.to_owned())).cloned()
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
    pub fn names(&self) -> Vec<(Kind, String)> {
        self.functions.keys().cloned().collect()
    }
}
