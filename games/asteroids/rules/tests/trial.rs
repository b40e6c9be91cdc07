//! The same game on every platform.

use aether_asteroids_rules::trial;

/// Hash that every platform must find.
const HASH: u64 = 0x05ac_ab65_409f_2076;

#[test]
fn ten_thousand_ticks_lead_to_the_pinned_hash() {
    let hash = trial(20_260_101, 10_000);
    println!("asteroids {hash:016x}");
    assert_eq!(hash, HASH, "the rules or the packing of state changed: {hash:#018x}");
}

#[test]
fn another_seed_is_another_game() {
    assert_ne!(trial(1, 200), trial(2, 200));
    assert_ne!(trial(1, 200), trial(1, 201));
}
