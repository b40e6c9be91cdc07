//! The workload of the benchmark `udp`, for our transport and for peers. `peers/udp` includes this file.
//!
//! The server sends every message back. The clients are in the load process, on its own core; only the server's CPU time
//! is measured.

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::forwarder::{Forwarder, Traffic};
use super::process::ServerProcess;
use super::report::{Latency, Overhead, Report, Throughput};

/// Result of a step of the benchmark.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Bytes of a message.
pub const MESSAGE_BYTES: usize = 256;
/// Messages that a client sends at once when they may share packets.
pub const BURST: usize = 16;
/// Share of datagrams lost in each direction in the second latency run.
pub const LOSS: f64 = 0.05;
/// Delay of the path in each direction in latency runs.
pub const PATH_DELAY: Duration = Duration::from_millis(10);
/// Interval of a client's sends in latency and overhead runs.
const INTERVAL: Duration = Duration::from_millis(20);
/// Time after which a message that has not come back is given up.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time in which all clients must have connected.
const CONNECT_PATIENCE: Duration = Duration::from_secs(20);
/// Pause of the load when nothing is to do, so that the forwarder on the same core gets its turn.
const PAUSE: Duration = Duration::from_micros(100);

/// Sizes of a run.
#[derive(Clone, Copy)]
pub struct Size {
    /// Clients in throughput runs.
    pub clients: usize,
    /// Clients in latency and overhead runs.
    pub paced_clients: usize,
    /// Duration of each measurement.
    pub measured: Duration,
}

impl Size {
    /// Sizes of a full run, or of a short one that only shows that everything works.
    pub fn new(is_short: bool) -> Size {
        match is_short {
            true => Size { clients: 8, paced_clients: 4, measured: Duration::from_millis(300) },
            false => Size { clients: 32, paced_clients: 16, measured: Duration::from_secs(3) },
        }
    }
}

/// Connected clients of a library.
pub trait Clients {
    /// Queues a message of one client. Returns false if the library cannot take it now.
    fn send(&mut self, client: usize, message: &[u8]) -> Outcome<bool>;
    /// Sends what is due and passes on what came, without waiting for long.
    fn turn(&mut self, take: &mut dyn FnMut(usize, &[u8])) -> Outcome;
    /// Returns true if every client is connected.
    fn are_connected(&mut self) -> bool;
    /// Packets that all clients have sent and received, if the library counts them.
    fn packets(&self) -> Option<Traffic>;
}

/// A library under test.
pub trait Library {
    /// Its name in the report.
    fn name(&self) -> String;
    /// Starts its echo server on the server's core.
    fn start(&self) -> Outcome<ServerProcess>;
    /// Begins to connect clients to `server` through `via`, which is the server itself or a forwarder to it.
    fn connect(&self, server: SocketAddr, via: SocketAddr, count: usize) -> Outcome<Box<dyn Clients>>;
    /// True if the library delivers lost messages again.
    fn is_reliable(&self) -> bool;
}

/// Measures a library.
pub fn measure(library: &dyn Library, size: Size) -> Outcome<Report> {
    let (latency, overhead_single) = paced(library, size, 1, 0.0)?;
    Ok(Report {
        name: library.name(),
        single: throughput(library, size, 1)?.0,
        burst: throughput(library, size, BURST)?.0,
        latency,
        // A lost unreliable message has no latency.
        lossy: if library.is_reliable() { Some(paced(library, size, 1, LOSS)?.0) } else { None },
        overhead_single,
        overhead_burst: paced(library, size, BURST, 0.0)?.1,
    })
}

/// Measures the CPU time of the server while every client always has one burst under way.
///
/// Also returns the packets from and to all clients, if the library counts them.
pub fn throughput(library: &dyn Library, size: Size, burst: usize) -> Outcome<(Throughput, Option<Traffic>)> {
    let server = library.start()?;
    let mut clients = library.connect(server.address, server.address, size.clients)?;
    connect_all(&mut *clients)?;
    let mut run = Rounds { count: size.clients, burst, echoed: 0, lost: 0, round: 0 };
    // The first rounds fill the congestion windows.
    run.until(&mut *clients, Instant::now() + size.measured / 4)?;
    (run.echoed, run.lost) = (0, 0);
    let (cpu, traffic, began) = (server.cpu_seconds()?, clients.packets(), Instant::now());
    run.until(&mut *clients, began + size.measured)?;
    let traffic = clients.packets().zip(traffic).map(|(after, before)| after.since(before));
    let throughput = Throughput {
        echoed: run.echoed,
        lost: run.lost,
        wall_seconds: began.elapsed().as_secs_f64(),
        cpu_seconds: server.cpu_seconds()? - cpu,
    };
    Ok((throughput, traffic))
}

