//! renet and quinn on the workload of `aether-bench udp`, which starts this program.
//!
//! `peer-udp <server core> [--short] [library...]` prints one line of figures per library.

#[path = "../../../crates/bench/src/udp/forwarder.rs"]
mod forwarder;
#[path = "../../../crates/bench/src/udp/process.rs"]
mod process;
#[path = "../../../crates/bench/src/udp/report.rs"]
mod report;
#[path = "../../../crates/bench/src/udp/workload.rs"]
mod workload;

mod quic;
mod renet_library;

use std::net::UdpSocket;
use std::process::ExitCode;

use mimalloc::MiMalloc;

use crate::quic::Quic;
use crate::renet_library::Renet;
use crate::report::Figures;
use crate::workload::{Library, Outcome, Size};

/// The allocator of the product's benchmarks.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Bytes of a server's socket buffers, as those of our server.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome {
    let first = arguments.first().ok_or("name the core of the server")?;
    match first.as_str() {
        renet_library::SERVE => return renet_library::serve(argument(arguments, 1)?.parse()?),
        quic::SERVE_DATAGRAMS | quic::SERVE_STREAMS => {
            return quic::serve(first == quic::SERVE_STREAMS, argument(arguments, 1)?, argument(arguments, 2)?);
        }
        _ => {}
    }
    let server_core = first.parse().map_err(|_| format!("`{first}` is not the number of a core"))?;
    let size = Size::new(arguments.iter().any(|argument| argument == "--short"));
    let libraries: [&dyn Library; 4] = [
        &Renet { server_core, is_reliable: true, clients_max: size.clients },
        &Quic::new(server_core, true)?,
        &Renet { server_core, is_reliable: false, clients_max: size.clients },
        &Quic::new(server_core, false)?,
    ];
    let chosen: Vec<&String> = arguments[1..].iter().filter(|argument| !argument.starts_with("--")).collect();
    for library in libraries {
        if chosen.is_empty() || chosen.iter().any(|name| library.name().starts_with(*name)) {
            let report = workload::measure(library, size)?;
            let (single, burst) = (report.single.busy_percent(), report.burst.busy_percent());
            eprintln!("{}: server {single:.0} % busy, {burst:.0} % in bursts", report.name);
            println!("{}", line(&report.figures()));
        }
    }
    Ok(())
}

/// Line that `aether-bench udp --peers` reads: nine numbers, then the name.
fn line(figures: &Figures) -> String {
    let numbers = [
        figures.single_per_core,
        figures.burst_per_core,
        figures.p50_ms,
        figures.p99_ms,
        figures.lossy_p50_ms,
        figures.lossy_p99_ms,
        figures.overhead_single,
        figures.overhead_burst,
        figures.lost,
    ];
    format!("figures {} {}", numbers.map(|number| number.to_string()).join(" "), figures.name)
}

fn argument(arguments: &[String], index: usize) -> Outcome<&str> {
    Ok(arguments.get(index).ok_or("an argument of the server is missing")?)
}

/// Binds the socket of a server, with the buffers of our server.
fn bind_server() -> Outcome<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let options = socket2::SockRef::from(&socket);
    options.set_recv_buffer_size(SOCKET_BUFFER_BYTES)?;
    options.set_send_buffer_size(SOCKET_BUFFER_BYTES)?;
    Ok(socket)
}
