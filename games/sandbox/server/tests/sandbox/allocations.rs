//! A steady room allocates no memory.

use crate::support::Pilot;
use aether::prelude::*;
use aether_sandbox_rules::Controls;
use aether_sandbox_server::{Sandbox, settings};

const CLIENTS: usize = 100;
const TICKS_TO_WARM_UP: u32 = 300;
const TICKS: u32 = 200;

#[test]
fn a_steady_tick_allocates_nothing() {
    let mut room = Room::builder(Sandbox::default(), settings()).seed(9).build().expect("the settings are valid");
    let handle = room.handle();
    let mut pilots: Vec<Pilot> = (0..CLIENTS)
        .map(|n| {
            let order = if n % 2 == 0 { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
            Pilot::join(&handle, &format!("pilot {n}"), order)
        })
        .collect();
    pilots[0].stress(200);
    let mut allocations = Vec::new();
    for tick in 0..TICKS_TO_WARM_UP + TICKS {
        for (number, pilot) in pilots.iter_mut().enumerate() {
            // Everyone flies in circles, so that the visible state repeats.
            let left = number % 2 == 0;
            pilot.steer(Controls { thrust: true, left, right: !left, fire: false });
        }
        let measured = allocation_counter::measure(|| {
            room.tick(&mut NoObserver);
        });
        if tick >= TICKS_TO_WARM_UP && measured.count_total > 0 {
            allocations.push((tick, measured.count_total, measured.bytes_total));
        }
        pilots.iter_mut().for_each(Pilot::receive);
        while handle.next_request().is_some() {}
    }
    assert_eq!(room.totals().inputs, u64::from(TICKS_TO_WARM_UP + TICKS) * CLIENTS as u64 - CLIENTS as u64);
    assert!(room.totals().updates > 100_000, "there was something to send: {:?}", room.totals());
    let first = &allocations[..allocations.len().min(5)];
    assert!(
        allocations.is_empty(),
        "{} of {TICKS} ticks allocated; the first as (tick, count, bytes): {first:?}",
        allocations.len()
    );
}
