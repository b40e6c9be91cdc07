//! Players who sit in a room of a game and see its state.

use crate::{ApiClient, Connector, DEADLINE, PROTOBUF, Player, TransportKind};
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

/// The token of a new account, and its client of the API.
///
/// # Panics
/// If the server makes none.
pub async fn account(server: SocketAddr) -> (Token, ApiClient) {
    let client = ApiClient::new_user(server).await;
    (Token::new(client.token.clone()), client)
}

/// The token of a guest.
///
/// # Panics
/// If the server gives none.
pub async fn guest(server: SocketAddr) -> Token {
    let answer = ApiClient::new(server).post("/api/guest", &json!({})).await.expect("it answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    Token::new(answer.json()["token"].as_str().expect("there is a token").to_owned())
}

/// Says hello with a token, to a room.
#[must_use]
pub fn hello(token: Token, room: RoomSelector) -> Hello {
    Hello { token: Some(token), room: Some(room), ..Hello::default() }
}

/// Any room of a type.
#[must_use]
pub fn of_type(name: &str) -> RoomSelector {
    RoomSelector::Type { name: name.to_owned(), label: None }
}

/// A player who sees.
pub struct SeeingPlayer {
    /// The player.
    pub player: Player,
    /// The state as the player sees it.
    pub mirror: Mirror,
    input: u32,
    command: u32,
}

/// The components of Outpost, in the order in which the game declares them.
#[must_use]
pub fn outpost() -> Mirror {
    let builder = Mirror::builder().component::<Walker>().component::<Body>().component::<Structure>();
    builder.component::<Shot>().component::<Presence>().build(DeliveryOrder::Ordered, 1.0 / 30.0)
}

impl SeeingPlayer {
    /// Joins, or tells why not.
    ///
    /// # Panics
    /// If the server says neither.
    pub async fn take(server: SocketAddr, hello: &Hello, mirror: Mirror) -> Result<SeeingPlayer, ErrorNotice> {
        let address = format!("http://{server}").parse().expect("it is an address");
        let connector = Connector::new(&address).encoding(PROTOBUF);
        let player = Player::enter(&connector, TransportKind::WebSocket, hello).await?;
        Ok(SeeingPlayer { player, mirror, input: 0, command: 0 })
    }

    /// Reads until something holds of what is seen.
    ///
    /// # Panics
    /// If it does not in time.
    pub async fn until<T>(&mut self, what: &str, mut look: impl FnMut(&Mirror) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(found) = look(&self.mirror) {
                return found;
            }
            assert!(Instant::now() < end, "waited in vain for {what}");
            self.see().await;
        }
    }

    /// Takes the next state in.
    ///
    /// # Panics
    /// If it cannot be read.
    pub async fn see(&mut self) {
        let packet = self
            .player
            .wait("a state packet", |message| match message {
                ServerMessage::Snapshot(Snapshot::Packed(packet)) => Some(packet),
                _ => None,
            })
            .await;
        self.mirror.apply(&packet).expect("it can be read");
    }

    /// Sends a command of the game and gives what it was answered.
    pub async fn command<E: Component>(&mut self, code: u16, event: &E) -> Result<(), CommandError> {
        self.command += 1;
        let mut writer = BitWriter::new();
        event.write_full(&mut writer);
        let body = GameBody::Packed { code, payload: writer.to_bytes() };
        let message = ClientMessage::Game(GameMessage { seq: CommandSeq(self.command), body });
        self.player.send(message).await;
        self.player.answer(self.command).await.map_or(Ok(()), Err)
    }

    /// Builds in Outpost.
    pub async fn build(&mut self, place: &Place) -> Result<(), CommandError> {
        self.command(0, place).await
    }

    /// Sends an input, and takes in what is shown next.
    ///
    /// # Panics
    /// If the input is too long.
    pub async fn step<I: Replicate>(&mut self, input: &I) {
        self.input += 1;
        let mut writer = BitWriter::new();
        input.write_full(&mut writer);
        let bytes = InputBytes::new(&writer.to_bytes()).expect("it is short");
        let payloads = vec![InputPayload::Packed(bytes)].into();
        let (first_seq, ack, view) = (InputSeq(self.input), StateAck::NONE, ViewTick::default());
        self.player.send(ClientMessage::Inputs(Inputs { first_seq, payloads, ack, view })).await;
        self.see().await;
    }

    /// Where the player's own body is.
    pub async fn place(&mut self, body: EntityId) -> [f32; 2] {
        self.until("its own body", |mirror| mirror.get::<Walker>(body).map(|walker| walker.position)).await
    }
}
