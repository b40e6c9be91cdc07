//! Entities that enter and leave the view are reported one by one.

use aether_client::{Client, ClientEvent, ClientSettings, JoinOptions};
use aether_replication::DeliveryOrder;
use aether_testkit_client::engine::RoomSettings;
use aether_testkit_client::{FlightGame, SINK, SandboxClient, Scene, network, serpentine, server, settings};
use aether_wire::{ClientMessage, EntityId, PacketSeq, ServerMessage, Snapshot, StateAck, Tick};
use std::collections::BTreeSet;
use std::time::Duration;

const ZERO: Duration = Duration::ZERO;

/// View of a client that only listens to events.
#[derive(Default)]
struct ListenedView {
    entities: BTreeSet<EntityId>,
    log: Vec<(bool, Tick, EntityId)>,
}

impl ListenedView {
    fn handle(&mut self, event: &ClientEvent) {
        match *event {
            ClientEvent::Joined { .. } => self.entities.clear(),
            ClientEvent::EntityEntered { tick, entity } => {
                assert!(self.entities.insert(entity), "{entity:?} entered twice at {tick:?}");
                self.log.push((true, tick, entity));
            }
            ClientEvent::EntityLeft { tick, entity } => {
                assert!(self.entities.remove(&entity), "{entity:?} left at {tick:?} without having entered");
                self.log.push((false, tick, entity));
            }
            _ => {}
        }
    }
}

/// Flies ships in and out of each other's sight. Returns what the first pilot was told, and the ships that left its
/// sight while they existed.
fn fly(seed: u64, order: DeliveryOrder) -> (ListenedView, usize) {
    let mut interest = server::settings().interest.expect("the sandbox has limited sight");
    interest.radius = 45.0;
    let in_sight = RoomSettings { interest: Some(interest), ..settings() };
    let mut scene = Scene::of(FlightGame::default(), in_sight, seed);
    let watcher = scene.join(order, network(60, 0.2));
    for _ in 0..3 {
        let other = scene.join(DeliveryOrder::Ordered, network(10, 0.0));
        scene.pilots[other].steering = serpentine;
    }
    let (mut view, mut out_of_sight) = (ListenedView::default(), 0);
    for step in 0..20_000 {
        match step {
            9_000 => scene.disconnect(watcher),
            9_500 => scene.resume(watcher, order, network(60, 0.2)),
            15_000 => scene.signal(SINK),
            _ => {}
        }
        scene.step();
        let events: Vec<ClientEvent> = scene.pilots[watcher].client.events().collect();
        for event in &events {
            view.handle(event);
            if let ClientEvent::EntityLeft { entity, .. } = event {
                out_of_sight += usize::from(scene.room.world().contains(*entity));
            }
        }
        if let Some(mirror) = scene.pilots[watcher].client.mirror() {
            assert_eq!(view.entities, mirror.entities().collect(), "step {step}");
        }
    }
    (view, out_of_sight)
}

#[test]
fn every_entity_that_enters_or_leaves_the_view_is_reported_once_and_in_order() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let (view, out_of_sight) = fly(7, order);
        assert!(out_of_sight > 0, "no ship flew out of sight");
        assert!(view.log.iter().any(|(enters, ..)| !enters) && view.entities.is_empty(), "all ships were sunk");
        let (again, _) = fly(7, order);
        assert_eq!(view.log, again.log, "the same run is told in the same way");
    }
}

/// A packet is read up to an update without a baseline. The server sends the update again, but not what was read.
#[test]
fn an_entity_of_a_packet_that_is_read_in_part_enters_and_is_drawn() {
    let mut scene = Scene::new(3);
    let pilot = scene.join(DeliveryOrder::Ordered, network(0, 0.0));
    scene.run(Duration::from_secs(1));
    let mut client = Client::new(SandboxClient, ClientSettings::default(), JoinOptions::default());
    client.connected(DeliveryOrder::Unordered, ZERO);
    let welcome = scene.pilots[pilot].client.welcome().expect("the client has joined").clone();
    client.receive(ServerMessage::Welcome(welcome), ZERO);
    let endpoint = scene.join_observer();
    let mut received = StateAck::NONE;
    let mut sequence = 0;
    let (mut view, mut packets_late) = (ListenedView::default(), 0);
    for tick in 1..=120_u32 {
        let now = Duration::from_millis(25) * tick;
        if tick == 40 {
            scene.join(DeliveryOrder::Ordered, network(0, 0.0));
        }
        scene.run(Duration::from_millis(25));
        while let Some(packet) = endpoint.next_state() {
            sequence += 1;
            // The first seconds are lost, yet acknowledged.
            if tick < 40 {
                received.record(PacketSeq(sequence));
            } else {
                client.receive(ServerMessage::Snapshot(Snapshot::Packed(packet.into())), now);
                received = client.mirror().expect("the schema is known").acknowledgement();
            }
        }
        if received != StateAck::NONE {
            endpoint.push(ClientMessage::Ack(received)).expect("the inbox has room");
        }
        client.advance(now).for_each(drop);
        client.events().for_each(|event| view.handle(&event));
        packets_late = client.stats().packets_late;
    }
    assert!(packets_late > 0, "no packet was read in part");
    let ship = scene.pilots[1].client.own_entity().expect("the ship exists");
    assert!(client.mirror().expect("the schema is known").contains(ship));
    assert!(view.entities.contains(&ship), "it entered: {:?}", view.log);
    assert!(client.remote_entities().any(|(entity, _)| entity == ship), "it is drawn");
}
