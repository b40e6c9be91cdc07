//! A game with derived types and its equivalent with a run-time schema: the same bytes, hashes, recordings and
//! checkpoints.

use aether_bits::{BitWriter, Component};
use aether_engine::recording::{Recording, Replay};
use aether_engine::{
    Answer, ConnectionEndpoint, EntryNumber, Game, JoinRequest, NoObserver, Random, Request, RestoreData, Room,
    RoomCounts, RoomHandle, RoomSettings,
};
use aether_replication::{DeliveryOrder, Mirror};
use aether_space::InterestSettings;
use aether_testkit::games::depot::{
    Board, CHAT, Cart, Chat, Crane, Depot, Drive, LIFT, Lift, Mode, RuntimeDepot, SCORED, Score, Scored,
};
use aether_testkit::{Conditions, Harness};
use aether_wire::{
    ClientMessage, CommandSeq, GameBody, GameMessage, InputBytes, InputPayload, InputSeq, Inputs, PlayerId, StateAck,
    Tick, ViewTick,
};
use std::sync::mpsc;

const TICKS: u32 = 400;

fn settings() -> RoomSettings {
    RoomSettings {
        tick_hz: 20,
        snapshot_hz: 20,
        resume_ticks: 6,
        rewind_ticks: 4,
        players_max: 7,
        interest: Some(InterestSettings { radius: 80.0, ..InterestSettings::default() }),
        ..RoomSettings::default()
    }
}

/// Complete output of a room.
#[derive(Default, PartialEq, Debug)]
struct Trace {
    schema_hash: u64,
    hashes: Vec<u64>,
    /// Reliable messages and state packets, by tick and client.
    sent: Vec<(u32, usize, Vec<u8>)>,
    /// Admissions, replies, requests, entries, checkpoints and labels.
    notified: Vec<String>,
    /// Hash of what every client sees at the end.
    seen: Vec<Option<u64>>,
    counts: RoomCounts,
}

/// A client in memory.
struct Client {
    end: Option<ConnectionEndpoint>,
    order: DeliveryOrder,
    player: Option<PlayerId>,
    mirror: Mirror,
    inputs: u32,
    commands: u32,
}

/// A room of either form, with clients that act the same in each.
struct Play<G: Game> {
    room: Room<G>,
    handle: RoomHandle,
    clients: Vec<Client>,
    replies: Vec<mpsc::Receiver<Vec<u8>>>,
    random: Random,
    trace: Trace,
}

fn mirror(order: DeliveryOrder) -> Mirror {
    let builder = Mirror::builder().component::<Cart>().component::<Crane>().component::<Board>();
    builder.build(order, settings().seconds_per_tick())
}

fn packed(record: &impl Component) -> Vec<u8> {
    let mut writer = BitWriter::new();
    record.write_full(&mut writer);
    writer.to_bytes()
}

impl<G: Game> Play<G> {
    fn new(game: G, seed: u64, restore: Option<RestoreData>) -> Self {
        let mut builder = Room::builder(game, settings()).seed(seed).checkpoint_every(20).record("depot");
        if let Some(restore) = restore {
            builder = builder.restore(restore);
        }
        let room = builder.build().expect("the settings are valid");
        let trace = Trace { schema_hash: room.schema().hash(), ..Trace::default() };
        let handle = room.handle();
        Play { room, handle, clients: Vec::new(), replies: Vec::new(), random: Random::new(seed ^ 99), trace }
    }

    /// Plays for a while. Everything is decided by the seed and the room's output.
    fn run(mut self, ticks: u32) -> (Room<G>, Trace) {
        for _ in 0..ticks {
            self.act();
            self.room.tick(&mut NoObserver);
            self.collect();
        }
        let seen = |client: &Client| self.room.hash_seen_by(client.player?);
        self.trace.seen = self.clients.iter().map(seen).collect();
        self.trace.counts = *self.room.totals();
        (self.room, self.trace)
    }

