//! Inputs, commands, events and state of players.

use aether_bits::{BitWriter, Replicate};
use aether_replication::{DeliveryOrder, Mirror};
use aether_sandbox_rules::Controls;
use aether_server::tokens::Role;
use aether_testkit_server::workshop::{Say, Stick, Tool};
use aether_testkit_server::{DeliveryPath, JSON, PROTOBUF, TRANSPORTS, TestPlayer, TestServer, TransportKind, until};
use aether_wire::{
    ClientMessage, ClientTime, CloseReason, CommandSeq, EntityId, ErrorCode, GameBody, Hello, InputBytes, InputPayload,
    InputSeq, Inputs, JsonSnapshot, Ping, PlaygroundClear, PlaygroundSpawn, PlaygroundStress, ServerMessage, Snapshot,
    StateAck, Tick, ViewTick,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use tokio::time::timeout;
use uuid::Uuid;

fn packed<R: Replicate>(input: &R) -> InputPayload {
    let mut writer = BitWriter::new();
    input.write_full(&mut writer);
    InputPayload::Packed(InputBytes::new(&writer.to_bytes()).expect("it is short"))
}

fn inputs<R: Replicate>(seq: u32, input: &R) -> ClientMessage {
    let (ack, view) = (StateAck::NONE, ViewTick::default());
    ClientMessage::Inputs(Inputs { first_seq: InputSeq(seq), payloads: vec![packed(input)].into(), ack, view })
}

fn keys(seq: u32, keys: &str) -> String {
    format!(
        r#"{{"v":2,"kind":"command","feature":"movement","action":"input_batch","payload":{{"inputs":[{{"seq":{seq},"keys":{keys}}}]}}}}"#
    )
}

async fn notice(player: &mut TestPlayer) -> aether_wire::ErrorNotice {
    player
        .wait("an error", |message| match message {
            ServerMessage::Error(notice) => Some(notice),
            _ => None,
        })
        .await
}

async fn snapshot(player: &mut TestPlayer) -> JsonSnapshot {
    player
        .wait("a snapshot", |message| match message {
            ServerMessage::Snapshot(Snapshot::Readable(snapshot)) => Some(snapshot),
            _ => None,
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_numbers_are_rejected() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let hello = server.hello_as(Role::Developer, "workshop");
        let mut player = server.join(transport, JSON, &hello).await;
        let tool = player.possession().await;
        for (aim, sentence) in [
            ("[1e38, 0]", "aim must be a list of 2 numbers"),
            ("[0, -1e39]", "aim must be a list of 2 numbers"),
            ("[0.5]", "aim must be a list of 2 numbers"),
            ("\"NaN\"", "aim must be a list of 2 numbers"),
            ("null", "aim must be a list of 2 numbers"),
        ] {
            player.send_frame(keys(1, &format!(r#"{{"aim":{aim}}}"#))).await;
            let notice = notice(&mut player).await;
            assert_eq!(notice.code, ErrorCode::BadValue, "{aim}");
            assert!(notice.message.contains(sentence), "{aim}: {}", notice.message);
        }
        let errors = || server.metric("aether_decode_errors_total", &[]);
        for text in [
            keys(1, r#"{"aim":[NaN,0]}"#),
            r#"{"v":2,"kind":"command","seq":1,"feature":"playground","action":"spawn","payload":{"kind":"crate","x":1e38,"y":0,"rotation":0}}"#.into(),
            r#"{"v":2,"kind":"command","seq":1,"clientTime":1,"feature":"movement","action":"delta","payload":{"entity":1,"dx":1e39,"dy":0}}"#.into(),
            format!(r#"{{"v":2,"kind":"command","feature":"chat","action":"say","payload":{}1{}}}"#, "[".repeat(200), "]".repeat(200)),
        ] {
            let before = errors();
            player.send_frame(&text).await;
            let notice = notice(&mut player).await;
            assert_eq!((notice.code, notice.fatal), (ErrorCode::BadMessage, false), "{text}");
            assert!(notice.message.ends_with('.'), "a sentence: {}", notice.message);
            assert_eq!(errors(), before + 1.0, "{text}");
        }
        // A value out of range is clamped: a stick pushed a million times as far moves no faster.
        player.send_frame(keys(2, r#"{"aim":[1e6,0]}"#)).await;
        let mut positions = PositionsById::new();
        while positions.get(&tool).is_none_or(|[x, _]| *x < 1.0) {
            apply(&mut positions, &snapshot(&mut player).await);
        }
        assert_eq!(positions[&tool], [1.0, 0.0]);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_field_is_rejected_with_the_known_ones() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut player = server.join(transport, JSON, &server.hello("sandbox")).await;
        player.send_frame(keys(1, r#"{"thurst":true}"#)).await;
        let notice = notice(&mut player).await;
        assert!(notice.message.contains("no field thurst; it has thrust, left, right, fire"), "{}", notice.message);
        let wrong = r#"{"v":2,"kind":"command","seq":4,"feature":"presence","action":"dance","payload":{}}"#;
        player.send_frame(wrong).await;
        assert_eq!(player.answer(4).await.map(|error| error.code), Some(ErrorCode::UnknownCommand));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_at_ten_kilohertz_are_dropped_and_then_close_the_connection() {
    let server = TestServer::start(|_| {}).await;
    for (number, transport) in TRANSPORTS.into_iter().enumerate() {
        let mut player = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let mut seq = 0;
        let mut pace = tokio::time::interval(Duration::from_millis(10));
        let closing = 'flood: loop {
            pace.tick().await;
            for _ in 0..100 {
                seq += 1;
                let _ = player.client.queue(&inputs(seq, &Controls { thrust: true, ..Controls::default() }));
            }
            while let Ok(message) = timeout(Duration::from_millis(1), player.client.next_message()).await {
                match message {
                    Ok(ServerMessage::Closing(closing)) => break 'flood closing,
                    Ok(_) => {}
                    Err(error) => panic!("the connection ended without a closing message after {seq} inputs: {error}"),
                }
            }
            assert!(seq < 100_000, "the connection is not closed");
        };
        assert_eq!(closing.reason, CloseReason::Flooded, "over {}", transport.name());
        let flooded = [("reason", "flooded")];
        server.until_metric("aether_connections_closed_total", &flooded, number as f64 + 1.0).await;
    }
    assert!(server.metric("aether_messages_dropped_total", &[("reason", "rate")]) >= 200.0);
    let applied = server.metric("aether_room_events_total", &[("kind", "inputs")]);
    assert!(applied <= 400.0, "{applied} inputs were applied");
    server.stop().await;
}

/// Audit log of all servers of this process.
static LOG: LazyLock<Arc<Mutex<Vec<u8>>>> = LazyLock::new(|| {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&lines);
    let make = move || Lines(Arc::clone(&writer));
    let subscriber = tracing_subscriber::fmt().with_env_filter("aether_audit=info").with_ansi(false);
    let subscriber = subscriber.with_writer(make).finish();
    tracing::subscriber::set_global_default(subscriber).expect("there is no other subscriber");
    lines
});

struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Searches by user id, because every server of this process has a player of the same number.
fn audited(user: Uuid, player: u32, action: &str, outcome: &str) -> bool {
    let log = LOG.lock().expect("no writer panics");
    let words = [user.to_string(), format!("player={player} "), format!("action=\"{action}\""), outcome.to_owned()];
    let text = String::from_utf8_lossy(&log);
    text.lines().any(|line| line.contains("aether_audit") && words.iter().all(|word| line.contains(word)))
}

/// Joins as a new user with a role. Returns the player and the user.
async fn join_as(server: &TestServer, transport: TransportKind, role: Role) -> (TestPlayer, Uuid) {
    let user = Uuid::new_v4();
    let token = server.sign(|claims| (claims.user, claims.role) = (user, Some(role)));
    let hello = Hello { token: Some(token), ..server.hello("sandbox") };
    (server.join(transport, PROTOBUF, &hello).await, user)
}

fn playground_commands() -> [(&'static str, ClientMessage); 3] {
    let spawn = PlaygroundSpawn { seq: CommandSeq(1), kind: "crate".into(), x: 1.0, y: 2.0, rotation: 0.5 };
    let stress = PlaygroundStress { seq: CommandSeq(2), count: 3, rotate: true };
    [
        ("playground.spawn", ClientMessage::PlaygroundSpawn(spawn)),
        ("playground.stress", ClientMessage::PlaygroundStress(stress)),
        ("playground.clear", ClientMessage::PlaygroundClear(PlaygroundClear { seq: CommandSeq(3) })),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn playground_commands_need_a_permission_and_are_audited() {
    LazyLock::force(&LOG);
    let server = TestServer::start(|_| {}).await;
    let refused = || server.metric("aether_room_events_total", &[("kind", "unprivileged")]);
    for transport in TRANSPORTS {
        for role in [Role::Player, Role::ReadOnly] {
            let (mut player, user) = join_as(&server, transport, role).await;
            let before = refused();
            for (seq, (action, command)) in (1..).zip(playground_commands()) {
                player.send(command).await;
                assert_eq!(player.answer(seq).await.map(|error| error.code), Some(ErrorCode::Forbidden), "{action}");
                let id = player.welcome.player.0;
                until("an audit line", || audited(user, id, action, "refused: no permission")).await;
            }
            until("the count", || refused() == before + 3.0).await;
        }
        let mut bystander = server.join(transport, JSON, &server.hello("sandbox")).await;
        let ship_before = bystander.possession().await;
        for role in [Role::Developer, Role::Admin] {
            let (mut player, user) = join_as(&server, transport, role).await;
            for (seq, (action, command)) in (1..).zip(playground_commands()) {
                player.send(command).await;
                assert_eq!(player.answer(seq).await, None, "{action}");
                let id = player.welcome.player.0;
                until("an audit line", || audited(user, id, action, "done")).await;
            }
            player.wait("cleared", |message| matches!(message, ServerMessage::Cleared(_)).then_some(())).await;
            player.possession().await;
        }
        bystander.wait("cleared", |message| matches!(message, ServerMessage::Cleared(_)).then_some(())).await;
        assert_ne!(bystander.possession().await, ship_before, "all players join again");
        let too_many = PlaygroundStress { seq: CommandSeq(9), count: 1_001, rotate: false };
        let mut admin = server.join(transport, PROTOBUF, &server.hello_as(Role::Admin, "sandbox")).await;
        admin.send(ClientMessage::PlaygroundStress(too_many)).await;
        assert_eq!(admin.answer(9).await.map(|error| error.code), Some(ErrorCode::BadValue));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manifest_has_more_for_players_with_the_inspect_permission() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        for role in Role::ALL {
            let mut player = server.join(transport, JSON, &server.hello_as(role, "sandbox")).await;
            player.send(ClientMessage::ManifestRequest).await;
            let manifest = player
                .wait("a manifest", |message| match message {
                    ServerMessage::Manifest(manifest) => Some(manifest),
                    _ => None,
                })
                .await;
            assert_eq!((manifest.version_server.as_str(), manifest.version_protocol), ("1.2.3", 2));
            let details = [
                manifest.tick_rate,
                manifest.clients_active,
                manifest.rooms_active,
                manifest.entities_active,
                manifest.uptime_s,
                manifest.tick_us,
            ];
            let shown = details.iter().flatten().count();
            assert_eq!(shown, if role == Role::Player { 0 } else { 6 }, "{role}");
            if role > Role::Player {
                assert_eq!((manifest.tick_rate, manifest.rooms_active), (Some(40), Some(1)));
                assert!(manifest.entities_active > Some(20));
            }
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pong_dispatch_time_is_that_of_pongs_alone() {
    let server = TestServer::start(|_| {}).await;
    let dispatched = || server.metric("aether_pong_dispatch_seconds_count", &[]);
    let hello = server.hello_as(Role::Developer, "workshop");
    let mut player = server.join(TransportKind::WebSocket, PROTOBUF, &hello).await;
    for _ in 0..5 {
        player.send(ClientMessage::ManifestRequest).await;
        player.wait("a manifest", |message| matches!(message, ServerMessage::Manifest(_)).then_some(())).await;
    }
    assert_eq!(dispatched(), 0.0, "a welcome and manifests are no pongs");
    for number in 1..=5_u32 {
        player.send(ClientMessage::Ping(Ping { client_time: ClientTime(number.into()), tick: Tick(1) })).await;
        player.wait("a pong", |message| matches!(message, ServerMessage::Pong(_)).then_some(())).await;
    }
    until("all pongs are counted", || dispatched() == 5.0).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pong_has_the_time_of_the_ping_and_the_tick_of_the_server() {
    let server = TestServer::start(|_| {}).await;
    for (transport, encoding) in TRANSPORTS.into_iter().flat_map(|transport| [(transport, JSON), (transport, PROTOBUF)])
    {
        let mut player = server.join(transport, encoding, &server.hello("sandbox")).await;
        for number in 1..=5 {
            let ping = Ping { client_time: ClientTime(1_000_500 * number), tick: Tick(number as u32) };
            player.send(ClientMessage::Ping(ping)).await;
            let pong = player
                .wait("a pong", |message| match message {
                    ServerMessage::Pong(pong) => Some(pong),
                    _ => None,
                })
                .await;
            assert_eq!((pong.client_time, pong.tick), (ping.client_time, ping.tick));
            assert!(pong.server_tick.0 > 0 && pong.hold_us < 1_000_000, "{pong:?}");
        }
    }
    assert_eq!(server.metric("aether_pings_total", &[]), 20.0);
    assert_eq!(server.metric("aether_ping_hold_seconds_count", &[]), 20.0);
    assert!(server.metric("aether_pong_dispatch_seconds_count", &[]) >= 20.0);
    assert_eq!(server.metric("aether_messages_sent_total", &[("kind", "pong")]), 20.0);
    assert_eq!(server.metric("aether_auth_to_possession_seconds_count", &[]), 4.0);
    server.stop().await;
}

/// Waits for a snapshot with the player's ship. Returns its position.
async fn ship_position(player: &mut TestPlayer, ship: EntityId) -> [f64; 2] {
    loop {
        let snapshot = snapshot(player).await;
        let ships = snapshot.features.get("movement").map_or(&[][..], Vec::as_slice);
        if let Some(own) = ships.iter().find(|entity| entity.id == ship) {
            let position: [f64; 2] =
                serde_json::from_value(own.fields.0["position"].clone()).expect("a position is two numbers");
            return position;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_hidden_entities_are_never_sent() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut watcher = server.join(transport, JSON, &server.hello("sandbox")).await;
        let mut others = Vec::new();
        for _ in 0..8 {
            others.push(server.join(transport, JSON, &server.hello("sandbox")).await);
        }
        // After the world was cleared twice, ids have a generation, so no other number equals one by chance.
        let mut developer = server.join(transport, JSON, &server.hello_as(Role::Developer, "sandbox")).await;
        for seq in 1..=2 {
            developer.send(ClientMessage::PlaygroundClear(PlaygroundClear { seq: CommandSeq(seq) })).await;
            assert_eq!(developer.answer(seq).await, None);
        }
        let mut ships = Vec::new();
        for player in [&mut watcher].into_iter().chain(&mut others) {
            for _ in 0..2 {
                player.wait("cleared", |message| matches!(message, ServerMessage::Cleared(_)).then_some(())).await;
            }
            let ship = player.possession().await;
            assert!(ship.generation > 0, "{ship:?}");
            ships.push((ship, ship_position(player, ship).await));
        }
        let (own, [x, y]) = ships[0];
        let far = |[other_x, other_y]: [f64; 2]| (x - other_x).hypot(y - other_y) > 300.0;
        let hidden: Vec<EntityId> =
            ships.iter().filter(|(_, position)| far(*position)).map(|(ship, _)| *ship).collect();
        assert!(!hidden.is_empty(), "some of nine ships are out of view");
        // All players move, so that there are changes to send.
        for player in [&mut watcher].into_iter().chain(&mut others) {
            player.send_frame(keys(1, r#"{"left":true}"#)).await;
        }
        let mut seen = String::new();
        while seen.matches("\"kind\":\"snapshot\"").count() < 15 {
            let frame = timeout(Duration::from_secs(20), watcher.client.next_frame()).await.expect("in time");
            seen += &String::from_utf8(frame.expect("it is open")).expect("JSON is text");
        }
        assert!(own.to_bits() > u64::from(u32::MAX), "the id has a generation");
        for ship in hidden {
            assert!(!seen.contains(&ship.to_bits().to_string()), "{ship:?} is told over {}", transport.name());
        }
    }
    server.stop().await;
}

type PositionsById = BTreeMap<EntityId, [f32; 2]>;

fn apply(positions: &mut PositionsById, snapshot: &JsonSnapshot) {
    for id in &snapshot.removed {
        positions.remove(id);
    }
    for entity in snapshot.features.get("tools").into_iter().flatten() {
        let position = serde_json::from_value(entity.fields.0["position"].clone()).expect("a position is two numbers");
        positions.insert(entity.id, position);
    }
}

/// Follows the entities in view by their ids in snapshots, until a condition holds.
async fn show(player: &mut TestPlayer, in_view: &mut BTreeSet<EntityId>, until: impl Fn(&BTreeSet<EntityId>) -> bool) {
    while !until(in_view) {
        let snapshot = snapshot(player).await;
        for id in &snapshot.removed {
            assert!(in_view.remove(id), "{id:?} leaves without having entered");
        }
        for id in &snapshot.entered {
            assert!(in_view.insert(*id), "{id:?} enters twice");
        }
        for entity in snapshot.features.values().flatten() {
            assert!(in_view.contains(&entity.id), "{:?} has state without having entered", entity.id);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn json_snapshots_name_the_entities_that_enter_and_leave() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut watcher = server.join(transport, JSON, &server.hello("workshop")).await;
        let own = watcher.possession().await;
        let mut in_view = BTreeSet::new();
        show(&mut watcher, &mut in_view, |in_view| in_view.contains(&own)).await;
        let mut player = server.join(transport, JSON, &server.hello("workshop")).await;
        let other = player.possession().await;
        show(&mut watcher, &mut in_view, |in_view| in_view.contains(&other)).await;
        player.send(ClientMessage::Leave).await;
        show(&mut watcher, &mut in_view, |in_view| !in_view.contains(&other)).await;
        assert!(in_view.contains(&own));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_encodings_have_the_same_world_at_the_same_tick() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut words = server.join(transport, JSON, &server.hello("workshop")).await;
        let mut bits = server.join(transport, PROTOBUF, &server.hello("workshop")).await;
        let link =
            if transport == TransportKind::WebSocket { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
        let mut mirror = Mirror::builder().component::<Tool>().build(link, 1.0 / 40.0);
        let (mut shown, mut as_json, mut in_bits) = (PositionsById::new(), BTreeMap::new(), BTreeMap::new());
        for round in 1..=60_u32 {
            bits.send(inputs(round, &Stick { aim: [0.13, -0.07] })).await;
            words.send_frame(keys(round, r#"{"aim":[-0.11,0.29]}"#)).await;
            let snapshot = snapshot(&mut words).await;
            apply(&mut shown, &snapshot);
            as_json.insert(snapshot.tick, shown.clone());
            let packet = bits
                .wait("a state packet", |message| match message {
                    ServerMessage::Snapshot(Snapshot::Packed(packet)) => Some(packet),
                    _ => None,
                })
                .await;
            if mirror.apply(&packet).expect("it can be read").last {
                let position = |id| (id, mirror.get::<Tool>(id).expect("it is there").position);
                in_bits.insert(mirror.tick(), mirror.entities().map(position).collect::<PositionsById>());
                bits.send(ClientMessage::Ack(mirror.acknowledgement())).await;
            }
        }
        // A datagram may be lost; its changes then arrive later.
        let same = |(tick, words): (&Tick, &PositionsById)| {
            let bits = in_bits.get(tick)?;
            words.keys().eq(bits.keys()).then_some(*tick)
        };
        let common: Vec<Tick> = as_json.iter().filter_map(same).collect();
        assert!(common.len() >= 10, "{} ticks were seen by both", common.len());
        for tick in &common {
            assert_eq!(as_json[tick], in_bits[tick], "{tick:?} over {}", transport.name());
        }
        let last = &as_json[common.last().expect("there are some")];
        assert!(last.len() >= 2 && last.values().any(|position| position[0].abs() > 1.0), "the tools moved: {last:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_and_messages_have_names_in_json() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut words = server.join(transport, JSON, &server.hello("workshop")).await;
        let mut bits = server.join(transport, PROTOBUF, &server.hello("workshop")).await;
        let say = r#"{"v":2,"kind":"command","seq":3,"feature":"chat","action":"say","payload":{"words":"good day"}}"#;
        words.client.send_frame(DeliveryPath::Reliable, say.as_bytes()).await.expect("the message is sent");
        let body = words
            .wait("an event", |message| match message {
                ServerMessage::Event(event) => Some(event.body),
                _ => None,
            })
            .await;
        let GameBody::Named { feature, action, fields } = body else { panic!("it has a name: {body:?}") };
        assert_eq!((feature.as_str(), action.as_str()), ("chat", "say"));
        assert_eq!(fields.0.get("words"), Some(&Value::from("good day")));
        assert_eq!(json!(fields), json!({ "words": "good day" }));
        let body = bits
            .wait("an event", |message| match message {
                ServerMessage::Event(event) => Some(event.body),
                _ => None,
            })
            .await;
        let GameBody::Packed { code: 0, payload } = body else { panic!("it is packed: {body:?}") };
        let heard = Say::read_full(&mut aether_bits::BitReader::new(&payload)).expect("it can be read");
        assert_eq!(heard.words, "good day");
        assert_eq!(words.answer(3).await, None);
        let long = format!(
            r#"{{"v":2,"kind":"command","seq":4,"feature":"chat","action":"say","payload":{{"words":"{}"}}}}"#,
            "a".repeat(201)
        );
        words.send_frame(long).await;
        let error = words.answer(4).await.expect("the request is rejected");
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::BadValue, "words must be a text of up to 200 bytes")
        );
    }
    server.stop().await;
}
