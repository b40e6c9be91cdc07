//! bevy_replicon server and its clients in one process, without sockets.

use std::{
    collections::VecDeque,
    fmt,
    ops::Range,
    time::{Duration, Instant},
};

use bevy::{ecs::entity::EntityHashMap, prelude::*, state::app::StatesPlugin, tasks::ComputeTaskPool};
use bevy_replicon::{
    bytes::Bytes,
    prelude::*,
    shared::{
        backend::channels::{ClientChannel, ServerChannel},
        server_entity_map::ServerEntityMap,
    },
};
use serde::{Deserialize, Serialize};

/// Largest message that is not split. The library's test clients use the same.
const MESSAGE_BYTES_MAX: usize = 1200;

/// Position of the acknowledged index in a mutation message, after one byte of flags. The real clients
/// verify it on every tick.
const MUTATE_INDEX: Range<usize> = 1..3;

/// Size of a workload.
#[derive(Clone, Copy)]
pub struct Shape {
    pub entities: usize,
    /// Every client sees every entity.
    pub clients: usize,
    /// Number of clients that acknowledge one tick later than the others.
    pub late_clients: usize,
    pub changes_per_tick: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} entities, {} clients that see all, {} of them acknowledge a tick late, {} changes per tick",
            self.entities, self.clients, self.late_clients, self.changes_per_tick,
        )
    }
}

/// Cost of one tick.
pub struct Tick {
    /// Time from handling acknowledgements until every client's messages are ready to send.
    pub server_time: Duration,
    pub bytes_sent: usize,
}

/// Running server with its clients.
pub struct Session {
    shape: Shape,
    server: App,
    clients: Vec<Client>,
    movers: Vec<Entity>,
    next_mover: usize,
}

impl Session {
    /// Connects the clients, spawns the entities and sends them to all clients.
    pub fn start(shape: Shape) -> Self {
        let mut server = replicating_app();
        server.world_mut().resource_mut::<NextState<ServerState>>().set(ServerState::Running);
        server.update();
        assert_eq!(ComputeTaskPool::get().thread_num(), 1, "the workloads ask for one thread");

        let on_time_clients = shape.clients - shape.late_clients;
        let clients = (0..shape.clients)
            .map(|index| {
                let ack_delay_ticks = usize::from(index >= on_time_clients);
                // One client of each kind is real: it verifies that the messages can be applied.
                let is_real = index == 0 || index == on_time_clients;
                Client::connect(&mut server, ack_delay_ticks, is_real)
            })
            .collect();

        let movers =
            (0..shape.entities).map(|index| server.world_mut().spawn((Replicated, Mover::new(index))).id()).collect();
        let mut session = Self { shape, server, clients, movers, next_mover: 0 };
        session.exchange();
        session
    }

    /// Moves some entities, replicates them, and lets the clients receive and acknowledge.
    pub fn tick(&mut self) -> Tick {
        self.move_some();
        self.exchange()
    }

    /// Panics unless every real client has exactly the server's state.
    pub fn assert_clients_agree(&self) {
        for app in self.clients.iter().filter_map(|client| client.app.as_ref()) {
            let entity_map = app.world().resource::<ServerEntityMap>().to_client();
            for server_entity in &self.movers {
                let expected = self.server.world().get::<Mover>(*server_entity);
                let received = app.world().get::<Mover>(entity_map[server_entity]);
                assert_eq!(received, expected, "a client differs from the server");
            }
        }
    }

    /// Changes entities in turn, spread evenly over the world.
    fn move_some(&mut self) {
        let stride = self.shape.entities / self.shape.changes_per_tick;
        for step in 0..self.shape.changes_per_tick {
            let index = (self.next_mover + step * stride) % self.shape.entities;
            let mut mover =
                self.server.world_mut().get_mut::<Mover>(self.movers[index]).expect("movers are never despawned");
            mover.advance();
        }
        self.next_mover += 1;
    }

