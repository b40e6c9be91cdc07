//! Modules: hooks, functions and match types that are registered, replaced and removed as a whole while the server runs.

use super::functions::{Function, Functions, already_exists};
use super::limits::{FUNCTIONS_MAX, HOOKS_MAX, MATCH_TYPES_MAX, MODULE_NAME_BYTES_MAX, MODULES_MAX};
use super::match_types::{MatchTypes, MatchTypesByName};
use crate::hooks::{Around, Hooks};
use crate::matches::MatchType;
use crate::refusal::{GrpcCode, ServiceError};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Name of the module that holds the functions and match types of the program itself. It cannot be replaced.
pub const PROGRAM: &str = "program";

/// Hooks, functions and match types of one module.
#[derive(Default)]
pub struct Module {
    /// Hooks around operations.
    pub hooks: Hooks,
    /// Functions that are called by name.
    pub functions: Functions,
    /// Types of matches that clients join by name.
    pub match_types: MatchTypes,
}

/// All modules at one moment. It never changes: a call that has begun goes on with the modules it began with.
#[derive(Default)]
pub(crate) struct Registered {
    /// In the order in which their names were first registered.
    modules: Vec<(String, Arc<Module>)>,
    /// Modules with hooks around an operation, by its name.
    hooked: HashMap<String, Vec<Arc<Module>>>,
    functions: HashMap<String, Arc<Function>>,
    match_types: Arc<MatchTypesByName>,
}

impl Registered {
    /// Returns the hooks of modules around an operation, module by module.
    pub fn around<'a>(&'a self, operation: &'a str) -> impl Iterator<Item = &'a Around> {
        let modules = self.hooked.get(operation).into_iter().flatten();
        modules.filter_map(move |module| module.hooks.around(operation))
    }

    /// Returns a function by its name in lower case.
    pub fn function(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.get(name)
    }

    /// Returns the match types by name.
    pub fn match_types(&self) -> &Arc<MatchTypesByName> {
        &self.match_types
    }

    /// Returns the names of functions that clients may call, in order.
    pub fn rpc_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.functions.iter().filter(|(_, function)| function.is_rpc()).map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the names of modules, in the order in which they were first registered.
    pub fn module_names(&self) -> Vec<String> {
        self.modules.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Returns the same modules with one of them in a new form, or without it.
    pub fn with(&self, name: &str, module: Option<Module>) -> Result<Registered, ServiceError> {
        let mut modules = self.modules.clone();
        let place = modules.iter().position(|(known, _)| known == name);
        match (place, module.map(Arc::new)) {
            (Some(place), Some(module)) => modules[place].1 = module,
            (None, Some(module)) => modules.push((checked_name(name, modules.len())?, module)),
            (Some(place), None) => drop(modules.remove(place)),
            (None, None) => {}
        }
        Registered::of(modules)
    }

    fn of(modules: Vec<(String, Arc<Module>)>) -> Result<Registered, ServiceError> {
        let mut hooked: HashMap<String, Vec<Arc<Module>>> = HashMap::new();
        let mut functions = HashMap::new();
        let mut match_types: BTreeMap<String, (&str, &Arc<dyn MatchType>)> = BTreeMap::new();
        for (name, module) in &modules {
            if module.hooks.len() > HOOKS_MAX {
                let sentence = format!("The module {name} has more than {HOOKS_MAX} hooks.");
                return Err(ServiceError::with(GrpcCode::ResourceExhausted, sentence));
            }
            for operation in module.hooks.operations() {
                hooked.entry(operation.to_owned()).or_default().push(Arc::clone(module));
            }
            for (name, function) in module.functions.iter() {
                if functions.insert(name.clone(), Arc::clone(function)).is_some() {
                    return Err(already_exists(name));
                }
            }
            for (type_name, match_type) in module.match_types.iter() {
                if let Some((owner, _)) = match_types.insert(type_name.clone(), (name, match_type)) {
                    return Err(is_taken(type_name, owner));
                }
            }
        }
        if functions.len() > FUNCTIONS_MAX {
            let sentence = format!("All modules together have more than {FUNCTIONS_MAX} functions.");
            return Err(ServiceError::with(GrpcCode::ResourceExhausted, sentence));
        }
        if match_types.len() > MATCH_TYPES_MAX {
            let sentence = format!("All modules together have more than {MATCH_TYPES_MAX} match types.");
            return Err(ServiceError::with(GrpcCode::ResourceExhausted, sentence));
        }
        let match_types = match_types.into_iter().map(|(name, (_, match_type))| (name, Arc::clone(match_type)));
        let match_types = Arc::new(match_types.collect());
        Ok(Registered { modules, hooked, functions, match_types })
    }
}

/// Refuses a match type whose name is that of another module's.
fn is_taken(name: &str, owner: &str) -> ServiceError {
    let sentence = format!("The match type `{name}` belongs to the module `{owner}`; choose another name.");
    ServiceError::with(GrpcCode::AlreadyExists, sentence)
}

/// Returns the name of a new module, if it may be one.
fn checked_name(name: &str, modules: usize) -> Result<String, ServiceError> {
    if name.is_empty() || name.len() > MODULE_NAME_BYTES_MAX {
        return Err(ServiceError::invalid(format!("The name of a module has 1 to {MODULE_NAME_BYTES_MAX} bytes.")));
    }
    if modules >= MODULES_MAX {
        let sentence = format!("There are {MODULES_MAX} modules already; {name} would be one too many.");
        return Err(ServiceError::with(GrpcCode::ResourceExhausted, sentence));
    }
    Ok(name.to_owned())
}
