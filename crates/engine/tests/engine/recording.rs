//! Recordings and replays.

use crate::cases;
use crate::support::{Scene, Yard, join_request, settings};
use aether_bits::Replicate;
use aether_engine::recording::{Recording, RecordingError, RecordingStart, Replay, ReplayError};
use aether_engine::{Answer, Context, Game, GameSchemaBuilder, NoObserver, Room, RoomSettings};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, CommandSeq, EntityId, InputSeq, MovementDelta, PlayerId, PlaygroundClear, PlaygroundSpawn,
    PlaygroundStress, SpawnRequest, Tick, Vector2, ViewTick,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{LazyLock, mpsc};

fn recorded() -> RoomSettings {
    RoomSettings { tick_hz: 20, snapshot_hz: 10, resume_ticks: 5, players_max: 4, rewind_ticks: 4, ..settings() }
}

/// Returns the recording of a room with every kind of tick input, and its hash at every tick.
fn eventful() -> (Recording, Vec<u64>) {
    let mut scene = Scene::new(recorded());
    let mut hashes = Vec::new();
    let step = |scene: &mut Scene, hashes: &mut Vec<u64>, ticks: u32| {
        for _ in 0..ticks {
            scene.tick();
            hashes.push(scene.room.hash());
        }
    };
    let mut dev = scene.join_developer("dev");
    hashes.push(scene.room.hash());
    let ann = scene.join("ann");
    hashes.push(scene.room.hash());
    dev.read();
    let body = dev.possession().unwrap();
    let _refused = scene.handle.join(join_request("stranger"), DeliveryOrder::Ordered).unwrap();
    for seq in 1..=10 {
        dev.push(seq, &[1.0, 2.0]);
        ann.push_seeing(seq, 0.5, ViewTick { tick: Tick(seq), fraction: 9 });
        step(&mut scene, &mut hashes, 1);
    }
    dev.chat(1, "ask chest");
    dev.poke(2, body);
    ann.poke(1, EntityId { slot: 9, generation: 9 });
    let movement = MovementDelta { entity: body, seq: InputSeq(1), dx: 1.0, dy: -1.0, ..MovementDelta::default() };
    dev.send(ClientMessage::MovementDelta(movement));
    step(&mut scene, &mut hashes, 2);
    let (id, _) = scene.handle.next_request().unwrap();
    scene.handle.answer(id, Answer::Value(Some(vec![1; 9]))).unwrap();
    scene.handle.answer(id, Answer::Value(None)).unwrap();
    scene.handle.answer(id, Answer::Done).unwrap();
    scene.handle.answer(id, Answer::Failed("gone".to_owned())).unwrap();
    let (sender, _replies) = mpsc::sync_channel(1);
    scene.handle.signal(b"begin".to_vec(), sender).unwrap();
    step(&mut scene, &mut hashes, 2);
    let place = Some(Vector2 { x: 50.0, y: -3.0 });
    dev.send(ClientMessage::SpawnRequest(SpawnRequest { seq: CommandSeq(3), position: place }));
    ann.send(ClientMessage::SpawnRequest(SpawnRequest { seq: CommandSeq(3), position: None }));
    let kind = "crate".to_owned();
    let spawn = PlaygroundSpawn { seq: CommandSeq(4), kind, x: 1.0, y: 2.0, rotation: 3.0 };
    dev.send(ClientMessage::PlaygroundSpawn(spawn.clone()));
    ann.send(ClientMessage::PlaygroundSpawn(spawn));
    dev.send(ClientMessage::PlaygroundStress(PlaygroundStress { seq: CommandSeq(5), count: 30, rotate: true }));
    step(&mut scene, &mut hashes, 10);
    dev.send(ClientMessage::PlaygroundClear(PlaygroundClear { seq: CommandSeq(6) }));
    step(&mut scene, &mut hashes, 3);
    let lost = ann.player;
    drop(ann);
    step(&mut scene, &mut hashes, 2);
    let ann = scene.resume(lost);
    hashes.push(scene.room.hash());
    drop(ann);
    step(&mut scene, &mut hashes, 12);
    dev.send(ClientMessage::Leave);
    step(&mut scene, &mut hashes, 3);
    assert_eq!(scene.room.players(), 0);
    (scene.room.recording().unwrap().clone(), hashes)
}

