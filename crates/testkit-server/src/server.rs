//! A server in the process of the test.

use crate::http::{self, HttpAnswer};
use crate::player::TestPlayer;
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

/// Time in which a player of the sandbox or the workshop can resume.
const RESUME_SECONDS: u32 = 15;

/// Validity of a token.
const TOKEN_SECONDS: u32 = 900;

/// Time that a stopping server waits for connected clients.
const GRACE: Duration = Duration::from_millis(200);

/// A server in this process, on free loopback ports, with its own data folder.
///
/// It has the room types `sandbox`, `workshop`, `slow_start`, `outpost` and `relay`.
pub struct TestServer {
    /// Address of pages, the API and WebSockets.
    pub http: SocketAddr,
    /// Address of metrics and profiles.
    pub admin: SocketAddr,
    running: Option<RunningServer>,
    tokens: Tokens,
    data_dir: DataDir,
}

/// A folder that is removed at the end of the test.
struct DataDir(PathBuf);

impl Drop for DataDir {
    fn drop(&mut self) {
        // Files that cannot be removed stay in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl TestServer {
    /// Starts a server. `change` adapts its configuration.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub async fn start(change: impl FnOnce(&mut Config)) -> TestServer {
        TestServer::start_with(change, |server| server).await
    }

    /// Starts a server. `change` adapts its configuration, and `extend` adds hooks and functions.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub async fn start_with(change: impl FnOnce(&mut Config), extend: impl FnOnce(Server) -> Server) -> TestServer {
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
        let running = extend(server).start(config).await.unwrap_or_else(|error| panic!("{error}"));
        let ring = KeyRing::open(&data_dir, unix_seconds()).expect("the server has created keys");
        TestServer {
            http: running.http,
            admin: running.admin,
            running: Some(running),
            tokens: Tokens::new(ring, audience),
            data_dir: DataDir(data_dir),
        }
    }

    /// Stops the server and waits until it has ended.
    pub async fn stop(mut self) {
        self.stop_within(GRACE).await;
    }

    /// Stops the server with a grace period for connected clients. Most other methods panic afterwards.
    ///
    /// # Panics
    /// Panics if it does not end in time.
    pub async fn stop_within(&mut self, grace: Duration) {
        if let Some(running) = self.running.take() {
            timeout(grace + DEADLINE, running.stop(grace)).await.expect("the server stops in time");
        }
    }

    /// Takes the running server, so that the test can stop it concurrently.
    ///
    /// # Panics
    /// Panics if it was stopped.
    pub fn take_running(&mut self) -> RunningServer {
        self.running.take().expect("the server runs")
    }

    /// Returns the data folder.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir.0
    }

    /// Returns a connector with this encoding.
    #[must_use]
    pub fn connector(&self, encoding: Encoding) -> Connector {
        let address = format!("http://{}", self.http).parse().expect("the address is valid");
        Connector::new(&address).encoding(encoding)
    }

    /// Signs a token for a new user, after `change` to its claims. With a role it is signed by the development key, else by
    /// the server's key.
    #[must_use]
    pub fn sign(&self, change: impl FnOnce(&mut Claims)) -> Token {
        let user = Uuid::new_v4();
        let name = format!("player-{}", &user.simple().to_string()[..6]);
        let mut claims = Claims::new(user, name, unix_seconds(), TOKEN_SECONDS);
        change(&mut claims);
        Token::new(self.tokens.sign(&claims))
    }

    /// Returns a token of a new user with this role.
    #[must_use]
    pub fn token(&self, role: Role) -> Token {
        self.sign(|claims| claims.role = Some(role))
    }

    /// Returns the hello of a new user for a room of this type.
    #[must_use]
    pub fn hello(&self, room_type: &str) -> Hello {
        self.hello_as(Role::Player, room_type)
    }

    /// Returns the hello of a new user with this role.
    #[must_use]
    pub fn hello_as(&self, role: Role, room_type: &str) -> Hello {
        let room = RoomSelector::Type { name: room_type.to_owned(), label: None };
        Hello { token: Some(self.token(role)), room: Some(room), ..Hello::default() }
    }

    /// Joins a room.
    ///
    /// # Panics
    /// Panics if the server rejects the join.
    pub async fn join(&self, transport: TransportKind, encoding: Encoding, hello: &Hello) -> TestPlayer {
        let joined = self.try_join(transport, encoding, hello).await;
        joined.unwrap_or_else(|notice| panic!("join over {} rejected: {notice:?}", transport.name()))
    }

    /// Joins a room, or returns the error of the server.
    ///
    /// # Panics
    /// Panics if the server answers with neither.
    pub async fn try_join(
        &self,
        transport: TransportKind,
        encoding: Encoding,
        hello: &Hello,
    ) -> Result<TestPlayer, ErrorNotice> {
        TestPlayer::join(&self.connector(encoding), transport, hello).await
    }

    /// Sends a GET request to the public listener.
    pub async fn get(&self, path: &str) -> HttpAnswer {
        http::send(self.http, "GET", path, &[]).await
    }

    /// Sends a request to either listener.
    pub async fn request(&self, address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
        http::send(address, method, path, headers).await
    }

    /// Reads the answer to a request that the test wrote itself.
    pub async fn read_answer(stream: tokio::net::TcpStream) -> HttpAnswer {
        http::read(stream).await
    }

    /// Returns the sum of all series of a metric with these labels, or 0 if there is none.
    ///
    /// # Panics
    /// Panics if the server was stopped.
    #[must_use]
    pub fn metric(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let text = self.running.as_ref().expect("the server runs").registry().render();
        let wanted: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
        let value = |line: &str| {
            let (series, value) = line.rsplit_once(' ')?;
            let (found, found_labels) = series.split_once('{').unwrap_or((series, ""));
            let is_wanted = found == name && wanted.iter().all(|label| found_labels.contains(label));
            is_wanted.then(|| value.parse::<f64>().ok()).flatten()
        };
        text.lines().filter_map(value).sum()
    }

    /// Waits until a metric reaches a value.
    pub async fn until_metric(&self, name: &str, labels: &[(&str, &str)], at_least: f64) {
        until(&format!("{name} {labels:?} of {at_least}"), || self.metric(name, labels) >= at_least).await;
    }

    /// Returns the signed-in sessions of the server.
    ///
    /// # Panics
    /// Panics if the server was stopped.
    #[must_use]
    pub fn sessions(&self) -> &Arc<LiveSessions> {
        self.running.as_ref().expect("the server runs").sessions()
    }

    /// Returns the services of the server.
    ///
    /// # Panics
    /// Panics if the server was stopped.
    #[must_use]
    pub fn services(&self) -> &Arc<Services> {
        self.running.as_ref().expect("the server runs").services()
    }

    /// Returns the running server.
    ///
    /// # Panics
    /// Panics if the server was stopped.
    #[must_use]
    pub fn running(&self) -> &RunningServer {
        self.running.as_ref().expect("the server runs")
    }

    /// Returns the number of open realtime connections.
    ///
    /// # Panics
    /// Panics if the server was stopped.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.running.as_ref().expect("the server runs").connections()
    }
}

/// Waits until a condition holds.
///
/// # Panics
/// Panics if it does not hold in time.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "timeout while waiting for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns the time, in seconds since 1970.
#[must_use]
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
