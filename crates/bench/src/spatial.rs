//! 300 ships at 40 ticks per second: time from an input to the state that includes it.

use crate::child::{self, Server};
use crate::result::{Times, print_result};
use crate::swarm::{JoiningClient, SendSchedule, Swarm, encoded};
use crate::{Length, Outcome};
use aether_bits::Random;
use aether_bits::{BitWriter, Replicate};
use aether_sandbox_rules::Controls;
use aether_wire::{
    ClientMessage, InputBytes, InputPayload, InputSeq, Inputs, ServerMessage, Snapshot, StateAck, ViewTick,
};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const HERTZ: u32 = 40;
/// One tick, and 5 ms.
const LATENCY_MS_MAX: f64 = 1_000.0 / HERTZ as f64 + 5.0;
const MEGABYTES_MAX: f64 = 64.0;
/// Mean number of equal inputs in a row.
const INPUTS_HELD: u32 = 8;
/// Offset of the input acknowledgement in a packet, after tick and sequence.
const INPUT_ACK_AT: usize = 6;

/// Player.
#[derive(Default)]
struct Pilot {
    controls: Controls,
    last: u32,
    /// Unacknowledged inputs with their send times.
    sent: VecDeque<(u32, Instant)>,
}

pub fn run(length: Length) -> Outcome {
    let players = length.pick(300, 30);
    println!("{players} ships of the sandbox over WebSocket; {HERTZ} ticks and snapshots per second.");
    let settings = ["tick_hz=40", "snapshot_hz=40", "players_max=300"].map(|set| format!("room.sandbox.{set}"));
    let server = Server::aether(&settings)?;
    let mut swarm = Swarm::new()?;
    let tokens = server.tokens(players)?;
    let joining = tokens.iter().map(|token| JoiningClient::new(token, "sandbox", None)).collect::<Outcome<_>>()?;
    swarm.join(server.http, joining)?;
    let mut latency = Times::new();
    let mut pilots: Vec<Pilot> = std::iter::repeat_with(Pilot::default).take(players).collect();
    let mut random = Random::new(1);
    let mut schedule = SendSchedule::new(HERTZ, players);
    let settle = Instant::now() + Duration::from_millis(length.pick(2_000, 300));
    let end = settle + length.measured();
    let mut began = None;
    while Instant::now() < end {
        if began.is_none() && Instant::now() >= settle {
            began = Some((Instant::now(), server.cpu_seconds()?, child::own_cpu_seconds()?, swarm.bytes_in));
        }
        while let Some((number, at)) = schedule.due(Instant::now()) {
            let client = (number % players as u64) as usize;
            let message = pilots[client].steer(&mut random, at);
            swarm.send(client, &encoded(&message)?);
        }
        swarm.poll(schedule.next(), &mut |client, message| {
            let measuring = began.is_some();
            pilots[client].take(message, |time| {
                if measuring {
                    latency.record(time);
                }
            });
        })?;
    }
    let (began, server_cpu, load_cpu, bytes) = began.ok_or("nothing was measured")?;
    let seconds = began.elapsed().as_secs_f64();
    if swarm.lost > 0 || latency.is_empty() {
        return Err(format!("{} clients were closed, or no input was acknowledged", swarm.lost).into());
    }
    println!(
        "server {:.1} % of a core, load {:.1} %; {:.1} kB/s per client",
        (server.cpu_seconds()? - server_cpu) / seconds * 100.0,
        (child::own_cpu_seconds()? - load_cpu) / seconds * 100.0,
        (swarm.bytes_in - bytes) as f64 / seconds / players as f64 / 1e3,
    );
    println!(
        "from input to state: p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms",
        latency.percentile_ms(50.0),
        latency.percentile_ms(90.0),
        latency.percentile_ms(99.0),
        latency.percentile_ms(99.9)
    );
    let megabytes = server.memory_bytes()? as f64 / 1e6;
    print_result("spatial-300-memory", megabytes, "MB", "under 64 MB", megabytes < MEGABYTES_MAX);
    let p99 = latency.percentile_ms(99.0);
    print_result("spatial-300", p99, "ms p99", "under one tick + 5 ms, 30 ms", p99 < LATENCY_MS_MAX);
    Ok(())
}

impl Pilot {
    fn steer(&mut self, random: &mut Random, at: Instant) -> ClientMessage {
        if random.below(INPUTS_HELD) == 0 {
            // No shots: the ships are the only entities.
            let (left, right) = (random.chance(30), random.chance(30));
            self.controls = Controls { thrust: random.chance(70), left, right, fire: false };
        }
        self.last += 1;
        self.sent.push_back((self.last, at));
        let mut writer = BitWriter::new();
        self.controls.write_full(&mut writer);
        let payloads = vec![InputPayload::Packed(InputBytes::new(&writer.to_bytes()).unwrap_or_default())].into();
        let view = ViewTick::default();
        ClientMessage::Inputs(Inputs { first_seq: InputSeq(self.last), payloads, ack: StateAck::NONE, view })
    }

    fn take(&mut self, message: &[u8], mut record: impl FnMut(Duration)) {
        let Ok(ServerMessage::Snapshot(Snapshot::Packed(packet))) = ServerMessage::decode(message) else { return };
        let Some(&[low, high]) = packet.get(INPUT_ACK_AT..INPUT_ACK_AT + 2) else { return };
        // Fewer than 65,536 inputs are sent, so the low 16 bits are the full number.
        let acknowledged = u32::from(u16::from_le_bytes([low, high]));
        while let Some((_, at)) = self.sent.pop_front_if(|(seq, _)| *seq <= acknowledged) {
            record(at.elapsed());
        }
    }
}
