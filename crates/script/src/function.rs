//! [`Function`]: declaration of a function that scripts call. The bindings, the type definitions for editors and the
//! reference page all come from these declarations.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::matches::RoomCall;
use crate::scripts::ScriptServices;
use crate::value::Value;
use crate::vm::VmState;
use mlua::{Lua, MultiValue};
use std::pin::Pin;
use std::sync::Arc;

/// Values that a function returns, or an error that the script can catch.
pub(crate) type Outcome = Result<Vec<Value>, ScriptError>;
/// Future of a service function.
pub(crate) type OutcomeFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Function of the modules `aether` and `nk`.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    /// Name in its modules.
    pub name: &'static str,
    /// Modules that have it.
    pub modules: Modules,
    /// Parameters in order.
    pub parameters: &'static [Parameter],
    /// Returned values as Luau types, such as `"StorageObject?"` or `"({Record}, string?)"`; empty for none.
    pub returns: &'static str,
    /// Description: one or two sentences that begin with a verb.
    pub about: &'static str,
    /// Implementation.
    pub run: Run,
}

/// Modules that have a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modules {
    /// `aether` and `nk`.
    Both,
    /// `aether` only: a function of our own, or one whose arguments differ from those of `nk`.
    Aether,
    /// `nk` only.
    Nk,
}

/// Parameter of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    /// Name, as in the reference.
    pub name: &'static str,
    /// Luau type without `?`.
    pub luau: &'static str,
    /// True if it may be left out or nil.
    pub is_optional: bool,
    /// Description: what it is for, and the default.
    pub about: &'static str,
}

/// Implementation of a function.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// Needs the services: the script is suspended until the answer is there.
    Service(fn(ScriptServices, Arguments) -> OutcomeFuture),
    /// Runs at once, with data only.
    Local(fn(&Arc<VmState>, Arguments) -> Outcome),
    /// Runs at once in a match, with access to its room.
    Room(fn(&Lua, &mut RoomCall<'_, '_>, MultiValue) -> mlua::Result<MultiValue>),
    /// Runs at once, with access to the VM: for functions as arguments, and for large data.
    Native(fn(&Lua, &Arc<VmState>, MultiValue) -> mlua::Result<MultiValue>),
    /// Written in Luau over other functions: a chunk that gets the functions of its module and returns the function. For
    /// functions that call the script back between two calls of services.
    Luau(&'static str),
}

impl Function {
    const fn new(name: &'static str, run: Run) -> Function {
        Function { name, modules: Modules::Both, parameters: &[], returns: "", about: "", run }
    }

    /// Declares a function that calls services. Scripts are suspended meanwhile.
    pub const fn service(name: &'static str, run: fn(ScriptServices, Arguments) -> OutcomeFuture) -> Function {
        Function::new(name, Run::Service(run))
    }

    /// Declares a function that returns at once.
    pub const fn local(name: &'static str, run: fn(&Arc<VmState>, Arguments) -> Outcome) -> Function {
        Function::new(name, Run::Local(run))
    }

    /// Declares a function with access to the VM.
    pub const fn native(
        name: &'static str,
        run: fn(&Lua, &Arc<VmState>, MultiValue) -> mlua::Result<MultiValue>,
    ) -> Function {
        Function::new(name, Run::Native(run))
    }

    /// Declares a function that is written in Luau.
    pub const fn luau(name: &'static str, chunk: &'static str) -> Function {
        Function::new(name, Run::Luau(chunk))
    }

    /// Declares a function of matches, with access to the room.
    pub const fn room(
        name: &'static str,
        run: fn(&Lua, &mut RoomCall<'_, '_>, MultiValue) -> mlua::Result<MultiValue>,
    ) -> Function {
        Function::new(name, Run::Room(run))
    }

    /// Sets the description.
    pub const fn about(mut self, about: &'static str) -> Function {
        self.about = about;
        self
    }

    /// Sets the parameters.
    pub const fn parameters(mut self, parameters: &'static [Parameter]) -> Function {
        self.parameters = parameters;
        self
    }

    /// Sets the returned values.
    pub const fn returns(mut self, returns: &'static str) -> Function {
        self.returns = returns;
        self
    }

    /// Restricts the function to one module.
    pub const fn only_in(mut self, modules: Modules) -> Function {
        self.modules = modules;
        self
    }
}

/// Declares a parameter that must be given.
pub(crate) const fn required(name: &'static str, luau: &'static str, about: &'static str) -> Parameter {
    Parameter { name, luau, is_optional: false, about }
}

/// Declares a parameter that may be left out.
pub(crate) const fn optional(name: &'static str, luau: &'static str, about: &'static str) -> Parameter {
    Parameter { name, luau, is_optional: true, about }
}