    fn exchange(&mut self) -> Tick {
        for client in &mut self.clients {
            client.deliver_due_ack(&mut self.server);
        }

        let start = Instant::now();
        self.server.update();
        let server_time = start.elapsed();

        let mut bytes_sent = 0;
        let mut sent_to = EntityHashMap::<Messages>::default();
        let mut messages = self.server.world_mut().resource_mut::<ServerMessages>();
        for (client, channel, message) in messages.drain_sent() {
            bytes_sent += message.len();
            sent_to.entry(client).or_default().push((channel, message));
        }
        for client in &mut self.clients {
            client.receive(sent_to.remove(&client.entity).unwrap_or_default());
        }
        Tick { server_time, bytes_sent }
    }
}

/// Messages for one client, each with its channel.
type Messages = Vec<(usize, Bytes)>;

/// Moving 2-D entity with plain fields, serialized by the library's default.
#[derive(Component, Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
struct Mover {
    position_x: f32,
    position_y: f32,
    velocity_x: f32,
    velocity_y: f32,
    heading: f32,
}

impl Mover {
    fn new(index: usize) -> Self {
        let heading = index as f32;
        Self {
            position_x: (index % 100) as f32 * 10.0,
            position_y: (index / 100) as f32 * 10.0,
            velocity_x: 10.0 * heading.cos(),
            velocity_y: 10.0 * heading.sin(),
            heading,
        }
    }

    /// Gives every field a new value.
    fn advance(&mut self) {
        self.heading = (self.heading + 0.37) % std::f32::consts::TAU;
        self.velocity_x = 10.0 * self.heading.cos();
        self.velocity_y = 10.0 * self.heading.sin();
        self.position_x += self.velocity_x * 0.05;
        self.position_y += self.velocity_y * 0.05;
    }
}

struct Client {
    entity: Entity,
    /// Acknowledgements in flight to the server, one entry per tick.
    acks: VecDeque<Vec<u8>>,
    /// Real client. The others only acknowledge, so that their work does not fill the caches.
    app: Option<App>,
}

impl Client {
    fn connect(server: &mut App, ack_delay_ticks: usize, is_real: bool) -> Self {
        let connected = ConnectedClient { max_size: MESSAGE_BYTES_MAX };
        Self {
            entity: server.world_mut().spawn((connected, AuthorizedClient)).id(),
            acks: VecDeque::from(vec![Vec::new(); ack_delay_ticks + 1]),
            app: is_real.then(connected_app),
        }
    }

    fn deliver_due_ack(&mut self, server: &mut App) {
        let due = self.acks.pop_front().unwrap_or_default();
        if !due.is_empty() {
            server.world_mut().resource_mut::<ServerMessages>().insert_received(
                self.entity,
                ClientChannel::MutationAcks,
                due,
            );
        }
    }

    /// Acknowledges the mutations as the library's own client does: all of a tick in one message.
    fn receive(&mut self, messages: Messages) {
        let mutations = usize::from(ServerChannel::Mutations);
        let ack: Vec<u8> = messages
            .iter()
            .filter(|(channel, _)| *channel == mutations)
            .flat_map(|(_, message)| &message[MUTATE_INDEX])
            .copied()
            .collect();
        if let Some(app) = &mut self.app {
            assert_eq!(ack_of_app(app, messages), ack, "the layout of mutations has changed");
        }
        self.acks.push_back(ack);
    }
}

/// Applies the messages in a real client and returns its acknowledgement.
fn ack_of_app(app: &mut App, messages: Messages) -> Vec<u8> {
    let mut inbox = app.world_mut().resource_mut::<ClientMessages>();
    for (channel, message) in messages {
        inbox.insert_received(channel, message);
    }
    app.update();
    let acks = usize::from(ClientChannel::MutationAcks);
    app.world_mut()
        .resource_mut::<ClientMessages>()
        .drain_sent()
        .filter(|(channel, _)| *channel == acks)
        .flat_map(|(_, message)| message)
        .collect()
}

fn connected_app() -> App {
    let mut app = replicating_app();
    app.world_mut().resource_mut::<NextState<ClientState>>().set(ClientState::Connected);
    app.update();
    app
}

/// The library's defaults, except that each update is a tick instead of one at a fixed rate.
fn replicating_app() -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, StatesPlugin, RepliconPlugins.set(ServerPlugin::new(PostUpdate))))
        .replicate::<Mover>();
    app.finish();
    app.cleanup();
    app
}
