//! The trial as a WASM module for the browser.

/// Exports [`aether_arena_rules::trial`].
#[expect(unsafe_code, reason = "an exported name must not be mangled, and no other module has it")]
#[unsafe(no_mangle)]
pub extern "C" fn arena_trial(seed: u64, ticks: u32) -> u64 {
    aether_arena_rules::trial(seed, ticks)
}
