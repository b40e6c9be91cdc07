//! Limits of registered functions, match types and modules.

/// Maximum bytes of a function's name. Clients send it in the path of a request.
pub const FUNCTION_NAME_BYTES_MAX: usize = 128;
/// Maximum functions of all modules together. A script that registers them in a loop must not exhaust memory.
pub const FUNCTIONS_MAX: usize = 1_024;
/// Maximum bytes of a function's payload: as many as a request body.
pub const PAYLOAD_BYTES_MAX: usize = 262_144;
/// Maximum match types of all modules together. Each is listed in `/api/server` and has its own metrics.
pub const MATCH_TYPES_MAX: usize = 256;
/// Maximum bytes of a match type's name: as many as a client may send.
pub const MATCH_TYPE_NAME_BYTES_MAX: usize = aether_wire::limits::NAME_BYTES_MAX;
/// Maximum number of modules. Each replacement processes all of them.
pub const MODULES_MAX: usize = 64;
/// Maximum bytes of a module's name.
pub const MODULE_NAME_BYTES_MAX: usize = 128;
/// Maximum hooks of one module. A call runs all hooks of its operation in sequence.
pub const HOOKS_MAX: usize = 1_024;
/// Maximum HTTP routes of all modules together. A request that matches no path exactly is compared with all of them.
pub const ROUTES_MAX: usize = 256;
/// Maximum bytes of the path of a route.
pub const ROUTE_PATH_BYTES_MAX: usize = 256;
/// Maximum bytes of the body that a route answers with. It is in memory as a whole until the client has read it.
pub const ROUTE_ANSWER_BYTES_MAX: usize = 1_024 * 1_024;
/// Maximum headers of a route's answer.
pub const ROUTE_HEADERS_MAX: usize = 32;
/// Maximum bytes of a header of a route's answer.
pub const ROUTE_HEADER_BYTES_MAX: usize = 4_096;
/// Maximum bytes of an answer. It is in memory as a whole until the client has read it. The largest lists fit: 1,000
/// leaderboard records with 4 KiB of metadata each.
pub const ANSWER_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// Bytes of a block, in which the memory of running calls is counted: one stored object of the largest size.
pub const ANSWER_BLOCK_BYTES: usize = 262_144;

/// Returns the blocks that an answer with a number of entries of a size needs. 0 for an answer that is always small.
#[must_use]
pub(crate) fn answer_blocks(entries: usize, entry_bytes: usize) -> u32 {
    let bytes = entries.saturating_mul(entry_bytes).min(ANSWER_BYTES_MAX);
    if bytes <= ANSWER_SMALL_BYTES { 0 } else { bytes.div_ceil(ANSWER_BLOCK_BYTES) as u32 }
}

/// Longest answer that takes no block.
const ANSWER_SMALL_BYTES: usize = 65_536;
