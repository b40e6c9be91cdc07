//! Recordings of running rooms: they begin in the middle, are passed on in chunks, and never delay the room.

use crate::support::{Scene, join_request, settings};
use aether_bits::{BitReader, BitWriter, Replicate, StateHasher};
use aether_engine::recording::{
    RECORDING_CHUNKS_MAX, Recording, RecordingChannel, RecordingEnd, RecordingStart, Replay,
};
use aether_engine::{
    ConnectionEndpoint, Context, EntityQuery, Game, GameSchemaBuilder, JoinRequest, NoObserver, RecordingRefusal,
    Rejection, Room, RoomHandle, RoomSettings, RoomStatus, StartedRecording,
};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, EntityId, InputBytes, InputPayload, InputSeq, Inputs, PlayerId, StateAck, Tick, ViewTick,
};
use aether_world::{Visibility, World};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

const UNLIMITED: u64 = u64::MAX;

/// A mote, with a field that only the server knows.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(position = position)]
struct Mote {
    #[replicate(range = -100.0..=100.0, step = 0.01)]
    position: [f32; 2],
    #[replicate(skip)]
    drift: f32,
}

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Nudge {
    by: u8,
}

/// Motes that drift, appear and vanish by chance. The future depends on everything that a room has: ids, random
/// numbers, order of points, past positions, journal entries, players, and the game's own fields.
#[derive(Default)]
struct Motes {
    nudges: u64,
    seen: u64,
    /// True if the capture leaves something out.
    forgets: bool,
}

impl Game for Motes {
    type Input = Nudge;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Mote>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        for at in 0..20 {
            let _ = room.world.spawn(Mote { position: [at as f32, 0.0], drift: 0.1 * at as f32 });
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        if let Ok(mote) = room.world.spawn(Mote { position: [0.0, 5.0], drift: 0.0 }) {
            room.possess(player, mote);
            room.world.set_visibility(mote, Visibility::Team(3));
        }
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Nudge) {
        self.nudges += u64::from(input.by);
        let _ = room.commit(vec![input.by]);
        self.seen ^= room.possession(player).map_or(0, EntityId::to_bits);
    }

    fn committed(&mut self, _room: &mut Context<'_>, entry: &[u8]) {
        self.nudges = self.nudges.rotate_left(u32::from(entry[0]));
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let nudge = self.nudges as f32 * 0.01;
        room.world.each_mut(|_, mote: &mut Mote| mote.position[0] = (mote.position[0] + mote.drift + nudge) % 90.0);
        let motes: Vec<EntityId> = room.world.entities().collect();
        let chosen = motes[room.random.below(motes.len() as u32) as usize];
        if room.world.owner(chosen).is_none() && motes.len() > 10 {
            room.world.despawn(chosen);
        }
        let position = [room.random.between(-90.0, 90.0), room.random.between(-90.0, 90.0)];
        let _ = room.world.spawn(Mote { position, drift: room.random.unit() });
        let past = Tick(room.tick().0.saturating_sub(5));
        let position = room.world.rewind().position_at(chosen, past, 0.0);
        self.seen = self.seen.rotate_left(7) ^ position.map_or(1, |position| u64::from(position[0].to_bits()));
    }

    fn capture(&self, world: &World) -> Option<Vec<u8>> {
        let mut writer = BitWriter::new();
        writer.write(if self.forgets { 0 } else { self.nudges }, 64);
        writer.write(self.seen, 64);
        world.each::<Mote>().for_each(|(_, mote)| writer.write(mote.drift.to_bits().into(), 32));
        Some(writer.to_bytes())
    }

    fn restore_capture(&mut self, room: &mut Context<'_>, capture: &[u8]) -> Result<(), Rejection> {
        let mut reader = BitReader::new(capture);
        self.nudges = reader.read(64).unwrap();
        self.seen = reader.read(64).unwrap();
        room.world.each_mut(|_, mote: &mut Mote| mote.drift = f32::from_bits(reader.read(32).unwrap() as u32));
        Ok(())
    }

    fn hash(&self, hasher: &mut StateHasher) {
        hasher.word(self.nudges);
        hasher.word(self.seen);
    }
}

fn motes_settings() -> RoomSettings {
    RoomSettings { rewind_ticks: 10, resume_ticks: 3, ..settings() }
}

struct Running {
    room: Room<Motes>,
    handle: RoomHandle,
    players: Vec<ConnectionEndpoint>,
    hashes: Vec<(Tick, u64)>,
}

impl Running {
    fn new(game: Motes) -> Running {
        let room = Room::builder(game, motes_settings()).seed(5).build().unwrap();
        let handle = room.handle();
        Running { room, handle, players: Vec::new(), hashes: Vec::new() }
    }

    fn join(&mut self, name: &str) {
        let request = JoinRequest { metadata: [("team", "red")].into(), ..join_request(name) };
        self.players.push(self.handle.join(request, DeliveryOrder::Ordered).unwrap());
    }

