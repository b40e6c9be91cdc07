//! Durable rooms: checkpoints, journal entries and rebuilds.

use aether_bits::{BitWriter, Replicate, StateHasher};
use aether_engine::recording::{Recording, RecordingStart, Replay};
use aether_engine::{
    BuildError, ConnectionEndpoint, Context, ENTRIES_MAX, ENTRY_BYTES_MAX, EntryNumber, Game, GameSchemaBuilder,
    JoinRequest, NoObserver, PlayerMessage, Rejection, RestoreData, Room, RoomCheckpoint, RoomHandle, RoomSettings,
    RoomStatus,
};
use aether_replication::DeliveryOrder;
use aether_wire::{
    Ack, ClientMessage, CloseReason, CommandSeq, ErrorCode, GameBody, GameMessage, PlayerId, ServerMessage, Tick,
};
use aether_world::World;
use std::collections::BTreeSet;

/// Puts a coin with a number into the vault. 0 needs no entry, 255 ends the room, 254 commits too long an entry.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "vault")]
struct Put {
    coin: u8,
}

/// A vault that adds each coin only after its entry is stored.
#[derive(Default)]
struct Vault {
    coins: Vec<u8>,
    set_aside: BTreeSet<u8>,
    refused: Vec<u8>,
    joined: Vec<PlayerId>,
    rejoined: Vec<PlayerId>,
    left: Vec<(PlayerId, CloseReason)>,
}

impl Game for Vault {
    type Input = Put;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.event::<Put>()
    }

    fn join(&mut self, _room: &mut Context<'_>, player: PlayerId) {
        self.joined.push(player);
    }

    fn rejoin(&mut self, _room: &mut Context<'_>, player: PlayerId) {
        self.rejoined.push(player);
    }

    fn leave(&mut self, _room: &mut Context<'_>, player: PlayerId, reason: CloseReason) {
        self.left.push((player, reason));
    }

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Put) {}

    fn message(
        &mut self,
        room: &mut Context<'_>,
        _player: PlayerId,
        message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        let Some(Ok(Put { coin })) = message.read::<Put>() else {
            return Err(Rejection::new(ErrorCode::BadValue, "put a coin"));
        };
        match coin {
            0 => {}
            255 => room.end(),
            254 => room.commit(vec![0; ENTRY_BYTES_MAX + 1])?,
            // Two entries for one command.
            200.. => {
                room.commit(vec![coin])?;
                room.commit(vec![coin])?;
            }
            coin => {
                room.commit(vec![coin])?;
                self.set_aside.insert(coin);
            }
        }
        Ok(())
    }

    fn tick(&mut self, _room: &mut Context<'_>) {}

    fn committed(&mut self, _room: &mut Context<'_>, entry: &[u8]) {
        self.set_aside.remove(&entry[0]);
        self.coins.push(entry[0]);
    }

    fn uncommitted(&mut self, _room: &mut Context<'_>, entry: &[u8]) {
        self.set_aside.remove(&entry[0]);
        self.refused.push(entry[0]);
    }

    fn checkpoint(&self, _world: &World) -> Option<Vec<u8>> {
        Some(self.coins.clone())
    }

    fn restore(&mut self, _room: &mut Context<'_>, checkpoint: &[u8]) -> Result<(), Rejection> {
        self.coins = checkpoint.to_vec();
        Ok(())
    }

    fn hash(&self, hasher: &mut StateHasher) {
        hasher.bytes(&self.coins);
        hasher.word(self.set_aside.len() as u64);
        hasher.word(self.rejoined.len() as u64);
    }
}

const KEEP_TICKS: u32 = 20;
const RESUME_TICKS: u32 = 10;

fn settings() -> RoomSettings {
    RoomSettings {
        tick_hz: 20,
        snapshot_hz: 20,
        rings: Vec::new(),
        resume_ticks: RESUME_TICKS,
        ..RoomSettings::default()
    }
}

fn join_request(name: &str) -> JoinRequest {
    JoinRequest { user: format!("user-{name}"), name: name.to_owned(), ..JoinRequest::default() }
}

struct Scene {
    room: Room<Vault>,
    handle: RoomHandle,
}

