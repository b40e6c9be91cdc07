//! Two processes exchange messages through rings, and for comparison through a Unix socket.
//!
//! `cargo run --release -p aether-rings --example echo` starts the second process by itself and prints round trip times
//! and messages a second.

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("rings need Linux");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use aether_rings::{BellEvent, RingEndpoint, RingListener, TrySendError, attach, create};
    use std::error::Error;
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::time::{Duration, Instant};

    const RING_BYTES: usize = 1 << 20;
    const MESSAGE_BYTES: usize = 100;
    const ROUND_TRIPS: usize = 20_000;
    const STREAMED: usize = 500_000;

    type Result<T> = std::result::Result<T, Box<dyn Error>>;

    pub fn main() -> Result<()> {
        let mut arguments = std::env::args_os().skip(1);
        if let Some(path) = arguments.next() {
            return echo(&PathBuf::from(path));
        }
        let path = std::env::temp_dir().join(format!("aether-echo-{}.sock", std::process::id()));
        let listener = RingListener::bind(&path)?;
        let socket_path = path.with_extension("plain");
        let socket = UnixListener::bind(&socket_path)?;
        let mut echo = Command::new(std::env::current_exe()?).arg(&path).spawn()?;
        let mut rings = create(listener.accept()?, RING_BYTES, 1, b"")?;
        println!("{MESSAGE_BYTES} bytes a message");
        report("rings", || round_trip_rings(&mut rings))?;
        println!("rings        {:>9.0} messages/s in one direction", stream_rings(&mut rings)?);
        drop(rings);
        let mut stream = socket.accept()?.0;
        std::fs::remove_file(&socket_path)?;
        report("unix socket", || round_trip_socket(&mut stream))?;
        println!("unix socket  {:>9.0} messages/s in one direction", stream_socket(&mut stream)?);
        drop(stream);
        echo.wait()?;
        Ok(())
    }

    /// The second process: answers every message with itself.
    fn echo(path: &Path) -> Result<()> {
        let mut rings = attach(path)?.endpoint;
        let mut message = Vec::new();
        while receive(&mut rings, &mut message)? {
            // The messages of the stream begin with 1 and have no answer, but the last.
            if message[0] != 1 {
                send(&mut rings, &message)?;
            }
        }
        let mut stream = UnixStream::connect(path.with_extension("plain"))?;
        let mut message = [0; MESSAGE_BYTES];
        while stream.read_exact(&mut message).is_ok() {
            if message[0] != 1 {
                stream.write_all(&message)?;
            }
        }
        Ok(())
    }

    /// Receives the next message. False if the other process has ended.
    fn receive(rings: &mut RingEndpoint, message: &mut Vec<u8>) -> Result<bool> {
        while !rings.receiver.receive(message)? {
            if rings.receiver.wait(None)? == BellEvent::Gone {
                return Ok(rings.receiver.receive(message)?);
            }
        }
        Ok(true)
    }

    /// Sends a message, and sleeps while the ring is full.
    fn send(rings: &mut RingEndpoint, message: &[u8]) -> Result<()> {
        loop {
            match rings.sender.try_send(&[message]) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full) => {
                    if rings.sender.wait_for_space(message.len())? && rings.receiver.wait(None)? == BellEvent::Gone {
                        return Err("the other process has ended".into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn round_trip_rings(rings: &mut RingEndpoint) -> Result<()> {
        send(rings, &[0; MESSAGE_BYTES])?;
        receive(rings, &mut Vec::with_capacity(MESSAGE_BYTES + 8))?;
        Ok(())
    }

    fn round_trip_socket(stream: &mut UnixStream) -> Result<()> {
        stream.write_all(&[0; MESSAGE_BYTES])?;
        Ok(stream.read_exact(&mut [0; MESSAGE_BYTES])?)
    }

    fn stream_rings(rings: &mut RingEndpoint) -> Result<f64> {
        let started = Instant::now();
        for _ in 0..STREAMED {
            send(rings, &[1; MESSAGE_BYTES])?;
        }
        round_trip_rings(rings)?;
        Ok(STREAMED as f64 / started.elapsed().as_secs_f64())
    }

    fn stream_socket(stream: &mut UnixStream) -> Result<f64> {
        let started = Instant::now();
        for _ in 0..STREAMED {
            stream.write_all(&[1; MESSAGE_BYTES])?;
        }
        round_trip_socket(stream)?;
        Ok(STREAMED as f64 / started.elapsed().as_secs_f64())
    }

    fn report(name: &str, mut round_trip: impl FnMut() -> Result<()>) -> Result<()> {
        let mut times = Vec::with_capacity(ROUND_TRIPS);
        for _ in 0..ROUND_TRIPS {
            let started = Instant::now();
            round_trip()?;
            times.push(started.elapsed());
        }
        times.sort_unstable();
        let micros = |share: f64| {
            let index = (times.len() as f64 * share) as usize;
            times.get(index).map_or(0.0, |time: &Duration| time.as_secs_f64() * 1e6)
        };
        println!("{name:<12} {:>9.1} µs round trip p50, {:.1} µs p99", micros(0.5), micros(0.99));
        Ok(())
    }
}
