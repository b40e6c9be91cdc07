//! Cost of a ranking of a million records: writing a score, reading a rank, listing the records around an owner.
//!
//! Owners and scores are random, so that caches hardly help. Every record is written once more before the measurement, so
//! that memory is no longer in the order of construction.

use std::hint::black_box;
use std::time::{Duration, Instant};

use aether_ranks::{RankOrder, RankOwner, Ranking, Score};

const RECORDS: usize = 1_000_000;
const RECORDS_SHORT: usize = 20_000;
const OPERATIONS: usize = 500_000;
const OPERATIONS_SHORT: usize = 10_000;
/// Operations per measurement, because reading the clock takes a good part of such a short time.
const BATCH: usize = 16;
/// Number of records listed around an owner.
const AROUND: usize = 21;
/// Scores are below this, so that a hundred owners share a score and the subscore decides.
const SCORE_END: u64 = 10_000;
const SUBSCORE_END: u64 = 1_000;
const AIM: Duration = Duration::from_micros(10);
const SEED: u64 = 1;

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let (records, operations) = if short { (RECORDS_SHORT, OPERATIONS_SHORT) } else { (RECORDS, OPERATIONS) };
    let mut random = Random(SEED);
    println!(
        "{records} records; random owners, random scores; {operations} of each operation in batches of {BATCH}, one thread"
    );
    let (owners, mut ranking) = build(records, &mut random);
    for owner in &owners {
        ranking.set(*owner, random.score());
    }
    println!("memory: {:.1} B per record", ranking.memory_bytes() as f64 / records as f64);

    let write = measure("write and new rank", operations, || {
        let (owner, score) = (random.pick(&owners), random.score());
        ranking.set(owner, score)
    });
    let rank = measure("rank of an owner", operations, || ranking.rank(random.pick(&owners)).unwrap_or(0));
    let around = measure(&format!("{AROUND} around an owner"), operations, || {
        let around = ranking.around(random.pick(&owners), AROUND);
        around.into_iter().flatten().map(|record| record.rank ^ record.score.score as u64).sum()
    });
    let worst = write.max(rank).max(around);
    println!(
        "rank: {:.2} µs, aim under {} µs: {}",
        microseconds(worst),
        AIM.as_micros(),
        if worst < AIM { "met" } else { "missed" },
    );
}

/// Builds the ranking in bulk and one by one, prints the times, and returns the second.
fn build(records: usize, random: &mut Random) -> (Vec<RankOwner>, Ranking) {
    let owners: Vec<RankOwner> = (0..records).map(|_| random.owner()).collect();
    let scored: Vec<(RankOwner, Score)> = owners.iter().map(|owner| (*owner, random.score())).collect();
    let start = Instant::now();
    let bulk = Ranking::from_records(RankOrder::Descending, scored.iter().copied());
    let bulk_time = start.elapsed();
    let start = Instant::now();
    let mut single = Ranking::new(RankOrder::Descending);
    for (owner, score) in scored {
        single.set(owner, score);
    }
    println!(
        "built at once: {:.0} ms, {:.1} B per record; one by one: {:.0} ms",
        microseconds(bulk_time) / 1e3,
        bulk.memory_bytes() as f64 / records as f64,
        microseconds(start.elapsed()) / 1e3,
    );
    assert!(bulk.range(1, usize::MAX).eq(single.range(1, usize::MAX)), "both rankings are equal");
    (owners, single)
}

/// Runs an operation many times, prints the times, and returns the median.
fn measure(name: &str, operations: usize, mut operation: impl FnMut() -> u64) -> Duration {
    let batches = operations / BATCH;
    let mut times: Vec<Duration> = (0..batches)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..BATCH {
                black_box(operation());
            }
            start.elapsed() / BATCH as u32
        })
        .collect();
    times.sort_unstable();
    println!(
        "{name}: median {:.2} µs, p99 {:.2} µs, maximum {:.0} µs",
        microseconds(times[batches / 2]),
        microseconds(times[batches * 99 / 100]),
        microseconds(times[batches - 1]),
    );
    times[batches / 2]
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// A small random generator, so that every run has the same records.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn owner(&mut self) -> RankOwner {
        RankOwner::from(u128::from(self.next()) << 64 | u128::from(self.next()))
    }

    fn score(&mut self) -> Score {
        let (score, subscore) = (self.next() % SCORE_END, self.next() % SUBSCORE_END);
        Score { score: score as i64, subscore: subscore as i64 }
    }

    fn pick(&mut self, owners: &[RankOwner]) -> RankOwner {
        owners[self.next() as usize % owners.len()]
    }
}