impl Scene {
    fn new(restore: Option<RestoreData>) -> Scene {
        let mut builder = Room::builder(Vault::default(), settings()).checkpoint_every(KEEP_TICKS).record("vault");
        if let Some(restore) = restore {
            builder = builder.restore(restore);
        }
        let room = builder.build().unwrap();
        Scene { handle: room.handle(), room }
    }

    fn ticks(&mut self, count: u32) {
        for _ in 0..count {
            self.room.tick(&mut NoObserver);
        }
    }

    fn join(&mut self, name: &str) -> ConnectionEndpoint {
        let endpoint = self.handle.join(join_request(name), DeliveryOrder::Ordered).unwrap();
        self.ticks(1);
        endpoint
    }

    fn entries(&self) -> Vec<(EntryNumber, Vec<u8>)> {
        std::iter::from_fn(|| self.handle.next_entry()).collect()
    }

    /// Reports all pending entries as stored, or as failed.
    fn settle(&mut self, outcome: Result<(), &str>) {
        for (number, _) in self.entries() {
            self.handle.committed(number, outcome.map_err(str::to_owned)).unwrap();
        }
        self.ticks(1);
    }
}

fn put(endpoint: &ConnectionEndpoint, seq: u32, coin: u8) {
    let mut writer = BitWriter::new();
    Put { coin }.write_full(&mut writer);
    let body = GameBody::Packed { code: 0, payload: writer.to_bytes() };
    endpoint.push(ClientMessage::Game(GameMessage { seq: CommandSeq(seq), body })).unwrap();
}

/// Returns the answers: none for success, or the code of the rejection.
fn answers(endpoint: &ConnectionEndpoint) -> Vec<(u32, Option<ErrorCode>)> {
    std::iter::from_fn(|| endpoint.next_reliable())
        .filter_map(|message| match &*message {
            ServerMessage::Ack(Ack { seq, error }) => Some((seq.0, error.as_ref().map(|error| error.code))),
            _ => None,
        })
        .collect()
}

#[test]
fn an_entry_is_carried_out_and_answered_only_when_it_is_stored() {
    let mut scene = Scene::new(None);
    let ann = scene.join("ann");
    put(&ann, 1, 7);
    put(&ann, 2, 0);
    scene.ticks(50);
    assert_eq!(answers(&ann), [(2, None)], "a command without entries is answered at once");
    assert!(scene.room.game().coins.is_empty() && scene.room.game().set_aside.contains(&7));
    scene.settle(Ok(()));
    assert_eq!(answers(&ann), [(1, None)]);
    assert_eq!(scene.room.game().coins, [7]);
    assert!(scene.room.game().set_aside.is_empty());
}

#[test]
fn an_entry_that_cannot_be_stored_is_rejected_with_the_reason_and_its_reservation_released() {
    let mut scene = Scene::new(None);
    let ann = scene.join("ann");
    put(&ann, 1, 7);
    scene.ticks(1);
    for (number, _) in scene.entries() {
        scene.handle.committed(number, Err("the database is away".to_owned())).unwrap();
    }
    scene.ticks(1);
    let sentence = std::iter::from_fn(|| ann.next_reliable()).find_map(|message| match &*message {
        ServerMessage::Ack(Ack { error: Some(error), .. }) => Some(error.message.clone()),
        _ => None,
    });
    assert!(sentence.is_some_and(|sentence| sentence.contains("the database is away")));
    assert_eq!((scene.room.game().refused.as_slice(), scene.room.game().coins.len()), (&[7][..], 0));
    assert!(scene.room.game().set_aside.is_empty());
    assert_eq!(scene.room.totals().entries_refused, 1);
}

#[test]
fn a_command_with_several_entries_is_answered_once_when_all_are_stored_or_one_is_not() {
    let mut scene = Scene::new(None);
    let ann = scene.join("ann");
    put(&ann, 1, 200);
    scene.ticks(1);
    let [first, second] = scene.entries().try_into().unwrap();
    scene.handle.committed(first.0, Ok(())).unwrap();
    scene.ticks(1);
    assert_eq!(answers(&ann), []);
    scene.handle.committed(second.0, Ok(())).unwrap();
    scene.ticks(1);
    assert_eq!(answers(&ann), [(1, None)]);
    put(&ann, 2, 201);
    scene.ticks(1);
    scene.settle(Err("no"));
    assert_eq!(answers(&ann), [(2, Some(ErrorCode::Unavailable))]);
}

