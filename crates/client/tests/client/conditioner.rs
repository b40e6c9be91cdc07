//! The model of the network is the same in Rust and in the TypeScript SDK.

use aether_client::{Bandwidth, Conditioner, Conditions, Delivery};
use std::fmt::Write;
use std::time::Duration;

const GOLDEN: &str = include_str!("golden/conditioner.txt");
const PACKETS: u32 = 40;
/// Resolution of the compared times. Both sides compute with rounding errors far below it.
const RESOLUTION: Duration = Duration::from_micros(10);
/// Rounding errors that are tolerated.
const TOLERANCE: Duration = Duration::from_nanos(100);

/// Returns the arrivals of packets that are sent every 5 ms and grow by 20 bytes, in units of the resolution.
fn arrivals(conditions: Conditions, delivery: Delivery, seed: u64) -> Vec<Vec<u64>> {
    let mut conditioner = Conditioner::new(conditions, delivery, seed);
    let mut arrivals = vec![Vec::new(); PACKETS as usize];
    for number in 0..PACKETS {
        conditioner.push(Duration::from_millis(5) * number, number, 20 * (number as usize + 1));
    }
    for step in 0..200_000_u32 {
        while let Some(number) = conditioner.pop(RESOLUTION * step + TOLERANCE) {
            arrivals[number as usize].push(u64::from(step));
        }
    }
    assert_eq!(conditioner.under_way(), 0);
    arrivals
}

#[test]
fn the_arrivals_are_those_of_the_golden_file() {
    let mobile = Conditions { bandwidth: None, ..Conditions::MOBILE };
    let narrow = Bandwidth { bytes_per_second: 60_000, queue_bytes_max: 2_000 };
    let narrow = Conditions { bandwidth: Some(narrow), loss: 0.1, ..Conditions::PERFECT };
    let mut actual = String::new();
    for (number, conditions) in [mobile, Conditions::STORM, narrow].into_iter().enumerate() {
        for (delivery, name) in [(Delivery::Datagrams, "datagrams"), (Delivery::Stream, "stream")] {
            let seed = number as u64 + 7;
            let Conditions { latency, jitter, loss, duplication, reordering, bandwidth } = conditions;
            let bandwidth = bandwidth.unwrap_or(Bandwidth { bytes_per_second: 0, queue_bytes_max: 24_000 });
            let separator = if actual.is_empty() { "" } else { "\n" };
            writeln!(
                actual,
                r#"{separator}{{"delivery":"{name}","seed":{seed},"latencyMs":{},"jitterMs":{},"loss":{loss},"duplication":{duplication},"reordering":{reordering},"bytesPerSecond":{},"queueBytesMax":{}}}"#,
                latency.as_millis(),
                jitter.as_millis(),
                bandwidth.bytes_per_second,
                bandwidth.queue_bytes_max
            )
            .expect("writing to a text cannot fail");
            for times in arrivals(conditions, delivery, seed) {
                let times: Vec<String> = times.iter().map(u64::to_string).collect();
                let line = if times.is_empty() { "lost".to_owned() } else { times.join(" ") };
                writeln!(actual, "{line}").expect("writing to a text cannot fail");
            }
        }
    }
    assert!(actual == GOLDEN, "if the change of the model is intended, the golden file is now:\n{actual}");
}
