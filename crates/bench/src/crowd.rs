//! Many players in one room with full visibility: CPU time compared with a minimal server that sends the same bytes.

use crate::child::{self, Server};
use crate::games::{CROWD, CROWD_HZ, CROWD_MAX, CROWD_NEAREST, NEAREST_MAX, Steps, Walker};
use crate::result::print_result;
use crate::swarm::{JoiningClient, SendSchedule, Swarm, encoded};
use crate::{Length, Outcome};
use aether_bits::Random;
use aether_bits::{BitWriter, Replicate};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::{
    ClientMessage, InputBytes, InputPayload, InputSeq, Inputs, ServerMessage, Snapshot, StateAck, ViewTick,
};
use std::time::{Duration, Instant};

/// Number of players in a full run: as many as the room accepts.
const PLAYERS: usize = CROWD_MAX;
/// Mean number of equal inputs in a row.
const INPUTS_HELD: u32 = 8;
/// Rounds in a full run. Each measures both servers, so that both see the same load of other programs.
const ROUNDS: usize = 3;
const RATIO_MAX: f64 = 1.5;
const KILOBYTES_MAX: f64 = 60.0;
const KILOBYTES_NEAREST_MAX: f64 = 10.0;

/// Result of a run.
struct Measured {
    /// CPU time in percent of a core.
    server: f64,
    load: f64,
    /// Per client and second, with framing.
    bytes: f64,
    /// Per client and second.
    messages: f64,
    /// CPU time of the server per packet that a client received.
    server_per_packet_us: f64,
}

/// View of the first client, which applies all state like a real client.
#[derive(Default)]
struct FirstClient {
    mirror: Option<Mirror>,
    snapshots: u64,
    updates: u64,
    undecodable: u64,
}

pub fn run(length: Length) -> Outcome {
    let players = length.pick(PLAYERS, 50);
    println!("{players} players in one room, inputs and state {CROWD_HZ} times per second, over WebSocket.");
    println!("All players move all the time: position at 1 cm, velocity at 1 cm/s, 8-bit heading.");
    println!("\n                     server   load   kB/s per client   packets/s   CPU per packet");
    let (mut ratios, mut kilobytes) = (Vec::new(), 0.0_f64);
    for _ in 0..length.pick(ROUNDS, 1) {
        let (everyone, first_client) = play(CROWD, players, length)?;
        show("all visible", &everyone);
        first_client.check(players)?;
        let bare = play_bare(&everyone, players, length)?;
        show("minimal server", &bare);
        ratios.push(everyone.server / bare.server);
        kilobytes = kilobytes.max(everyone.bytes / 1e3);
    }
    let (nearest, _) = play(CROWD_NEAREST, players, length)?;
    show(&format!("nearest {NEAREST_MAX} visible"), &nearest);
    let kilobytes_nearest = nearest.bytes / 1e3;
    print_result("crowd-bytes", kilobytes, "kB/s", "under 60 kB/s", kilobytes < KILOBYTES_MAX);
    let met = kilobytes_nearest < KILOBYTES_NEAREST_MAX;
    print_result("crowd-nearest-bytes", kilobytes_nearest, "kB/s", "under 10 kB/s", met);
    ratios.sort_unstable_by(f64::total_cmp);
    let ratio = ratios[ratios.len() / 2];
    let unit = "times the CPU time of the minimal server";
    print_result("crowd", ratio, unit, "1.5 times or less", ratio <= RATIO_MAX);
    Ok(())
}

/// Measures the minimal server with the same bytes in the same number of packets.
fn play_bare(like: &Measured, players: usize, length: Length) -> Outcome<Measured> {
    let hertz = f64::from(CROWD_HZ);
    let arguments =
        [format!("--bytes={:.0}", like.bytes / hertz), format!("--packets={:.0}", (like.messages / hertz).max(1.0))];
    let server = Server::bare(&["bare-crowd".to_owned()].into_iter().chain(arguments).collect::<Vec<_>>())?;
    let mut nothing = FirstClient::default();
    let mut swarm = connect_players(&server, None, players, &mut nothing)?;
    measure(&mut swarm, &server, length, &mut nothing)
}

fn play(room_type: &str, players: usize, length: Length) -> Outcome<(Measured, FirstClient)> {
    let server = Server::games(&["webtransport.enabled=false".to_owned()])?;
    let mut first_client = FirstClient::default();
    let mut swarm = connect_players(&server, Some(room_type), players, &mut first_client)?;
    let measured = measure(&mut swarm, &server, length, &mut first_client)?;
    Ok((measured, first_client))
}

