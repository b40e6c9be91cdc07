//! A runtime game: its schema is built at run time, and three kinds of clients play it over real sockets. One has derived
//! types of the same schema, one uses JSON, and one is the client core for browsers.

use aether_bits::{BitWriter, Replicate};
use aether_client::{
    Client, ClientEvent, ClientGame, ClientSchemaBuilder, ClientSettings, Interpolate, JoinOptions, Predict,
};
use aether_client_native::{Connection, Connector, NativeClient, NativeClientSettings, TransportPreference};
use aether_client_web::{ClientCore, PredictionRules};
use aether_engine::RoomSettings;
use aether_replication::{DeliveryOrder, Mirror};
use aether_server::Server;
use aether_server::config::{Config, Secret};
use aether_testkit::games::depot::{Board, CHAT, Cart, Chat, Crane, Drive, Lift, Mode, RuntimeDepot, Scored};
use aether_testkit_server::seeing_player::{guest, hello, of_type};
use aether_testkit_server::{DEADLINE, DeliveryPath, JSON, PROTOBUF, TestPlayer, TransportKind};
use aether_wire::{EntityId, ErrorCode, Event, GameBody, Hello, ServerMessage, Snapshot};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::time::timeout;

const CART: usize = 0;
const CRANE: usize = 1;
const BOARD: usize = 2;
const MODES: [&str; 3] = ["Idle", "Lifting", "Broken"];

/// All visible entities: the rows of their components, in the row layout of the core.
type VisibleEntities = BTreeMap<EntityId, [Option<Vec<f64>>; 3]>;

/// Visible entities by tick.
type History = BTreeMap<u32, VisibleEntities>;

/// The game of the typed client. It predicts nothing.
#[derive(Default)]
struct Depot {
    seen: History,
}

/// A drawn cart.
#[derive(Clone)]
struct Drawn(Cart);

impl Interpolate for Drawn {
    fn moved(&self, from: &Self, to: &Self, share: f32) -> Self {
        Drawn(Cart { position: self.0.position.moved(&from.0.position, &to.0.position, share), ..self.0.clone() })
    }

    fn distance(&self, other: &Self) -> f32 {
        self.0.position.distance(&other.0.position)
    }
}

impl Predict for Depot {
    type State = Drawn;
    type Input = Drive;

    fn step(&self, _state: &mut Drawn, _input: &Drive, _seconds: f32) {}

    fn snap(&self, _state: &mut Drawn) {}

    fn is_same(&self, _a: &Drawn, _b: &Drawn) -> bool {
        true
    }
}

impl ClientGame for Depot {
    type Remote = Drawn;

    fn declare(&self, declaration: ClientSchemaBuilder) -> ClientSchemaBuilder {
        let components = declaration.component::<Cart>().component::<Crane>().component::<Board>();
        components.input::<Drive>().event::<Chat>().event::<Lift>().event::<Scored>()
    }

    fn observe(&mut self, mirror: &Mirror) {
        let rows = |id| {
            let cart = mirror.get::<Cart>(id).map(cart_row);
            (id, [cart, mirror.get::<Crane>(id).map(crane_row), mirror.get::<Board>(id).map(board_row)])
        };
        self.seen.insert(mirror.tick().0, mirror.entities().map(rows).collect());
    }

    fn pack_input(&self, input: &Drive, writer: &mut BitWriter) {
        let mut input = input.clone();
        input.snap();
        input.write_full(writer);
    }

    fn own_state(&self, _mirror: &Mirror, _entity: EntityId) -> Option<Drawn> {
        None
    }

    fn remote_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Drawn> {
        mirror.get::<Cart>(entity).cloned().map(Drawn)
    }
}

fn wide(numbers: &[f32]) -> impl Iterator<Item = f64> {
    numbers.iter().map(|number| f64::from(*number))
}

fn cart_row(cart: &Cart) -> Vec<f64> {
    let Cart { position, velocity, heading, load, .. } = cart;
    wide(position).chain(wide(velocity)).chain(wide(&[*heading, *load])).collect()
}

fn crane_row(crane: &Crane) -> Vec<f64> {
    let Crane { x, y, arm, gaze, mode, hook } = crane;
    let numbers = wide(&[*x, *y]).collect::<Vec<_>>().into_iter().chain(wide(arm)).chain(wide(gaze));
    let hook = [f64::from(*mode as u8), f64::from(hook.depth), f64::from(u8::from(hook.open))];
    numbers.chain(hook).collect()
}

