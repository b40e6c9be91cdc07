//! Whole runs from one seed.

use aether_testkit::Simulation;

/// Seeds that once failed or found a bug. They are always run.
const KEPT_SEEDS: &[u64] = &[];

fn run(seed: u64) {
    if let Err(failure) = Simulation::new(seed).run() {
        panic!("{failure}\n{}", failure.journal.join("\n"));
    }
}

#[test]
fn clients_agree_after_the_storm() {
    (1_000..1_030).for_each(run);
}

#[test]
fn what_failed_before_does_not_fail_again() {
    KEPT_SEEDS.iter().copied().for_each(run);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    assert_eq!(Simulation::new(5).run(), Simulation::new(5).run());
}