    /// Ticks while the players send inputs.
    fn ticks(&mut self, count: u32) {
        for _ in 0..count {
            let seq = self.room.now().0 + 1;
            for player in &self.players {
                let _ = player.push(nudge(seq));
            }
            self.room.tick(&mut NoObserver);
            self.hashes.push((self.room.now(), self.room.hash()));
        }
    }

    fn start(&mut self, channel: &Arc<RecordingChannel>) -> Result<StartedRecording, RecordingRefusal> {
        let (sender, reply) = sync_channel(1);
        self.handle.start_recording("motes", Arc::clone(channel), sender).unwrap();
        self.ticks(1);
        reply.recv().unwrap()
    }

    fn stop(&mut self) -> bool {
        let (sender, reply) = sync_channel(1);
        self.handle.stop_recording(sender).unwrap();
        self.ticks(1);
        reply.recv().unwrap()
    }
}

fn nudge(seq: u32) -> ClientMessage {
    let mut writer = BitWriter::new();
    Nudge { by: (seq % 5) as u8 }.write_full(&mut writer);
    let payload = InputPayload::Packed(InputBytes::new(&writer.to_bytes()).unwrap());
    let (ack, view) = (StateAck::NONE, ViewTick::default());
    ClientMessage::Inputs(Inputs { first_seq: InputSeq(seq), payloads: [payload].into(), ack, view })
}

/// Returns the bytes that a receiver has taken so far.
fn taken(channel: &RecordingChannel) -> Vec<u8> {
    std::iter::from_fn(|| channel.next_chunk()).flatten().collect()
}

#[test]
fn a_recording_that_begins_in_the_middle_replays_exactly() {
    let mut running = Running::new(Motes::default());
    running.join("ann");
    running.ticks(60);
    running.join("ben");
    running.ticks(1);
    let (channel, before) = (RecordingChannel::new(UNLIMITED), running.room.hash());
    let started = running.start(&channel).unwrap();
    assert_eq!(started.hash, before, "the reply is the hash before the recording");
    assert_eq!(Recording::from_bytes(&started.header).map(|header| header.ticks()), Ok(0));
    assert_eq!(running.start(&RecordingChannel::new(UNLIMITED)), Err(RecordingRefusal::Recording));
    running.join("eve");
    running.ticks(40);
    running.players.remove(0);
    running.ticks(20);
    let last = running.room.now();
    assert!(running.stop());
    assert!(!running.stop(), "there is no recording to stop");
    let bytes = [taken(&channel), channel.last_bytes().unwrap()].concat();
    let recording = Recording::from_bytes(&bytes).unwrap();
    assert_eq!((recording.end(), recording.last_tick()), (Some(RecordingEnd::Stopped), last));
    assert_eq!((channel.ticks(), recording.ticks()), ((Tick(62), last), 62));
    assert!(matches!(&recording.start, RecordingStart::Captured(capture) if capture.tick == Tick(61)));
    let mut replay = Replay::new(Motes::default(), motes_settings(), &recording).unwrap();
    assert_eq!(replay.room().hash(), before);
    for expected in running.hashes.iter().skip(61).take(62) {
        assert_eq!(replay.step(), Ok(Some(*expected)));
    }
    assert_eq!(replay.step(), Ok(None));
}

#[test]
fn a_capture_that_leaves_something_out_has_another_hash() {
    let mut running = Running::new(Motes { forgets: true, ..Motes::default() });
    running.join("ann");
    running.ticks(30);
    let channel = RecordingChannel::new(UNLIMITED);
    let hash = running.start(&channel).unwrap().hash;
    let recording = Recording::from_bytes(&taken(&channel)).unwrap();
    let replay = Replay::new(Motes::default(), motes_settings(), &recording).unwrap();
    assert_ne!(replay.room().hash(), hash);
}

#[test]
fn a_game_without_capture_says_why_it_cannot_be_recorded_from_the_middle() {
    let mut scene = Scene::new(settings());
    let (sender, reply) = sync_channel(1);
    scene.handle.start_recording("yard", RecordingChannel::new(UNLIMITED), sender).unwrap();
    scene.ticks(2);
    let refusal = reply.recv().unwrap().unwrap_err();
    assert_eq!(refusal, RecordingRefusal::NotCapturable);
    assert!(refusal.to_string().contains("`Game::capture`"), "{refusal}");
}

#[test]
fn a_second_of_a_recording_is_four_chunks() {
    let mut running = Running::new(Motes::default());
    running.ticks(3);
    let channel = RecordingChannel::new(UNLIMITED);
    running.start(&channel).unwrap();
    running.ticks(19);
    let chunks: Vec<Vec<u8>> = std::iter::from_fn(|| channel.next_chunk()).collect();
    assert_eq!(chunks.len(), 5, "the header, and 20 ticks of a room with 20 a second");
    // A file that was cut off inside a chunk, and one with zeros after it, as a file system may leave behind.
    let bytes = chunks.concat();
    let cut = Recording::from_bytes(&bytes[..bytes.len() - 3]).unwrap();
    assert_eq!((cut.ticks(), cut.end()), (19, None));
    let zeros = Recording::from_bytes(&[&bytes[..], &[0; 50]].concat()).unwrap();
    assert_eq!((zeros.ticks(), zeros.end()), (20, None));
}

