//! A room, its clients and the networks between them, tick by tick.

use crate::client::{TestClient, mirror_of};
use crate::conditioner::Conditions;
use aether_bits::{BitWriter, Component, Replicate};
use aether_engine::{Game, JoinRequest, NoObserver, Permissions, Random, Room, RoomHandle};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, CommandSeq, GameBody, GameMessage, InputBytes, PlaygroundClear, PlaygroundSpawn, PlaygroundStress,
};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// One client of a harness.
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
    /// A harness around a room. The same room and seed give the same run.
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

    /// The room.
    #[must_use]
    pub fn room(&self) -> &Room<G> {
        &self.room
    }

    /// A client.
    #[must_use]
    pub fn client(&self, client: ClientNumber) -> &TestClient {
        &self.clients[client.0]
    }

    /// All clients, also those that left.
    pub fn clients(&self) -> impl Iterator<Item = (ClientNumber, &TestClient)> {
        self.clients.iter().enumerate().map(|(number, client)| (ClientNumber(number), client))
    }

    /// Lets a client join under a name at the next tick. It may give playground commands.
    pub fn join(&mut self, name: &str, order: DeliveryOrder, conditions: Conditions) -> ClientNumber {
        let permissions = Permissions { playground: true, inspect: false };
        let request = JoinRequest { user: name.to_owned(), name: name.to_owned(), permissions, metadata: Vec::new() };
        self.join_as(request, order, conditions)
    }

    /// Lets a client join at the next tick.
    pub fn join_as(&mut self, request: JoinRequest, order: DeliveryOrder, conditions: Conditions) -> ClientNumber {
        let conditions = if self.healed { Conditions::PERFECT } else { conditions };
        let mut client = TestClient::new(request.name.clone(), order, conditions, self.mirror(order));
        let endpoint = self.handle.join(request, order).expect("a test stays within the mailbox");
        client.connect(endpoint, self.mirror(order), self.random.bits());
        self.clients.push(client);
        self.inputs.push(None);
        ClientNumber(self.clients.len() - 1)
    }

    /// Lets a client leave for good.
    pub fn leave(&mut self, client: ClientNumber) {
        self.clients[client.0].send(self.now, &ClientMessage::Leave);
    }

    /// Takes a client's connection away without a word.
    pub fn disconnect(&mut self, client: ClientNumber) {
        self.clients[client.0].disconnect();
    }

    /// Gives a client that was in the room a new connection, with nothing left of the old one.
    pub fn resume(&mut self, client: ClientNumber) {
        let order = self.clients[client.0].order();
        let Some(player) = self.clients[client.0].player() else { return };
        let endpoint = self.handle.resume(player, order).expect("a test stays within the mailbox");
        let mirror = self.mirror(order);
        self.clients[client.0].connect(endpoint, mirror, self.random.bits());
    }

    /// Says whether a client stops taking anything from its connection.
    pub fn set_stalled(&mut self, client: ClientNumber, stalled: bool) {
        self.clients[client.0].set_stalled(stalled);
    }

    /// Changes a client's network.
    pub fn set_conditions(&mut self, client: ClientNumber, conditions: Conditions) {
        self.clients[client.0].set_conditions(conditions);
    }

    /// Sets what a client sends every tick from now on; without an input it only acknowledges.
    pub fn set_input(&mut self, client: ClientNumber, input: Option<&G::Input>) {
        let packed = input.map(|input| {
            let mut writer = BitWriter::new();
            input.write_full(&mut writer);
            InputBytes::new(&writer.to_bytes()).expect("the room was built, so its input is small enough")
        });
        self.set_packed_input(client, packed);
    }

    /// Sets the input in its packed form: for a game whose input is declared at run time.
    pub fn set_packed_input(&mut self, client: ClientNumber, input: Option<InputBytes>) {
        self.inputs[client.0] = input;
    }

    /// Sends one of the game's messages.
    pub fn send_message<E: Component>(&mut self, client: ClientNumber, message: &E) -> CommandSeq {
        let code = self.room.schema().events.iter().position(|event| event.name == E::NAME);
        let code = code.expect("the game declares the message") as u16;
        let mut writer = BitWriter::new();
        message.write_full(&mut writer);
        let body = GameBody::Packed { code, payload: writer.to_bytes() };
        self.command(client, |seq| ClientMessage::Game(GameMessage { seq, body }))
    }

    /// Spawns something by the playground.
    pub fn spawn(&mut self, client: ClientNumber, kind: &str, [x, y]: [f32; 2]) -> CommandSeq {
        let kind = kind.to_owned();
        self.command(client, |seq| ClientMessage::PlaygroundSpawn(PlaygroundSpawn { seq, kind, x, y, rotation: 0.0 }))
    }

    /// Spawns many things by the playground.
    pub fn stress(&mut self, client: ClientNumber, count: u32, rotate: bool) -> CommandSeq {
        self.command(client, |seq| ClientMessage::PlaygroundStress(PlaygroundStress { seq, count, rotate }))
    }

    /// Clears the world by the playground.
    pub fn clear(&mut self, client: ClientNumber) -> CommandSeq {
        self.command(client, |seq| ClientMessage::PlaygroundClear(PlaygroundClear { seq }))
    }

    /// Sends a command, given its number.
    pub fn command(&mut self, client: ClientNumber, command: impl FnOnce(CommandSeq) -> ClientMessage) -> CommandSeq {
        let seq = self.clients[client.0].next_command();
        self.clients[client.0].send(self.now, &command(seq));
        seq
    }

    /// Tells the game something from outside; its answer comes with the next tick.
    pub fn signal(&mut self, data: &[u8]) -> Receiver<Vec<u8>> {
        let (sender, receiver) = sync_channel(1);
        self.handle.signal(data.to_vec(), sender).expect("a test stays within the mailbox");
        receiver
    }

    /// Makes every network perfect from now on, and every client read what it gets.
    pub fn heal(&mut self) {
        self.healed = true;
        for client in &mut self.clients {
            client.heal(self.now);
        }
    }

    /// Runs so many ticks.
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

    /// Whether a client holds exactly what the room shows it.
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
