//! Joins Outpost as a guest, walks in squares for some seconds, and tells what it sees.
//!
//! `cargo run -- http://127.0.0.1:7350 10`

use aether::prelude::*;
use aether_outpost_client::{Drawn, Outpost};
use aether_outpost_rules::Controls;
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A frame of a display. A game with a window waits for its display instead.
const FRAME: Duration = Duration::from_micros(16_667);
/// How long each side of the square takes.
const SIDE: Duration = Duration::from_millis(700);
/// How long the server may take to let the walker in.
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
    let client =
        Client::new(Outpost::default(), ClientSettings::default(), JoinOptions { token: None, room: Some(room) });
    let settings = NativeClientSettings { tokens: TokenSource::guest(), ..NativeClientSettings::default() };
    let mut shell = NativeClient::new(client, Connector::new(&address.parse()?), settings)?;

    join(&mut shell)?;
    walk(&mut shell, length);
    report(&shell);
    shell.leave();
    Ok(())
}

/// Plays frames until the player has a body.
fn join(shell: &mut NativeClient<Outpost>) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    while shell.client().own_state().is_none() {
        shell.frame();
        tell(shell);
        let trouble = || shell.last_error().map_or("the server does not answer".to_owned(), ToString::to_string);
        match shell.client().phase() {
            ClientPhase::Closed(ended) => return Err(format!("the server did not let the walker in: {ended:?}").into()),
            _ if began.elapsed() > JOIN_TIME_MAX => return Err(trouble().into()),
            _ => std::thread::sleep(FRAME),
        }
    }
    Ok(())
}

/// Walks in squares. The loop never waits for the network: each frame takes in what is there.
fn walk(shell: &mut NativeClient<Outpost>, length: Duration) {
    let began = Instant::now();
    let mut side_before = u128::MAX;
    while began.elapsed() < length && !matches!(shell.client().phase(), ClientPhase::Closed(_)) {
        let side = began.elapsed().as_millis() / SIDE.as_millis();
        let push = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]][(side % 4) as usize];
        shell.client_mut().set_input(Controls { push, ..Controls::default() });
        shell.frame();
        tell(shell);
        if side != side_before {
            side_before = side;
            look(shell);
        }
        std::thread::sleep(FRAME);
    }
}

/// Tells what happened since the last frame.
fn tell(shell: &mut NativeClient<Outpost>) {
    let transport = shell.transport().map_or("nothing", |transport| transport.name());
    for event in shell.client_mut().events() {
        match event {
            ClientEvent::Joined { welcome, resumed } => {
                let how = if resumed { "back" } else { "in" };
                println!("{how}: player {} of room {}, over {transport}", welcome.player.0, welcome.room_code);
            }
            ClientEvent::Lost => println!("the connection is lost, and is made anew"),
            ClientEvent::Closed(ended) => println!("over: {ended:?}"),
            _ => {}
        }
    }
}

/// Tells where everyone is, as a game would draw it.
fn look(shell: &NativeClient<Outpost>) {
    let Some(Drawn(own)) = shell.client().own_state() else { return };
    let others: Vec<_> = shell.client().remote_entities().map(|(_, Drawn(other))| other.position).collect();
    println!("at {:.1?}, and sees {} others: {others:.1?}", own.position, others.len());
}

fn report(shell: &NativeClient<Outpost>) {
    let stats = shell.client().stats();
    println!("inputs          {}", stats.inputs);
    println!("corrections     {}, the largest {:.2}", stats.corrections, stats.correction_size_max);
    println!("round trip      {:.1?}, jitter {:.1?}", stats.round_trip.unwrap_or_default(), stats.jitter);
    println!("state packets   {}, late {}", stats.packets, stats.packets_late);
    println!("bytes           {} in, {} out", stats.bytes_in, stats.bytes_out);
    println!("lost            {} times", stats.disconnects);
}
