//! Events before the state of their tick, over a connection that loses packets.

use super::udp_proxy::UdpProxy;
use aether_client::{Client, ClientEvent, ClientSettings, JoinOptions};
use aether_client_native::{Connector, NativeClient, NativeClientSettings, TransportPreference};
use aether_server::tokens::Role;
use aether_testkit_client::SandboxClient;
use aether_testkit_server::{DEADLINE, PROTOBUF, TestServer, TransportKind};
use aether_wire::{ClientMessage, CommandSeq, PlaygroundClear, RoomSelector, Tick};
use std::time::{Duration, Instant};

/// Clearings to see. Each one replaces every ship.
const CLEARINGS: u32 = 30;

#[tokio::test(flavor = "multi_thread")]
async fn over_a_lossy_webtransport_connection_state_waits_for_the_clearing_before_it() {
    let server = TestServer::start(|_| {}).await;
    let udp = server.running().webtransport.expect("WebTransport is enabled");
    let proxy = UdpProxy::start((server.http, udp)).await;
    let room = RoomSelector::Type { name: "sandbox".to_owned(), label: None };
    let join_options =
        JoinOptions { token: Some(server.token(Role::Player)), room: Some(room), ..JoinOptions::default() };
    // The order is proven, not the bound: on a busy machine a retransmission may take long.
    let settings = ClientSettings { event_wait_max: DEADLINE, ..ClientSettings::default() };
    let connector = Connector::new(&format!("http://{}", proxy.address).parse().expect("the address is valid"));
    let transport = TransportPreference::Only(TransportKind::WebTransport);
    let native_settings = NativeClientSettings { transport, ..NativeClientSettings::default() };
    let client = Client::new(SandboxClient, settings, join_options);
    let mut native = NativeClient::new(client, connector, native_settings).expect("the thread starts");
    let end = Instant::now() + 2 * DEADLINE;
    while native.client().own_state().is_none() {
        native.frame();
        assert!(Instant::now() < end, "{:?}", native.last_error());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let hello = server.hello_as(Role::Developer, "sandbox");
    let mut developer = server.join(TransportKind::WebSocket, PROTOBUF, &hello).await;
    proxy.lose(30);
    let (mut clearings, mut commands, mut newest) = (0, 0, Tick(0));
    while clearings < CLEARINGS || native.client().stats().packets_held == 0 {
        commands += 1;
        developer.send(ClientMessage::PlaygroundClear(PlaygroundClear { seq: CommandSeq(commands) })).await;
        assert_eq!(developer.answer(commands).await, None);
        for _ in 0..8 {
            native.frame();
            for event in native.client_mut().events() {
                match event {
                    ClientEvent::EntityEntered { tick, .. } | ClientEvent::EntityLeft { tick, .. } => newest = tick,
                    ClientEvent::Cleared(tick) => {
                        clearings += 1;
                        assert!(newest < tick, "state of {newest:?} came before the clearing of {tick:?}");
                    }
                    _ => {}
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(Instant::now() < end, "{clearings} clearings, {:?}", native.client().stats());
    }
    assert_eq!(native.transport(), Some(TransportKind::WebTransport));
    server.stop().await;
}
