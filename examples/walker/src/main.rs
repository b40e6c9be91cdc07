//! Joins Outpost as a guest, walks in squares for some seconds, and prints what it sees.
//!
//! `cargo run -- http://127.0.0.1:7350 10`

use aether::prelude::*;
use aether_outpost_client::{Drawn, OutpostClient};
use aether_outpost_rules::Controls;
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Duration of a frame. A game with a window waits for its display instead.
const FRAME: Duration = Duration::from_micros(16_667);
/// Time for each side of the square.
const SIDE: Duration = Duration::from_millis(700);
/// Longest wait for the join.
const JOIN_TIME_MAX: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "http://127.0.0.1:7350".to_owned());
    let length = Duration::from_secs(arguments.next().map_or(Ok(10), |seconds| seconds.parse())?);

    let room = RoomSelector::Type { name: "outpost".to_owned(), label: None };
    let core = Client::new(
        OutpostClient::default(),
        ClientSettings::default(),
        JoinOptions { room: Some(room), ..JoinOptions::default() },
    );
    let settings = NativeClientSettings { tokens: TokenSource::guest(), ..NativeClientSettings::default() };
    let mut client = NativeClient::new(core, Connector::new(&address.parse()?), settings)?;

    join(&mut client)?;
    walk(&mut client, length);
    report(&client);
    client.leave();
    Ok(())
}

/// Runs frames until the player has an entity.
fn join(client: &mut NativeClient<OutpostClient>) -> Result<(), Box<dyn Error>> {
    let started_at = Instant::now();
    while client.client().own_state().is_none() {
        client.frame();
        print_events(client);
        let last_error = || client.last_error().map_or("the server does not answer".to_owned(), ToString::to_string);
        match client.client().phase() {
            ClientPhase::Closed(reason) => return Err(format!("the join failed: {reason:?}").into()),
            _ if started_at.elapsed() > JOIN_TIME_MAX => return Err(last_error().into()),
            _ => std::thread::sleep(FRAME),
        }
    }
    Ok(())
}

/// Walks in squares. The loop never waits for the network.
fn walk(client: &mut NativeClient<OutpostClient>, length: Duration) {
    let started_at = Instant::now();
    let mut side_before = u128::MAX;
    while started_at.elapsed() < length && !matches!(client.client().phase(), ClientPhase::Closed(_)) {
        let side = started_at.elapsed().as_millis() / SIDE.as_millis();
        let push = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]][(side % 4) as usize];
        client.client_mut().set_input(Controls { push, ..Controls::default() });
        client.frame();
        print_events(client);
        if side != side_before {
            side_before = side;
            print_positions(client);
        }
        std::thread::sleep(FRAME);
    }
}

/// Prints the events since the last frame.
fn print_events(client: &mut NativeClient<OutpostClient>) {
    let transport = client.transport().map_or("nothing", |transport| transport.name());
    for event in client.client_mut().events() {
        match event {
            ClientEvent::Joined { welcome, resumed } => {
                let verb = if resumed { "resumed" } else { "joined" };
                println!("{verb}: player {} of room {}, over {transport}", welcome.player.0, welcome.room_code);
            }
            ClientEvent::Lost => println!("connection lost, reconnecting"),
            ClientEvent::Closed(reason) => println!("closed: {reason:?}"),
            _ => {}
        }
    }
}

/// Prints the positions of all players, as a game would draw them.
fn print_positions(client: &NativeClient<OutpostClient>) {
    let Some(Drawn(own)) = client.client().own_state() else { return };
    let others: Vec<_> = client.client().remote_entities().map(|(_, Drawn(other))| other.position).collect();
    println!("at {:.1?}, sees {} players: {others:.1?}", own.position, others.len());
}

fn report(client: &NativeClient<OutpostClient>) {
    let stats = client.client().stats();
    println!("inputs          {}", stats.inputs);
    println!("corrections     {}, the largest {:.2}", stats.corrections, stats.correction_size_max);
    println!("round trip      {:.1?}, jitter {:.1?}", stats.round_trip.unwrap_or_default(), stats.jitter);
    println!("state packets   {}, late {}", stats.packets, stats.packets_late);
    println!("bytes           {} in, {} out", stats.bytes_in, stats.bytes_out);
    println!("disconnects     {}", stats.disconnects);
}