/// Texts and lists come after the fields of fixed size.
fn board_row(board: &Board) -> Vec<f64> {
    let mut row = vec![f64::from(board.round), f64::from(board.degrees), board.title.encode_utf16().count() as f64];
    row.extend(board.title.encode_utf16().map(f64::from));
    row.push(board.scores.len() as f64);
    row.extend(board.scores.iter().flat_map(|score| [f64::from(score.player), f64::from(score.points)]));
    row.push(board.readings.len() as f64);
    row.extend(wide(&board.readings));
    row
}

/// Converts the fields of a JSON entity to rows.
fn json_rows(fields: &BTreeMap<String, Json>) -> [Option<Vec<f64>>; 3] {
    let numbers = |name: &str| -> Vec<f64> {
        let number = |json: &Json| f64::from(json.as_f64().expect("it is a number") as f32);
        match &fields[name] {
            Json::Array(list) => list.iter().map(number).collect(),
            single => vec![number(single)],
        }
    };
    let all = |names: &[&str]| names.iter().flat_map(|name| numbers(name)).collect::<Vec<f64>>();
    let has = |name: &str| fields.contains_key(name);
    let cart = has("load").then(|| all(&["position", "velocity", "heading", "load"]));
    let crane = has("arm").then(|| {
        let mut row = all(&["x", "y", "arm", "gaze"]);
        let mode = MODES.iter().position(|name| fields["mode"] == *name).expect("it is a mode");
        let open = fields["hook"]["open"].as_bool().expect("it is a flag");
        row.extend([mode as f64, fields["hook"]["depth"].as_f64().unwrap_or(-1.0), f64::from(u8::from(open))]);
        row
    });
    let board = has("title").then(|| {
        let mut row = all(&["round", "degrees"]);
        let title: Vec<u16> = fields["title"].as_str().expect("it is a text").encode_utf16().collect();
        row.push(title.len() as f64);
        row.extend(title.into_iter().map(f64::from));
        let scores = fields["scores"].as_array().expect("it is a list");
        row.push(scores.len() as f64);
        row.extend(scores.iter().flat_map(|score| [&score["player"], &score["points"]]).filter_map(Json::as_f64));
        let readings = numbers("readings");
        row.push(readings.len() as f64);
        row.extend(readings);
        row
    });
    [cart, crane, board]
}

/// A JSON client and its view.
struct Reader {
    player: TestPlayer,
    own: EntityId,
    entities: BTreeMap<EntityId, BTreeMap<String, Json>>,
    seen: History,
    heard: Vec<String>,
    refused: Vec<String>,
    inputs: u32,
}

impl Reader {
    async fn join(server: SocketAddr) -> Reader {
        let hello = hello(guest(server).await, of_type("depot"));
        let connector = connector(server).encoding(JSON);
        let mut player =
            TestPlayer::join(&connector, TransportKind::WebSocket, &hello).await.expect("the join is accepted");
        let own = player.possession().await;
        let (entities, seen) = (BTreeMap::new(), History::new());
        Reader { player, own, entities, seen, heard: Vec::new(), refused: Vec::new(), inputs: 0 }
    }

    async fn drive(&mut self, push: [f64; 2], horn: bool) {
        self.inputs += 1;
        let inputs = json!([{ "seq": self.inputs, "keys": { "push": push, "horn": horn } }]);
        self.command("movement", "input_batch", json!({ "inputs": inputs })).await;
    }

    async fn command(&mut self, feature: &str, action: &str, payload: Json) {
        let command = json!({ "v": 2, "kind": "command", "feature": feature, "action": action, "payload": payload });
        self.player.send_frame(command.to_string()).await;
    }

