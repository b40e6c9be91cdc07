//! The golden run as a WASM module for the browser.

/// Exports [`aether_sandbox_rules::turning_hash`].
#[expect(unsafe_code, reason = "an exported name must not be mangled, and no other module has it")]
#[unsafe(no_mangle)]
pub extern "C" fn sandbox_turning_hash(ticks: u32) -> u64 {
    aether_sandbox_rules::turning_hash(ticks)
}
