//! Limits of what can be registered and called by name.

/// Bytes of a function's name. Clients send it in the address of a request.
pub const FUNCTION_NAME_BYTES_MAX: usize = 128;
/// Functions of all modules together. A script that registers them in a loop must not take all memory.
pub const FUNCTIONS_MAX: usize = 1_024;
/// Bytes of a function's payload: as many as the body of a request has.
pub const PAYLOAD_BYTES_MAX: usize = 262_144;
/// Match types of all modules together. Each is described to clients by `/api/server` and has metrics of its own.
pub const MATCH_TYPES_MAX: usize = 256;
/// Bytes of a match type's name: as many as a client may send of it.
pub const MATCH_TYPE_NAME_BYTES_MAX: usize = aether_wire::limits::NAME_BYTES_MAX;
/// Modules. Each replacement goes through all of them.
pub const MODULES_MAX: usize = 64;
/// Bytes of a module's name.
pub const MODULE_NAME_BYTES_MAX: usize = 128;
/// Hooks of one module. A call runs all hooks of its operation, one after the other.
pub const HOOKS_MAX: usize = 1_024;