    async fn turn(&mut self) {
        while let Ok(message) = timeout(Duration::from_millis(1), self.player.next()).await {
            match message.expect("the connection is open") {
                ServerMessage::Snapshot(Snapshot::Readable(snapshot)) => {
                    for id in &snapshot.removed {
                        self.entities.remove(id);
                    }
                    // An update has every component of its entity, so missing ones were removed.
                    let mut told: BTreeMap<EntityId, BTreeMap<String, Json>> = BTreeMap::new();
                    for entity in snapshot.features.into_values().flatten() {
                        told.entry(entity.id).or_default().extend(entity.fields.0);
                    }
                    self.entities.extend(told);
                    let rows = |(id, fields): (&EntityId, &BTreeMap<String, Json>)| (*id, json_rows(fields));
                    self.seen.insert(snapshot.tick.0, self.entities.iter().map(rows).collect());
                }
                ServerMessage::Event(Event { body: GameBody::Named { feature, action, fields }, .. }) => {
                    self.heard.push(format!("{feature}.{action} {}", json!(fields.0)));
                }
                ServerMessage::Error(notice) => self.refused.push(notice.message),
                ServerMessage::Ack(ack) => self.refused.extend(ack.error.map(|error| error.message)),
                _ => {}
            }
        }
    }
}

/// Empty rules: the core predicts nothing.
struct NoRules;

impl PredictionRules for NoRules {
    fn channel(&self) -> &str {
        ""
    }

    fn ignored(&self) -> &[String] {
        &[]
    }

    fn step(&self, _state: &mut Vec<f64>, _input: &[f64], _seconds: f32) {}
}

/// Joins with metadata that the game refuses.
async fn check_join_metadata(server: SocketAddr) {
    let hello = Hello { metadata: [("guild", "rivals")].into(), ..hello(guest(server).await, of_type("depot")) };
    let refused = TestPlayer::join(&connector(server).encoding(JSON), TransportKind::WebSocket, &hello).await;
    let notice = refused.err().expect("the game refuses the join");
    assert_eq!((notice.code, notice.message.as_str()), (ErrorCode::JoinRefused, "the depot is closed to rivals"));
}

/// The client core for browsers, connected to a real socket.
struct Page {
    core: ClientCore<NoRules>,
    connection: Connection,
    began: Instant,
    seen: History,
    heard: Vec<String>,
}

impl Page {
    async fn join(server: SocketAddr) -> Page {
        let login =
            JoinOptions { token: Some(guest(server).await), room: Some(of_type("depot")), ..JoinOptions::default() };
        let mut core = ClientCore::new(None, login, 7);
        let connector = connector(server).encoding(PROTOBUF);
        let connection = connector.open(TransportKind::WebSocket).await.expect("the server opens the connection");
        core.client.connected(DeliveryOrder::Ordered, Duration::ZERO);
        Page { core, connection, began: Instant::now(), seen: History::new(), heard: Vec::new() }
    }

    async fn turn(&mut self) {
        let now = self.began.elapsed();
        let Page { core, connection, .. } = self;
        core.client.advance_frames(now, |frame, is_reliable| {
            let path = if is_reliable { DeliveryPath::Reliable } else { DeliveryPath::Unreliable };
            connection.queue_frame(path, frame).expect("the connection is open");
        });
        connection.flush().await.expect("the connection is open");
        while let Ok(frame) = timeout(Duration::from_millis(1), self.connection.next_frame()).await {
            self.core.receive(&frame.expect("the connection is open"), self.began.elapsed());
            if let Some(mirror) = self.core.client.mirror() {
                let view = self.core.client.game().visible_rows().borrow();
                let row = |id, component: usize| view.rows(id)?.get(component)?.as_ref().map(|row| row.to_vec());
                let rows = |id| (id, [CART, CRANE, BOARD].map(|component| row(id, component)));
                self.seen.insert(mirror.tick().0, mirror.entities().map(rows).collect());
            }
        }
        while let Some(event) = self.core.next_event() {
            if let ClientEvent::Game(Event { body: GameBody::Packed { code, payload }, .. }) = event {
                let row = self.core.client.game().events()[usize::from(code)].unpack(&payload).expect("it is a row");
                self.heard.push(format!("{code} {row:?}"));
            }
        }
    }
}

/// One client of each kind in one room.
struct Clients {
    typed: NativeClient<Depot>,
    heard: Vec<ClientEvent>,
    reader: Reader,
    page: Page,
}

