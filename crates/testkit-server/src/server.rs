//! A server in the test's own process.

use crate::http::{self, Answer};
use crate::player::Player;
use crate::slow_start::SlowStart;
use crate::workshop::Workshop;
use crate::{Connector, DEADLINE, Encoding, TransportKind};
use aether_engine::RoomSettings;
use aether_net::relay::RelaySettings;
use aether_outpost_server::Outpost;
use aether_sandbox_server::Sandbox;
use aether_server::config::Config;
use aether_server::keys::KeyRing;
use aether_server::services::Services;
use aether_server::tokens::{Claims, Role, Tokens};
use aether_server::{LiveSessions, RunningServer, Server};
use aether_wire::{ErrorNotice, Hello, RoomSelector, Token};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;
use uuid::Uuid;

/// How long a player of the sandbox or the workshop who lost the connection keeps the place.
const RESUME_SECONDS: u32 = 15;

/// How long a token of a test is good.
const TOKEN_SECONDS: u32 = 900;

/// How long a stopping server waits for clients that stay.
const GRACE: Duration = Duration::from_millis(200);

/// A server that runs in this process, on free ports of loopback, with a data folder of its own.
///
/// It has the room types `sandbox`, `workshop`, `slow_start`, `outpost` and `relay`.
pub struct TestServer {
    /// Where pages, the API and WebSockets are.
    pub http: SocketAddr,
    /// Where metrics and profiles are.
    pub admin: SocketAddr,
    running: Option<RunningServer>,
    tokens: Tokens,
    data_dir: DataDir,
}

/// A folder that goes with the test.
struct DataDir(PathBuf);

impl Drop for DataDir {
    fn drop(&mut self) {
        // What is left is in the system's folder for such things.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl TestServer {
    /// Starts one after a change to its configuration.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start(change: impl FnOnce(&mut Config)) -> TestServer {
        let data_dir = std::env::temp_dir().join(format!("aether-{}", Uuid::new_v4().simple()));
        let mut config = Config::default();
        config.data_dir = data_dir.clone();
        config.http.address = SocketAddr::from(([127, 0, 0, 1], 0));
        config.http.admin_address = SocketAddr::from(([127, 0, 0, 1], 0));
        change(&mut config);
        let problems = config.validate();
        assert!(problems.is_empty(), "{problems:?}");
        let sandbox = aether_sandbox_server::settings();
        let sandbox = RoomSettings { resume_ticks: RESUME_SECONDS * sandbox.tick_hz, ..sandbox };
        let workshop = RoomSettings { resume_ticks: RESUME_SECONDS * 40, interest: None, ..RoomSettings::default() };
        let server = Server::new("test", "1.2.3")
            .game("sandbox", sandbox, Sandbox::default)
            .game("workshop", workshop, Workshop::default)
            .game("slow_start", RoomSettings::default(), SlowStart::default)
            .game(aether_outpost_server::NAME, aether_outpost_server::settings(), Outpost::default)
            .relay("relay", RelaySettings::default());
        let audience = config.tokens.audience.clone();
        let running = server.start(config).await.unwrap_or_else(|error| panic!("{error}"));
        let ring = KeyRing::open(&data_dir, unix_seconds()).expect("the server has made keys");
        TestServer {
            http: running.http,
            admin: running.admin,
            running: Some(running),
            tokens: Tokens::new(ring, audience),
            data_dir: DataDir(data_dir),
        }
    }

    /// Stops it and waits for the end.
    pub async fn stop(mut self) {
        self.stop_within(GRACE).await;
    }

    /// Stops it with a deadline for those who are still in; afterwards only the figures can be asked for.
    ///
    /// # Panics
    /// If it does not end in time.
    pub async fn stop_within(&mut self, grace: Duration) {
        if let Some(running) = self.running.take() {
            timeout(grace + DEADLINE, running.stop(grace)).await.expect("the server stops in time");
        }
    }

    /// The server itself, to be stopped beside what the test does meanwhile.
    ///
    /// # Panics
    /// If it was stopped.
    pub fn take_running(&mut self) -> RunningServer {
        self.running.take().expect("it runs")
    }