static EVENTFUL: LazyLock<(Recording, Vec<u64>)> = LazyLock::new(eventful);

#[test]
fn a_recording_is_the_same_after_it_was_stored() {
    let (recording, hashes) = &*EVENTFUL;
    assert_eq!(recording.ticks() as usize, hashes.len());
    assert_eq!((recording.game.as_str(), recording.seed, recording.tick_hz), ("yard", 7, 20));
    assert_eq!(Recording::from_bytes(&recording.to_bytes()).as_ref(), Ok(recording));
}

#[test]
fn a_replay_has_the_same_hash_at_every_tick() {
    let (recording, hashes) = &*EVENTFUL;
    let mut replay = Replay::new(Yard::default(), recorded(), recording).unwrap();
    for (index, &hash) in hashes.iter().enumerate() {
        assert_eq!(replay.step(), Ok(Some((Tick(index as u32 + 1), hash))));
    }
    assert_eq!(replay.step(), Ok(None));
    assert_eq!(replay.step(), Ok(None), "the replay stays at the end");
}

#[test]
fn a_replay_can_stop_at_any_tick() {
    let (recording, hashes) = &*EVENTFUL;
    for last in [1, 2, 7, 20, hashes.len() as u32] {
        let mut replay = Replay::new(Yard::default(), recorded(), recording).unwrap();
        assert_eq!(replay.run_to(Tick(last)), Ok(Some((Tick(last), hashes[last as usize - 1]))));
        assert_eq!(replay.room().now(), Tick(last));
        assert_eq!(replay.room().hash(), hashes[last as usize - 1]);
    }
    let mut replay = Replay::new(Yard::default(), recorded(), recording).unwrap();
    let end = hashes.len() as u32;
    assert_eq!(replay.run_to(Tick(u32::MAX)), Ok(Some((Tick(end), hashes[end as usize - 1]))));
}

#[test]
fn every_kind_of_tick_input_is_in_the_recording() {
    let (recording, hashes) = &*EVENTFUL;
    let mut replay = Replay::new(Yard::default(), recorded(), recording).unwrap();
    replay.run_to(Tick(hashes.len() as u32)).unwrap();
    let names: Vec<_> = replay.room().totals().each().filter(|(_, count)| *count > 0).map(|(name, _)| name).collect();
    assert_eq!(names, Vec::<&str>::new(), "a replay books nothing: it is no live room");
    let calls = &replay.room().game().calls;
    let kinds = |prefix: &str| calls.iter().filter(|call| format!("{call:?}").starts_with(prefix)).count();
    assert!(kinds("Join") >= 4, "two joined, and joined again after the clear");
    assert_eq!((kinds("Leave"), kinds("Answer"), kinds("Signal")), (2, 4, 1));
    assert!(kinds("Input") >= 20);
}

#[test]
fn a_diverging_replay_names_the_tick() {
    let (recording, _) = &*EVENTFUL;
    let mut other = recording.clone();
    other.seed = 8;
    let mut replay = Replay::new(Yard::default(), recorded(), &other).unwrap();
    let error = replay.run_to(Tick(u32::MAX)).unwrap_err();
    assert!(matches!(error, ReplayError::Diverged { tick: Tick(1), .. }), "{error}");
}

