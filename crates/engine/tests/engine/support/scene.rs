//! A room that a test ticks by hand.

use super::client::Client;
use super::yard::{Crate, Yard};
use aether_engine::recording::{Recording, Replay};
use aether_engine::{
    AuditEvent, Context, JoinRequest, Observer, Permissions, Room, RoomCounts, RoomHandle, RoomSettings, RoomStatus,
    TickStage,
};
use aether_replication::DeliveryOrder;
use aether_wire::{EntityId, PlayerId, Tick};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, mpsc};

type Task = Box<dyn FnOnce(&mut Context<'_>) + Send>;

/// A room of the yard game, with its observations.
pub struct Scene {
    pub room: Room<Yard>,
    pub handle: RoomHandle,
    pub watch: Watch,
    pub revealed: Arc<Mutex<BTreeSet<(PlayerId, EntityId)>>>,
    tasks: Arc<Mutex<Vec<Task>>>,
}

/// Records all calls of the observer.
#[derive(Default)]
pub struct Watch {
    pub stages: Vec<(Tick, TickStage)>,
    pub ticked: Vec<(Tick, RoomCounts)>,
    /// Player, account, action, and true if it was allowed.
    pub audits: Vec<(PlayerId, String, &'static str, bool)>,
}

impl Observer for Watch {
    fn stage(&mut self, tick: Tick, stage: TickStage) {
        self.stages.push((tick, stage));
    }

    fn tick_finished(&mut self, tick: Tick, counts: &RoomCounts) {
        self.ticked.push((tick, *counts));
    }

    fn audit(&mut self, audit: &AuditEvent<'_>) {
        self.audits.push((audit.player, audit.user.to_owned(), audit.action, audit.allowed));
    }
}

/// Twenty ticks per second, a snapshot per tick, no rings.
pub fn settings() -> RoomSettings {
    RoomSettings { tick_hz: 20, snapshot_hz: 20, rings: Vec::new(), ..RoomSettings::default() }
}

/// Join request without permissions.
pub fn join_request(name: &str) -> JoinRequest {
    JoinRequest { user: format!("user-{name}"), name: name.to_owned(), ..JoinRequest::default() }
}

impl Scene {
    pub fn new(settings: RoomSettings) -> Self {
        let yard = Yard::default();
        let (tasks, revealed) = (Arc::clone(&yard.tasks), Arc::clone(&yard.revealed));
        let room = Room::builder(yard, settings).seed(7).record("yard").build().unwrap();
        let handle = room.handle();
        Scene { room, handle, watch: Watch::default(), revealed, tasks }
    }

    pub fn tick(&mut self) -> RoomStatus {
        self.room.tick(&mut self.watch)
    }

    pub fn ticks(&mut self, count: u32) {
        for _ in 0..count {
            self.tick();
        }
    }

    /// Ticks, and reads for the clients after every tick.
    pub fn play(&mut self, count: u32, clients: &mut [&mut Client]) {
        for _ in 0..count {
            self.tick();
            for client in clients.iter_mut() {
                client.read();
            }
        }
    }

    /// Runs a task in the next tick, after the inputs.
    pub fn next(&self, task: impl FnOnce(&mut Context<'_>) + Send + 'static) {
        self.tasks.lock().unwrap().push(Box::new(task));
    }

    /// Runs a task in a tick of its own and returns its result.
    pub fn now<T: Send + 'static>(&mut self, task: impl FnOnce(&mut Context<'_>) -> T + Send + 'static) -> T {
        let (sender, receiver) = mpsc::channel();
        self.next(move |room| sender.send(task(room)).unwrap());
        self.tick();
        receiver.recv().unwrap()
    }

    /// Spawns a crate in a tick of its own.
    pub fn spawn_at(&mut self, position: [f32; 2]) -> EntityId {
        self.now(move |room| room.world.spawn(Crate { position, velocity: [0.0; 2] }).unwrap())
    }

    /// Moves an entity in the next tick.
    pub fn put(&self, entity: EntityId, position: [f32; 2]) {
        self.next(move |room| room.world.get_mut::<Crate>(entity).unwrap().position = position);
    }

    pub fn join(&mut self, name: &str) -> Client {
        self.join_as(join_request(name), DeliveryOrder::Ordered)
    }

    /// Joins with the playground permission.
    pub fn join_developer(&mut self, name: &str) -> Client {
        let permissions = Permissions { playground: true, ..Permissions::default() };
        self.join_as(JoinRequest { permissions, ..join_request(name) }, DeliveryOrder::Ordered)
    }

    pub fn join_as(&mut self, request: JoinRequest, order: DeliveryOrder) -> Client {
        let endpoint = self.handle.join(request, order).unwrap();
        self.tick();
        let player = *endpoint.admission().unwrap().as_ref().unwrap();
        Client::new(endpoint, player, order, self.room.settings().seconds_per_tick())
    }

    /// Resumes a player in a tick of its own.
    pub fn resume(&mut self, player: PlayerId) -> Client {
        let endpoint = self.handle.resume(player, DeliveryOrder::Ordered).unwrap();
        self.tick();
        assert_eq!(endpoint.admission(), Some(&Ok(player)));
        Client::new(endpoint, player, DeliveryOrder::Ordered, self.room.settings().seconds_per_tick())
    }

    /// Asserts that a replay of the stored recording has the state of the room.
    pub fn assert_replays(&self) {
        let recording = Recording::from_bytes(&self.room.recording().unwrap().to_bytes()).unwrap();
        let mut replay = Replay::new(Yard::default(), self.room.settings().clone(), &recording).unwrap();
        let last = self.room.now();
        assert_eq!(replay.run_to(last), Ok(Some((last, self.room.hash()))));
    }

    pub fn totals(&self) -> &RoomCounts {
        self.room.totals()
    }

    /// Returns true if a client has exactly what it may see.
    pub fn agrees_with(&self, client: &Client) -> bool {
        self.room.hash_seen_by(client.player) == Some(client.mirror.hash())
    }
}