impl Clients {
    async fn join(server: SocketAddr) -> Clients {
        let login =
            JoinOptions { token: Some(guest(server).await), room: Some(of_type("depot")), ..JoinOptions::default() };
        let client = Client::new(Depot::default(), ClientSettings::default(), login);
        let settings = NativeClientSettings {
            transport: TransportPreference::Only(TransportKind::WebSocket),
            ..NativeClientSettings::default()
        };
        let mut typed = NativeClient::new(client, connector(server), settings).expect("there is a thread");
        let end = Instant::now() + DEADLINE;
        while typed.client().own_entity().is_none() {
            assert!(Instant::now() < end, "timeout while waiting for a cart: {:?}", typed.client().phase());
            typed.frame();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let reader = Reader::join(server).await;
        let mut clients = Clients { typed, heard: Vec::new(), reader, page: Page::join(server).await };
        clients.until("the page's cart", |clients| clients.page.core.client.own_entity().is_some()).await;
        clients
    }

    async fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Clients) -> bool) {
        let end = Instant::now() + DEADLINE;
        loop {
            self.typed.frame();
            self.heard.extend(self.typed.client_mut().events());
            self.reader.turn().await;
            self.page.turn().await;
            if holds(self) {
                return;
            }
            assert!(Instant::now() < end, "timeout while waiting for {what}");
        }
    }

    /// Returns the newest row of an entity's component for each of the three clients.
    fn rows(&self, id: EntityId, component: usize) -> [Option<&Vec<f64>>; 3] {
        self.histories().map(|seen| seen.last_key_value()?.1.get(&id)?[component].as_ref())
    }

    fn histories(&self) -> [&History; 3] {
        [&self.typed.client().game().seen, &self.reader.seen, &self.page.seen]
    }

    /// Compares the ticks that all three clients have. Returns their number.
    fn compare(&self) -> usize {
        let [typed, reader, page] = self.histories();
        let mut compared = 0;
        for (tick, seen) in typed {
            let (Some(by_reader), Some(by_page)) = (reader.get(tick), page.get(tick)) else { continue };
            let common = [seen, by_reader, by_page].map(without_hidden);
            assert_eq!(common[0], common[1], "at tick {tick} the JSON client sees something else");
            assert_eq!(common[0], common[2], "at tick {tick} the core sees something else");
            compared += 1;
        }
        compared
    }
}

/// Removes the board that only some players may see.
fn without_hidden(visible: &VisibleEntities) -> VisibleEntities {
    visible.iter().filter(|(_, rows)| !is_hidden(rows)).map(|(id, rows)| (*id, rows.clone())).collect()
}

fn is_hidden(rows: &[Option<Vec<f64>>; 3]) -> bool {
    let title = Board { title: "hidden".to_owned(), ..Board::initial() };
    rows[CART].is_none() && rows[BOARD].as_ref() == Some(&board_row(&title))
}

pub(crate) fn connector(server: SocketAddr) -> Connector {
    Connector::new(&format!("http://{server}").parse().expect("the address is valid"))
}

pub(crate) fn config() -> (Config, PathBuf) {
    let mut config = Config::default();
    config.data_dir = std::env::temp_dir().join(format!("aether-depot-{}", uuid::Uuid::new_v4().simple()));
    config.database.url = Some(Secret::new("memory"));
    config.http.address = SocketAddr::from(([127, 0, 0, 1], 0));
    config.http.admin_address = SocketAddr::from(([127, 0, 0, 1], 0));
    let folder = config.data_dir.clone();
    (config, folder)
}

/// Drives the carts in different directions and checks that all clients see them move.
async fn drive(clients: &mut Clients, [of_typed, of_reader, of_page]: [EntityId; 3]) {
    let carts = [of_typed, of_reader, of_page];
    clients.until("three carts", |clients| carts.iter().all(|id| !clients.rows(*id, CART).contains(&None))).await;
    let begun = carts.map(|id| clients.rows(id, CART)[0].cloned().expect("it is in view"));
    clients.typed.client_mut().set_input(Drive { push: [1.0, 0.0], horn: false });
    clients.reader.drive([0.0, 1.0], true).await;
    assert!(clients.page.core.set_input(&[-1.0, 0.0, 0.0]), "the core knows the input by the schema");
    assert!(!clients.page.core.set_input(&[1.0]), "an invalid input is rejected");
    let ways = [(of_typed, 0, 3.0), (of_reader, 1, 3.0), (of_page, 0, -3.0)];
    clients
        .until("carts that moved", |clients| {
            ways.iter().zip(&begun).all(|((id, axis, by), begun): (&(EntityId, usize, f64), &Vec<f64>)| {
                let has_moved = |row: &Vec<f64>| (row[*axis] - begun[*axis]) * by.signum() > by.abs();
                clients.rows(*id, CART).iter().all(|row| row.is_some_and(has_moved))
            })
        })
        .await;
}