#[test]
fn a_replay_of_a_room_from_a_checkpoint_starts_from_it() {
    let build = || Room::builder(Yard::default(), settings()).checkpoint(vec![9, 0]).record("yard").build().unwrap();
    let mut room = build();
    let _ann = room.handle().join(join_request("ann"), DeliveryOrder::Ordered).unwrap();
    for _ in 0..5 {
        room.tick(&mut NoObserver);
    }
    let recording = Recording::from_bytes(&room.recording().unwrap().to_bytes()).unwrap();
    assert!(matches!(&recording.start, RecordingStart::Restored(restore) if restore.state == Some(vec![9, 0])));
    let mut replay = Replay::new(Yard::default(), settings(), &recording).unwrap();
    assert_eq!(replay.run_to(Tick(5)), Ok(Some((Tick(5), room.hash()))));
}

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Other {
    flag: bool,
}

struct OtherGame;

impl Game for OtherGame {
    type Input = Other;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Other>()
    }

    fn join(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}
    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Other) {}
    fn tick(&mut self, _room: &mut Context<'_>) {}
}

#[test]
fn a_recording_of_another_game_is_not_replayed() {
    let (recording, _) = &*EVENTFUL;
    assert_eq!(Replay::new(OtherGame, recorded(), recording).err(), Some(ReplayError::OtherSchema));
}

#[test]
fn other_files_and_other_versions_are_distinct_errors() {
    let bytes = EVENTFUL.0.to_bytes();
    assert_eq!(Recording::from_bytes(b""), Err(RecordingError::NotARecording));
    assert_eq!(Recording::from_bytes(b"GIF89a and more"), Err(RecordingError::NotARecording));
    let mut newer = bytes.clone();
    newer[7] = 200;
    assert_eq!(Recording::from_bytes(&newer), Err(RecordingError::Version(200)));
    assert_eq!(Recording::from_bytes(&bytes[..20]), Err(RecordingError::Truncated));
}

/// Replays the recording if it can be read. Any result is fine, as long as nothing panics.
fn try_everything(bytes: &[u8]) {
    if let Ok(recording) = Recording::from_bytes(bytes)
        && let Ok(mut replay) = Replay::new(Yard::default(), recorded(), &recording)
    {
        let _ = replay.run_to(Tick(u32::MAX));
    }
}

#[test]
fn a_recording_that_is_cut_off_anywhere_ends_with_its_last_complete_tick() {
    let (recording, hashes) = &*EVENTFUL;
    let bytes = recording.to_bytes();
    let mut lengths = BTreeSet::new();
    for end in 0..bytes.len() {
        match Recording::from_bytes(&bytes[..end]) {
            Err(RecordingError::NotARecording) => assert!(end < 7),
            Err(error) => assert!(lengths.is_empty() && error == RecordingError::Truncated, "{end}: {error}"),
            Ok(part) => {
                lengths.insert(part.ticks());
                assert_eq!(part.end(), None);
                let mut replay = Replay::new(Yard::default(), recorded(), &part).unwrap();
                let reached = replay.run_to(Tick(u32::MAX)).unwrap();
                assert_eq!(reached, part.ticks().checked_sub(1).map(|at| (Tick(at + 1), hashes[at as usize])));
            }
        }
    }
    assert_eq!(lengths.len(), hashes.len(), "it may end after each tick, and before the first");
}

#[test]
fn a_recording_in_which_a_number_joins_twice_does_no_harm() {
    let (recording, _) = &*EVENTFUL;
    let bytes = recording.to_bytes();
    // The second player's join, found by its name, gets the id of the first.
    let name = bytes.windows(8).position(|window| window == b"user-ann").unwrap();
    let mut twice = bytes.clone();
    assert_eq!(twice[name - 3..name], [0, 2, 8]);
    twice[name - 2] = 1;
    try_everything(&twice);
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn a_damaged_recording_never_panics(flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = EVENTFUL.0.to_bytes();
        for (index, value) in flips {
            let at = index.index(bytes.len());
            bytes[at] ^= value;
        }
        try_everything(&bytes);
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), keep in 0usize..60) {
        let mut begun = EVENTFUL.0.to_bytes()[..keep].to_vec();
        try_everything(&bytes);
        begun.extend(bytes);
        try_everything(&begun);
    }
}
