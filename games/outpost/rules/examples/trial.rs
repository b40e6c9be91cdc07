//! The trial as a WASM module for the browser.

/// Exports [`aether_outpost_rules::trial`].
#[expect(unsafe_code, reason = "an exported name must not be mangled, and no other module has it")]
#[unsafe(no_mangle)]
pub extern "C" fn outpost_trial(seed: u64, ticks: u32) -> u64 {
    aether_outpost_rules::trial(seed, ticks)
}