#[test]
fn a_receiver_that_does_not_keep_up_loses_the_rest_and_the_room_goes_on() {
    let mut running = Running::new(Motes::default());
    running.ticks(1);
    let channel = RecordingChannel::new(UNLIMITED);
    running.start(&channel).unwrap();
    running.ticks(5 * RECORDING_CHUNKS_MAX as u32 + 10);
    assert_eq!(channel.end(), Some(RecordingEnd::TooSlow));
    assert_eq!(running.room.tick(&mut NoObserver), RoomStatus::Running);
    let bytes = [taken(&channel), channel.last_bytes().unwrap()].concat();
    let recording = Recording::from_bytes(&bytes).unwrap();
    assert_eq!(recording.end(), Some(RecordingEnd::TooSlow));
    assert_eq!(recording.ticks() as usize, 5 * (RECORDING_CHUNKS_MAX - 1), "the chunks that it took");
    let mut replay = Replay::new(Motes::default(), motes_settings(), &recording).unwrap();
    assert_eq!(replay.run_to(Tick(u32::MAX)).unwrap().map(|(tick, _)| tick), Some(recording.last_tick()));
    assert_eq!(running.start(&RecordingChannel::new(UNLIMITED)).map(drop), Ok(()), "it can be recorded again");
}

#[test]
fn a_recording_ends_at_its_limit_of_bytes_with_its_room_and_with_its_receiver() {
    let mut running = Running::new(Motes::default());
    running.ticks(1);
    let channel = RecordingChannel::new(20_000);
    running.start(&channel).unwrap();
    let mut file = Vec::new();
    for _ in 0..400 {
        running.ticks(10);
        file.extend(taken(&channel));
    }
    assert_eq!(channel.end(), Some(RecordingEnd::Full));
    assert_eq!(file.len() as u64, channel.bytes());
    assert!((15_000..=20_000).contains(&channel.bytes()), "{}", channel.bytes());
    let channel = RecordingChannel::new(UNLIMITED);
    running.start(&channel).unwrap();
    channel.fail();
    running.ticks(20);
    assert_eq!(channel.end(), Some(RecordingEnd::Failed));
    let channel = RecordingChannel::new(UNLIMITED);
    running.start(&channel).unwrap();
    running.ticks(2);
    let last = running.room.now();
    drop(running.room);
    assert_eq!(channel.end(), Some(RecordingEnd::RoomEnded));
    let recording = Recording::from_bytes(&taken(&channel)).unwrap();
    assert_eq!(recording.last_tick(), last, "the incomplete chunk is passed on, too");
}

#[test]
fn a_room_is_recorded_from_its_first_tick() {
    let channel = RecordingChannel::new(UNLIMITED);
    let builder = Room::builder(Motes::default(), motes_settings()).seed(9);
    let mut room = builder.stream_recording("motes", Arc::clone(&channel)).build().unwrap();
    for _ in 0..12 {
        room.tick(&mut NoObserver);
    }
    let last = (room.now(), room.hash());
    drop(room);
    let recording = Recording::from_bytes(&taken(&channel)).unwrap();
    assert_eq!(recording.start, RecordingStart::New);
    let mut replay = Replay::new(Motes::default(), motes_settings(), &recording).unwrap();
    assert_eq!(replay.run_to(Tick(u32::MAX)), Ok(Some(last)));
}

#[test]
fn entities_are_read_in_pages_with_their_components() {
    let mut running = Running::new(Motes::default());
    running.join("ann");
    running.ticks(2);
    let schema = Arc::clone(running.handle.schema());
    let (mut from_slot, mut found) = (0, Vec::new());
    loop {
        let (sender, reply) = sync_channel(1);
        running.handle.inspect(EntityQuery { from_slot, limit: 7 }, sender).unwrap();
        let (tick, total) = (running.room.now(), running.room.world().len());
        let expected: Vec<_> =
            running.room.world().each::<Mote>().map(|(id, mote)| (id, mote.position.to_vec())).collect();
        running.ticks(1);
        let page = reply.recv().unwrap();
        assert_eq!((page.tick, page.total), (tick, total));
        let read = page.each(&schema, |entity, components| {
            let [(0, value)] = &components[..] else { panic!("a mote has one component: {components:?}") };
            let aether_bits::SchemaValue::List(fields) = value else { panic!("{value:?}") };
            let aether_bits::SchemaValue::Numbers(position) = &fields[0] else { panic!("{fields:?}") };
            assert!(expected.contains(&(entity.id, position.clone())));
            found.push((entity.id, entity.owner));
        });
        read.unwrap();
        let Some(next) = page.next_slot else { break };
        from_slot = next;
    }
    assert!(found.len() > 15 && found.iter().any(|(_, owner)| *owner == Some(PlayerId(1))), "{found:?}");
    assert!(found.is_sorted_by_key(|(id, _)| id.slot));
}
