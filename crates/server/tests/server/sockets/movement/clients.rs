//! Movement and corrections in the native client.

use super::support::{events, is_same, until_counted};
use aether_client::{Client, ClientEvent, ClientSettings, JoinOptions};
use aether_client_native::{Connector, NativeClient, NativeClientSettings, TransportPreference};
use aether_server::tokens::Role;
use aether_testkit_client::SandboxClient;
use aether_testkit_server::{DEADLINE, TRANSPORTS, TestServer, TransportKind};
use aether_wire::RoomSelector;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

struct NativePilot {
    native: NativeClient<SandboxClient>,
    events: Vec<ClientEvent>,
}

impl NativePilot {
    fn join(server: &TestServer, transport: TransportKind) -> NativePilot {
        let room = RoomSelector::Type { name: "sandbox".to_owned(), label: None };
        let options =
            JoinOptions { token: Some(server.token(Role::Player)), room: Some(room), ..JoinOptions::default() };
        let client = Client::new(SandboxClient, ClientSettings::default(), options);
        let connector = Connector::new(&format!("http://{}", server.http).parse().expect("the address is valid"));
        let transport = TransportPreference::Only(transport);
        let settings = NativeClientSettings { transport, ..NativeClientSettings::default() };
        NativePilot {
            native: NativeClient::new(client, connector, settings).expect("the thread starts"),
            events: Vec::new(),
        }
    }

    async fn until(&mut self, what: &str, mut holds: impl FnMut(&mut NativePilot) -> bool) {
        let end = Instant::now() + DEADLINE;
        loop {
            self.native.frame();
            self.events.extend(self.native.client_mut().events());
            if holds(self) {
                return;
            }
            assert!(Instant::now() < end, "timeout while waiting for {what}: {:?}", self.events);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Newest position of its ship, as the server sent it.
    fn position(&self) -> Option<[f32; 2]> {
        let client = self.native.client();
        let ship = client.mirror()?.get::<aether_sandbox_rules::Ship>(client.own_entity()?)?;
        Some(ship.position)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_native_client_moves_its_ship_and_is_corrected() {
    let server = TestServer::start(|_| {}).await;
    for (number, transport) in (1..).zip(TRANSPORTS) {
        let mut pilot = NativePilot::join(&server, transport);
        assert_eq!(pilot.native.move_by([1.0, 0.0]), None, "it has no ship yet");
        pilot.until("a ship", |pilot| pilot.position().is_some()).await;
        let [x, y] = pilot.position().expect("it has a ship");
        for step in 1..=3 {
            let seq = pilot.native.move_by([1.0, 0.5]).expect("it is sent");
            assert_eq!(seq.0, step);
            let expected = [x + step as f32, y + 0.5 * step as f32];
            pilot.until("the movement", |pilot| pilot.position().is_some_and(|at| is_same(at, expected))).await;
        }
        let seq = pilot.native.move_by([60.0, 0.0]).expect("it is sent");
        let correction = |event: &ClientEvent| match event {
            ClientEvent::Correction(correction) => Some(*correction),
            _ => None,
        };
        pilot.until("a correction", |pilot| pilot.events.iter().any(|event| correction(event).is_some())).await;
        let corrections: Vec<_> = pilot.events.iter().filter_map(correction).collect();
        assert_eq!(corrections.len(), 1);
        let (position, velocity) = (corrections[0].position, corrections[0].velocity);
        assert!(is_same([position.x, position.y], [x + 3.0, y + 1.5]), "{corrections:?} from {x}, {y}");
        assert_eq!((velocity.x, velocity.y, corrections[0].ack_seq), (0.0, 0.0, seq));
        assert_eq!(Some(corrections[0].entity), pilot.native.client().own_entity());
        assert_eq!(pilot.native.move_by([f32::NAN, 0.0]), None, "it cannot be sent");
        assert_eq!(pilot.native.client().stats().faults, 0, "{}", transport.name());
        assert!(pilot.native.leave());
        until_counted(&server, &BTreeMap::from([("movement_teleport", number)])).await;
    }
    assert_eq!(events(&server, "refused"), 0);
    server.stop().await;
}

/// Inputs and movements share their numbers, so a client that sends both is understood.
#[tokio::test(flavor = "multi_thread")]
async fn inputs_and_movements_of_a_native_client_do_not_disturb_each_other() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut pilot = NativePilot::join(&server, transport);
        pilot.native.client_mut().set_input(aether_sandbox_rules::Controls::default());
        pilot
            .until("acknowledged inputs", |pilot| {
                let client = pilot.native.client();
                pilot.position().is_some() && client.mirror().is_some_and(|mirror| mirror.input_ack().0 > 5)
            })
            .await;
        let [x, y] = pilot.position().expect("it has a ship");
        for step in 1..=5 {
            let seq = pilot.native.move_by([1.0, 0.0]).expect("it is sent");
            let expected = [x + step as f32, y];
            pilot
                .until("the movement", |pilot| {
                    let mirror = pilot.native.client().mirror().expect("it has joined");
                    mirror.input_ack() >= seq && pilot.position().is_some_and(|at| is_same(at, expected))
                })
                .await;
        }
        let last = pilot.native.client().last_input();
        pilot
            .until("later inputs", |pilot| {
                pilot.native.client().mirror().is_some_and(|mirror| mirror.input_ack() > last)
            })
            .await;
        let stats = pilot.native.client().stats();
        assert_eq!(stats.faults, 0, "{}: {stats:?}", transport.name());
        assert!(!pilot.events.iter().any(|event| matches!(event, ClientEvent::Correction(_) | ClientEvent::Error(_))));
        assert!(pilot.native.leave());
    }
    assert_eq!(events(&server, "corrections"), 0);
    assert_eq!(events(&server, "decode_errors"), 0);
    server.stop().await;
}