/// Sends a chat message from each client and checks that all receive it.
async fn talk(clients: &mut Clients) {
    let row = |text: &str| -> Vec<f64> {
        let units: Vec<f64> = text.encode_utf16().map(f64::from).collect();
        std::iter::once(units.len() as f64).chain(units).collect()
    };
    clients.typed.client_mut().send_message(&Lift { mode: Mode::Lifting, by: 2 });
    clients.reader.command("chat", "chat", json!({ "text": "by JSON" })).await;
    assert!(clients.page.core.send_message(CHAT, &row("by row")).is_some());
    let heard_by_typed = |clients: &Clients, text: &str| {
        let client = clients.typed.client();
        let chat = |event: &ClientEvent| match event {
            ClientEvent::Game(event) => client.read_event::<Chat>(event),
            _ => None,
        };
        clients.heard.iter().filter_map(chat).any(|chat| chat.text == text)
    };
    clients
        .until("every event", |clients| {
            ["by JSON", "by row", "2 honks"].iter().all(|text| {
                let by_reader = format!("chat.chat {}", json!({ "text": text }));
                let by_page = format!("{CHAT} {:?}", row(text));
                heard_by_typed(clients, text)
                    && clients.reader.heard.contains(&by_reader)
                    && clients.page.heard.contains(&by_page)
            })
        })
        .await;
}

/// Checks the game's reactions to the order and to the driving.
async fn see_reactions(clients: &mut Clients) {
    clients
        .until("a crane that lifts, and scores", |clients| {
            let [typed, ..] = clients.histories();
            let Some((_, visible)) = typed.last_key_value() else { return false };
            let lifts =
                |rows: &[Option<Vec<f64>>; 3]| rows[CRANE].as_ref().is_some_and(|row| row[9..] == [1.0, 5.0, 1.0]);
            // The board has a line for each of three players.
            let scores = |rows: &[Option<Vec<f64>>; 3]| {
                rows[CART].is_none() && rows[BOARD].as_ref().is_some_and(|row| row[3] >= 3.0)
            };
            let is_told = clients.reader.heard.iter().any(|line| line.starts_with("board.scored "));
            is_told && visible.values().any(lifts) && visible.values().any(scores)
        })
        .await;
}

/// Checks that an invalid value is rejected with the names of the schema.
async fn check_rejection(clients: &mut Clients) {
    clients.reader.command("movement", "input_batch", json!({ "inputs": [{ "seq": 9, "keys": { "pull": 1 } }] })).await;
    clients.reader.command("crane", "lift", json!({ "mode": "Flying" })).await;
    clients
        .until("two refusals", |clients| {
            let told = |part: &str| clients.reader.refused.iter().any(|text| text.contains(part));
            told("Drive has no field pull; it has push, horn") && told("mode must be one of Idle, Lifting, Broken")
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_game_is_played_by_every_kind_of_client() {
    let (config, folder) = config();
    let settings =
        RoomSettings { tick_hz: 20, snapshot_hz: 20, interest: None, rings: Vec::new(), ..RoomSettings::default() };
    let server = Server::new("depot", "1.0.0").game("depot", settings, RuntimeDepot::boxed);
    let running = server.start(config).await.expect("it starts");
    let mut clients = Clients::join(running.http).await;
    let of_typed = clients.typed.client().own_entity().expect("it has a cart");
    let of_page = clients.page.core.client.own_entity().expect("it has a cart");
    let carts = [of_typed, clients.reader.own, of_page];
    drive(&mut clients, carts).await;
    talk(&mut clients).await;
    see_reactions(&mut clients).await;
    check_rejection(&mut clients).await;
    // A refused join has a player number too, so it comes last.
    check_join_metadata(running.http).await;
    clients.until("ticks to compare", |clients| clients.compare() >= 40).await;
    let sees_hidden = |seen: &History| seen.values().any(|visible| visible.values().any(is_hidden));
    assert_eq!(clients.histories().map(sees_hidden), [false, true, false], "only the second player may see it");
    assert_eq!(clients.typed.client().stats().faults, 0);
    assert_eq!(clients.page.core.client.stats().faults, 0);
    drop(clients);
    running.stop(Duration::ZERO).await;
    let _ = std::fs::remove_dir_all(folder);
}
