//! Runs the program by its command line and joins over a WebSocket.

use aether::prelude::*;
use aether::wire::{
    ClientMessage, FieldValues, Hello, InputPayload, InputSeq, Inputs, JsonSnapshot, ServerMessage, Snapshot, StateAck,
    ViewTick,
};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Running program. Dropping it ends the process.
struct Program {
    process: Child,
    address: String,
    folder: PathBuf,
}

impl Program {
    fn start() -> Program {
        let folder = std::env::temp_dir().join(format!("coins-{}", std::process::id()));
        let mut process = command(&folder, "serve")
            .args(["--address", "127.0.0.1:0", "--admin-address", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("the program prints its addresses");
        let line: serde_json::Value = serde_json::from_str(&line).expect("the first line is JSON");
        let address = format!("http://{}", line["listening"]["http"].as_str().expect("it listens for HTTP"));
        Program { process, address, folder }
    }

    fn token(&self) -> Token {
        let output = command(&self.folder, "token").output().expect("the program starts");
        Token::new(String::from_utf8(output.stdout).expect("a token is text").trim())
    }

    fn stop(&mut self) -> Option<i32> {
        let id = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().expect("kill is available");
        self.process.wait().expect("it was started").code()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn command(folder: &std::path::Path, name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coins"));
    command.arg(name).arg("--data-dir").arg(folder);
    command
}

#[tokio::test]
async fn a_player_joins_walks_and_sees_it() {
    let mut program = Program::start();
    let address = program.address.parse().expect("it is an address");
    let room = RoomSelector::Type { name: "coins".into(), label: None };
    let hello = Hello { token: Some(program.token()), room: Some(room), ..Hello::default() };
    let connector = Connector::new(&address).encoding(Encoding::Json);
    let mut client = connector.connect(TransportKind::WebSocket, &hello).await.expect("the server accepts");
    let walked = tokio::time::timeout(Duration::from_secs(20), walk(&mut client));
    walked.await.expect("the walker gets there in time").expect("the connection holds");
    client.close().await;
    assert_eq!(program.stop(), Some(0));
}

/// Walks to the right until the server's state shows it.
async fn walk(client: &mut Connection) -> Result<(), ConnectionError> {
    let (mut own, mut seq) = (None, 0);
    loop {
        match client.next_message().await? {
            ServerMessage::Welcome(welcome) => assert_eq!(welcome.tick_hz, 20),
            ServerMessage::Possession(possession) => own = Some(possession.entity),
            ServerMessage::Snapshot(Snapshot::Readable(snapshot)) => {
                if own.and_then(|own| x_of(&snapshot, own)).is_some_and(|x| x > 1.0) {
                    return Ok(());
                }
                seq += 1;
                client.send(&ClientMessage::Inputs(steer(seq))).await?;
            }
            ServerMessage::Error(notice) => panic!("rejected: {notice:?}"),
            _ => {}
        }
    }
}

fn x_of(snapshot: &JsonSnapshot, own: EntityId) -> Option<f64> {
    let walker = snapshot.features.get("walkers")?.iter().find(|walker| walker.id == own)?;
    walker.fields.0.get("position")?.get(0)?.as_f64()
}

fn steer(seq: u32) -> Inputs {
    let fields = FieldValues([("direction".to_owned(), serde_json::json!([1.0, 0.0]))].into());
    let payloads = vec![InputPayload::Fields(fields)].into();
    Inputs { first_seq: InputSeq(seq), payloads, ack: StateAck::NONE, view: ViewTick::default() }
}
