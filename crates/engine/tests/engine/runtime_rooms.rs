//! Parts of rooms that games defined at run time need: setup, clock, tick rate, match data, reload, and failure.

use crate::support::{join_request, settings};
use aether_bits::StateHasher;
use aether_bits::runtime::RuntimeSchema;
use aether_engine::recording::{Recording, RecordingEnd, Replay};
use aether_engine::{
    BuildError, ConnectionEndpoint, Context, JoinRequest, MonotonicClock, NoObserver, RELOAD_BYTES_MAX, Rejection,
    ReloadError, Room, RoomBuilder, RoomExit, RoomSettings, RoomStatus, RuntimeGame, Scheduler,
};
use aether_replication::DeliveryOrder;
use aether_wire::{ClientMessage, CloseReason, CommandSeq, GameBody, GameMessage, PlayerId, ServerMessage, Tick};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Wall clock of tick 0 in these tests.
const STARTED_MS: u64 = 1_700_000_000_000;
/// Op code at which the game fails.
const FAIL: u16 = 666;

/// Keeps a log of its calls, which is its state. Its code is a word that begins each entry.
struct Logbook {
    schema: RuntimeSchema,
    code: String,
    tick_hz: Option<u32>,
    fails_at_start: bool,
    log: Vec<String>,
}

impl Logbook {
    fn new(code: &str) -> Logbook {
        let (code, log) = (code.to_owned(), Vec::new());
        Logbook { schema: RuntimeSchema::default(), code, tick_hz: Some(10), fails_at_start: false, log }
    }

    fn boxed(code: &str) -> Box<dyn RuntimeGame> {
        Box::new(Logbook::new(code))
    }

    fn note(&mut self, room: &Context<'_>, text: &str) {
        self.log.push(format!("{} {} {text}", self.code, room.now_ms() - STARTED_MS));
    }
}

impl RuntimeGame for Logbook {
    fn schema(&self) -> &RuntimeSchema {
        &self.schema
    }

    fn setup(&self) -> Vec<u8> {
        self.code.clone().into_bytes()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        if let Some(tick_hz) = self.tick_hz
            && let Err(error) = room.set_tick_hz(tick_hz)
        {
            room.fail(error.to_string());
        }
        if self.fails_at_start {
            room.fail("line 3: no level `x`");
            room.fail("a second text is not shown");
        }
        room.set_label("log");
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let known = (room.username(player), room.session(player), room.name(player));
        let text = format!("join {known:?}");
        self.note(room, &text);
    }

    fn resumed(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let text = format!("resumed {:?}", room.session(player));
        self.note(room, &text);
    }

    fn data(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        op_code: u16,
        payload: &[u8],
    ) -> Result<(), Rejection> {
        if op_code == FAIL {
            room.fail("line 7: attempt to index nil");
        }
        self.note(room, &format!("data {} {op_code} {payload:?}", player.0));
        room.broadcast_data(op_code, payload.to_vec(), Some(player));
        Ok(())
    }

    fn reload(&mut self, room: &mut Context<'_>, code: &[u8]) {
        self.code = String::from_utf8_lossy(code).into_owned();
        self.note(room, "reload");
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        if room.tick() == Tick(1) {
            let refused = room.set_tick_hz(30).unwrap_err().to_string();
            self.note(room, &refused);
        }
    }

    fn terminate(&mut self, room: &mut Context<'_>) {
        self.note(room, "terminate");
    }

    fn hash(&self, hasher: &mut StateHasher) {
        for byte in self.log.iter().flat_map(|line| line.bytes()) {
            hasher.word(u64::from(byte));
        }
    }
}

fn builder(game: Box<dyn RuntimeGame>) -> RoomBuilder<Box<dyn RuntimeGame>> {
    Room::builder(game, settings()).seed(1).started_ms(STARTED_MS)
}

fn visitor(name: &str) -> JoinRequest {
    JoinRequest { username: format!("{name}-1999"), session: format!("session of {name}"), ..join_request(name) }
}

fn send(endpoint: &ConnectionEndpoint, code: u16, payload: &[u8]) {
    let body = GameBody::Packed { code, payload: payload.to_vec() };
    endpoint.push(ClientMessage::Game(GameMessage { seq: CommandSeq(0), body })).unwrap();
}

