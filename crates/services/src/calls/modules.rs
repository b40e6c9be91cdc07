//! Modules: sets of hooks, functions and match types that are replaced as a whole while the server runs.

use super::functions::{Function, Functions, already_exists};
use super::limits::{FUNCTIONS_MAX, HOOKS_MAX, MATCH_TYPES_MAX, MODULE_NAME_BYTES_MAX, MODULES_MAX};
use super::match_types::{MatchTypes, MatchTypesByName};
use super::routes::{FoundRoute, HttpRoutes};
use crate::error::{GrpcCode, ServiceError};
use crate::hooks::{Hooks, OperationHooks};
use crate::matches::MatchType;
use aether_messages::operation::{Operation as _, RpcFunc};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Name of the module of the program's own functions and match types. It cannot be replaced.
pub const PROGRAM: &str = "program";

/// Hooks, functions and match types of one module.
#[derive(Default)]
pub struct Module {
    /// Hooks of operations.
    pub hooks: Hooks,
    /// Functions.
    pub functions: Functions,
    /// Match types.
    pub match_types: MatchTypes,
    /// HTTP routes.
    pub routes: HttpRoutes,
    /// True if hooks and functions get the headers of requests.
    pub wants_headers: bool,
}

/// Immutable snapshot of all modules. A call uses one snapshot until it ends.
#[derive(Default)]
pub(crate) struct Registered {
    /// Modules, in the order of first registration.
    modules: Vec<(String, Arc<Module>)>,
    /// Modules with hooks of an operation, by its name.
    hooked: HashMap<String, Vec<Arc<Module>>>,
    functions: HashMap<String, Arc<Function>>,
    match_types: Arc<MatchTypesByName>,
    wants_headers: bool,
}

impl Registered {
    /// Returns true if a module wants the headers of requests, for its hooks of the operation or for its functions.
    pub fn wants_headers(&self, operation: &str) -> bool {
        self.wants_headers && (operation == RpcFunc::NAME || self.hooked.contains_key(operation))
    }

    /// Finds an HTTP route, in the order of the modules.
    pub fn route(&self, method: &str, path: &str) -> FoundRoute {
        let mut found = FoundRoute::None;
        for (_, module) in self.modules.iter().filter(|(_, module)| !module.routes.is_empty()) {
            match module.routes.find(method, path) {
                FoundRoute::None => {}
                FoundRoute::Route(route) => return FoundRoute::Route(route),
                other => found = other,
            }
        }
        found
    }

    /// Returns the hooks of an operation, module by module.
    pub fn hooks_of<'a>(&'a self, operation: &'a str) -> impl Iterator<Item = &'a OperationHooks> {
        let modules = self.hooked.get(operation).into_iter().flatten();
        modules.filter_map(move |module| module.hooks.of_operation(operation))
    }

    /// Returns a function by its lower-case name.
    pub fn function(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.get(name)
    }

    /// Returns the match types by name.
    pub fn match_types(&self) -> &Arc<MatchTypesByName> {
        &self.match_types
    }

    /// Returns the names of functions that clients may call, sorted.
    pub fn rpc_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.functions.iter().filter(|(_, function)| function.is_rpc()).map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the names of modules, in the order of first registration.
    pub fn module_names(&self) -> Vec<String> {
        self.modules.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Returns a snapshot with one module replaced, added or removed.
    pub fn with(&self, name: &str, module: Option<Module>) -> Result<Registered, ServiceError> {
        let mut modules = self.modules.clone();
        let index = modules.iter().position(|(known, _)| known == name);
        match (index, module.map(Arc::new)) {
            (Some(index), Some(module)) => modules[index].1 = module,
            (None, Some(module)) => modules.push((checked_name(name, modules.len())?, module)),
            (Some(index), None) => drop(modules.remove(index)),
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
                let message = format!("Module {name} has more than {HOOKS_MAX} hooks.");
                return Err(ServiceError::with(GrpcCode::ResourceExhausted, message));
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
                    return Err(name_taken(type_name, owner));
                }
            }
        }
        if functions.len() > FUNCTIONS_MAX {
            let message = format!("All modules together have more than {FUNCTIONS_MAX} functions.");
            return Err(ServiceError::with(GrpcCode::ResourceExhausted, message));
        }
        if match_types.len() > MATCH_TYPES_MAX {
            let message = format!("All modules together have more than {MATCH_TYPES_MAX} match types.");
            return Err(ServiceError::with(GrpcCode::ResourceExhausted, message));
        }
        let match_types = match_types.into_iter().map(|(name, (_, match_type))| (name, Arc::clone(match_type)));
        let match_types = Arc::new(match_types.collect());
        let wants_headers = modules.iter().any(|(_, module)| module.wants_headers);
        Ok(Registered { modules, hooked, functions, match_types, wants_headers })
    }
}

/// Returns the error for a match type name of another module.
fn name_taken(name: &str, owner: &str) -> ServiceError {
    let message = format!("Match type `{name}` belongs to module `{owner}`. Choose another name.");
    ServiceError::with(GrpcCode::AlreadyExists, message)
}

/// Validates the name of a new module.
fn checked_name(name: &str, modules: usize) -> Result<String, ServiceError> {
    if name.is_empty() || name.len() > MODULE_NAME_BYTES_MAX {
        return Err(ServiceError::invalid(format!(
            "The name of a module must have 1 to {MODULE_NAME_BYTES_MAX} bytes."
        )));
    }
    if modules >= MODULES_MAX {
        let message = format!("Module {name} cannot be added: the limit of {MODULES_MAX} modules is reached.");
        return Err(ServiceError::with(GrpcCode::ResourceExhausted, message));
    }
    Ok(name.to_owned())
}
