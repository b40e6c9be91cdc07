//! Players that mirror the state of their room.

use crate::{ApiClient, Connector, DEADLINE, PROTOBUF, TestPlayer, TransportKind};
use aether_bits::{BitWriter, Component, Replicate};
use aether_outpost_rules::{Body, Place, Player as Walker, Presence, Shot, Structure};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::{
    ClientMessage, CommandError, CommandSeq, EntityId, ErrorNotice, GameBody, GameMessage, Hello, InputBytes,
    InputPayload, InputSeq, Inputs, RoomSelector, ServerMessage, Snapshot, StateAck, Token, ViewTick,
};
use serde_json::json;
use std::net::SocketAddr;
use std::time::Instant;

/// Creates an account. Returns its token and API client.
///
/// # Panics
/// Panics if the server creates none.
pub async fn account(server: SocketAddr) -> (Token, ApiClient) {
    let client = ApiClient::new_user(server).await;
    (Token::new(client.token.clone()), client)
}

/// Returns the token of a new guest.
///
/// # Panics
/// Panics if the server gives none.
pub async fn guest(server: SocketAddr) -> Token {
    let answer = ApiClient::new(server).post("/api/guest", &json!({})).await.expect("the server answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    Token::new(answer.json()["token"].as_str().expect("the answer has a token").to_owned())
}

/// Returns a hello with a token, for a room.
#[must_use]
pub fn hello(token: Token, room: RoomSelector) -> Hello {
    Hello { token: Some(token), room: Some(room), ..Hello::default() }
}

/// Selects any room of a type.
#[must_use]
pub fn of_type(name: &str) -> RoomSelector {
    RoomSelector::Type { name: name.to_owned(), label: None }
}

/// A player with a mirror of the room's state.
pub struct SeeingPlayer {
    /// Connected player.
    pub player: TestPlayer,
    /// State that the player sees.
    pub mirror: Mirror,
    input: u32,
    command: u32,
}

/// Returns a mirror with the components of Outpost, in the order in which the game declares them.
#[must_use]
pub fn outpost() -> Mirror {
    let builder = Mirror::builder().component::<Walker>().component::<Body>().component::<Structure>();
    builder.component::<Shot>().component::<Presence>().build(DeliveryOrder::Ordered, 1.0 / 30.0)
}

impl SeeingPlayer {
    /// Joins a room, or returns the error of the server.
    ///
    /// # Panics
    /// Panics if the server answers with neither.
    pub async fn join(server: SocketAddr, hello: &Hello, mirror: Mirror) -> Result<SeeingPlayer, ErrorNotice> {
        let address = format!("http://{server}").parse().expect("the address is valid");
        let connector = Connector::new(&address).encoding(PROTOBUF);
        let player = TestPlayer::join(&connector, TransportKind::WebSocket, hello).await?;
        Ok(SeeingPlayer { player, mirror, input: 0, command: 0 })
    }

    /// Reads state packets until `look` returns a value.
    ///
    /// # Panics
    /// Panics if it does not in time.
    pub async fn until<T>(&mut self, what: &str, mut look: impl FnMut(&Mirror) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(found) = look(&self.mirror) {
                return found;
            }
            assert!(Instant::now() < end, "timeout while waiting for {what}");
            self.read_state().await;
        }
    }

    /// Applies the next state packet.
    ///
    /// # Panics
    /// Panics if it is invalid.
    pub async fn read_state(&mut self) {
        let packet = self
            .player
            .wait("a state packet", |message| match message {
                ServerMessage::Snapshot(Snapshot::Packed(packet)) => Some(packet),
                _ => None,
            })
            .await;
        apply(&mut self.mirror, &packet);
    }

    /// Waits for a message for which `wanted` returns a value. State packets before it are applied and not skipped: with
    /// ordered delivery, the room makes later packets from them.
    pub async fn wait<T>(&mut self, what: &str, mut wanted: impl FnMut(ServerMessage) -> Option<T>) -> T {
        let SeeingPlayer { player, mirror, .. } = self;
        player
            .wait(what, |message| match message {
                ServerMessage::Snapshot(Snapshot::Packed(packet)) => {
                    apply(mirror, &packet);
                    None
                }
                message => wanted(message),
            })
            .await
    }

    /// Waits for the entity that the player possesses.
    pub async fn possession(&mut self) -> EntityId {
        self.wait("a possession", |message| match message {
            ServerMessage::Possession(possession) => Some(possession.entity),
            _ => None,
        })
        .await
    }

    /// Sends a game message and returns its answer.
    pub async fn command<E: Component>(&mut self, code: u16, event: &E) -> Result<(), CommandError> {
        self.command += 1;
        let mut writer = BitWriter::new();
        event.write_full(&mut writer);
        let body = GameBody::Packed { code, payload: writer.to_bytes() };
        let message = ClientMessage::Game(GameMessage { seq: CommandSeq(self.command), body });
        self.player.send(message).await;
        let seq = CommandSeq(self.command);
        let error = self
            .wait("an ack", |message| match message {
                ServerMessage::Ack(ack) if ack.seq == seq => Some(ack.error),
                _ => None,
            })
            .await;
        error.map_or(Ok(()), Err)
    }

    /// Builds in Outpost.
    pub async fn build(&mut self, place: &Place) -> Result<(), CommandError> {
        self.command(0, place).await
    }

    /// Sends an input and applies the next state packet.
    ///
    /// # Panics
    /// Panics if the input is too long.
    pub async fn step<I: Replicate>(&mut self, input: &I) {
        self.input += 1;
        let mut writer = BitWriter::new();
        input.write_full(&mut writer);
        let bytes = InputBytes::new(&writer.to_bytes()).expect("the input is short");
        let payloads = vec![InputPayload::Packed(bytes)].into();
        let (first_seq, ack, view) = (InputSeq(self.input), StateAck::NONE, ViewTick::default());
        self.player.send(ClientMessage::Inputs(Inputs { first_seq, payloads, ack, view })).await;
        self.read_state().await;
    }

    /// Waits for the position of the player's body.
    pub async fn position(&mut self, body: EntityId) -> [f32; 2] {
        self.until("its own body", |mirror| mirror.get::<Walker>(body).map(|walker| walker.position)).await
    }
}

fn apply(mirror: &mut Mirror, packet: &[u8]) {
    mirror.apply(packet).expect("the packet is valid");
}
