//! Start, signals and configuration errors of the program.

use crate::support::program;
use aether_client_native::{Connection, Connector, ServerAddress, TransportKind};
use aether_testkit_server::{DEADLINE, End};
use aether_wire::Encoding;
use aether_wire::{CloseReason, Hello, RoomSelector, ServerMessage, Token};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("aether-program-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir_all(&path).expect("the folder can be created");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn command(arguments: &[&str]) -> Command {
    aether_testkit_server::command(program(), arguments)
}

struct Serving {
    child: Child,
    address: ServerAddress,
    _folder: Folder,
    data_dir: PathBuf,
}

async fn serve(more: &[&str]) -> Serving {
    let folder = Folder::new();
    let data_dir = folder.0.join("data");
    let data = data_dir.to_str().expect("the path is UTF-8");
    let address = "127.0.0.1:0";
    let fixed = ["serve", "--data-dir", data, "--address", address, "--admin-address", address];
    let mut child = command(&[&fixed[..], more].concat()).stderr(Stdio::null()).spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("standard output is piped")).lines();
    let line = timeout(DEADLINE, lines.next_line())
        .await
        .expect("the server prints its addresses")
        .expect("the output is readable");
    let line: serde_json::Value = serde_json::from_str(&line.expect("there is a line")).expect("the text is JSON");
    let http = line["listening"]["http"].as_str().expect("the line has an address");
    let address = format!("http://{http}").parse().expect("the address is valid");
    Serving { child, address, _folder: folder, data_dir }
}

impl Serving {
    /// Joins the sandbox as a guest.
    async fn guest(&self, transport: TransportKind) -> Connection {
        let mut stream = TcpStream::connect(self.address.authority()).await.expect("it listens");
        let host = self.address.authority();
        let request =
            format!("POST /api/guest HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("it has a body");
        let body: serde_json::Value = serde_json::from_str(body).expect("the text is JSON");
        let token = Token::new(body["token"].as_str().expect("the answer has a token"));
        let room = RoomSelector::Type { name: "sandbox".into(), label: None };
        let hello = Hello { token: Some(token), room: Some(room), ..Hello::default() };
        let connector = Connector::new(&self.address).encoding(Encoding::Protobuf);
        let mut client = connector.connect(transport, &hello).await.expect("it opens");
        wait_for(&mut client, "a welcome", |message| matches!(message, ServerMessage::Welcome(_))).await;
        client
    }

    async fn terminate(&self) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().await.expect("`kill` is installed");
        assert!(sent.success());
    }

    async fn exit(&mut self) -> ExitStatus {
        timeout(DEADLINE, self.child.wait()).await.expect("the server ends in time").expect("the process has a status")
    }
}

async fn wait_for(client: &mut Connection, what: &str, wanted: impl Fn(&ServerMessage) -> bool) {
    let found =
        async { while !wanted(&client.next_message().await.unwrap_or_else(|error| panic!("no {what}: {error}"))) {} };
    timeout(DEADLINE, found).await.unwrap_or_else(|_| panic!("{what} did not arrive"));
}

fn is_shutdown(message: &ServerMessage) -> bool {
    matches!(message, ServerMessage::Closing(closing) if closing.reason == CloseReason::Shutdown)
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_signal_clients_get_the_reason_and_only_the_data_is_left() {
    let mut serving = serve(&["--set", "shutdown.grace_seconds=1"]).await;
    let mut clients = Vec::new();
    for number in 0..40 {
        let transport = if number % 2 == 0 { TransportKind::WebSocket } else { TransportKind::WebTransport };
        clients.push(serving.guest(transport).await);
    }
    let listening: Vec<_> =
        clients.into_iter().map(|mut client| tokio::spawn(async move { End::of(&mut client).await })).collect();
    serving.terminate().await;
    for client in listening {
        let end = client.await.expect("it reads to the end");
        assert_eq!(end.reason(), Some(CloseReason::Shutdown));
    }
    assert_eq!(serving.exit().await.code(), Some(0));
    let mut left: Vec<_> =
        serving.data_dir.read_dir().expect("it is there").map(|entry| entry.expect("listed").file_name()).collect();
    left.sort();
    assert_eq!(
        left,
        ["admin.key", "aether.db", "aether.db.created", "aether.db.lock", "keys", "node"],
        "the database is one file again"
    );
    let keys =
        serving.data_dir.join("keys").read_dir().expect("it is there").map(|entry| entry.expect("listed").path());
    let keys: Vec<PathBuf> = keys.collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert!(keys.iter().all(|path| path.extension().is_some_and(|extension| extension == "key")), "{keys:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_the_program_at_once() {
    let mut serving = serve(&["--set", "shutdown.grace_seconds=60"]).await;
    let mut client = serving.guest(TransportKind::WebSocket).await;
    serving.terminate().await;
    wait_for(&mut client, "closing", is_shutdown).await;
    let began = Instant::now();
    serving.terminate().await;
    let status = serving.exit().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_ne!(status.code(), Some(0), "the exit code is not 0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_error_names_file_and_line() {
    let folder = Folder::new();
    let file = folder.0.join("aether.toml");
    for (text, line, word) in [
        ("[http]\naddress = \"127.0.0.1:0\"\nadress = \"x\"\n", 3, "adress"),
        ("\n[rooms]\nmax = \"many\"\n", 3, "rooms.max"),
        ("[connections]\nidle_seconds = 1\n", 2, "connections.idle_seconds"),
        ("[http]\naddress = \"0.0.0.0:0\"\n\n[tokens]\naccept_development = true\n", 5, "tokens.accept_development"),
        ("[http\n", 1, ""),
    ] {
        std::fs::write(&file, text).expect("files can be written");
        for verb in ["serve", "check"] {
            let output = command(&[verb, "--config", file.to_str().expect("the path is UTF-8")]).output();
            let output = timeout(DEADLINE, output).await.expect("the program ends at once").expect("the program ran");
            assert_ne!(output.status.code(), Some(0), "{verb} of {text:?}");
            let text = String::from_utf8_lossy(&output.stderr);
            let source = format!("{}, line {line}", file.display());
            assert!(text.contains(&source) && text.contains(word), "{source} in {text}");
        }
    }
}
