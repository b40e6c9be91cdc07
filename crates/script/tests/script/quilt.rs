//! Quilt, the built-in game in Lua: its bots play it, recordings of it replay, and it is reloaded while players play.

use crate::support::ScriptServer;
use crate::viewer::Viewer;
use aether_bits::{BitWriter, Replicate};
use aether_engine::recording::Recording;
use aether_engine::{JoinRequest, NoObserver, Room, RoomSettings, RoomStatus, RuntimeGame};
use aether_replication::DeliveryOrder;
use aether_rooms::RoomDefinition;
use aether_script::{LocalMatch, MatchLimits, Sources, Value, recorded_matches, reload_code};
use aether_wire::{ClientMessage, InputBytes, InputPayload, InputPayloads, InputSeq, Inputs, StateAck, ViewTick};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

const QUILT: &str = include_str!("../../../../games/quilt/lua/quilt.lua");
const BOTS: &str = include_str!("../../../../games/quilt/lua/quilt/bots.lua");
const CLOTH: &str = include_str!("../../../../games/quilt/lua/quilt/cloth.lua");

/// Input of the game, as a client in Rust declares it.
#[derive(Clone, Replicate)]
struct Steer {
    #[replicate(angle = 12)]
    aim: f32,
}

/// Ticks in which bots have certainly sewn and snipped.
const TICKS: u32 = 900;

fn sources(quilt: &str) -> Sources {
    Sources::of([("quilt", quilt), ("quilt.bots", BOTS), ("quilt.cloth", CLOTH)]).expect("the names are free")
}

fn make(sources: Sources, handler: &str) -> Room<Box<dyn RuntimeGame>> {
    let local = LocalMatch {
        sources: Arc::new(sources),
        handler: handler.to_owned(),
        is_module: false,
        module: handler.to_owned(),
        params: Value::table([]),
        // Tests run in parallel on few cores, so a stop must come from the script and not from a busy machine.
        limits: MatchLimits { tick_share: 10.0, ..MatchLimits::default() },
        seed: 7,
    };
    let game = local.make().expect("the modules load");
    let settings = RoomSettings {
        tick_hz: 20,
        snapshot_hz: 20,
        interest: None,
        rings: Vec::new(),
        entities_max: 2_000,
        ..RoomSettings::default()
    };
    Room::builder(game, settings).seed(7).record("quilt").build().expect("the room is built")
}

/// Returns a text that changes the speed of needles.
fn with_speed(speed: u32) -> String {
    let changed = QUILT.replace("local SPEED = 9 ", &format!("local SPEED = {speed} "));
    assert_ne!(changed, QUILT, "the line of the speed is as expected");
    changed
}

#[test]
fn bots_sew_and_snip_and_a_recording_replays_to_the_same_hash() {
    let mut room = make(sources(QUILT), "quilt");
    let handle = room.handle();
    let ann = JoinRequest { user: "ann".to_owned(), name: "Ann".to_owned(), ..JoinRequest::default() };
    let ann = handle.join(ann, DeliveryOrder::Ordered).expect("the mailbox has space");
    for tick in 1..=TICKS {
        let mut packed = BitWriter::new();
        Steer { aim: (tick % 250) as f32 / 40.0 }.write_full(&mut packed);
        let input = InputBytes::new(&packed.to_bytes()).expect("it is short");
        let payloads: InputPayloads = [InputPayload::Packed(input)].into_iter().collect();
        let inputs = Inputs { first_seq: InputSeq(tick), payloads, ack: StateAck::NONE, view: ViewTick::default() };
        ann.push(ClientMessage::Inputs(inputs)).expect("the inbox has space");
        if tick == 300 {
            handle.reload(reload_code(&sources(&with_speed(14)))).expect("the mailbox has space");
        }
        assert_eq!(room.tick(&mut NoObserver), RoomStatus::Running, "at tick {tick}");
        while ann.next_state().is_some() || ann.next_reliable().is_some() {}
    }
    assert!(room.world().len() > 96 + 8, "patches, seats and needles: {}", room.world().len());
    let bytes = room.recording().expect("it is recorded").to_bytes();
    let recording = Recording::from_bytes(&bytes).expect("it is a recording");
    let RoomDefinition::Game { settings, factory } = recorded_matches() else { unreachable!("it runs a game") };
    let last = factory.replay(&settings, &recording, None).expect("every hash is as recorded");
    assert_eq!(last, Some((room.now(), room.hash())));
}

/// Returns the seats that a player sees: names with cells, without bots.
fn players(viewer: &Viewer) -> Vec<(String, u64)> {
    let seats = viewer.seen.get("seats").into_iter().flatten();
    let of_player = |fields: &std::collections::BTreeMap<String, Json>| {
        let is_bot = fields.get("is_bot")?.as_bool()?;
        (!is_bot).then_some((fields.get("name")?.as_str()?.to_owned(), fields.get("cells")?.as_u64()?))
    };
    seats.filter_map(|(_, fields)| of_player(fields)).collect()
}

