//! [`Simulation`]: a whole run from one seed. Clients join, leave, stall and reconnect over bad networks. Then the
//! networks become perfect, and all clients must agree with the room.

use crate::games::{Chime, Drift, Steering};
use crate::harness::{ClientNumber, Harness};
use crate::{Bandwidth, Conditions};
use aether_bits::{BitReader, Replicate};
use aether_engine::recording::Replay;
use aether_engine::{Random, Room, RoomSettings};
use aether_replication::{DeliveryOrder, UpdateRing};
use aether_space::InterestSettings;
use aether_wire::{CommandSeq, EntityId, GameBody, PlayerId, Tick};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// Ticks for which the networks are bad.
const TICKS_OF_BAD_NETWORK: u32 = 400;
/// Ticks for which all clients must then keep agreeing.
const TICKS_OF_AGREEMENT: u32 = 20;
/// Maximum seconds until all clients agree after the networks became perfect.
const SECONDS_TO_AGREE_MAX: u32 = 3;
/// Maximum number of connected clients.
const CLIENTS_MAX: usize = 12;

/// A successful run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Number of clients.
    pub clients: usize,
    /// Ticks until all clients agreed after the networks became perfect.
    pub ticks_to_agree: u32,
    /// Packets sent, in both directions.
    pub packets: u64,
    /// Packets lost.
    pub lost: u64,
    /// Hash of the room's state at the end.
    pub hash: u64,
    /// Events of the run, in order.
    pub journal: Vec<String>,
}

/// A failed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// Tick of the failure.
    pub tick: Tick,
    /// Problem, in a sentence.
    pub what: String,
    /// Events before the failure, in order.
    pub journal: Vec<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { seed, clients, ticks_to_agree, packets, lost, .. } = self;
        write!(
            f,
            "seed {seed}: ok, {clients} clients agreed after {ticks_to_agree} ticks, {packets} packets, {lost} lost"
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, tick, what, .. } = self;
        write!(f, "seed {seed}: FAILED at tick {tick}: {what}\n  rerun it with: cargo xtask sim --seed {seed}")
    }
}

impl std::error::Error for Failure {}

/// A run in progress.
pub struct Simulation {
    seed: u64,
    random: Random,
    harness: Harness<Drift>,
    scripts: Vec<Script>,
    /// Per snapshot tick and player: the entities that it may see.
    allowed: BTreeMap<(Tick, PlayerId), BTreeSet<EntityId>>,
    /// True if the world stops before clients are compared. With rings or a small budget, distant changes are delayed,
    /// and clients agree only about a world at rest.
    rests: bool,
    journal: Vec<String>,
}

/// Planned actions and checks of one client.
#[derive(Default)]
struct Script {
    stalled_until: Option<u32>,
    resumes_at: Option<u32>,
    gone: bool,
    /// Commands sent on the current connection.
    commands: Vec<CommandSeq>,
    /// Chimes sent before the current connection.
    chimes_before: u32,
    /// Chimes received on the current connection.
    chimes: u32,
    sightings_checked: usize,
}

