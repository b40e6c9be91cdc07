//! Memory of the server per idle client.

use crate::child::Server;
use crate::result::print_result;
use crate::swarm::{JoiningClient, Swarm};
use crate::{Length, Outcome};
use std::time::{Duration, Instant};

const CLIENTS: usize = 9_000;
const PER_ROOM: usize = 300;
const KILOBYTES_MAX: f64 = 20.0;

pub fn run(length: Length) -> Outcome {
    let clients = length.pick(CLIENTS, 300);
    println!("{clients} idle WebSocket clients, no TLS, each with its own account.");
    let relay = memory("relay", clients, length)?;
    println!("relay rooms of {PER_ROOM}: {relay:.1} kB each");
    let sandbox = memory("sandbox", clients, length)?;
    println!("sandbox rooms of {PER_ROOM}, each client with a resting ship: {sandbox:.1} kB each");
    print_result("connections-relay", relay, "kB each", "20 kB or less", relay <= KILOBYTES_MAX);
    print_result("connections", sandbox, "kB each", "20 kB or less", sandbox <= KILOBYTES_MAX);
    Ok(())
}

/// Kilobytes per client in a room of this type.
fn memory(room_type: &str, clients: usize, length: Length) -> Outcome<f64> {
    let settings = [
        format!("connections.max={}", CLIENTS + 100),
        "connections.idle_seconds=600".to_owned(),
        format!("room.{room_type}.players_max={PER_ROOM}"),
    ];
    let server = Server::aether(&settings)?;
    let tokens = server.tokens(clients)?;
    let before = server.memory_bytes()?;
    let mut swarm = Swarm::new()?;
    let client = |(number, token): (usize, &String)| {
        JoiningClient::new(token, room_type, Some(format!("room-{}", number / PER_ROOM)))
    };
    swarm.join(server.http, tokens.iter().enumerate().map(client).collect::<Outcome<_>>()?)?;
    let end = Instant::now() + Duration::from_millis(length.pick(3_000, 500));
    while Instant::now() < end {
        swarm.poll(end, &mut |_, _| {})?;
    }
    if swarm.lost > 0 {
        return Err(format!("{} clients were closed", swarm.lost).into());
    }
    Ok((server.memory_bytes()? - before) as f64 / clients as f64 / 1e3)
}