fn speed(viewer: &Viewer) -> Option<f64> {
    viewer.seen.get("round")?.values().next()?.get("speed")?.as_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_game_is_reloaded_while_players_play_and_nobody_is_disconnected() {
    let modules = [("quilt", QUILT), ("quilt/bots", BOTS), ("quilt/cloth", CLOTH)];
    let scripts = ScriptServer::start_with(&modules, |config| config.script.match_share_percent = 100).await;
    let mut viewers = Vec::new();
    for _ in 0..6 {
        viewers.push(Viewer::join(scripts.server.http, "quilt").await);
    }
    for viewer in &mut viewers {
        let needle = viewer.possession().await;
        viewer.until("the needle", |viewer| viewer.field("needles", needle, "position").cloned()).await;
        viewer.input(json!({ "aim": 1.0 })).await;
    }
    let first = &mut viewers[0];
    first
        .until("six players with cloth", |viewer| {
            let players = players(viewer);
            (players.len() == 6 && players.iter().all(|(_, cells)| *cells > 0)).then_some(())
        })
        .await;
    assert_eq!(speed(first), Some(9.0));

    let running = scripts.server.running();
    let loaded = running.scripts().expect("the server has scripts");
    scripts.write("quilt", &with_speed(15));
    loaded.load(running.services()).await.expect("the module loads");
    for viewer in &mut viewers {
        viewer.until("the new speed", |viewer| (speed(viewer)? == 15.0).then_some(())).await;
        let kept = players(viewer);
        assert!(kept.len() == 6 && kept.iter().any(|(_, cells)| *cells > 0), "players and cloth are kept: {kept:?}");
    }

    scripts.write("quilt", &with_speed(20).replace("local function match_loop(", "local function match_loop((("));
    let error = loaded.load(running.services()).await.err().expect("the module is broken");
    assert_eq!(error.module.as_deref(), Some("quilt"));
    let line = QUILT.lines().position(|line| line.starts_with("local function match_loop")).map(|line| line as u32 + 1);
    assert_eq!(error.line, line, "{error}");
    for viewer in &mut viewers {
        let before = viewer.tick;
        viewer.input(json!({ "aim": 2.0 })).await;
        viewer.until("more ticks", |viewer| (viewer.tick > before + 10).then_some(())).await;
        assert_eq!(speed(viewer), Some(15.0), "the former code goes on");
    }
    scripts.stop().await;
}

const COST: &str = r#"
local COUNT = 1000
local function match_init()
    for index = 1, COUNT do
        aether.world_spawn({ Rock = { position = { index % 100, index % 90 }, velocity = { 0.25, -0.25 } } })
    end
    return { state = { ids = aether.world_ids("Rock"), mode = 0 }, tick_rate = 20 }
end
local modes = {}
modes[0] = function() end
modes[1] = function(state)
    for _, id in state.ids do
        local x, y = aether.world_get(id, "Rock", "position")
        local dx, dy = aether.world_get(id, "Rock", "velocity")
        aether.world_set(id, "Rock", "position", (x + dx) % 100, (y + dy) % 100)
    end
end
modes[2] = function()
    local positions = aether.world_column("Rock", "position")
    local velocities = aether.world_column("Rock", "velocity")
    for index = 1, #positions do
        positions[index] = (positions[index] + velocities[index]) % 100
    end
    aether.world_set_column("Rock", "position", positions)
end
modes[3] = function()
    local positions = aether.world_column("Rock", "position", true)
    local velocities = aether.world_column("Rock", "velocity", true)
    for offset = 0, 8 * COUNT - 4, 4 do
        local sum = buffer.readf32(positions, offset) + buffer.readf32(velocities, offset)
        buffer.writef32(positions, offset, sum % 100)
    end
    aether.world_set_column("Rock", "position", positions)
end
aether.register_match("cost", {
    schema = { components = { Rock = {
        position = { "vec2", range = { -500, 500 }, position = true },
        velocity = { "vec2", range = { -50, 50 } },
    } } },
    entities_max = 2000,
    match_init = match_init,
    match_loop = function(_, state) modes[state.mode](state) return state end,
    match_signal = function(_, state, data) state.mode = tonumber(data) return state, "" end,
})
"#;

/// Moves 1,000 entities, by calls for each and by columns. All must have the same effect, and columns must be cheaper.
#[test]
fn cost_of_bulk_access_is_below_that_of_calls_for_each_entity() {
    let mut hashes = Vec::new();
    let mut costs = Vec::new();
    for mode in ["0", "1", "2", "3"] {
        let mut room = make(Sources::of([("cost", COST)]).expect("the name is free"), "cost");
        let handle = room.handle();
        let (reply, replied) = std::sync::mpsc::sync_channel(1);
        handle.signal(mode.as_bytes().to_vec(), reply).expect("the mailbox has space");
        room.tick(&mut NoObserver);
        assert_eq!(replied.try_recv(), Ok(Vec::new()));
        let mut fastest = Duration::MAX;
        for _ in 0..30 {
            let began = Instant::now();
            room.tick(&mut NoObserver);
            fastest = fastest.min(began.elapsed());
        }
        hashes.push(room.world().hash());
        costs.push(fastest);
    }
    assert!(hashes[1] != hashes[0] && hashes[1] == hashes[2] && hashes[1] == hashes[3], "{hashes:?}");
    let [nothing, each, list, floats] = costs[..] else { unreachable!("there are four modes") };
    let micros = |cost: Duration| cost.saturating_sub(nothing).as_secs_f64() * 1e6;
    println!(
        "move 1,000 entities: by calls {:.0} µs, lists {:.0} µs, buffers {:.0} µs",
        micros(each),
        micros(list),
        micros(floats)
    );
    assert!(micros(list) < micros(each) && micros(floats) < micros(each), "columns are cheaper: {costs:?}");
}
