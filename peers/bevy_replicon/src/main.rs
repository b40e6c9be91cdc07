//! Runs bevy_replicon on the workloads of Aether's own replication benchmarks.
//!
//! `cargo run --release -- <workload>` prints the workload, the measurements, and as its last line
//! `peer <workload>: <value> <unit> (bevy_replicon <version>)`.

mod session;

use std::{process::ExitCode, time::Duration};

use session::{Session, Shape, Tick};

/// Source of the built versions, because neither crate exports its own.
const LOCK_FILE: &str = include_str!("../Cargo.lock");

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let result = match name.as_str() {
        "replicate-dense" => replicate_dense(),
        "replicate-idle" => replicate_idle(),
        "bytes" => bytes(),
        _ => {
            eprintln!("expected one workload: replicate-dense, replicate-idle or bytes");
            return ExitCode::FAILURE;
        }
    };
    println!("built with bevy {}, one thread", locked_version("bevy"));
    println!("peer {name}: {result} (bevy_replicon {})", locked_version("bevy_replicon"));
    ExitCode::SUCCESS
}

fn replicate_dense() -> String {
    let shape = Shape { entities: 5_000, clients: 100, late_clients: 50, changes_per_tick: 500 };
    update_time_ms(shape, 50, 300)
}

fn replicate_idle() -> String {
    let shape = Shape { entities: 10_000, clients: 20, late_clients: 10, changes_per_tick: 1 };
    update_time_ms(shape, 100, 1_000)
}

fn bytes() -> String {
    let acknowledged_at_once = Shape { entities: 5_000, clients: 100, late_clients: 0, changes_per_tick: 500 };
    let result = bytes_per_change(acknowledged_at_once);
    let half_late = bytes_per_change(Shape { late_clients: 50, ..acknowledged_at_once });
    println!("five f32 fields by the default serializer; its usual form does not quantize");
    println!("message headers and entity ids are counted, transport headers are not");
    println!("every client acknowledges at once, so that nothing is sent twice: {result:.2} B");
    println!("half of the clients acknowledge a tick later, resends counted: {half_late:.2} B");
    format!("{result:.2} B/update")
}

/// Measures and prints the time of the server's update. Returns the median.
fn update_time_ms(shape: Shape, warm_up_ticks: usize, measured_ticks: usize) -> String {
    println!("{shape}");
    let ticks = measure(shape, warm_up_ticks, measured_ticks);
    let mut times: Vec<Duration> = ticks.iter().map(|tick| tick.server_time).collect();
    times.sort_unstable();
    let quantile_ms = |quantile: f64| {
        let index = (quantile * (times.len() - 1) as f64).round() as usize;
        times[index].as_secs_f64() * 1_000.0
    };
    println!(
        "server's update over {measured_ticks} ticks: median {:.3} ms, p90 {:.3} ms, least {:.3} ms",
        quantile_ms(0.5),
        quantile_ms(0.9),
        quantile_ms(0.0),
    );
    format!("{:.3} ms", quantile_ms(0.5))
}

/// Bytes sent for one changed entity to one client.
fn bytes_per_change(shape: Shape) -> f64 {
    println!("{shape}");
    let ticks = measure(shape, 20, 100);
    let bytes_sent: usize = ticks.iter().map(|tick| tick.bytes_sent).sum();
    let changes = ticks.len() * shape.changes_per_tick * shape.clients;
    bytes_sent as f64 / changes as f64
}

fn measure(shape: Shape, warm_up_ticks: usize, measured_ticks: usize) -> Vec<Tick> {
    let mut session = Session::start(shape);
    for _ in 0..warm_up_ticks {
        session.tick();
    }
    let ticks = (0..measured_ticks).map(|_| session.tick()).collect();
    session.assert_clients_agree();
    ticks
}

fn locked_version(package: &str) -> &'static str {
    LOCK_FILE
        .split("[[package]]")
        .find_map(|entry| {
            let (_, rest) = entry.split_once(&format!("name = \"{package}\"\nversion = \""))?;
            rest.split('"').next()
        })
        .expect("the lock file names every dependency")
}
