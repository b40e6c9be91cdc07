//! [`Harness`]: a room, its clients and their networks, tick by tick.

use crate::Conditions;
use crate::client::{TestClient, mirror_of};
use aether_bits::{BitReader, BitWriter, Component, Replicate};
use aether_engine::{Game, JoinRequest, NoObserver, Permissions, Random, Room, RoomHandle};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, CommandSeq, Event, GameBody, GameMessage, InputBytes, PlaygroundClear, PlaygroundSpawn,
    PlaygroundStress,
};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// Number of a client in a harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientNumber(pub usize);

/// A room and its clients, in virtual time.
///
/// ```
/// use aether_engine::{Room, RoomSettings};
/// use aether_replication::DeliveryOrder;
/// use aether_testkit::{Conditions, Harness, games::Drift};
///
/// let room = Room::builder(Drift::default(), RoomSettings::default()).seed(1).build()?;
/// let mut harness = Harness::new(room, 1);
/// let ann = harness.join("ann", DeliveryOrder::Unordered, Conditions::STORM);
/// harness.tick(100);
/// harness.signal(b"rest");
/// harness.heal();
/// harness.tick(100);
/// assert!(harness.has_converged(ann));
/// # Ok::<(), aether_engine::BuildError>(())
/// ```
pub struct Harness<G: Game> {
    room: Room<G>,
    handle: RoomHandle,
    clients: Vec<TestClient>,
    inputs: Vec<Option<InputBytes>>,
    random: Random,
    now: Duration,
    healed: bool,
}

impl<G: Game> Harness<G> {
    /// Returns a harness for a room. The same room and seed give the same run.
    #[must_use]
    pub fn new(room: Room<G>, seed: u64) -> Self {
        Harness {
            handle: room.handle(),
            room,
            clients: Vec::new(),
            inputs: Vec::new(),
            random: Random::new(seed),
            now: Duration::ZERO,
            healed: false,
        }
    }

    /// Returns the room.
    #[must_use]
    pub fn room(&self) -> &Room<G> {
        &self.room
    }

    /// Returns a client.
    #[must_use]
    pub fn client(&self, client: ClientNumber) -> &TestClient {
        &self.clients[client.0]
    }

    /// Returns all clients, including those that left.
    pub fn clients(&self) -> impl Iterator<Item = (ClientNumber, &TestClient)> {
        self.clients.iter().enumerate().map(|(number, client)| (ClientNumber(number), client))
    }

    /// Joins a client with a name at the next tick. It has the playground permission.
    pub fn join(&mut self, name: &str, order: DeliveryOrder, conditions: Conditions) -> ClientNumber {
        let permissions = Permissions { playground: true, ..Permissions::default() };
        let request =
            JoinRequest { user: name.to_owned(), name: name.to_owned(), permissions, ..JoinRequest::default() };
        self.join_as(request, order, conditions)
    }

    /// Joins a client at the next tick.
    pub fn join_as(&mut self, request: JoinRequest, order: DeliveryOrder, conditions: Conditions) -> ClientNumber {
        let conditions = if self.healed { Conditions::PERFECT } else { conditions };
        let mut client = TestClient::new(request.name.clone(), order, conditions, self.mirror(order));
        let endpoint = self.handle.join(request, order).expect("the mailbox is not full");
        client.connect(endpoint, self.mirror(order), self.random.bits());
        self.clients.push(client);
        self.inputs.push(None);
        ClientNumber(self.clients.len() - 1)
    }

    /// Sends a leave message.
    pub fn leave(&mut self, client: ClientNumber) {
        self.clients[client.0].send(self.now, &ClientMessage::Leave);
    }

    /// Drops the connection of a client without a leave message.
    pub fn disconnect(&mut self, client: ClientNumber) {
        self.clients[client.0].disconnect();
    }

    /// Resumes the player of a client on a new connection.
    pub fn resume(&mut self, client: ClientNumber) {
        let order = self.clients[client.0].order();
        let Some(player) = self.clients[client.0].player() else { return };
        let endpoint = self.handle.resume(player, order).expect("the mailbox is not full");
        let mirror = self.mirror(order);
        self.clients[client.0].connect(endpoint, mirror, self.random.bits());
    }

    /// Sets if a client stops reading from its connection.
    pub fn set_stalled(&mut self, client: ClientNumber, stalled: bool) {
        self.clients[client.0].set_stalled(stalled);
    }

    /// Sets the network conditions of a client.
    pub fn set_conditions(&mut self, client: ClientNumber, conditions: Conditions) {
        self.clients[client.0].set_conditions(conditions);
    }