impl Simulation {
    /// Returns the run of a seed, before its first tick.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let settings = any_settings(&mut random);
        let is_delayed = !settings.rings.is_empty() || settings.snapshot_bytes_max < 4_000;
        let rests = is_delayed || random.chance(50);
        let journal = vec![format!("settings: {settings:?}")];
        let room = Room::builder(Drift::default(), settings).seed(random.bits()).record("drift").build();
        let harness = Harness::new(room.expect("every choice of settings is valid"), random.bits());
        Simulation { seed, random, harness, scripts: Vec::new(), allowed: BTreeMap::new(), rests, journal }
    }

    /// Runs the simulation.
    pub fn run(mut self) -> Result<Outcome, Failure> {
        match self.play() {
            Ok(ticks_to_agree) => Ok(self.outcome(ticks_to_agree)),
            Err(what) => Err(Failure { seed: self.seed, tick: self.harness.room().now(), what, journal: self.journal }),
        }
    }

    fn play(&mut self) -> Result<u32, String> {
        for _ in 0..2 + self.random.below(6) {
            self.join();
        }
        for tick in 0..TICKS_OF_BAD_NETWORK {
            self.act(tick)?;
            self.tick()?;
        }
        self.harness.heal();
        for number in 0..self.scripts.len() {
            self.scripts[number].stalled_until = None;
            if self.scripts[number].resumes_at.take().is_some() {
                self.resume(ClientNumber(number))?;
            }
        }
        if self.rests {
            self.harness.signal(b"rest");
        }
        let ticks_to_agree = self.agree()?;
        self.check_the_end()?;
        self.check_replay()?;
        Ok(ticks_to_agree)
    }

    /// Runs until all clients agree with the room and have done so for a while.
    fn agree(&mut self) -> Result<u32, String> {
        let ticks_max = SECONDS_TO_AGREE_MAX * self.harness.room().settings().tick_hz;
        let mut agreed_since = None;
        for tick in 1..=ticks_max + TICKS_OF_AGREEMENT {
            self.tick()?;
            if !self.is_snapshot() {
                continue;
            }
            let apart = self
                .harness
                .clients()
                .find(|(number, client)| client.is_joined() && !self.harness.has_converged(*number));
            match apart {
                None => {
                    let since = *agreed_since.get_or_insert(tick);
                    if tick >= since + TICKS_OF_AGREEMENT {
                        return Ok(since);
                    }
                }
                Some((ClientNumber(number), client)) if tick >= ticks_max || agreed_since.is_some() => {
                    let (order, tick) = (client.order(), client.mirror().tick());
                    return Err(format!("client {number} ({order:?}, at tick {tick}) has other state than the room"));
                }
                Some(_) => {}
            }
        }
        Err("the clients did not agree in time".to_owned())
    }

    fn tick(&mut self) -> Result<(), String> {
        self.harness.tick(1);
        let room = self.harness.room();
        if self.is_snapshot() {
            for client in self.harness.clients().filter_map(|(_, client)| client.player()) {
                let is_allowed =
                    |entity: &EntityId| room.game().is_allowed_to_see(room.world(), room.settings(), client, *entity);
                self.allowed.insert((room.now(), client), room.world().entities().filter(is_allowed).collect());
            }
        }
        for (ClientNumber(number), client) in self.harness.clients() {
            let received = client.received();
            if let Some(fault) = received.faults.first() {
                return Err(format!("client {number}: {fault}"));
            }
            let script = &mut self.scripts[number];
            let Some(player) = client.player() else { continue };
            for sighting in &received.sightings[script.sightings_checked..] {
                let allowed = self.allowed.get(&(sighting.tick, player));
                if !allowed.is_some_and(|allowed| allowed.contains(&sighting.entity)) {
                    return Err(format!("client {number} saw {sighting:?}, which it may not see"));
                }
            }
            script.sightings_checked = received.sightings.len();
        }
        Ok(())
    }

    fn is_snapshot(&self) -> bool {
        let settings = self.harness.room().settings();
        self.harness.room().now().0.is_multiple_of(settings.tick_hz / settings.snapshot_hz)
    }

    /// Checks that events and answers on a client's latest connection came once and in order.
    fn check_stream(&mut self, ClientNumber(number): ClientNumber) -> Result<(), String> {
        let client = self.harness.client(ClientNumber(number));
        let script = &mut self.scripts[number];
        for event in &client.received().events {
            let GameBody::Packed { payload, .. } = &event.body else {
                return Err(format!("client {number} got an event that is not packed"));
            };
            let Ok(Chime { number: chime }) = Chime::read_full(&mut BitReader::new(payload)) else {
                return Err(format!("client {number} got an event that cannot be read"));
            };
            let expected = script.chimes_before + script.chimes + 1;
            if chime != expected {
                return Err(format!("client {number} got event {chime} instead of {expected}"));
            }
            script.chimes += 1;
        }
        let acknowledged = client.received().acks.iter().map(|ack| ack.seq);
        if !acknowledged.zip(&script.commands).all(|(ack, command)| ack == *command)
            || client.received().acks.len() > script.commands.len()
        {
            return Err(format!("client {number}'s commands were not answered once and in order"));
        }
        Ok(())
    }

    fn check_the_end(&mut self) -> Result<(), String> {
        for number in 0..self.scripts.len() {
            self.check_stream(ClientNumber(number))?;
            let client = self.harness.client(ClientNumber(number));
            let Some(player) = client.player().filter(|_| client.is_joined()) else { continue };
            let script = &self.scripts[number];
            if client.received().acks.len() != script.commands.len() {
                return Err(format!("client {number} did not get all answers to its commands"));
            }
            let sent = self.harness.room().game().chimes(player).unwrap_or(0);
            let received_chimes = script.chimes_before + script.chimes;
            if received_chimes != sent {
                return Err(format!("client {number} has events up to {received_chimes} of {sent}"));
            }
            if let Some(possession) = client.received().possessions.last()
                && self.harness.room().world().owner(possession.entity) != Some(player)
            {
                return Err(format!("client {number} possesses an entity that it does not own"));
            }
        }
        Ok(())
    }

    /// Checks that a replay of the recording reaches the same state.
    fn check_replay(&self) -> Result<(), String> {
        let room = self.harness.room();
        let recording = room.recording().ok_or("the room was not recorded")?;
        let settings = room.settings().clone();
        let mut replay = Replay::new(Drift::default(), settings, recording).map_err(|error| error.to_string())?;
        replay.run_to(room.now()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn outcome(self, ticks_to_agree: u32) -> Outcome {
        let traffic = self.harness.clients().map(|(_, client)| client.traffic());
        let (packets, lost) = traffic.fold((0, 0), |sum, more| (sum.0 + more.sent, sum.1 + more.lost));
        Outcome {
            seed: self.seed,
            clients: self.scripts.len(),
            ticks_to_agree,
            packets,
            lost,
            hash: self.harness.room().hash(),
            journal: self.journal,
        }
    }

    /// Runs the actions of all clients for one tick.
    fn act(&mut self, tick: u32) -> Result<(), String> {
        let connected = self.harness.clients().filter(|(_, client)| client.is_connected()).count();
        if connected < CLIENTS_MAX && self.random.chance(2) {
            self.join();
        }
        for number in 0..self.scripts.len() {
            let client = ClientNumber(number);
            let script = &mut self.scripts[number];
            if script.stalled_until.is_some_and(|until| tick >= until) {
                script.stalled_until = None;
                self.harness.set_stalled(client, false);
            }
            if script.resumes_at.is_some_and(|at| tick >= at) {
                script.resumes_at = None;
                self.resume(client)?;
            }
            if self.harness.client(client).is_joined() && !self.scripts[number].gone {
                self.act_as(client, tick);
            }
        }
        Ok(())
    }

    fn act_as(&mut self, client: ClientNumber, tick: u32) {
        let ClientNumber(number) = client;
        match self.random.below(2_000) {
            0..200 => {
                let push = [self.random.between(-1.0, 1.0), self.random.between(-1.0, 1.0)];
                self.harness.set_input(client, Some(&Steering { push }));
            }
            200..205 => self.harness.set_input(client, None),
            205..208 => {
                self.note(tick, number, "leaves");
                self.scripts[number].gone = true;
                self.harness.leave(client);
            }
            208..216 => {
                // Sometimes longer than `resume_ticks`: then the player has already left.
                let pause = 1 + self.random.below(60);
                self.note(tick, number, &format!("loses its connection for {pause} ticks"));
                self.harness.disconnect(client);
                self.scripts[number].resumes_at = Some(tick + pause);
            }
            216..224 => {
                let pause = 5 + self.random.below(120);
                self.note(tick, number, &format!("stalls for {pause} ticks"));
                self.harness.set_stalled(client, true);
                self.scripts[number].stalled_until = Some(tick + pause);
            }
            224..247 => {
                let place = [self.random.between(-300.0, 300.0), self.random.between(-300.0, 300.0)];
                let command = self.harness.spawn(client, "buoy", place);
                self.scripts[number].commands.push(command);
            }
            247..251 => {
                let count = 5 + self.random.below(40);
                self.note(tick, number, &format!("asks for {count} bodies"));
                let command = self.harness.stress(client, count, false);
                self.scripts[number].commands.push(command);
            }
            251 => {
                self.note(tick, number, "clears the world");
                let command = self.harness.clear(client);
                self.scripts[number].commands.push(command);
            }
            252..260 => {
                let conditions = any_conditions(&mut self.random);
                self.note(tick, number, &format!("gets other network conditions: {conditions:?}"));
                self.harness.set_conditions(client, conditions);
            }
            _ => {}
        }
    }

    fn join(&mut self) {
        let order = if self.random.chance(65) { DeliveryOrder::Unordered } else { DeliveryOrder::Ordered };
        let conditions = any_conditions(&mut self.random);
        let number = self.scripts.len();
        self.note(self.harness.room().now().0, number, &format!("joins, {order:?}, {conditions:?}"));
        self.harness.join(&format!("client {number}"), order, conditions);
        self.scripts.push(Script::default());
    }

    fn resume(&mut self, client: ClientNumber) -> Result<(), String> {
        self.check_stream(client)?;
        let player = self.harness.client(client).player();
        let chimes_before = player.and_then(|player| self.harness.room().game().chimes(player)).unwrap_or(0);
        // Messages in flight are lost with the connection; within a connection nothing is lost.
        self.scripts[client.0] = Script { chimes_before, ..Script::default() };
        self.note(self.harness.room().now().0, client.0, "resumes");
        self.harness.resume(client);
        Ok(())
    }

    fn note(&mut self, tick: u32, client: usize, what: &str) {
        self.journal.push(format!("tick {tick}: client {client} {what}"));
    }
}

fn any_settings(random: &mut Random) -> RoomSettings {
    let radius = random.between(80.0, 300.0);
    let nearest_max = random.chance(20).then(|| 5 + random.below(20) as usize);
    let rings = vec![UpdateRing { distance: radius / 2.0, interval: 1 }, UpdateRing { distance: radius, interval: 3 }];
    RoomSettings {
        snapshot_hz: [10, 20, 40][random.below(3) as usize],
        entities_max: 250,
        interest: random.chance(85).then_some(InterestSettings { radius, hysteresis: 0.1, nearest_max }),
        rings: if random.chance(50) { rings } else { Vec::new() },
        snapshot_bytes_max: if random.chance(30) { 300 + random.below(700) as usize } else { 4_000 },
        resume_ticks: 40,
        ..RoomSettings::default()
    }
}

/// Returns random conditions, from a perfect network to a storm.
fn any_conditions(random: &mut Random) -> Conditions {
    let bandwidth = Bandwidth { bytes_per_second: u64::from(8_000 + random.below(60_000)), queue_bytes_max: 20_000 };
    let mut conditions = match random.below(10) {
        0 => Conditions::PERFECT,
        1 => Conditions::BROADBAND,
        2 => Conditions::MOBILE,
        3..6 => Conditions::STORM,
        _ => Conditions {
            latency: Duration::from_millis(u64::from(random.below(150))),
            jitter: Duration::from_millis(u64::from(random.below(200))),
            loss: random.between(0.0, 0.3),
            duplication: random.between(0.0, 0.1),
            reordering: random.between(0.0, 0.6),
            bandwidth: None,
        },
    };
    if random.chance(15) {
        conditions.bandwidth = Some(bandwidth);
    }
    conditions
}
