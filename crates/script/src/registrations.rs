//! [`Registrations`]: functions of a script that the server calls.

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

    /// Returns kinds and names, sorted.
    pub fn names(&self) -> Vec<(Kind, String)> {
        self.functions.keys().cloned().collect()
    }
}
