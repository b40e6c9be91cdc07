//! A client of Outpost in a game loop.

use aether_client::{Client, ClientEvent, ClientSettings, JoinOptions};
use aether_client_native::{Connector, NativeClient, NativeClientSettings, TransportPreference, TrustStore};
use aether_outpost_client::Outpost;
use aether_outpost_rules::Controls;
use aether_server::tokens::Role;
use aether_testkit_server::{DEADLINE, TestServer};
use aether_wire::{RoomSelector, Token, Welcome};
use std::time::{Duration, Instant};

/// A frame of a display.
const FRAME: Duration = Duration::from_millis(8);

/// A shell around Outpost's client, and what happened to it.
pub struct Seat {
    pub shell: NativeClient<Outpost>,
    pub events: Vec<ClientEvent>,
}

impl Seat {
    /// Takes a seat at a server, over its plain address.
    pub fn at(server: &TestServer, wish: TransportPreference) -> Seat {
        let settings = NativeClientSettings { transport: wish, ..NativeClientSettings::default() };
        Seat::new(&format!("http://{}", server.http), Some(server.token(Role::Player)), settings, TrustStore::system())
    }

    /// Takes a seat anywhere.
    pub fn new(address: &str, token: Option<Token>, settings: NativeClientSettings, trust: TrustStore) -> Seat {
        let room = RoomSelector::Type { name: aether_outpost_server::NAME.to_owned(), label: None };
        let client =
            Client::new(Outpost::default(), ClientSettings::default(), JoinOptions { token, room: Some(room) });
        let connector = Connector::new(&address.parse().expect("it is an address")).trust_store(trust);
        Seat { shell: NativeClient::new(client, connector, settings).expect("there is a thread"), events: Vec::new() }
    }

    /// Plays frames until something holds.
    pub async fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Seat) -> bool) {
        let end = Instant::now() + DEADLINE;
        loop {
            self.frame();
            if holds(self) {
                return;
            }
            let (phase, trouble) = (self.shell.client().phase(), self.shell.last_error());
            assert!(Instant::now() < end, "waited in vain for {what}: {phase:?}, {trouble:?}, {:?}", self.events);
            tokio::time::sleep(FRAME).await;
        }
    }

    /// Plays one frame.
    pub fn frame(&mut self) {
        self.shell.frame();
        self.events.extend(self.shell.client_mut().events());
    }

    /// Waits until the player is in the room and has a body.
    pub async fn until_joined(&mut self) -> Welcome {
        self.until("a body", |seat| seat.shell.client().own_state().is_some()).await;
        self.shell.client().welcome().expect("it is in a room").clone()
    }

    /// How often the client came into a room, and whether it was back each time.
    pub fn joins(&self) -> Vec<bool> {
        let joined = |event: &ClientEvent| match event {
            ClientEvent::Joined { resumed, .. } => Some(*resumed),
            _ => None,
        };
        self.events.iter().filter_map(joined).collect()
    }

    pub fn walk(&mut self, push: [f32; 2]) {
        self.shell.client_mut().set_input(Controls { push, ..Controls::default() });
    }
}