    /// The folder of its keys.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir.0
    }

    /// Opens connections in this encoding.
    #[must_use]
    pub fn connector(&self, encoding: Encoding) -> Connector {
        let address = format!("http://{}", self.http).parse().expect("it is an address");
        Connector::new(&address).encoding(encoding)
    }

    /// A token that the server's own key signs after a change; a claimed role takes the development key.
    #[must_use]
    pub fn sign(&self, change: impl FnOnce(&mut Claims)) -> Token {
        let user = Uuid::new_v4();
        let name = format!("player-{}", &user.simple().to_string()[..6]);
        let mut claims = Claims::new(user, name, unix_seconds(), TOKEN_SECONDS);
        change(&mut claims);
        Token::new(self.tokens.sign(&claims))
    }

    /// A token of a new account with this role.
    #[must_use]
    pub fn token(&self, role: Role) -> Token {
        self.sign(|claims| claims.role = Some(role))
    }

    /// The hello of a new account that wants to play in a room of this type.
    #[must_use]
    pub fn hello(&self, room_type: &str) -> Hello {
        self.hello_as(Role::Player, room_type)
    }

    /// The same with a role.
    #[must_use]
    pub fn hello_as(&self, role: Role, room_type: &str) -> Hello {
        let room = RoomSelector::Type { name: room_type.to_owned(), label: None };
        Hello { token: Some(self.token(role)), room: Some(room), ..Hello::default() }
    }

    /// Joins.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn join(&self, transport: TransportKind, encoding: Encoding, hello: &Hello) -> Player {
        let joined = self.try_join(transport, encoding, hello).await;
        joined.unwrap_or_else(|notice| panic!("refused over {}: {notice:?}", transport.name()))
    }

    /// Joins, or tells what the server said instead.
    ///
    /// # Panics
    /// If the server says neither.
    pub async fn try_join(
        &self,
        transport: TransportKind,
        encoding: Encoding,
        hello: &Hello,
    ) -> Result<Player, ErrorNotice> {
        Player::enter(&self.connector(encoding), transport, hello).await
    }

    /// Asks the public listener.
    pub async fn get(&self, path: &str) -> Answer {
        http::send(self.http, "GET", path, &[]).await
    }

    /// Asks either listener.
    pub async fn ask(&self, address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        http::send(address, method, path, headers).await
    }

    /// Reads what the server answers to bytes that the test sent itself.
    pub async fn read_answer(stream: tokio::net::TcpStream) -> Answer {
        http::read(stream).await
    }

    /// The sum of all series of a metric that have these labels; 0 if there is none.
    ///
    /// # Panics
    /// If the server was stopped.
    #[must_use]
    pub fn metric(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let text = self.running.as_ref().expect("it runs").registry().render();
        let wanted: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
        let value = |line: &str| {
            let (series, value) = line.rsplit_once(' ')?;
            let (found, found_labels) = series.split_once('{').unwrap_or((series, ""));
            let is_wanted = found == name && wanted.iter().all(|label| found_labels.contains(label));
            is_wanted.then(|| value.parse::<f64>().ok()).flatten()
        };
        text.lines().filter_map(value).sum()
    }

    /// Waits until a metric has reached a value.
    pub async fn until_metric(&self, name: &str, labels: &[(&str, &str)], at_least: f64) {
        until(&format!("{name} {labels:?} of {at_least}"), || self.metric(name, labels) >= at_least).await;
    }

    /// Signing out.
    ///
    /// # Panics
    /// If the server was stopped.
    #[must_use]
    pub fn sessions(&self) -> &Arc<LiveSessions> {
        self.running.as_ref().expect("it runs").sessions()
    }

    /// Accounts, storage, leaderboards and the others, as the server's own code has them.
    ///
    /// # Panics
    /// If the server was stopped.
    #[must_use]
    pub fn services(&self) -> &Arc<Services> {
        self.running.as_ref().expect("it runs").services()
    }

    /// Returns the server itself.
    ///
    /// # Panics
    /// If the server was stopped.
    #[must_use]
    pub fn running(&self) -> &RunningServer {
        self.running.as_ref().expect("it runs")
    }

    /// How many realtime connections are open.
    ///
    /// # Panics
    /// If the server was stopped.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.running.as_ref().expect("it runs").connections()
    }
}

/// Waits until something holds.
///
/// # Panics
/// If it does not in time.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The time, in seconds since 1970.
#[must_use]
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