#[test]
fn in_a_room_that_is_not_durable_an_entry_counts_with_the_next_tick() {
    let room = Room::builder(Vault::default(), settings()).build().unwrap();
    let mut scene = Scene { handle: room.handle(), room };
    let ann = scene.join("ann");
    put(&ann, 1, 7);
    scene.ticks(1);
    assert_eq!(answers(&ann), []);
    scene.ticks(1);
    assert_eq!(answers(&ann), [(1, None)]);
    assert_eq!(scene.room.game().coins, [7]);
    scene.ticks(100);
    assert_eq!((scene.handle.next_entry(), scene.handle.take_checkpoint()), (None, None), "and nothing is handed out");
}

#[test]
fn entries_beyond_the_limit_or_too_long_are_rejected_at_once() {
    let mut scene = Scene::new(None);
    let ann = scene.join("ann");
    put(&ann, 1, 254);
    scene.ticks(1);
    assert_eq!(answers(&ann), [(1, Some(ErrorCode::Internal))]);
    for seq in 0..ENTRIES_MAX as u32 {
        put(&ann, 100 + seq, 1);
        scene.ticks(1);
    }
    assert_eq!(answers(&ann), []);
    put(&ann, 2, 9);
    scene.ticks(1);
    assert_eq!(answers(&ann), [(2, Some(ErrorCode::Unavailable))]);
    assert_eq!(scene.entries().len(), ENTRIES_MAX);
}

#[test]
fn a_checkpoint_is_published_periodically_if_changed_and_after_joins_and_leaves() {
    let mut scene = Scene::new(None);
    scene.ticks(KEEP_TICKS);
    assert!(scene.handle.take_checkpoint().is_some(), "a new room has a checkpoint soon");
    scene.ticks(5 * KEEP_TICKS);
    assert_eq!(scene.handle.take_checkpoint(), None, "nothing has changed");
    let ann = scene.join("ann");
    scene.ticks(2);
    let checkpoint = scene.handle.take_checkpoint().expect("a player joined");
    assert_eq!((checkpoint.players, checkpoint.last_player), (1, PlayerId(1)));
    put(&ann, 1, 7);
    scene.ticks(2 * KEEP_TICKS);
    assert_eq!(scene.handle.take_checkpoint(), None, "a pending entry is not part of the state");
    scene.settle(Ok(()));
    scene.ticks(KEEP_TICKS);
    let checkpoint = scene.handle.take_checkpoint().expect("there is a coin");
    assert_eq!((checkpoint.state.as_slice(), checkpoint.applied), (&[7][..], EntryNumber(1)));
    ann.push(ClientMessage::Leave).unwrap();
    scene.ticks(3);
    assert_eq!(scene.handle.take_checkpoint().map(|checkpoint| checkpoint.players), Some(0), "a player left");
    assert_eq!(scene.handle.next_departure(), Some((PlayerId(1), CloseReason::Left)));
}

#[test]
fn only_the_newest_checkpoint_is_available() {
    let mut scene = Scene::new(None);
    let ann = scene.join("ann");
    for coin in 1..=3 {
        put(&ann, u32::from(coin), coin);
        scene.ticks(1);
        scene.settle(Ok(()));
        scene.ticks(KEEP_TICKS);
    }
    assert_eq!(scene.handle.take_checkpoint().map(|checkpoint| checkpoint.state.to_vec()), Some(vec![1, 2, 3]));
    assert_eq!(scene.handle.take_checkpoint(), None);
}

fn restore() -> RestoreData {
    RestoreData {
        tick: Tick(700),
        state: Some(vec![1, 2]),
        applied: EntryNumber(2),
        last_player: PlayerId(5),
        players: vec![(PlayerId(3), join_request("ann")), (PlayerId(4), join_request("ben"))],
        journal: vec![(EntryNumber(2), vec![2]), (EntryNumber(4), vec![4])],
    }
}