/// Connects players to a room, or to the minimal server.
fn connect_players(
    server: &Server,
    room_type: Option<&str>,
    players: usize,
    first_client: &mut FirstClient,
) -> Outcome<Swarm> {
    let joining = match room_type {
        None => (0..players).map(|_| JoiningClient::bare()).collect(),
        Some(room_type) => {
            let tokens = server.tokens(players)?;
            tokens.iter().map(|token| JoiningClient::new(token, room_type, None)).collect::<Outcome<_>>()?
        }
    };
    let mut swarm = Swarm::new()?;
    swarm.join_with(server.http, joining, &mut |client, message| first_client.take(client, message))?;
    Ok(swarm)
}

fn measure(swarm: &mut Swarm, server: &Server, length: Length, first_client: &mut FirstClient) -> Outcome<Measured> {
    let clients = swarm.len();
    let settle = Instant::now() + Duration::from_millis(length.pick(2_000, 300));
    let mut random = Random::new(1);
    let mut schedule = SendSchedule::new(CROWD_HZ, clients);
    let mut messages = 0_u64;
    let mut turns = vec![0; clients];
    let mut began = None;
    while Instant::now() < settle + length.measured() {
        if began.is_none() && Instant::now() >= settle {
            began = Some((Instant::now(), server.cpu_seconds()?, child::own_cpu_seconds()?, swarm.bytes_in));
            messages = 0;
            *first_client = FirstClient { mirror: first_client.mirror.take(), ..FirstClient::default() };
        }
        while let Some((number, _)) = schedule.due(Instant::now()) {
            let client = (number % clients as u64) as usize;
            if random.below(INPUTS_HELD) == 0 {
                turns[client] = random.below(3) as i32 - 1;
            }
            let seq = InputSeq((number / clients as u64) as u32 + 1);
            swarm.send(client, &encoded(&step(seq, turns[client]))?);
        }
        swarm.poll(schedule.next(), &mut |client, message| {
            messages += 1;
            first_client.take(client, message);
        })?;
    }
    let (began, server_cpu, load_cpu, bytes) = began.ok_or("nothing was measured")?;
    let seconds = began.elapsed().as_secs_f64();
    if swarm.lost > 0 {
        return Err(format!("{} clients were closed", swarm.lost).into());
    }
    let server_seconds = server.cpu_seconds()? - server_cpu;
    Ok(Measured {
        server: server_seconds / seconds * 100.0,
        server_per_packet_us: server_seconds * 1e6 / messages as f64,
        load: (child::own_cpu_seconds()? - load_cpu) / seconds * 100.0,
        bytes: (swarm.bytes_in - bytes) as f64 / seconds / clients as f64,
        messages: messages as f64 / seconds / clients as f64,
    })
}

fn step(seq: InputSeq, turn: i32) -> ClientMessage {
    let mut writer = BitWriter::new();
    Steps { turn }.write_full(&mut writer);
    let bytes = InputBytes::new(&writer.to_bytes()).unwrap_or_default();
    let payloads = vec![InputPayload::Packed(bytes)].into();
    ClientMessage::Inputs(Inputs { first_seq: seq, payloads, ack: StateAck::NONE, view: ViewTick::default() })
}

impl FirstClient {
    fn take(&mut self, client: usize, message: &[u8]) {
        if client != 0 {
            return;
        }
        let Ok(ServerMessage::Snapshot(Snapshot::Packed(packet))) = ServerMessage::decode(message) else { return };
        let mirror = self.mirror.get_or_insert_with(|| {
            Mirror::builder().component::<Walker>().build(DeliveryOrder::Ordered, 1.0 / CROWD_HZ as f32)
        });
        match mirror.apply(&packet) {
            Ok(applied) => {
                self.snapshots += u64::from(applied.last);
                self.updates += mirror.updated().len() as u64;
            }
            Err(_) => self.undecodable += 1,
        }
    }

    /// Checks that the first client has seen all players; otherwise the bytes are meaningless.
    fn check(&self, players: usize) -> Outcome {
        let seen = self.mirror.as_ref().map_or(0, |mirror| mirror.entities().count());
        let updates = self.updates as f64 / self.snapshots.max(1) as f64;
        println!("  a client sees {seen} players, {updates:.1} updates per snapshot");
        if seen != players || self.undecodable > 0 || updates < players as f64 * 0.98 {
            return Err(format!("{} packets could not be decoded, or players are missing", self.undecodable).into());
        }
        Ok(())
    }
}

fn show(name: &str, measured: &Measured) {
    println!(
        "{name:<20} {:>5.1}% {:>5.1}% {:>17.1} {:>11.1} {:>13.2} µs",
        measured.server,
        measured.load,
        measured.bytes / 1e3,
        measured.messages,
        measured.server_per_packet_us
    );
}
