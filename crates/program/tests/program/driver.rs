//! A driver process that owns the UDP socket of a game process; each is killed in turn.

use crate::support::{ServerSetup, metric, program, until_metric};
use aether_client_native::{Connector, TransportKind};
use aether_testkit_server::seeing_player::{guest, hello, of_type};
use aether_testkit_server::{DEADLINE, Process, TestPlayer, command};
use aether_testkit_store::file;
use aether_wire::{ClientMessage, CloseReason, Hello, Ping, ServerMessage};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

/// Longest time until the end of a driver is noticed: far below every timeout of a connection, and enough for a loaded
/// machine. It takes about a millisecond on an idle one.
const NOTICE_TIME_MAX: Duration = Duration::from_secs(5);

/// A running driver.
struct Driver {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Driver {
    fn start(socket: &Path) -> Driver {
        let socket = format!("shared_memory.path={}", socket.display());
        let arguments = ["driver", "--set", &socket, "--set", "udp.address=127.0.0.1:0", "--log", "error"];
        let mut child = command(program(), &arguments).stderr(Stdio::inherit()).spawn().expect("the program starts");
        let lines = BufReader::new(child.stdout.take().expect("standard output is piped")).lines();
        Driver { child, lines }
    }

    /// Waits until it has attached to a game. Returns its address.
    async fn attached(&mut self) -> SocketAddr {
        let line = timeout(DEADLINE, self.lines.next_line()).await.expect("the driver attaches in time");
        let line = line.expect("the output is readable").expect("the driver runs");
        let line: serde_json::Value = serde_json::from_str(&line).expect("the line is JSON");
        line["listening"]["udp"].as_str().and_then(|address| address.parse().ok()).expect("the line has an address")
    }

    /// Kills the process, as `kill -9` does.
    async fn kill(mut self) {
        self.child.kill().await.expect("the driver can be killed");
    }
}

/// Path of a socket in the temporary folder, which exists before the data folder.
fn socket_path() -> PathBuf {
    std::env::temp_dir().join(format!("aether-driver-{}.sock", uuid::Uuid::new_v4().simple()))
}

fn setup(socket: &Path) -> ServerSetup {
    ServerSetup::new(&file(), &[&format!("shared_memory.path={}", socket.display())])
}

fn connector(server: &Process) -> Connector {
    Connector::new(&format!("http://{}", server.http).parse().expect("the address is valid"))
}

async fn join(server: &Process, hello: &Hello) -> TestPlayer {
    let connector = connector(server);
    let offered = async {
        while connector.server_info().await.expect("the server answers").udp.is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, offered).await.expect("the server learns the address of the driver in time");
    let player = TestPlayer::join(&connector, TransportKind::Udp, hello).await.expect("the join is accepted");
    assert_eq!(player.client.transport(), TransportKind::Udp);
    player
}

/// Plays: a message each way on the reliable path, and state on the other.
async fn play(player: &mut TestPlayer) {
    player.send(ClientMessage::Ping(Ping::default())).await;
    player.wait("a pong", |message| matches!(message, ServerMessage::Pong(_)).then_some(())).await;
    player.wait("state", |message| matches!(message, ServerMessage::Snapshot(_)).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_resume_through_a_new_driver_after_a_kill() {
    let socket = socket_path();
    let setup = setup(&socket);
    let server = setup.serve().await;
    let mut driver = Driver::start(&socket);
    driver.attached().await;
    until_metric(&server, "aether_shared_memory_drivers", 0.0).await;
    let mut ann = join(&server, &hello(guest(server.http).await, of_type("outpost"))).await;
    for _ in 0..3 {
        play(&mut ann).await;
        assert_eq!(metric(&server, "aether_active_connections").await, 1.0);
        let killed_at = Instant::now();
        driver.kill().await;
        while metric(&server, "aether_active_connections").await > 0.0 {
            assert!(killed_at.elapsed() < NOTICE_TIME_MAX, "the end of the driver was not noticed");
        }
        driver = Driver::start(&socket);
        driver.attached().await;
        until_metric(&server, "aether_shared_memory_drivers", 0.0).await;
        let before = ann.welcome.clone();
        ann = join(&server, &ann.resume_hello()).await;
        assert_eq!((ann.welcome.player, &ann.welcome.room), (before.player, &before.room));
    }
    play(&mut ann).await;
    driver.kill().await;
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_resume_in_a_restarted_game_through_the_same_driver() {
    let socket = socket_path();
    let setup = setup(&socket);
    // A driver may start before its game.
    let mut driver = Driver::start(&socket);
    let mut server = setup.serve().await;
    driver.attached().await;
    until_metric(&server, "aether_shared_memory_drivers", 0.0).await;
    let mut ann = join(&server, &hello(guest(server.http).await, of_type("outpost"))).await;
    for _ in 0..2 {
        play(&mut ann).await;
        // The first checkpoint of the room has its players.
        until_metric(&server, "aether_checkpoint_bytes_total", 0.0).await;
        let (before, resume) = (ann.welcome.clone(), ann.resume_hello());
        let (http, admin) = (server.http, server.admin);
        server.kill().await;
        let end = ann.end().await;
        assert_eq!(end.reason(), Some(CloseReason::Shutdown), "{end:?}");
        assert!(end.closing.is_some_and(|closing| closing.may_resume));
        server = setup.serve_again(http, admin).await;
        driver.attached().await;
        until_metric(&server, "aether_shared_memory_drivers", 0.0).await;
        ann = join(&server, &resume).await;
        assert_eq!((ann.welcome.player, &ann.welcome.room), (before.player, &before.room));
    }
    play(&mut ann).await;
    driver.kill().await;
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_without_a_path_says_what_to_set() {
    let output = command(program(), &["driver"]).output().await.expect("the program starts");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("shared_memory.path"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_driver_closes_its_clients_so_that_they_resume() {
    let socket = socket_path();
    let setup = setup(&socket);
    let server = setup.serve().await;
    let mut driver = Driver::start(&socket);
    driver.attached().await;
    until_metric(&server, "aether_shared_memory_drivers", 0.0).await;
    let mut ann = join(&server, &hello(guest(server.http).await, of_type("sandbox"))).await;
    play(&mut ann).await;
    let id = driver.child.id().expect("the driver runs").to_string();
    let stopped = tokio::process::Command::new("kill").args(["-TERM", &id]).status().await;
    assert!(stopped.expect("`kill` starts").success());
    assert!(ann.end().await.closing.is_some_and(|closing| closing.may_resume));
    let ended = timeout(DEADLINE, driver.child.wait()).await.expect("the driver ends in time");
    assert!(ended.expect("it has a status").success());
    server.kill().await;
}
