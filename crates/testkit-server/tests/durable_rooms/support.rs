//! The real program, and players of its games.

use aether_bits::{BitWriter, Component, Replicate};
use aether_outpost_rules::{Body, Place, Player as Walker, Presence, Shot, Structure};
use aether_replication::{Link, Mirror};
use aether_store::Database;
use aether_testkit_server::{ApiClient, Connector, DEADLINE, PROTOBUF, Player, Process, Transport, program};
use aether_testkit_store::TestDatabase;
use aether_wire::{
    ClientMessage, CommandError, CommandSeq, EntityId, ErrorNotice, GameBody, GameMessage, Hello, InputBytes,
    InputPayload, InputSeq, Inputs, RoomSelector, ServerMessage, Snapshot, StateAck, Token, ViewTick,
};
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;
use tokio::time::timeout;

/// Where a server keeps its data, and which database it has.
pub struct Site {
    data_dir: PathBuf,
    settings: Vec<String>,
}

impl Site {
    pub fn new(database: &TestDatabase, settings: &[&str]) -> Site {
        let url = match &database.database {
            Database::Memory => "memory".to_owned(),
            Database::File(path) => format!("sqlite:{}", path.display()),
            Database::Postgres(url) => url.clone(),
        };
        Site::at(&url, settings)
    }

    pub fn at(url: &str, settings: &[&str]) -> Site {
        let data_dir = std::env::temp_dir().join(format!("aether-rooms-{}", uuid::Uuid::new_v4().simple()));
        let fixed = [format!("database.url={url}"), "log.filter=warn".to_owned()];
        let settings = settings.iter().map(|setting| (*setting).to_owned());
        Site { data_dir, settings: fixed.into_iter().chain(settings).collect() }
    }

    pub async fn serve(&self) -> Process {
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        Process::serve(program(), &self.data_dir, &settings).await
    }

    /// Starts it again where it was.
    pub async fn serve_again(&self, http: SocketAddr, admin: SocketAddr) -> Process {
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        Process::serve_at(program(), &self.data_dir, (http, admin), &settings).await
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.data_dir);
        let _ = std::fs::remove_file(self.data_dir.with_extension("log"));
    }
}

/// The token of a new account, and its client of the API.
pub async fn account(server: SocketAddr) -> (Token, ApiClient) {
    let client = ApiClient::new_user(server).await;
    (Token::new(client.token.clone()), client)
}

/// The token of a guest.
pub async fn guest(server: SocketAddr) -> Token {
    let answer = ApiClient::new(server).post("/api/guest", &json!({})).await.expect("it answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    Token::new(answer.json()["token"].as_str().expect("there is a token").to_owned())
}

pub fn hello(token: Token, room: RoomSelector) -> Hello {
    Hello { token: Some(token), room: Some(room), ..Hello::default() }
}

pub fn of_type(name: &str) -> RoomSelector {
    RoomSelector::Type { name: name.to_owned(), label: None }
}

/// A player who sees.
pub struct Seat {
    pub player: Player,
    pub mirror: Mirror,
    input: u32,
    command: u32,
}

/// The components of Outpost, in the order in which the game declares them.
pub fn outpost() -> Mirror {
    let builder = Mirror::builder().component::<Walker>().component::<Body>().component::<Structure>();
    builder.component::<Shot>().component::<Presence>().build(Link::Ordered, 1.0 / 30.0)
}

impl Seat {
    /// Joins, or tells why not.
    pub async fn take(server: SocketAddr, hello: &Hello, mirror: Mirror) -> Result<Seat, ErrorNotice> {
        let address = format!("http://{server}").parse().expect("it is an address");
        let connector = Connector::new(&address).encoding(PROTOBUF);
        let player = Player::enter(&connector, Transport::WebSocket, hello).await?;
        Ok(Seat { player, mirror, input: 0, command: 0 })
    }

    /// Reads until something holds of what is seen.
    pub async fn until<T>(&mut self, what: &str, mut look: impl FnMut(&Mirror) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(found) = look(&self.mirror) {
                return found;
            }
            assert!(Instant::now() < end, "waited in vain for {what}");
            self.see().await;
        }
    }

    /// Takes the next state in.
    pub async fn see(&mut self) {
        let packet = self
            .player
            .wait("a state packet", |message| match message {
                ServerMessage::Snapshot(Snapshot::Packed(packet)) => Some(packet),
                _ => None,
            })
            .await;
        self.mirror.apply(&packet).expect("it can be read");
    }

    /// Sends a command of the game and gives what it was answered.
    pub async fn command<E: Component>(&mut self, code: u16, event: &E) -> Result<(), CommandError> {
        self.command += 1;
        let mut writer = BitWriter::new();
        event.write_full(&mut writer);
        let body = GameBody::Packed { code, payload: writer.to_bytes() };
        let message = ClientMessage::Game(GameMessage { seq: CommandSeq(self.command), body });
        self.player.send(message).await;
        self.player.answer(self.command).await.map_or(Ok(()), Err)
    }

    /// Builds in Outpost.
    pub async fn build(&mut self, place: &Place) -> Result<(), CommandError> {
        self.command(0, place).await
    }

    /// Sends an input, and takes in what is shown next.
    pub async fn step<I: Replicate>(&mut self, input: &I) {
        self.input += 1;
        let mut writer = BitWriter::new();
        input.write_full(&mut writer);
        let bytes = InputBytes::new(&writer.to_bytes()).expect("it is short");
        let payloads = vec![InputPayload::Packed(bytes)].into();
        let (first_seq, ack, view) = (InputSeq(self.input), StateAck::NONE, ViewTick::default());
        self.player.send(ClientMessage::Inputs(Inputs { first_seq, payloads, ack, view })).await;
        self.see().await;
    }

    /// Where the player's own body is.
    pub async fn place(&mut self, body: EntityId) -> [f32; 2] {
        self.until("its own body", |mirror| mirror.get::<Walker>(body).map(|walker| walker.position)).await
    }
}

/// The sum of a metric's series.
pub async fn metric(server: &Process, name: &str) -> f64 {
    let answer = ApiClient::new(server.admin).get("/metrics").await.expect("it answers");
    let lines = answer.body.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// Waits until a metric is above a value.
pub async fn until_metric(server: &Process, name: &str, above: f64) {
    let waited = async {
        while metric(server, name).await <= above {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, waited).await.unwrap_or_else(|_| panic!("waited in vain for {name} above {above}"));
}