#[test]
fn a_room_is_rebuilt_with_its_players_and_journal_and_numbers_continue() {
    let mut scene = Scene::new(Some(restore()));
    assert_eq!(scene.room.game().coins, [1, 2, 4], "an entry that the state has is not done twice");
    assert_eq!(scene.room.game().rejoined, [PlayerId(3), PlayerId(4)]);
    let ann = scene.handle.resume(PlayerId(3), DeliveryOrder::Ordered).unwrap();
    scene.ticks(1);
    assert_eq!(ann.admission(), Some(&Ok(PlayerId(3))));
    put(&ann, 1, 9);
    scene.ticks(1);
    assert_eq!(scene.entries(), [(EntryNumber(5), vec![9])]);
    assert_eq!(scene.room.now(), Tick(702), "ticks continue from the last one");
    assert_eq!(scene.handle.stats().tick, Tick(702));
    let eve = scene.join("eve");
    assert_eq!(eve.admission(), Some(&Ok(PlayerId(6))), "no number is given twice");
    scene.ticks(RESUME_TICKS + 1);
    assert_eq!(
        scene.room.game().left,
        [(PlayerId(4), CloseReason::TimedOut)],
        "the other players may resume for the set time only"
    );
    let ben = scene.handle.resume(PlayerId(4), DeliveryOrder::Ordered).unwrap();
    scene.ticks(1);
    assert!(matches!(ben.admission(), Some(Err(rejection)) if rejection.code == ErrorCode::ResumeRefused));
}

#[test]
fn an_unloaded_or_stopped_room_keeps_its_state_and_a_room_ended_by_its_game_does_not() {
    let mut scene = Scene::new(None);
    let ann = scene.join("ann");
    put(&ann, 1, 7);
    scene.ticks(1);
    scene.settle(Ok(()));
    drop(scene.handle.take_checkpoint());
    scene.handle.end().unwrap();
    scene.ticks(1);
    assert_eq!(
        scene.handle.take_checkpoint().map(|checkpoint: RoomCheckpoint| checkpoint.state.to_vec()),
        Some(vec![7])
    );
    assert!(!scene.handle.is_open() && !scene.handle.has_ended_for_good());

    let mut scene = Scene::new(None);
    let ann = scene.join("ann");
    put(&ann, 1, 255);
    scene.ticks(1);
    assert!(!scene.handle.is_open() && scene.handle.has_ended_for_good());
}

#[test]
fn a_room_that_lost_its_lease_ends_without_output() {
    let mut scene = Scene::new(None);
    let ann = scene.join("ann");
    scene.ticks(KEEP_TICKS);
    drop(scene.handle.take_checkpoint());
    put(&ann, 1, 7);
    scene.handle.lease_lost().unwrap();
    assert_eq!(scene.room.tick(&mut NoObserver), RoomStatus::Ended);
    assert_eq!(ann.closing().map(|closing| closing.reason), Some(CloseReason::Moved));
    assert_eq!(scene.handle.take_checkpoint(), None);
    assert!(!scene.handle.has_ended_for_good());
}

#[test]
fn a_game_without_checkpoints_cannot_be_durable() {
    struct Forgetful;
    impl Game for Forgetful {
        type Input = Put;
        fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
            schema
        }
        fn join(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}
        fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Put) {}
        fn tick(&mut self, _room: &mut Context<'_>) {}
    }
    let result = Room::builder(Forgetful, settings()).checkpoint_every(20).build();
    assert!(matches!(result, Err(BuildError::NoCheckpoint)));
}

#[test]
fn a_recording_of_a_rebuilt_room_replays_to_the_same_hash() {
    let mut scene = Scene::new(Some(restore()));
    let ann = scene.handle.resume(PlayerId(3), DeliveryOrder::Ordered).unwrap();
    for coin in 20..30 {
        put(&ann, u32::from(coin), coin);
        scene.ticks(3);
        scene.settle(if coin % 3 == 0 { Err("no") } else { Ok(()) });
    }
    scene.ticks(RESUME_TICKS);
    let recording = scene.room.recording().unwrap().to_bytes();
    let recording = Recording::from_bytes(&recording).unwrap();
    assert_eq!(recording.start, RecordingStart::Restored(restore()));
    let mut replay = Replay::new(Vault::default(), settings(), &recording).unwrap();
    let last = (scene.room.now(), scene.room.hash());
    assert_eq!(replay.run_to(last.0), Ok(Some(last)));
    assert_eq!(replay.room().game().coins, scene.room.game().coins);
}