    /// Sets the input that a client sends every tick; none sends only acknowledgements.
    pub fn set_input(&mut self, client: ClientNumber, input: Option<&G::Input>) {
        let packed = input.map(|input| {
            let mut writer = BitWriter::new();
            input.write_full(&mut writer);
            InputBytes::new(&writer.to_bytes()).expect("the room checked the size of the input")
        });
        self.set_packed_input(client, packed);
    }

    /// Sets the encoded input, for games whose input is declared at run time.
    pub fn set_packed_input(&mut self, client: ClientNumber, input: Option<InputBytes>) {
        self.inputs[client.0] = input;
    }

    /// Sends a message of the game.
    pub fn send_message<E: Component>(&mut self, client: ClientNumber, message: &E) -> CommandSeq {
        let code = self.room.schema().events.iter().position(|event| event.name == E::NAME);
        let code = code.expect("the game declares the message") as u16;
        let mut writer = BitWriter::new();
        message.write_full(&mut writer);
        let body = GameBody::Packed { code, payload: writer.to_bytes() };
        self.command(client, |seq| ClientMessage::Game(GameMessage { seq, body }))
    }

    /// Returns the events of a type that a client has received on its current connection, in order.
    #[must_use]
    pub fn events<E: Component>(&self, client: ClientNumber) -> Vec<E> {
        let code = self.room.schema().events.iter().position(|event| event.name == E::NAME);
        let code = code.expect("the game declares the event") as u16;
        let read = |event: &Event| match &event.body {
            GameBody::Packed { code: sent, payload } if *sent == code => {
                E::read_full(&mut BitReader::new(payload)).ok()
            }
            _ => None,
        };
        self.client(client).received().events.iter().filter_map(read).collect()
    }

    /// Sends the playground command `spawn`.
    pub fn spawn(&mut self, client: ClientNumber, kind: &str, [x, y]: [f32; 2]) -> CommandSeq {
        let kind = kind.to_owned();
        self.command(client, |seq| ClientMessage::PlaygroundSpawn(PlaygroundSpawn { seq, kind, x, y, rotation: 0.0 }))
    }

    /// Sends the playground command `stress`.
    pub fn stress(&mut self, client: ClientNumber, count: u32, rotate: bool) -> CommandSeq {
        self.command(client, |seq| ClientMessage::PlaygroundStress(PlaygroundStress { seq, count, rotate }))
    }

    /// Sends the playground command `clear`.
    pub fn clear(&mut self, client: ClientNumber) -> CommandSeq {
        self.command(client, |seq| ClientMessage::PlaygroundClear(PlaygroundClear { seq }))
    }

    /// Sends a command; the closure gets its number.
    pub fn command(&mut self, client: ClientNumber, command: impl FnOnce(CommandSeq) -> ClientMessage) -> CommandSeq {
        let seq = self.clients[client.0].next_command();
        self.clients[client.0].send(self.now, &command(seq));
        seq
    }

    /// Sends a signal to the game. The reply arrives with the next tick.
    pub fn signal(&mut self, data: &[u8]) -> Receiver<Vec<u8>> {
        let (sender, receiver) = sync_channel(1);
        self.handle.signal(data.to_vec(), sender).expect("the mailbox is not full");
        receiver
    }

    /// Makes every network perfect from now on, and ends all stalls.
    pub fn heal(&mut self) {
        self.healed = true;
        for client in &mut self.clients {
            client.heal(self.now);
        }
    }

    /// Runs `ticks` ticks.
    pub fn tick(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.now += Duration::from_secs(1) / self.room.settings().tick_hz;
            for client in &mut self.clients {
                client.deliver(self.now);
            }
            self.room.tick(&mut NoObserver);
            for (client, input) in self.clients.iter_mut().zip(&self.inputs) {
                client.collect(self.now);
                client.receive(self.now);
                client.send_input(self.now, *input);
            }
        }
    }

    /// Returns true if a client's mirror equals what the room shows it.
    #[must_use]
    pub fn has_converged(&self, client: ClientNumber) -> bool {
        let client = &self.clients[client.0];
        let shown = client.player().filter(|_| client.is_joined()).and_then(|player| self.room.hash_seen_by(player));
        shown == Some(client.mirror().hash())
    }

    fn mirror(&self, order: DeliveryOrder) -> aether_replication::Mirror {
        mirror_of(self.room.schema(), order, self.room.settings().seconds_per_tick())
    }
}
