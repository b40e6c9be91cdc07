//! Runs the sandbox without a network: headless rooms with scripted players, recordings and replays.

use aether::engine::{ConnectionEndpoint, Observer, Random, RoomCounts, TickPacer, TickStage};
use aether::prelude::*;
use aether::wire::{ClientMessage, InputBytes, InputPayload, InputSeq, Inputs, PlaygroundStress, StateAck, ViewTick};
use aether_sandbox_rules::Controls;
use aether_sandbox_server::{NAME, Sandbox, settings};
use lexopt::{Arg, Parser, ValueExt};
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HELP: &str = "\
Runs the sandbox without a network.

  run     [--players N] [--seconds S] [--seed N]      runs a room with N scripted players; prints a line a second
  record  FILE [--players N] [--ticks N] [--seed N]   runs at full speed and writes a recording
  replay  FILE [--to-tick T]                          replays a recording, checks every tick's hash and prints the last
  golden  FILE                                        writes the hash of each tick of a fixed run, which tests compare

Without --seconds, `run` continues until it is interrupted.";

fn main() {
    if let Err(error) = command() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

/// Options of the command line.
#[derive(Default)]
struct Options {
    file: Option<PathBuf>,
    players: Option<u32>,
    seconds: Option<u64>,
    ticks: Option<u32>,
    to_tick: Option<u32>,
    seed: Option<u64>,
}

fn command() -> Result<(), Box<dyn Error>> {
    let mut parser = Parser::from_env();
    let mut name = None;
    let mut options = Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => {
                println!("{HELP}");
                return Ok(());
            }
            Arg::Long("players") => options.players = Some(parser.value()?.parse()?),
            Arg::Long("seconds") => options.seconds = Some(parser.value()?.parse()?),
            Arg::Long("ticks") => options.ticks = Some(parser.value()?.parse()?),
            Arg::Long("to-tick") => options.to_tick = Some(parser.value()?.parse()?),
            Arg::Long("seed") => options.seed = Some(parser.value()?.parse()?),
            Arg::Value(value) if name.is_none() => name = Some(value.string()?),
            Arg::Value(value) if options.file.is_none() => options.file = Some(value.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    if options.players.is_some_and(|players| players as usize > settings().players_max) {
        return Err(format!("--players is too large; a room has at most {} players", settings().players_max).into());
    }
    match name.as_deref() {
        Some("run") | None => run(&options),
        Some("record") => record(&options),
        Some("replay") => replay(&options),
        Some("golden") => golden(&options),
        Some(other) => Err(format!("unknown command `{other}`; try --help").into()),
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut room = Room::builder(Sandbox::default(), settings()).seed(options.seed.unwrap_or(1)).build()?;
    let mut pilots = Pilots::new(&room, options.players.unwrap_or(8));
    let start = Instant::now();
    let mut pacer = TickPacer::new(settings().tick_hz, settings().catch_up_max, Duration::ZERO);
    let mut timer = TickTimer::default();
    println!(
        "sandbox: {} players at {} ticks a second; press Ctrl-C to stop",
        pilots.endpoints.len(),
        settings().tick_hz
    );
    let mut printed = 0;
    while options.seconds.is_none_or(|seconds| start.elapsed().as_secs() < seconds) {
        std::thread::sleep(pacer.next().saturating_sub(start.elapsed()));
        for _ in 0..pacer.due(start.elapsed()).run {
            pilots.steer();
            room.tick(&mut timer);
            pilots.read();
        }
        let second = start.elapsed().as_secs();
        if second > printed {
            printed = second;
            timer.print(&room, pilots.take_bytes());
        }
    }
    Ok(())
}

fn golden(options: &Options) -> Result<(), Box<dyn Error>> {
    let file = options.file.as_ref().ok_or("golden needs an output file: golden FILE")?;
    std::fs::write(file, aether_sandbox_rules::turning_hashes())?;
    println!("wrote {} hashes to {}", aether_sandbox_rules::TURNING_TICKS, file.display());
    Ok(())
}

fn record(options: &Options) -> Result<(), Box<dyn Error>> {
    let file = options.file.as_ref().ok_or("record needs an output file: record FILE")?;
    let builder = Room::builder(Sandbox::default(), settings()).seed(options.seed.unwrap_or(1)).record(NAME);
    let mut room = builder.build()?;
    let mut pilots = Pilots::new(&room, options.players.unwrap_or(8));
    for _ in 0..options.ticks.unwrap_or(600) {
        pilots.steer();
        room.tick(&mut TickTimer::default());
        pilots.read();
    }
    let recording = room.recording().ok_or("the room was not recorded")?;
    let bytes = recording.to_bytes();
    std::fs::write(file, &bytes)?;
    println!("{} ticks, {} bytes, last hash {:016x}", recording.ticks(), bytes.len(), room.hash());
    Ok(())
}

fn replay(options: &Options) -> Result<(), Box<dyn Error>> {
    let file = options.file.as_ref().ok_or("replay needs an input file: replay FILE")?;
    let bytes = std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let recording = Recording::from_bytes(&bytes)?;
    if recording.game != NAME {
        return Err(format!("this is a recording of `{}`, not of `{NAME}`", recording.game).into());
    }
    let mut replay = Replay::new(Sandbox::default(), settings(), &recording)?;
    let last = Tick(options.to_tick.unwrap_or(recording.ticks()));
    if last == Tick::ZERO || last.0 > recording.ticks() {
        return Err(
            format!("the recording has ticks 1 to {}; choose one of them with --to-tick", recording.ticks()).into()
        );
    }
    match replay.run_to(last)? {
        Some((tick, hash)) => {
            println!(
                "tick {tick} of {}: {} entities, hash {hash:016x}",
                recording.ticks(),
                replay.room().world().len()
            );
        }
        None => println!("the recording has no ticks"),
    }
    Ok(())
}

/// Scripted players, each with its own endpoint.
struct Pilots {
    endpoints: Vec<ConnectionEndpoint>,
    controls: Vec<Controls>,
    random: Random,
    seq: InputSeq,
    bytes: usize,
}

impl Pilots {
    fn new(room: &Room<Sandbox>, count: u32) -> Pilots {
        let join = |number| {
            let permissions = Permissions { playground: number == 0, ..Permissions::default() };
            let request = JoinRequest {
                user: format!("pilot-{number}"),
                name: format!("Pilot {number}"),
                permissions,
                ..JoinRequest::default()
            };
            room.handle().join(request, DeliveryOrder::Ordered).ok()
        };
        let endpoints: Vec<ConnectionEndpoint> = (0..count).filter_map(join).collect();
        if let Some(first) = endpoints.first() {
            let stress = PlaygroundStress { count: 100, rotate: true, ..PlaygroundStress::default() };
            let _ = first.push(ClientMessage::PlaygroundStress(stress));
        }
        let controls = vec![Controls::default(); endpoints.len()];
        Pilots { endpoints, controls, random: Random::new(99), seq: InputSeq(0), bytes: 0 }
    }

    /// Sends inputs; every player changes course now and then.
    fn steer(&mut self) {
        self.seq.0 += 1;
        for (endpoint, controls) in self.endpoints.iter().zip(&mut self.controls) {
            if self.random.chance(5) {
                controls.thrust = self.random.chance(70);
                controls.left = self.random.chance(30);
                controls.right = self.random.chance(30);
                controls.fire = self.random.chance(40);
            }
            let mut writer = BitWriter::new();
            controls.write_full(&mut writer);
            let Some(bytes) = InputBytes::new(&writer.to_bytes()) else { continue };
            let payloads = vec![InputPayload::Packed(bytes)].into();
            let inputs = Inputs { first_seq: self.seq, payloads, ack: StateAck::NONE, view: ViewTick::default() };
            let _ = endpoint.push(ClientMessage::Inputs(inputs));
        }
    }

    /// Reads and discards everything that was sent.
    fn read(&mut self) {
        for endpoint in &self.endpoints {
            while endpoint.next_reliable().is_some() {}
            while let Some(packet) = endpoint.next_state() {
                self.bytes += packet.len();
                endpoint.recycle(packet);
            }
        }
    }

    fn take_bytes(&mut self) -> usize {
        std::mem::take(&mut self.bytes)
    }
}

/// Measures tick durations.
#[derive(Default)]
struct TickTimer {
    began: Option<Instant>,
    slowest: Duration,
    total: Duration,
    ticks: u32,
}

impl Observer for TickTimer {
    fn stage(&mut self, _tick: Tick, stage: TickStage) {
        if stage == TickStage::Receive {
            self.began = Some(Instant::now());
        }
    }

    fn tick_finished(&mut self, _tick: Tick, _counts: &RoomCounts) {
        if let Some(began) = self.began.take() {
            let took = began.elapsed();
            self.slowest = self.slowest.max(took);
            self.total += took;
            self.ticks += 1;
        }
    }
}

impl TickTimer {
    fn print(&mut self, room: &Room<Sandbox>, bytes: usize) {
        let mean = self.total / self.ticks.max(1);
        println!(
            "tick {:>6}  {} ticks/s  mean {mean:>9.1?}  slowest {:>9.1?}  {} entities  {:.1} kB/s a player  hash {:016x}",
            room.now(),
            self.ticks,
            self.slowest,
            room.world().len(),
            bytes as f64 / 1e3 / room.players().max(1) as f64,
            room.hash(),
        );
        *self = TickTimer::default();
    }
}
