//! Registration of functions that the server calls. They take effect while modules load.

use crate::function::{Function, Modules, required};
use crate::registrations::Kind;
use crate::vm::VmState;
use mlua::MultiValue;
use std::sync::Arc;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type Context = {
    env: {[string]: string},
    execution_mode: string,
    node: string,
    version: string,
    query_params: {[string]: {string}},
    user_id: string?,
    username: string?,
    vars: {[string]: string},
    user_session_exp: number?,
    session_id: string?,
    client_ip: string?,
}
";

pub(crate) const FUNCTIONS: &[Function] =
    &[Function::native("register_rpc", |_, state, args| add(state, Kind::Rpc, args))
        .about("Registers a function that clients call by name: `POST /v2/rpc/{id}`, or over the socket.")
        .parameters(&[
            required("fn", "(context: Context, payload: string) -> string?", "Function that is called."),
            required("id", "string", "Name of the function for clients; upper and lower case are equal."),
        ])
        .only_in(Modules::Nk)];

fn add(state: &Arc<VmState>, kind: Kind, args: MultiValue) -> mlua::Result<MultiValue> {
    let mut args = args.into_iter();
    let (Some(mlua::Value::Function(function)), Some(mlua::Value::String(name))) = (args.next(), args.next()) else {
        return Err(mlua::Error::runtime("expected a function and its name"));
    };
    state.registrations().add(kind, &name.to_string_lossy().to_ascii_lowercase(), function);
    Ok(MultiValue::new())
}