fn connect_all(clients: &mut dyn Clients) -> Outcome {
    let began = Instant::now();
    while !clients.are_connected() {
        clients.turn(&mut |_, _| {})?;
        if began.elapsed() > CONNECT_PATIENCE {
            return Err("the clients could not connect".into());
        }
    }
    Ok(())
}

/// Rounds in which every client sends a burst and waits for its echo.
struct Rounds {
    count: usize,
    burst: usize,
    echoed: u64,
    lost: u64,
    round: u32,
}

impl Rounds {
    fn until(&mut self, clients: &mut dyn Clients, end: Instant) -> Outcome {
        while Instant::now() < end {
            self.play(clients)?;
        }
        Ok(())
    }

    fn play(&mut self, clients: &mut dyn Clients) -> Outcome {
        self.round += 1;
        let round = self.round;
        let mut message = [7; MESSAGE_BYTES];
        message[..4].copy_from_slice(&round.to_le_bytes());
        let mut waiting = 0;
        for client in 0..self.count {
            for _ in 0..self.burst {
                waiting += usize::from(clients.send(client, &message)?);
            }
        }
        let sent = waiting;
        let began = Instant::now();
        while waiting > 0 && began.elapsed() < PATIENCE {
            clients.turn(&mut |_, echo| {
                // Echoes of a round that was given up do not count.
                waiting -= usize::from(waiting > 0 && echo.len() == MESSAGE_BYTES && echo[..4] == round.to_le_bytes());
            })?;
        }
        self.echoed += (sent - waiting) as u64;
        self.lost += (self.count * self.burst - sent + waiting) as u64;
        Ok(())
    }
}

/// Measures latency and bytes while every client sends a burst at a fixed interval, over a path with delay and loss.
fn paced(library: &dyn Library, size: Size, burst: usize, loss: f64) -> Outcome<(Latency, Overhead)> {
    let server = library.start()?;
    let forwarder = Forwarder::start(server.address, PATH_DELAY)?;
    let mut clients = library.connect(server.address, forwarder.address(), size.paced_clients)?;
    connect_all(&mut *clients)?;
    let mut run = Paced { began: Instant::now(), count: size.paced_clients, burst, times: Vec::new(), sent: 0 };
    run.until(&mut *clients, Instant::now() + size.measured / 4, false)?;
    forwarder.set_loss(loss);
    run.times.clear();
    run.sent = 0;
    let before = forwarder.traffic();
    run.until(&mut *clients, Instant::now() + size.measured, false)?;
    let traffic = forwarder.traffic().since(before);
    // What is still under way comes back, resent if need be.
    run.until(&mut *clients, Instant::now() + PATIENCE * 4, true)?;
    let messages = 2 * run.sent;
    Ok((Latency::new(run.times), Overhead { traffic, messages }))
}

/// Clients that send at a fixed interval.
struct Paced {
    began: Instant,
    count: usize,
    burst: usize,
    times: Vec<Duration>,
    sent: u64,
}

impl Paced {
    /// Runs until `end`. While draining, nothing is sent and the run ends when all has come back.
    fn until(&mut self, clients: &mut dyn Clients, end: Instant, is_draining: bool) -> Outcome {
        let step = INTERVAL / self.count as u32;
        let (mut due, mut next_client) = (Instant::now(), 0);
        let mut message = [7; MESSAGE_BYTES];
        while Instant::now() < end && !(is_draining && self.times.len() as u64 >= self.sent) {
            while !is_draining && due <= Instant::now() {
                message[..8].copy_from_slice(&(self.began.elapsed().as_nanos() as u64).to_le_bytes());
                for _ in 0..self.burst {
                    self.sent += u64::from(clients.send(next_client, &message)?);
                }
                next_client = (next_client + 1) % self.count;
                due += step;
            }
            let (began, times) = (self.began, &mut self.times);
            let before = times.len();
            clients.turn(&mut |_, echo| {
                if let Some(sent) = echo.first_chunk().map(|bytes| Duration::from_nanos(u64::from_le_bytes(*bytes))) {
                    times.push(began.elapsed().saturating_sub(sent));
                }
            })?;
            if times.len() == before {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }
}