    fn act(&mut self) {
        if self.clients.len() < 20 && self.random.chance(15) {
            let order = if self.random.chance(50) { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
            let name = if self.random.chance(20) { "stranger" } else { "driver" };
            let end = self.handle.join(JoinRequest { name: name.to_owned(), ..JoinRequest::default() }, order);
            let end = Some(end.expect("the mailbox is not full"));
            self.clients.push(Client { end, order, player: None, mirror: mirror(order), inputs: 0, commands: 0 });
        }
        if self.random.chance(5) {
            let (sender, receiver) = mpsc::sync_channel(1);
            let data = vec![0; self.random.below(9) as usize];
            self.handle.signal(data, sender).expect("the mailbox is not full");
            self.replies.push(receiver);
        }
        for client in &mut self.clients {
            act(client, &self.handle, &mut self.random);
        }
    }

    fn collect(&mut self) {
        let Trace { hashes, sent, notified, .. } = &mut self.trace;
        let tick = self.room.now().0;
        hashes.push(self.room.hash());
        for (number, client) in self.clients.iter_mut().enumerate() {
            let Some(end) = &client.end else { continue };
            if let (None, Some(admission)) = (client.player, end.admission()) {
                notified.push(format!("{number}: {admission:?}"));
                client.player = admission.as_ref().ok().copied();
                if admission.is_err() {
                    client.end = None;
                    continue;
                }
            }
            while let Some(message) = end.next_reliable() {
                let mut bytes = Vec::new();
                message.encode(&mut bytes).expect("servers write what can be written");
                sent.push((tick, number, bytes));
            }
            let mut received = false;
            while let Some(packet) = end.next_state() {
                client.mirror.apply(&packet).expect("the bytes can be read");
                sent.push((tick, number, packet.clone()));
                end.recycle(packet);
                received = true;
            }
            if received && client.order == DeliveryOrder::Unordered && self.random.chance(70) {
                let _ = end.push(ClientMessage::Ack(client.mirror.acknowledgement()));
            }
        }
        self.serve();
    }

    /// Answers the room's requests.
    fn serve(&mut self) {
        let Trace { notified, .. } = &mut self.trace;
        while let Some((id, request)) = self.handle.next_request() {
            notified.push(format!("{id:?} {request:?}"));
            let Request::Read { key, .. } = request else { continue };
            let answer = Answer::Value(Some(key.into_bytes()));
            self.handle.answer(id, answer).expect("the mailbox is not full");
        }
        while let Some((number, entry)) = self.handle.next_entry() {
            notified.push(format!("{number:?} {entry:?}"));
            let outcome = if number.0 % 5 == 0 { Err("the disk is full".to_owned()) } else { Ok(()) };
            self.handle.committed(number, outcome).expect("the mailbox is not full");
        }
        if let Some(checkpoint) = self.handle.take_checkpoint() {
            notified.push(format!("{checkpoint:?}"));
        }
        for reply in self.replies.drain(..) {
            notified.push(format!("{:?}", reply.try_recv()));
        }
        notified.push(self.handle.label().to_string());
    }
}

/// Runs one random action of a client.
fn act(client: &mut Client, handle: &RoomHandle, random: &mut Random) {
    let roll = random.below(100);
    let (Some(player), true) = (client.player, client.end.is_some()) else {
        if let (Some(player), None, 0..30) = (client.player, &client.end, roll) {
            client.end = handle.resume(player, client.order).ok();
            client.mirror = mirror(client.order);
            client.inputs = 0;
            // The player may have left; the next admission shows it.
            client.player = None;
        }
        return;
    };
    let Some(end) = &client.end else { return };
    let send = |message| {
        let _ = end.push(message);
    };
    client.inputs += 1;
    let push = [random.between(-1.0, 1.0), random.between(-1.0, 1.0)];
    let bytes = match roll {
        0..3 => (0..5).map(|_| random.below(256) as u8).collect(),
        _ => packed(&Drive { push, horn: random.chance(3) }),
    };
    let payloads = InputBytes::new(&bytes).map(InputPayload::Packed).into_iter().collect();
    let view = ViewTick { tick: client.mirror.tick(), fraction: 0 };
    send(ClientMessage::Inputs(Inputs { first_seq: InputSeq(client.inputs), payloads, ack: StateAck::NONE, view }));
    let chat = |text: &str| (CHAT, packed(&Chat { text: text.to_owned() }));
    let mode = [Mode::Idle, Mode::Lifting, Mode::Lifting, Mode::Broken][random.below(4) as usize];
    let (code, payload) = match roll {
        3..6 => chat("good morning, Zoë"),
        6..8 => chat("ask for weather"),
        8..11 => chat(&format!("save day {}", random.below(99))),
        11 => chat("refuse me"),
        12..16 => (LIFT, packed(&Lift { mode, by: random.below(11) as i32 - 5 })),
        16 => (SCORED, packed(&Scored { score: Score { player: player.0, points: 9 } })),
        17..20 => (random.below(5) as u16, (0..random.below(9)).map(|_| random.below(256) as u8).collect()),
        20 if random.chance(25) => return send(ClientMessage::Leave),
        21 if random.chance(40) => return client.end = None,
        _ => return,
    };
    client.commands += 1;
    let body = GameBody::Packed { code, payload };
    send(ClientMessage::Game(GameMessage { seq: CommandSeq(client.commands), body }));
}

fn typed(seed: u64, restore: Option<RestoreData>, ticks: u32) -> (Recording, Option<Vec<u8>>, Trace) {
    let (room, trace) = Play::new(Depot::default(), seed, restore).run(ticks);
    (room.recording().expect("the room is recorded").clone(), room.checkpoint(), trace)
}

fn runtime(seed: u64, restore: Option<RestoreData>, ticks: u32) -> (Recording, Option<Vec<u8>>, Trace) {
    let (room, trace) = Play::new(RuntimeDepot::boxed(), seed, restore).run(ticks);
    (room.recording().expect("the room is recorded").clone(), room.checkpoint(), trace)
}

/// Names the first difference instead of printing megabytes.
fn assert_same(a: &Trace, b: &Trace) {
    assert_eq!(a.schema_hash, b.schema_hash);
    for (index, (a, b)) in a.hashes.iter().zip(&b.hashes).enumerate() {
        assert_eq!(a, b, "the state after tick {}", index + 1);
    }
    for (a, b) in a.sent.iter().zip(&b.sent) {
        assert_eq!(a, b);
    }
    for (a, b) in a.notified.iter().zip(&b.notified) {
        assert_eq!(a, b);
    }
    assert!(a == b, "the outputs differ in length: {:?} and {:?}", a.counts, b.counts);
}

#[test]
fn both_forms_of_a_game_send_the_same_bytes() {
    let mut all = RoomCounts::default();
    for seed in 1..=4 {
        let (recording, checkpoint, trace) = typed(seed, None, TICKS);
        let twin = runtime(seed, None, TICKS);
        assert_same(&trace, &twin.2);
        assert!(recording == twin.0 && checkpoint == twin.1);
        all.add(&trace.counts);
    }
    let happened = [
        ("joins", all.joins > 20),
        ("joins refused", all.joins_refused > 3),
        ("leaves", all.leaves > 5),
        ("inputs", all.inputs > 2_000),
        ("inputs that cannot be read", all.decode_errors > 5),
        ("refusals", all.refused > 20),
        ("events", all.events > 1_000),
        ("requests", all.requests > 10),
        ("entries", all.entries > 20),
        ("entries refused", all.entries_refused > 3),
        ("snapshots", all.snapshots > 2_000),
        ("updates", all.updates > 10_000),
    ];
    for (what, enough) in happened {
        assert!(enough, "too little happened to compare: {what}, {all:?}");
    }
}

#[test]
fn a_recording_of_either_form_is_replayed_by_the_other() {
    let (recording, _, trace) = typed(7, None, TICKS);
    let recording = Recording::from_bytes(&recording.to_bytes()).expect("the bytes can be read");
    let mut replay = Replay::new(RuntimeDepot::boxed(), settings(), &recording).expect("the schema is the same");
    let last = trace.hashes.last().copied();
    assert_eq!(replay.run_to(Tick(TICKS)), Ok(last.map(|hash| (Tick(TICKS), hash))));
    let (recording, _, trace) = runtime(8, None, TICKS);
    let mut replay = Replay::new(Depot::default(), settings(), &recording).expect("the schema is the same");
    let last = trace.hashes.last().copied();
    assert_eq!(replay.run_to(Tick(TICKS)), Ok(last.map(|hash| (Tick(TICKS), hash))));
}

#[test]
fn a_checkpoint_of_either_form_is_restored_by_the_other() {
    let (_, from_typed, _) = typed(11, None, 150);
    let (_, from_runtime, _) = runtime(12, None, 150);
    for state in [from_typed, from_runtime] {
        assert!(state.as_ref().is_some_and(|state| state.len() > 20), "there is something to restore");
        let request = JoinRequest { name: "driver".to_owned(), ..JoinRequest::default() };
        let restore = RestoreData {
            tick: Tick(99),
            state,
            applied: EntryNumber(3),
            last_player: PlayerId(9),
            players: vec![(PlayerId(8), request.clone()), (PlayerId(9), request)],
            journal: vec![(EntryNumber(4), b"late entry".to_vec())],
        };
        let (recording, checkpoint, trace) = typed(13, Some(restore.clone()), 150);
        let twin = runtime(13, Some(restore), 150);
        assert_same(&trace, &twin.2);
        assert!(recording == twin.0 && checkpoint == twin.1);
    }
}

#[test]
fn a_runtime_game_is_played_through_a_storm() {
    let room = Room::builder(RuntimeDepot::boxed(), settings()).seed(3).build().expect("the settings are valid");
    let mut harness = Harness::new(room, 4);
    let clients: Vec<_> =
        (0..6).map(|n| harness.join(&format!("driver {n}"), DeliveryOrder::Unordered, Conditions::STORM)).collect();
    harness.tick(5);
    for (number, client) in clients.iter().enumerate() {
        let push = [number as f32 * 0.3 - 0.8, 0.5];
        harness.set_packed_input(*client, InputBytes::new(&packed(&Drive { push, horn: false })));
    }
    harness.send_message(clients[0], &Lift { mode: Mode::Lifting, by: 2 });
    harness.tick(200);
    assert!(!clients.iter().all(|client| harness.has_converged(*client)), "the storm had no effect");
    harness.heal();
    harness.tick(60);
    for client in clients {
        assert!(harness.has_converged(client), "{client:?} sees something else");
    }
    assert!(harness.room().totals().inputs > 500);
}

#[test]
fn a_damaged_checkpoint_is_rejected_by_both_forms() {
    for state in [vec![], vec![255; 9]] {
        let typed = Room::builder(Depot::default(), settings()).checkpoint(state.clone()).build().err();
        let runtime = Room::builder(RuntimeDepot::boxed(), settings()).checkpoint(state).build().err();
        assert!(typed.is_some());
        assert_eq!(typed, runtime);
    }
}
