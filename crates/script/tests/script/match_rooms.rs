//! Matches of scripts in rooms that a test ticks by hand: services, tasks, reload, replay, checkpoints and limits.

use aether_engine::recording::Recording;
use aether_engine::{
    Answer, BuildError, ConnectionEndpoint, JoinRequest, NoObserver, Request, RestoreData, Room, RoomHandle,
    RoomSettings, RoomStatus, RuntimeGame,
};
use aether_replication::DeliveryOrder;
use aether_rooms::RoomDefinition;
use aether_script::{LocalMatch, MatchLimits, Sources, Value, recorded_matches, reload_code};
use aether_wire::{
    ClientMessage, CloseReason, CommandSeq, GameBody, GameMessage, PlayerId, RequestId, ServerMessage, Tick,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A room with one match.
struct Scene {
    room: Room<Box<dyn RuntimeGame>>,
    handle: RoomHandle,
}

fn settings() -> RoomSettings {
    RoomSettings { tick_hz: 20, snapshot_hz: 20, interest: None, rings: Vec::new(), ..RoomSettings::default() }
}

fn local(source: &str, is_module: bool, params: Value) -> LocalMatch {
    LocalMatch {
        sources: Arc::new(Sources::of([("duel", source)]).expect("the name is free")),
        handler: "duel".to_owned(),
        is_module,
        module: "duel".to_owned(),
        params,
        // Tests run in parallel on few cores, so a stop must come from the script and not from a busy machine.
        limits: MatchLimits { tick_share: 10.0, ..MatchLimits::default() },
        seed: 5,
    }
}

/// Builds a room of `aether.register_match("duel", …)`.
fn build(source: &str, params: Value) -> Result<Room<Box<dyn RuntimeGame>>, String> {
    let game = local(source, false, params).make().map_err(|error| error.to_string())?;
    let room = Room::builder(game, settings()).seed(5).started_ms(1_700_000_000_000).record("duel");
    room.build().map_err(|error| error.to_string())
}

impl Scene {
    fn new(source: &str) -> Scene {
        let room = build(source, Value::table([])).expect("the match is created");
        let handle = room.handle();
        Scene { room, handle }
    }

    fn tick(&mut self) -> RoomStatus {
        self.room.tick(&mut NoObserver)
    }

    fn join(&mut self, name: &str) -> ConnectionEndpoint {
        let endpoint = self.handle.join(request(name), DeliveryOrder::Ordered).expect("the mailbox has space");
        self.tick();
        endpoint
    }

    /// Returns the pending request: its id, and the arguments of the call.
    fn request(&self) -> Option<(RequestId, Value)> {
        let (id, Request::Call { payload, .. }) = self.handle.next_request()? else { return None };
        let Ok(Value::List(call)) = Value::from_bytes(&payload) else { return None };
        Some((id, call[1].clone()))
    }

    fn answer(&self, id: RequestId, values: &[Value]) {
        let answer = Value::list([Value::Boolean(true)].into_iter().chain(values.iter().cloned()));
        self.handle.answer(id, Answer::Value(Some(answer.to_bytes()))).expect("the mailbox has space");
    }

    /// Asserts that a replay of the recording has the same hash at every tick.
    fn assert_replays(&self) {
        let bytes = self.room.recording().expect("it is recorded").to_bytes();
        let recording = Recording::from_bytes(&bytes).expect("it is a recording");
        let RoomDefinition::Game { settings, factory } = recorded_matches() else { unreachable!("it runs a game") };
        let last = factory.replay(&settings, &recording, None).expect("every hash is as recorded");
        assert_eq!(last, Some((self.room.now(), self.room.hash())));
    }
}

fn request(name: &str) -> JoinRequest {
    JoinRequest {
        user: format!("user-{name}"),
        name: name.to_owned(),
        username: name.to_owned(),
        session: format!("session-{name}"),
        ..JoinRequest::default()
    }
}

fn send(endpoint: &ConnectionEndpoint, code: u16, data: &str) {
    let body = GameBody::Packed { code, payload: data.as_bytes().to_vec() };
    endpoint.push(ClientMessage::Game(GameMessage { seq: CommandSeq(0), body })).expect("the inbox has space");
}

/// Returns op codes and texts of match data that has arrived.
fn received(endpoint: &ConnectionEndpoint) -> Vec<(u16, String)> {
    let data = |message: Arc<ServerMessage>| match &*message {
        ServerMessage::Event(event) => match &event.body {
            GameBody::Packed { code, payload } => Some((*code, String::from_utf8_lossy(payload).into_owned())),
            GameBody::Named { .. } => None,
        },
        _ => None,
    };
    std::iter::from_fn(|| endpoint.next_reliable()).filter_map(data).collect()
}

const DUEL: &str = r#"
aether.register_match("duel", {
    match_init = function(ctx, params)
        return { state = { seats = {}, loops = 0, rolls = {} }, tick_rate = 10, label = { mode = params.mode or "duel" } }
    end,
    match_join_attempt = function(ctx, state, presences)
        if presences[1].username == "eve" then
            return false, "not you"
        elseif presences[1].username == "ben" then
            return state
        elseif presences[1].username == "mallory" then
            return state, false
        end
    end,
    match_join = function(ctx, state, presences)
        for _, presence in presences do
            table.insert(state.seats, presence.username)
            aether.broadcast(1, presence.username .. " joined")
        end
    end,
    match_leave = function(ctx, state, presences)
        aether.broadcast(2, presences[1].username .. " left")
    end,
    match_loop = function(ctx, state, tick, messages)
        state.loops += 1
        local broadcasts = {}
        for _, message in messages do
            if message.op_code == 3 then
                state.rank = aether.storage_get(message.sender.user_id, "ranks", message.data)
                table.insert(broadcasts, { op_code = 4, data = { rank = state.rank }, presences = { message.sender } })
            elseif message.op_code == 5 then
                aether.task(function(key)
                    state.bonus = aether.storage_get(nil, "bonus", key)
                    aether.broadcast(6, "bonus")
                end, message.data)
            elseif message.op_code == 7 then
                table.insert(state.rolls, math.random(1, 1000))
                state.at = aether.time()
            elseif message.op_code == 8 then
                return nil
            end
        end
        return state, broadcasts
    end,
    match_signal = function(ctx, state, data)
        return state, data .. " " .. state.loops .. " " .. ctx.match_label
    end,
})
"#;

#[test]
fn functions_of_a_table_get_context_state_and_presences_and_may_be_left_out() {
    let mut scene = Scene::new(DUEL);
    assert_eq!(scene.room.settings().tick_hz, 10);
    assert_eq!(scene.room.label(), r#"{"mode":"duel"}"#);
    let ann = scene.join("ann");
    let eve = scene.join("eve");
    let refused = eve.admission().expect("it is decided").clone().expect_err("the script refuses");
    assert_eq!(refused.message, "not you");
    let mallory = scene.join("mallory");
    let refused = mallory.admission().expect("it is decided").clone().expect_err("the script refuses");
    assert_eq!(refused.message, "Match join rejected.");
    let ben = scene.join("ben");
    assert_eq!(received(&ann), [(1, "ann joined".to_owned()), (1, "ben joined".to_owned())]);
    ben.push(ClientMessage::Leave).expect("the inbox has space");
    scene.tick();
    assert_eq!(received(&ann), [(2, "ben left".to_owned())]);
    let (sender, reply) = std::sync::mpsc::sync_channel(1);
    scene.handle.signal(b"ping".to_vec(), sender).expect("the mailbox has space");
    scene.tick();
    assert_eq!(reply.recv().expect("a reply"), b"ping 5 {\"mode\":\"duel\"}");
    send(&ann, 8, "");
    assert_eq!(scene.tick(), RoomStatus::Ended);
    assert_eq!(ann.closing().map(|closing| closing.reason), Some(CloseReason::RoomEnded), "no state ends the match");
    scene.assert_replays();
}

#[test]
fn a_loop_waits_for_the_services_while_messages_joins_and_leaves_wait_for_it() {
    let mut scene = Scene::new(DUEL);
    let ann = scene.join("ann");
    received(&ann);
    send(&ann, 3, "gold");
    scene.tick();
    let (id, arguments) = scene.request().expect("the loop asks the services");
    let expected = Value::list([Value::from("user-ann"), Value::from("ranks"), Value::from("gold")]);
    assert_eq!(arguments, expected);
    let hash_loops = scene.room.hash();
    let ben = scene.handle.join(request("ben"), DeliveryOrder::Ordered).expect("the mailbox has space");
    send(&ann, 7, "");
    scene.tick();
    scene.tick();
    assert_ne!(scene.room.hash(), hash_loops, "ticks go on");
    assert!(received(&ann).is_empty(), "ben's match_join waits for the loop");
    scene.answer(id, &[Value::table([("place", Value::Number(3.0))])]);
    scene.tick();
    let expected = [(4, r#"{"rank":{"place":3}}"#.to_owned()), (1, "ben joined".to_owned())];
    assert_eq!(received(&ann), expected);
    assert!(ben.admission().is_some_and(Result::is_ok));
    scene.assert_replays();
}

#[test]
fn a_task_runs_beside_the_loop_and_its_answer_replays() {
    let mut scene = Scene::new(DUEL);
    let ann = scene.join("ann");
    received(&ann);
    send(&ann, 5, "daily");
    scene.tick();
    let (id, arguments) = scene.request().expect("the task asks the services");
    assert_eq!(arguments, Value::list([Value::Nil, Value::from("bonus"), Value::from("daily")]));
    send(&ann, 7, "");
    scene.tick();
    let rolled = scene.room.hash();
    scene.tick();
    assert_ne!(scene.room.hash(), rolled, "the loop goes on");
    scene.answer(id, &[Value::Number(50.0)]);
    scene.tick();
    assert_eq!(received(&ann), [(6, "bonus".to_owned())]);
    scene.assert_replays();
}

#[test]
fn an_error_of_the_services_is_raised_in_the_script() {
    let source = r#"
        aether.register_match("duel", {
            match_loop = function(ctx, state, tick)
                if tick == 1 then
                    local ok, problem = pcall(aether.storage_get, nil, "a", "b")
                    aether.broadcast(1, tostring(problem))
                elseif tick == 4 then
                    aether.storage_get(nil, "a", "b")
                end
                return state or {}
            end,
        })"#;
    let mut scene = Scene::new(source);
    let ann = scene.handle.join(request("ann"), DeliveryOrder::Ordered).expect("the mailbox has space");
    scene.tick();
    let (id, _) = scene.request().expect("the loop asks");
    scene.handle.answer(id, Answer::Failed("the database does not answer".to_owned())).expect("space");
    scene.tick();
    assert_eq!(received(&ann).len(), 1);
    scene.tick();
    scene.tick();
    let (id, _) = scene.request().expect("the loop asks again");
    scene.handle.answer(id, Answer::Failed("the database does not answer".to_owned())).expect("space");
    assert_eq!(scene.tick(), RoomStatus::Ended);
    let failure = scene.room.failure().expect("the error was not caught");
    assert!(failure.contains("duel:8: the database does not answer"), "{failure}");
    assert_eq!(ann.closing().map(|closing| closing.reason), Some(CloseReason::RoomFailed));
}

#[test]
fn an_incomplete_module_and_a_wrong_start_are_errors_of_the_creator() {
    let module = "return { match_init = function() return {}, 10, '' end, match_loop = function() end }";
    let error = local(module, true, Value::Nil).make().err().expect("functions are missing").to_string();
    assert!(error.contains("`duel`: `match_join_attempt` must be a function, got nil"), "{error}");
    let all = "local f = function(_, _, _, state) return state end
        return { match_init = function(_, params) return INIT end, match_join_attempt = f, match_join = f,
            match_leave = f, match_loop = f, match_terminate = f, match_signal = f }";
    let long = format!("{{}}, 1, string.rep('x', {})", 2_049);
    for (init, problem) in [
        ("nil", "match_init returned no state"),
        ("{}, 61, ''", "the tick rate of match_init must be a whole number from 1 to 60"),
        ("{}, 0, ''", "the tick rate of match_init must be a whole number from 1 to 60"),
        ("{}, 1.5, ''", "the tick rate of match_init must be a whole number from 1 to 60"),
        (&long, "the label of a match must have at most 2048 bytes"),
        ("error('no level')", "duel:2: no level"),
        ("require('nakama').storage_read({})", "this match runs without a server"),
    ] {
        let game = local(&all.replace("INIT", init), true, Value::Nil).make().expect("the module is complete");
        let error = Room::builder(game, settings()).build().err().expect("the start is wrong");
        let BuildError::Game(text) = error else { panic!("{error}") };
        assert!(text.contains(problem), "{init}: {text}");
    }
}

#[test]
fn new_code_takes_plain_state_over_and_the_recording_replays_across_it() {
    let mut scene = Scene::new(DUEL);
    let ann = scene.join("ann");
    send(&ann, 7, "");
    scene.tick();
    received(&ann);
    let other = DUEL.replace("presence.username .. \" joined\"", "presence.username .. \" entered\"");
    let code = reload_code(&Sources::of([("duel", other)]).expect("the name is free"));
    scene.handle.reload(code).expect("it is small");
    let _ben = scene.join("ben");
    assert_eq!(received(&ann), [(1, "ben entered".to_owned())], "the reload comes before the join of its tick");
    send(&ann, 7, "");
    scene.tick();
    scene.assert_replays();
}

#[test]
fn a_change_of_another_module_leaves_a_match_alone() {
    let source = r#"
        local loads = 0
        aether.register_match("duel", {
            match_init = function() return { state = {} } end,
            match_signal = function(_, state)
                loads += 1
                return state, tostring(loads)
            end,
        })"#;
    let signal = |scene: &mut Scene| {
        let (sender, reply) = std::sync::mpsc::sync_channel(1);
        scene.handle.signal(Vec::new(), sender).expect("the mailbox has space");
        scene.tick();
        String::from_utf8(reply.recv().expect("a reply")).expect("a text")
    };
    let mut scene = Scene::new(source);
    assert_eq!(signal(&mut scene), "1");
    let other = Sources::of([("duel", source), ("shop", "return { price = 3 }")]).expect("the names are free");
    scene.handle.reload(reload_code(&other)).expect("it is small");
    assert_eq!(signal(&mut scene), "2", "variables of the module stay");
    let changed = Sources::of([("duel", format!("{source}\n"))]).expect("the name is free");
    scene.handle.reload(reload_code(&changed)).expect("it is small");
    assert_eq!(signal(&mut scene), "1", "the module is loaded again");
}

#[test]
fn match_terminate_may_send_last_data_and_an_ended_state_is_not_terminated() {
    let source = r#"
        aether.register_match("duel", {
            match_init = function() return { state = {} } end,
            match_terminate = function(ctx, state)
                aether.broadcast_deferred(9, "bye")
                aether.broadcast(8, tostring(pcall(aether.storage_get, nil, "a", "b")))
            end,
        })"#;
    let mut scene = Scene::new(source);
    let ann = scene.join("ann");
    scene.handle.end().expect("the mailbox has space");
    assert_eq!(scene.tick(), RoomStatus::Ended);
    assert_eq!(received(&ann), [(8, "false".to_owned()), (9, "bye".to_owned())]);
    assert!(scene.room.failure().is_none());
}

#[test]
fn a_player_who_resumes_in_another_session_leaves_and_joins_for_the_script() {
    let game = local(DUEL, false, Value::Nil).make().expect("the script is valid");
    let settings = RoomSettings { resume_ticks: 100, ..settings() };
    let room = Room::builder(game, settings).record("duel").build().expect("it starts");
    let mut scene = Scene { handle: room.handle(), room };
    let ann = scene.join("ann");
    drop(ann);
    scene.tick();
    let ann = scene.handle.resume(PlayerId(1), DeliveryOrder::Ordered).expect("the mailbox has space");
    scene.tick();
    assert!(received(&ann).is_empty(), "the session is the same");
    let ann = scene.handle.resume_for_messages(PlayerId(1), "another".to_owned()).expect("the mailbox has space");
    scene.tick();
    assert_eq!(received(&ann), [(2, "ann left".to_owned()), (1, "ann joined".to_owned())]);
    scene.assert_replays();
}

#[test]
fn new_code_waits_for_a_call_of_the_services() {
    let mut scene = Scene::new(DUEL);
    let ann = scene.join("ann");
    send(&ann, 3, "gold");
    scene.tick();
    received(&ann);
    let (id, _) = scene.request().expect("the loop asks");
    let other = DUEL.replace("op_code = 4,", "op_code = 44,").replace("\" left\"", "\" gone\"");
    let code = reload_code(&Sources::of([("duel", other)]).expect("the name is free"));
    scene.handle.reload(code).expect("it is small");
    scene.tick();
    scene.answer(id, &[Value::Number(1.0)]);
    scene.tick();
    assert_eq!(received(&ann), [(4, r#"{"rank":1}"#.to_owned())], "the old code finishes its call");
    let ben = scene.join("ben");
    ben.push(ClientMessage::Leave).expect("the inbox has space");
    scene.tick();
    assert_eq!(received(&ann).last(), Some(&(2, "ben gone".to_owned())), "then the new code runs");
    scene.assert_replays();
}

#[test]
fn match_reload_adapts_the_state_and_without_it_only_plain_data_moves() {
    let with_function = r#"
        aether.register_match("duel", {
            match_init = function() return { state = { version = 1, act = function() return 1 end } } end,
            match_signal = function(_, state) return state, tostring(state.version) end,
        })"#;
    let signal = |scene: &mut Scene| {
        let (sender, reply) = std::sync::mpsc::sync_channel(1);
        scene.handle.signal(Vec::new(), sender).expect("the mailbox has space");
        scene.tick();
        String::from_utf8(reply.recv().expect("a reply")).expect("a text")
    };
    let reload = |scene: &Scene, source: &str| {
        scene.handle.reload(reload_code(&Sources::of([("duel", source)]).expect("a name"))).expect("small");
    };
    let mut scene = Scene::new(with_function);
    reload(&scene, &with_function.replace("tostring(state.version)", "'new code'"));
    assert_eq!(signal(&mut scene), "1", "a function cannot move, so the old code stays");
    let adapting = r#"
        aether.register_match("duel", {
            match_reload = function(ctx, state)
                return { version = state.version + 1, act = function() return 2 end }
            end,
            match_signal = function(_, state) return state, "version " .. state.version .. " " .. state.act() end,
        })"#;
    reload(&scene, adapting);
    assert_eq!(signal(&mut scene), "version 2 2");
    for broken in ["syntax error", "error('at load')", "return 1", "aether.register_match('duel', { match_loop = 1 })"]
    {
        reload(&scene, broken);
        assert_eq!(signal(&mut scene), "version 2 2", "{broken}: the match keeps its code");
    }
    reload(&scene, "aether.register_match('duel', { match_reload = function() error('no') end })");
    assert_eq!(signal(&mut scene), "version 2 2");
    scene.assert_replays();
}

#[test]
fn a_checkpoint_restores_the_match_and_tells_the_script_who_came_and_went() {
    let mut scene = Scene::new(DUEL);
    let _clients = ["ann", "ben"].map(|name| scene.join(name));
    let checkpoint = scene.room.checkpoint().expect("the state is plain data");
    let game = local(DUEL, false, Value::Nil).make().expect("the script is valid");
    let restore = RestoreData {
        tick: Tick(50),
        state: Some(checkpoint),
        last_player: PlayerId(3),
        // Ben left after the checkpoint, and Cleo joined.
        players: vec![(PlayerId(1), request("ann")), (PlayerId(3), request("cleo"))],
        ..RestoreData::default()
    };
    let settings = RoomSettings { resume_ticks: 100, ..settings() };
    let room = Room::builder(game, settings).restore(restore).record("duel").build().expect("it is restored");
    let mut scene = Scene { handle: room.handle(), room };
    assert_eq!((scene.room.settings().tick_hz, scene.room.label()), (10, r#"{"mode":"duel"}"#));
    let ann = scene.handle.resume(PlayerId(1), DeliveryOrder::Ordered).expect("the mailbox has space");
    scene.tick();
    assert_eq!(received(&ann), [(2, "ben left".to_owned())]);
    let (sender, reply) = std::sync::mpsc::sync_channel(1);
    scene.handle.signal(b"loops".to_vec(), sender).expect("the mailbox has space");
    scene.tick();
    assert_eq!(reply.recv().expect("a reply"), b"loops 3 {\"mode\":\"duel\"}", "two loops before, and one since");
}

#[test]
fn a_recording_that_begins_in_the_middle_replays() {
    let mut scene = Scene::new(DUEL);
    let ann = scene.join("ann");
    send(&ann, 7, "");
    scene.tick();
    let other = DUEL.replace("math.random(1, 1000)", "math.random(1, 1000) + 1000");
    scene.handle.reload(reload_code(&Sources::of([("duel", other)]).expect("a name"))).expect("small");
    scene.tick();
    let channel = aether_engine::recording::RecordingChannel::new(1 << 20);
    let (sender, begun) = std::sync::mpsc::sync_channel(1);
    scene.handle.start_recording("duel", Arc::clone(&channel), sender).expect("the mailbox has space");
    scene.tick();
    begun.recv().expect("a reply").expect("the match can be captured");
    send(&ann, 7, "");
    scene.tick();
    let hash = scene.room.hash();
    drop(scene);
    let bytes: Vec<u8> = std::iter::from_fn(|| channel.next_chunk()).flatten().collect();
    let recording = Recording::from_bytes(&bytes).expect("it is a recording");
    let RoomDefinition::Game { settings, factory } = recorded_matches() else { unreachable!("it runs a game") };
    let last = factory.replay(&settings, &recording, None).expect("every hash is as recorded");
    assert_eq!(last.map(|(_, hash)| hash), Some(hash));
}

#[test]
fn a_replay_that_gets_other_numbers_is_noticed() {
    let mut scene = Scene::new(DUEL);
    let ann = scene.join("ann");
    send(&ann, 7, "");
    scene.tick();
    let bytes = scene.room.recording().expect("it is recorded").to_bytes();
    let mut recording = Recording::from_bytes(&bytes).expect("it is a recording");
    recording.seed += 1;
    let RoomDefinition::Game { settings, factory } = recorded_matches() else { unreachable!("it runs a game") };
    assert!(factory.replay(&settings, &recording, None).is_err(), "the rolls differ");
    recording.seed -= 1;
    recording.started_ms += 1;
    assert!(factory.replay(&settings, &recording, None).is_err(), "the time differs");
}

#[test]
fn loops_over_texts_and_numbers_have_the_same_order_in_every_vm() {
    let source = r#"
        aether.register_match("duel", {
            match_init = function() return { state = { bag = {}, order = "" } } end,
            match_loop = function(_, state, tick)
                for i = 1, 40 do
                    -- Texts are not removed: the places of others would then depend on the garbage collector.
                    state.bag["key" .. math.random(1, 500)] = tick
                    state.bag[math.random(-200, 200) / 4] = true
                    state.bag[math.random(-200, 200) / 4] = nil
                end
                local order = {}
                for key in pairs(state.bag) do
                    table.insert(order, tostring(key))
                end
                state.order = table.concat(order, " ")
                return state
            end,
        })"#;
    let mut scene = Scene::new(source);
    for _ in 0..40 {
        scene.tick();
    }
    scene.assert_replays();
}

#[test]
fn a_script_that_exceeds_its_time_or_memory_ends_its_match_with_module_line_and_stack() {
    let source = |body: &str| {
        format!(
            "local function work()\n{body}\nend\naether.register_match('duel', {{\nmatch_loop = function(_, state, tick)\n\
             if tick == 3 then work() end\nreturn state or {{}}\nend }})"
        )
    };
    for (body, problem) in [
        ("while true do end", "exceeded its time"),
        ("return string.rep('x', 8000000)", "memory"),
        ("local function f() return f() + 1 end return f()", "stack overflow"),
    ] {
        let limits = MatchLimits { tick_share: 0.25, memory_max: 4 << 20 };
        let game = LocalMatch { limits, ..local(&source(body), false, Value::Nil) }.make().expect("it loads");
        let mut room = Room::builder(game, settings()).build().expect("it starts");
        room.tick(&mut NoObserver);
        room.tick(&mut NoObserver);
        let began = Instant::now();
        assert_eq!(room.tick(&mut NoObserver), RoomStatus::Ended, "{body}");
        let took = began.elapsed();
        assert!(took < Duration::from_millis(50), "{body}: stopped after {took:?}");
        let failure = room.failure().expect("it failed");
        assert!(failure.contains("match handler `duel`: duel:2:") && failure.contains(problem), "{failure}");
        assert!(failure.contains("duel:6"), "the stack has the caller: {failure}");
        println!("{problem}: stopped after {took:?}");
    }
}

#[test]
fn tasks_messages_deferred_broadcasts_and_data_are_bounded() {
    let source = r#"
        aether.register_match("duel", {
            match_init = function() return { state = {} } end,
            match_loop = function(_, state, tick, messages)
                if tick == 1 then
                    for i = 1, 100 do
                        local ok, problem = pcall(aether.task, function() aether.storage_get(nil, "a", tostring(i)) end)
                        if not ok then
                            state.tasks, state.task_problem = i - 1, tostring(problem)
                            break
                        end
                    end
                    for i = 1, 2000 do
                        if not pcall(aether.broadcast_deferred, 1, "x", {}) then break end
                        state.none = i
                    end
                    for i = 1, 2000 do
                        if not pcall(aether.broadcast_deferred, 1, "x") then break end
                        state.deferred = i
                    end
                    state.large = pcall(aether.broadcast, 1, string.rep("x", 32769))
                    state.fitting = pcall(aether.broadcast, 1, string.rep("x", 32768))
                    state.code = pcall(aether.broadcast, 65536, "x")
                    state.label = pcall(aether.set_label, string.rep("x", 2049))
                end
                return state
            end,
            match_signal = function(_, state) return state, require("nakama").json_encode(state) end,
        })"#;
    let mut scene = Scene::new(source);
    scene.tick();
    let (sender, reply) = std::sync::mpsc::sync_channel(1);
    scene.handle.signal(Vec::new(), sender).expect("the mailbox has space");
    scene.tick();
    let state: serde_json::Value = serde_json::from_slice(&reply.recv().expect("a reply")).expect("JSON");
    assert_eq!(state["tasks"], 64, "{state}");
    assert_eq!((&state["deferred"], &state["none"]), (&1_024.into(), &2_000.into()), "{state}");
    let flags = ["large", "fitting", "code", "label"].map(|name| state[name].as_bool());
    assert_eq!(flags, [Some(false), Some(true), Some(false), Some(false)], "{state}");
}

#[test]
fn functions_of_matches_are_refused_while_modules_load() {
    let error = build("aether.broadcast(1, 'x')", Value::Nil).err().expect("no match runs");
    assert!(error.contains("broadcast is available in the functions of a match only"), "{error}");
}

#[test]
fn a_checkpoint_has_the_entities_and_who_possesses_them() {
    let source = r#"
        aether.register_match("duel", {
            schema = { components = { Ship = { x = { "int", range = { -100, 100 } } } } },
            match_init = function()
                return { state = { buoy = aether.world_spawn({ Ship = { x = 7 } }) } }
            end,
            match_join = function(_, state, presences)
                aether.world_possess(presences[1].player, aether.world_spawn({ Ship = { x = presences[1].player } }))
            end,
            match_signal = function(_, state)
                local mine = aether.world_possession(1)
                local x = aether.world_get(state.buoy, "Ship", "x") + aether.world_get(mine, "Ship", "x")
                return state, tostring(x)
            end,
        })"#;
    let mut scene = Scene::new(source);
    let _clients = ["ann", "ben"].map(|name| scene.join(name));
    assert_eq!(scene.room.world().len(), 3);
    let checkpoint = scene.room.checkpoint().expect("the state is plain data");
    let rebuild = |source: &str| {
        let game = local(source, false, Value::Nil).make().expect("the script is valid");
        let restore = RestoreData {
            tick: Tick(50),
            state: Some(checkpoint.clone()),
            last_player: PlayerId(2),
            players: vec![(PlayerId(1), request("ann"))],
            ..RestoreData::default()
        };
        let settings = RoomSettings { resume_ticks: 100, ..settings() };
        Room::builder(game, settings).restore(restore).record("duel").build()
    };
    let room = rebuild(source).expect("it is restored");
    let mut scene = Scene { handle: room.handle(), room };
    scene.tick();
    assert_eq!((scene.room.now(), scene.room.world().len()), (Tick(51), 2), "the ship of Ben left with him");
    let (sender, reply) = std::sync::mpsc::sync_channel(1);
    scene.handle.signal(Vec::new(), sender).expect("the mailbox has space");
    scene.tick();
    assert_eq!(reply.recv().expect("a reply"), b"8");
    scene.assert_replays();
    let error = rebuild(&source.replace("-100, 100", "-200, 200")).err().expect("the entities cannot be read");
    assert!(error.to_string().contains("add a match_reload"), "{error}");
}
