//! A client of Outpost in a game loop.

use aether_client::{Client, ClientEvent, ClientSettings, JoinOptions};
use aether_client_native::{Connector, NativeClient, NativeClientSettings, TransportPreference, TrustStore};
use aether_outpost_client::OutpostClient;
use aether_outpost_rules::Controls;
use aether_server::tokens::Role;
use aether_testkit_server::{DEADLINE, TestServer};
use aether_wire::{RoomSelector, Token, Welcome};
use std::time::{Duration, Instant};

/// A frame of a display.
const FRAME: Duration = Duration::from_millis(8);

/// A native client of Outpost, and its events.
pub struct NativePlayer {
    pub native: NativeClient<OutpostClient>,
    pub events: Vec<ClientEvent>,
}

impl NativePlayer {
    /// Connects to a server over plain HTTP.
    pub fn at(server: &TestServer, transport: TransportPreference) -> NativePlayer {
        let settings = NativeClientSettings { transport, ..NativeClientSettings::default() };
        NativePlayer::new(
            &format!("http://{}", server.http),
            Some(server.token(Role::Player)),
            settings,
            TrustStore::system(),
        )
    }

    /// Connects to an address.
    pub fn new(address: &str, token: Option<Token>, settings: NativeClientSettings, trust: TrustStore) -> NativePlayer {
        let room = RoomSelector::Type { name: aether_outpost_server::NAME.to_owned(), label: None };
        let client = Client::new(
            OutpostClient::default(),
            ClientSettings::default(),
            JoinOptions { token, room: Some(room), ..JoinOptions::default() },
        );
        let connector = Connector::new(&address.parse().expect("the address is valid")).trust_store(trust);
        NativePlayer {
            native: NativeClient::new(client, connector, settings).expect("the thread starts"),
            events: Vec::new(),
        }
    }

    /// Runs frames until a condition holds.
    pub async fn until(&mut self, what: &str, mut holds: impl FnMut(&mut NativePlayer) -> bool) {
        let end = Instant::now() + DEADLINE;
        loop {
            self.frame();
            if holds(self) {
                return;
            }
            let (phase, error) = (self.native.client().phase(), self.native.last_error());
            assert!(Instant::now() < end, "timeout while waiting for {what}: {phase:?}, {error:?}, {:?}", self.events);
            tokio::time::sleep(FRAME).await;
        }
    }

    /// Runs one frame.
    pub fn frame(&mut self) {
        self.native.frame();
        self.events.extend(self.native.client_mut().events());
    }

    /// Waits until the player has joined and possesses an entity.
    pub async fn until_joined(&mut self) -> Welcome {
        self.until("a body", |player| player.native.client().own_state().is_some()).await;
        self.native.client().welcome().expect("the client has joined").clone()
    }

    /// Returns the joins of the client; true for each that resumed.
    pub fn joins(&self) -> Vec<bool> {
        let joined = |event: &ClientEvent| match event {
            ClientEvent::Joined { resumed, .. } => Some(*resumed),
            _ => None,
        };
        self.events.iter().filter_map(joined).collect()
    }

    pub fn walk(&mut self, push: [f32; 2]) {
        self.native.client_mut().set_input(Controls { push, ..Controls::default() });
    }
}
