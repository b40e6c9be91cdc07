//! After any network conditions, a client ends up with exactly what the server shows it.

use crate::common::{Client, Random, Weather, ended, settings, stir, world};
use aether_replication::{DeliveryOrder, SendSettings, SnapshotContext, UpdateRing};

const STORM: Weather = Weather { loss: 30, delay: 6, doubles: 5 };
const CALM: Weather = Weather { loss: 0, delay: 0, doubles: 0 };

/// Runs 150 ticks over a bad network, then calm ones without changes until client and server agree. Returns their
/// number.
fn calm_ticks_to_agreement(seed: u64, order: DeliveryOrder, settings: &SendSettings) -> u32 {
    let mut random = Random(seed);
    let mut world = world();
    let mut client = Client::new(&world, order);
    let mut net = (STORM, Random(seed ^ 0xabcd));
    for step in 0..400 {
        world.advance();
        if step < 150 {
            stir(&mut world, &mut random);
        } else {
            net.0 = CALM;
        }
        world.settle();
        let context = SnapshotContext { world: &world, changed: world.changed(), settings, ring_stretch: 1 };
        // Visibility changes over time, so that entities enter and leave.
        let era = if step < 150 { u64::from(step / 10) } else { 99 };
        client.view.center = Some([0.0, 0.0]);
        client
            .exchange(&context, &ended(&world), step, &mut net, |slot| Random(u64::from(slot) ^ era << 32).chance(70));
        if step >= 150 && client.agrees(&world) {
            return step - 150;
        }
    }
    panic!("seed {seed}: no agreement after 250 calm ticks");
}

#[test]
fn unordered_delivery_converges() {
    for seed in 0..60 {
        let ticks = calm_ticks_to_agreement(seed, DeliveryOrder::Unordered, &settings());
        assert!(ticks <= 40, "seed {seed} took {ticks} ticks");
    }
}

#[test]
fn ordered_delivery_agrees_at_once() {
    for seed in 0..30 {
        assert_eq!(calm_ticks_to_agreement(seed, DeliveryOrder::Ordered, &settings()), 0, "seed {seed}");
    }
}

#[test]
fn a_small_budget_and_rings_only_delay() {
    let rings = vec![UpdateRing { distance: 300.0, interval: 1 }, UpdateRing { distance: 600.0, interval: 4 }];
    let settings = SendSettings { bytes_max: 120, rings, ..settings() };
    for seed in 0..30 {
        for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
            calm_ticks_to_agreement(seed, order, &settings);
        }
    }
}
