//! The same world on every platform.

use aether_sandbox_rules::{TURNING_TICKS, turning_hash, turning_hashes};

#[test]
fn the_hash_of_every_tick_is_the_recorded_one() {
    let (found, recorded) = (turning_hashes(), include_str!("golden/turning-600.txt"));
    let first = found.lines().zip(recorded.lines()).position(|(found, recorded)| found != recorded);
    assert!(
        found == recorded,
        "line {} differs; the head of the file says how to record it again",
        first.unwrap_or(0) + 1
    );
    let last = found.lines().last().expect("the file has lines");
    assert_eq!(format!("{:016x}", turning_hash(TURNING_TICKS)), last, "the browser's machine computes the same");
}