/// Returns the op codes and payloads of match data.
fn received(endpoint: &ConnectionEndpoint) -> Vec<(u16, Vec<u8>)> {
    std::iter::from_fn(|| endpoint.next_reliable())
        .filter_map(|message| match &*message {
            ServerMessage::Event(event) => match &event.body {
                GameBody::Packed { code, payload } => Some((*code, payload.clone())),
                GameBody::Named { .. } => None,
            },
            _ => None,
        })
        .collect()
}

#[test]
fn a_game_sets_its_tick_rate_before_the_first_tick_and_reads_the_clock_of_the_room() {
    let slow = RoomSettings { tick_hz: 40, snapshot_hz: 20, resume_ticks: 80, ..settings() };
    let game: Box<dyn RuntimeGame> = Box::new(Logbook { tick_hz: Some(30), ..Logbook::new("a") });
    let mut room = Room::builder(game, slow).started_ms(STARTED_MS).build().unwrap();
    let set = room.handle().settings().clone();
    assert_eq!((set.tick_hz, set.snapshot_hz, set.resume_ticks), (30, 15, 60), "times in ticks keep their length");
    assert_eq!(&*room.handle().label(), "log");
    let handle = room.handle();
    for _ in 0..29 {
        room.tick(&mut NoObserver);
    }
    let _ann = handle.join(visitor("ann"), DeliveryOrder::Ordered).unwrap();
    room.tick(&mut NoObserver);
    let mut before = StateHasher::new(0);
    room.game().hash(&mut before);
    let mut expected = StateHasher::new(0);
    let log = [
        "a 33 the tick rate of a room can be set only before its first tick",
        r#"a 1000 join (Some("ann-1999"), Some("session of ann"), Some("ann"))"#,
    ];
    let logged = Logbook { log: log.map(str::to_owned).to_vec(), ..Logbook::new("a") };
    RuntimeGame::hash(&logged, &mut expected);
    assert_eq!(before.finish(), expected.finish());
}

#[test]
fn a_tick_rate_outside_of_its_range_and_a_failure_at_the_start_are_errors_of_the_builder() {
    for tick_hz in [0, 129] {
        let game: Box<dyn RuntimeGame> = Box::new(Logbook { tick_hz: Some(tick_hz), ..Logbook::new("a") });
        let error = builder(game).build().err().unwrap();
        assert_eq!(error, BuildError::Game("tick_hz must be from 1 to 128".to_owned()));
    }
    let game: Box<dyn RuntimeGame> = Box::new(Logbook { fails_at_start: true, ..Logbook::new("a") });
    let error = builder(game).build().err().unwrap();
    assert_eq!(error.to_string(), "line 3: no level `x`");
}

#[test]
fn data_resumes_and_reloads_are_recorded_with_the_setup_and_the_clock() {
    let mut room = builder(Logbook::boxed("old")).record("log").build().unwrap();
    let handle = room.handle();
    let ann = handle.join(visitor("ann"), DeliveryOrder::Ordered).unwrap();
    room.tick(&mut NoObserver);
    send(&ann, 7, b"hi");
    // The join is posted before the reload, and handled after it.
    let _ben = handle.join(visitor("ben"), DeliveryOrder::Ordered).unwrap();
    handle.reload(Arc::from(&b"mid"[..])).unwrap();
    handle.reload(Arc::from(&b"new"[..])).unwrap();
    room.tick(&mut NoObserver);
    assert_eq!(received(&ann), [(7, b"hi".to_vec())]);
    let resumed = handle.resume_for_messages(PlayerId(1), "another".to_owned()).unwrap();
    room.tick(&mut NoObserver);
    send(&resumed, 8, &[0, 255]);
    room.tick(&mut NoObserver);

    let mut expected = StateHasher::new(0);
    let log = [
        r#"old 100 join (Some("ann-1999"), Some("session of ann"), Some("ann"))"#,
        "old 100 the tick rate of a room can be set only before its first tick",
        "mid 200 reload",
        "new 200 reload",
        r#"new 200 join (Some("ben-1999"), Some("session of ben"), Some("ben"))"#,
        "new 200 data 1 7 [104, 105]",
        r#"new 300 resumed Some("another")"#,
        "new 400 data 1 8 [0, 255]",
    ];
    RuntimeGame::hash(&Logbook { log: log.map(str::to_owned).to_vec(), ..Logbook::new("") }, &mut expected);
    let mut found = StateHasher::new(0);
    room.game().hash(&mut found);
    assert_eq!(found.finish(), expected.finish());

    let recording = Recording::from_bytes(&room.recording().unwrap().to_bytes()).unwrap();
    assert_eq!((&recording.setup[..], recording.started_ms, recording.tick_hz), (&b"old"[..], STARTED_MS, 10));
    // The replay is made from the recorded setup, with the settings of the type.
    let game = Logbook::boxed(std::str::from_utf8(&recording.setup).unwrap());
    let mut replay = Replay::new(game, settings(), &recording).unwrap();
    assert_eq!(replay.run_to(Tick(4)), Ok(Some((Tick(4), room.hash()))));
}

