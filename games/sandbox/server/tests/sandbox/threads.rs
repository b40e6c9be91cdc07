//! One thread or four send the same bytes.

use crate::support::{Pilot, controls};
use aether::engine::RoomCounts;
use aether::prelude::*;
use aether_sandbox_server::{Sandbox, settings};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

const CLIENTS: u32 = 40;
const TICKS: u32 = 240;

struct Stage {
    room: Room<Sandbox>,
    pilots: Vec<Pilot>,
}

impl Stage {
    fn new(settings: RoomSettings, pool: Option<Arc<ThreadPool>>) -> Stage {
        let mut builder = Room::builder(Sandbox::default(), settings).seed(4);
        if let Some(pool) = pool {
            builder = builder.pool(pool);
        }
        let room = builder.build().expect("the settings are valid");
        let handle = room.handle();
        let pilots: Vec<Pilot> = (0..CLIENTS)
            .map(|n| {
                let order = if n % 3 == 0 { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
                Pilot::join(&handle, &format!("pilot {n}"), order)
            })
            .collect();
        pilots[0].stress(400);
        Stage { room, pilots }
    }

    /// Runs one tick and returns every client's packets. Some unordered ones are lost, the same in every run.
    fn tick(&mut self, tick: u32) -> Vec<Vec<Vec<u8>>> {
        for (number, pilot) in self.pilots.iter_mut().enumerate() {
            pilot.steer(controls(tick, number as u32));
        }
        self.room.tick(&mut NoObserver);
        let packets = self.pilots.iter_mut().enumerate().map(|(number, pilot)| {
            while pilot.endpoint.next_reliable().is_some() {}
            let packets: Vec<Vec<u8>> = std::iter::from_fn(|| pilot.endpoint.next_state()).collect();
            for (at, packet) in packets.iter().enumerate() {
                let is_lost = (tick as usize * 7 + number * 3 + at).is_multiple_of(5);
                if pilot.order == DeliveryOrder::Ordered || !is_lost {
                    pilot.mirror.apply(packet).expect("the room's packets can be read");
                }
            }
            packets
        });
        packets.collect()
    }
}

fn same_bytes(settings: &RoomSettings) {
    let pool = ThreadPoolBuilder::new().num_threads(4).build().expect("threads can be started");
    let mut alone = Stage::new(settings.clone(), None);
    let mut together = Stage::new(settings.clone(), Some(Arc::new(pool)));
    let mut bytes = 0;
    for tick in 0..TICKS {
        let (alone, together) = (alone.tick(tick), together.tick(tick));
        bytes += alone.iter().flatten().map(Vec::len).sum::<usize>();
        for (client, (alone, together)) in alone.iter().zip(&together).enumerate() {
            assert!(alone == together, "client {client} received other bytes at tick {tick}");
        }
    }
    assert!(bytes > 500_000, "only {bytes} bytes were compared");
    assert_eq!(alone.room.hash(), together.room.hash());
    assert_eq!(alone.room.component_bits(), together.room.component_bits());
    let parallel = [&alone, &together].map(|stage| stage.room.totals().snapshots_parallel);
    assert_eq!(parallel, [0, together.room.totals().snapshots], "every snapshot of one room is made in parallel");
    // The number of deltas encoded ahead may differ; the sent bytes may not.
    let totals = |stage: &Stage| RoomCounts { deltas_encoded: 0, snapshots_parallel: 0, ..*stage.room.totals() };
    assert_eq!(totals(&alone), totals(&together));
}

fn wide_view() -> RoomSettings {
    let interest = Some(InterestSettings { radius: 500.0, ..InterestSettings::default() });
    RoomSettings { interest, parallel_clients_min: 1, ..settings() }
}

#[test]
fn four_threads_send_the_same_bytes_as_none() {
    same_bytes(&wide_view());
}

#[test]
fn four_threads_choose_the_same_when_the_budget_is_small() {
    same_bytes(&RoomSettings { snapshot_bytes_max: 300, snapshot_hz: 40, ..wide_view() });
}
