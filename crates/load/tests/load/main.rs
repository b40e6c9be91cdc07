//! Bots connected to a small server over real sockets.

mod server;

use std::sync::atomic::Ordering;
use std::time::Duration;

use aether_client_native::{ConnectionError, Connector, TransportKind};
use aether_load::{LoadArguments, LoadError, LoadReport, run};
use aether_wire::{ClientMessage, ClientTime, DeliveryPath, Hello, Ping, RoomSelector, ServerMessage, Tick, Token};
use clap::Parser;
use server::Server;

#[derive(Parser)]
#[command(args_override_self = true)]
struct Program {
    #[command(flatten)]
    load: LoadArguments,
}

async fn load(address: &str, arguments: &[&str]) -> LoadReport {
    let common = ["load", "--quiet", "--seconds", "1", "--address", address];
    let program = Program::parse_from([&common, arguments].concat());
    run(program.load).await.expect("valid arguments")
}

fn hello(room_type: &str) -> Hello {
    let room = RoomSelector::Type { name: room_type.into(), label: None };
    Hello { token: Some(Token::new("guest")), room: Some(room), ..Hello::default() }
}

#[tokio::test]
async fn a_client_sends_and_receives_over_every_transport() {
    let (_server, address) = Server::start().await;
    let connector = Connector::new(&address.parse().expect("a valid address"));
    for transport in [TransportKind::WebSocket, TransportKind::WebTransport] {
        let mut client = connector.connect(transport, &hello("relay")).await.expect("the server accepts");
        assert!(matches!(client.next_message().await, Ok(ServerMessage::Welcome(_))), "{transport:?}");

        let ping = ClientMessage::Ping(Ping { client_time: ClientTime(77), tick: Tick(3) });
        client.send(&ping).await.expect("the server reads");
        let pong = client.next_message().await.expect("the server answers");
        let ServerMessage::Pong(pong) = pong else { panic!("{pong:?}") };
        assert_eq!((pong.client_time, pong.tick), (ClientTime(77), Tick(3)));

        client.send(&ClientMessage::SchemaRequest).await.expect("the server reads");
        assert!(matches!(client.next_message().await, Ok(ServerMessage::Schema(_))));

        client.send_frame(DeliveryPath::Reliable, b"nonsense").await.expect("the server reads");
        let error = client.next_message().await.expect_err("the server closes");
        assert!(
            matches!(&error, ConnectionError::Closed { code: Some(4000), reason } if reason == "done"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn messages_before_a_close_are_received() {
    let (_server, address) = Server::start().await;
    let connector = Connector::new(&address.parse().expect("a valid address"));
    for transport in [TransportKind::WebSocket, TransportKind::WebTransport] {
        let mut client = connector.connect(transport, &hello("full")).await.expect("the server accepts");
        // By now all messages of the server have arrived.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let rejection = client.next_message().await;
        assert!(matches!(rejection, Ok(ServerMessage::Error(_))), "{transport:?}: {rejection:?}");
        let error = client.next_message().await.expect_err("the server has closed");
        assert!(matches!(error, ConnectionError::Closed { code: Some(4000), .. }), "{transport:?}: {error:?}");
    }
}

#[tokio::test]
async fn raw_bytes_reach_the_server_unframed() {
    let (_server, address) = Server::start().await;
    let connector = Connector::new(&address.parse().expect("a valid address"));
    let mut client = connector.open(TransportKind::WebSocket).await.expect("the server accepts");
    // An unmasked frame, which a server rejects.
    client.send_raw(b"\x82\x00").await.expect("the server accepts");
    assert!(matches!(client.next_message().await, Err(ConnectionError::Closed { code: None, .. })));
}

#[tokio::test]
async fn bots_play_over_every_transport() {
    let (server, address) = Server::start().await;
    let arguments = ["--bots", "6", "--per-room", "3", "--transport", "both"];
    let report = load(&address, &arguments).await;
    assert!(report.all_stayed(), "{report}");
    assert!(server.inputs.load(Ordering::Relaxed) > 60, "{report}");
    // One second at 20 Hz, with tolerance for a busy machine.
    for (what, count) in [
        ("state packets", report.state_packets),
        ("staleness", report.staleness_ms.count),
        ("jitter", report.state_jitter_ms.count),
        ("input to state", report.input_to_state_ms.count),
        ("sent", report.sent.messages),
        ("received", report.received.messages),
    ] {
        assert!((60..=180).contains(&count), "{what}: {report}");
    }
    assert!((3..=12).contains(&report.round_trip_ms.count), "{report}");
    assert!(report.staleness_ms.p50 < 250.0 && report.input_to_state_ms.p50 < 250.0, "{report}");
    assert_eq!((report.state_unreadable, report.errors.len()), (0, 0), "{report}");
}

#[tokio::test]
async fn light_bots_measure_the_same() {
    let (_server, address) = Server::start().await;
    let report = load(&address, &["--bots", "2", "--light"]).await;
    assert!(report.all_stayed(), "{report}");
    assert!(report.state_packets >= 20 && report.input_to_state_ms.count >= 20, "{report}");
}

#[tokio::test]
async fn messages_between_bots_are_counted_and_timed() {
    let (_server, address) = Server::start().await;
    let report = load(&address, &["--bots", "6", "--per-room", "3", "--room-type", "relay"]).await;
    assert!(report.all_stayed(), "{report}");
    // Six bots at 20 Hz for one second, two others in each room, with tolerance.
    assert!((120..=300).contains(&report.deliveries_expected), "{report}");
    assert_eq!((report.deliveries, report.delivery_ms.count), (report.deliveries_expected, report.deliveries));
    assert!(report.delivery_ms.p50 < 250.0, "{report}");
}

#[tokio::test]
async fn disconnected_bots_resume_their_players() {
    let (_server, address) = Server::start().await;
    let report =
        load(&address, &["--bots", "4", "--churn-seconds", "1", "--seconds", "3", "--transport", "both"]).await;
    assert!(report.resumes >= 4, "{report}");
    assert_eq!((report.resumes_as_another, report.resumes_refused), (0, 0), "{report}");
}

#[tokio::test]
async fn simulated_latency_is_measured() {
    let (_server, address) = Server::start().await;
    let report = load(&address, &["--bots", "2", "--latency-ms", "60", "--transport", "both", "--seconds", "2"]).await;
    assert!(report.all_stayed(), "{report}");
    assert!(report.round_trip_ms.p50 >= 118.0, "{report}");
    assert!(report.input_to_state_ms.p50 >= 118.0, "{report}");
}

#[tokio::test]
async fn bots_that_fail_are_counted_by_reason() {
    let (_server, address) = Server::start().await;
    let report = load(&address, &["--bots", "3", "--room-type", "full"]).await;
    assert_eq!((report.connected, report.failures.get("room_full")), (0, Some(&3)), "{report}");
    // A free port without a listener.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let nobody = format!("http://{}", free.local_addr().expect("a bound address"));
    drop(free);
    let report = load(&nobody, &["--bots", "2", "--token", "t"]).await;
    assert_eq!(report.failures.get("connection refused"), Some(&2), "{report}");
}

#[tokio::test]
async fn close_reasons_are_counted() {
    let (_server, address) = Server::start().await;
    let report =
        load(&address, &["--bots", "2", "--room-type", "closing", "--seconds", "2", "--transport", "both"]).await;
    assert_eq!((report.connected, report.disconnects.get("kicked")), (2, Some(&2)), "{report}");
}

#[tokio::test]
async fn remote_servers_are_rejected_by_default() {
    let arguments = Program::parse_from(["load", "--address", "http://192.0.2.1:7350"]).load;
    assert!(matches!(run(arguments).await, Err(LoadError::Remote(_))));
}

#[tokio::test]
async fn a_report_is_json_or_text() {
    let (_server, address) = Server::start().await;
    // Long enough for a ping and its answer on a busy machine.
    let report = load(&address, &["--bots", "1", "--seconds", "4"]).await;
    let json: serde_json::Value = serde_json::from_str(&report.render(true)).expect("valid JSON");
    assert_eq!(json["connected"], 1);
    assert!(json["roundTripMs"]["p999"].is_number());
    assert!(json["received"]["bytesPerSecondPerBot"].is_number());
    let table = report.render(false);
    assert!(table.contains("connected       1 of 1"), "{table}");
    assert!(table.contains("round trip"), "{table}");
}