#[test]
fn code_above_the_limit_is_refused() {
    let mut room = builder(Logbook::boxed("a")).build().unwrap();
    let most: Arc<[u8]> = vec![b'x'; RELOAD_BYTES_MAX].into();
    assert_eq!(room.handle().reload(most), Ok(()));
    let more: Arc<[u8]> = vec![b'x'; RELOAD_BYTES_MAX + 1].into();
    assert_eq!(room.handle().reload(more), Err(ReloadError::TooLarge));
    room.tick(&mut NoObserver);
    assert_eq!(room.game().setup().len(), RELOAD_BYTES_MAX);
}

#[test]
fn a_room_whose_game_fails_ends_after_the_tick_and_its_recording_replays() {
    let channel = aether_engine::recording::RecordingChannel::new(1 << 20);
    let mut room = builder(Logbook::boxed("a")).stream_recording("log", Arc::clone(&channel)).build().unwrap();
    let handle = room.handle();
    let ann = handle.join(visitor("ann"), DeliveryOrder::Ordered).unwrap();
    assert_eq!(room.tick(&mut NoObserver), RoomStatus::Running);
    send(&ann, FAIL, b"");
    assert_eq!(room.tick(&mut NoObserver), RoomStatus::Ended);
    assert_eq!(room.failure(), Some("line 7: attempt to index nil"));
    assert_eq!(ann.closing().unwrap().reason, CloseReason::RoomFailed);
    assert!(!handle.is_open());
    assert!(!handle.has_ended_for_good(), "a durable room keeps its stored state, as after a panic");
    let hash = room.hash();
    drop(room);
    let mut bytes: Vec<u8> = std::iter::from_fn(|| channel.next_chunk()).flatten().collect();
    bytes.extend(channel.last_bytes().unwrap());
    let recording = Recording::from_bytes(&bytes).unwrap();
    assert_eq!(recording.end(), Some(RecordingEnd::RoomEnded));
    let mut replay = Replay::new(Logbook::boxed("a"), settings(), &recording).unwrap();
    assert_eq!(replay.run_to(Tick(9)), Ok(Some((Tick(2), hash))), "terminate is not called");
}

/// Time since the start of the test.
struct Clock(Instant);

impl MonotonicClock for Clock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

#[test]
fn the_scheduler_reports_a_failed_room_with_its_text_and_keeps_the_others() {
    let scheduler = Scheduler::new(1, Arc::new(Clock(Instant::now())));
    let other = builder(Logbook::boxed("a")).build().unwrap();
    let (other_handle, _) = (other.handle(), scheduler.add(other, NoObserver));
    let room = builder(Logbook::boxed("a")).build().unwrap();
    let handle = room.handle();
    let number = scheduler.add(room, NoObserver);
    let ann = handle.join(visitor("ann"), DeliveryOrder::Ordered).unwrap();
    send(&ann, FAIL, b"");
    let ended = scheduler.next_ended(Duration::from_secs(10));
    assert_eq!(ended, Some((number, RoomExit::Failed("line 7: attempt to index nil".to_owned()))));
    assert!(other_handle.is_open());
}
