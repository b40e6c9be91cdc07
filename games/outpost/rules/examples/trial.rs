//! The trial as a module for the browser.

/// [`aether_outpost_rules::trial`], to be called from outside.
#[expect(unsafe_code, reason = "a name that a script can call has to be kept, and no other module has it")]
#[unsafe(no_mangle)]
pub extern "C" fn outpost_trial(seed: u64, ticks: u32) -> u64 {
    aether_outpost_rules::trial(seed, ticks)
}
