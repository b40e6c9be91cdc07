//! Tests of the network conditioner.

use aether_testkit::{Bandwidth, Conditioner, Conditions, Delivery, Traffic};
use proptest::prelude::*;
use std::time::Duration;

const STEP: Duration = Duration::from_millis(5);

/// Sends `count` packets of `bytes` bytes, one per step. Returns what arrives, each with its step.
fn send(conditioner: &mut Conditioner<u32>, count: u32, bytes: usize) -> Vec<(u32, u32)> {
    let mut arrived = Vec::new();
    for step in 0..count + 4_000 {
        let now = STEP * step;
        if step < count {
            conditioner.push(now, step, bytes);
        }
        while let Some(packet) = conditioner.pop(now) {
            arrived.push((step, packet));
        }
    }
    assert_eq!(conditioner.under_way(), 0, "nothing stays in flight forever");
    arrived
}

fn packets(arrived: &[(u32, u32)]) -> Vec<u32> {
    arrived.iter().map(|(_, packet)| *packet).collect()
}

fn any_conditions() -> impl Strategy<Value = Conditions> {
    let bandwidth = proptest::option::of((5_000_u64..200_000, 1_000_u64..20_000));
    (0_u64..150, 0_u64..200, 0.0_f32..0.5, 0.0_f32..0.3, 0.0_f32..1.0, bandwidth).prop_map(
        |(latency, jitter, loss, duplication, reordering, bandwidth)| Conditions {
            latency: Duration::from_millis(latency),
            jitter: Duration::from_millis(jitter),
            loss,
            duplication,
            reordering,
            bandwidth: bandwidth
                .map(|(bytes_per_second, queue_bytes_max)| Bandwidth { bytes_per_second, queue_bytes_max }),
        },
    )
}

#[test]
fn a_perfect_network_delivers_everything_at_once_and_in_order() {
    let mut conditioner = Conditioner::new(Conditions::PERFECT, Delivery::Datagrams, 1);
    let expected: Vec<(u32, u32)> = (0..500).map(|step| (step, step)).collect();
    assert_eq!(send(&mut conditioner, 500, 100), expected);
    assert_eq!(conditioner.traffic(), Traffic { sent: 500, bytes: 50_000, lost: 0, doubled: 0, delivered: 500 });
}

#[test]
fn loss_and_duplicates_come_as_often_as_they_are_set() {
    let conditions = Conditions { loss: 0.3, duplication: 0.05, ..Conditions::PERFECT };
    for seed in 0..8 {
        let mut conditioner = Conditioner::new(conditions, Delivery::Datagrams, seed);
        send(&mut conditioner, 20_000, 1);
        let Traffic { lost, doubled, delivered, .. } = conditioner.traffic();
        assert!((5_700..=6_300).contains(&lost), "{lost} of 20000 were lost");
        assert!((600..=800).contains(&doubled), "{doubled} of the {} others came twice", 20_000 - lost);
        assert_eq!(delivered, 20_000 - lost + doubled);
    }
}

#[test]
fn jitter_alone_delays_and_keeps_the_order() {
    let (latency, jitter) = (Duration::from_millis(100), Duration::from_millis(200));
    let conditions = Conditions { latency, jitter, ..Conditions::PERFECT };
    let arrived = send(&mut Conditioner::new(conditions, Delivery::Datagrams, 3), 2_000, 1);
    assert!(packets(&arrived).is_sorted());
    for (step, packet) in arrived {
        assert!((20..=60).contains(&(step - packet)), "packet {packet} took {} steps", step - packet);
    }
}

#[test]
fn packets_that_are_held_back_are_overtaken() {
    let conditions = Conditions { latency: Duration::from_millis(50), reordering: 0.1, ..Conditions::PERFECT };
    let arrived = packets(&send(&mut Conditioner::new(conditions, Delivery::Datagrams, 4), 10_000, 1));
    let mut newest = 0;
    let late = arrived.iter().filter(|&&packet| {
        newest = newest.max(packet);
        packet < newest
    });
    let late = late.count();
    assert!((700..=1_100).contains(&late), "{late} of 10000 were overtaken");
}

#[test]
fn a_stream_loses_nothing_in_a_storm() {
    let arrived = send(&mut Conditioner::new(Conditions::STORM, Delivery::Stream, 5), 2_000, 1);
    assert_eq!(packets(&arrived), (0..2_000).collect::<Vec<u32>>());
}

#[test]
fn a_healed_stream_catches_up_at_once() {
    let mut conditioner = Conditioner::new(Conditions::STORM, Delivery::Stream, 6);
    for packet in 0..50 {
        conditioner.push(Duration::ZERO, packet, 1);
    }
    conditioner.heal(STEP);
    conditioner.push(STEP, 50, 1);
    let arrived: Vec<u32> = std::iter::from_fn(|| conditioner.pop(STEP)).collect();
    assert_eq!(arrived, (0..=50).collect::<Vec<u32>>());
}

#[test]
fn a_full_queue_loses_datagrams_and_holds_up_a_stream() {
    let bandwidth = Some(Bandwidth { bytes_per_second: 10_000, queue_bytes_max: 2_000 });
    let conditions = Conditions { bandwidth, ..Conditions::PERFECT };
    // Four times the bandwidth.
    let mut datagrams = Conditioner::new(conditions, Delivery::Datagrams, 7);
    let arrived = send(&mut datagrams, 1_000, 200);
    assert!((250..=270).contains(&arrived.len()), "{} of 1000 came through", arrived.len());
    let mut stream = Conditioner::new(conditions, Delivery::Stream, 7);
    let arrived = send(&mut stream, 1_000, 200);
    assert_eq!(arrived.len(), 1_000);
    assert!(arrived[999].0 >= 3_999, "the last of 200 kB took 20 s");
}

/// Sends packets of one size for three seconds over a limited bandwidth and returns the bytes of the busiest second.
fn most_bytes_in_a_second(seed: u64, bytes_per_second: u64, bytes: usize) -> u64 {
    let bandwidth = Some(Bandwidth { bytes_per_second, queue_bytes_max: 10_000 });
    let mut conditioner = Conditioner::new(Conditions { bandwidth, ..Conditions::PERFECT }, Delivery::Datagrams, seed);
    let arrived = send(&mut conditioner, 600, bytes);
    let within = |start: u32| arrived.iter().filter(|(step, _)| (start..start + 200).contains(step)).count();
    (0..600).map(|start| (within(start) * bytes) as u64).max().unwrap_or(0)
}

#[test]
fn rounding_the_time_of_a_packet_adds_no_bandwidth() {
    // 496 bytes take 5,025.98 µs; with 5,025 µs there are 200 packets in some second instead of 199.
    assert_eq!(most_bytes_in_a_second(0, 98_687, 496), 199 * 496);
}

proptest! {
    #[test]
    fn nothing_is_invented_and_everything_is_accounted_for(
        conditions in any_conditions(), seed in any::<u64>(), count in 1_u32..300,
    ) {
        let mut conditioner = Conditioner::new(conditions, Delivery::Datagrams, seed);
        let arrived = send(&mut conditioner, count, 100);
        let mut copies = vec![0_u64; count as usize];
        for (step, packet) in &arrived {
            copies[*packet as usize] += 1;
            prop_assert!(STEP * (step - packet) + STEP > conditions.latency, "nothing is faster than the network");
        }
        prop_assert!(copies.iter().all(|&copies| copies <= 2));
        let Traffic { sent, lost, doubled, delivered, .. } = conditioner.traffic();
        prop_assert_eq!(sent, u64::from(count));
        prop_assert_eq!(copies.iter().filter(|&&copies| copies == 0).count() as u64, lost);
        prop_assert_eq!(copies.iter().filter(|&&copies| copies == 2).count() as u64, doubled);
        prop_assert_eq!(delivered, arrived.len() as u64);
    }

    #[test]
    fn a_stream_delivers_everything_once_and_in_order(
        conditions in any_conditions(), seed in any::<u64>(), count in 1_u32..200,
    ) {
        let arrived = send(&mut Conditioner::new(conditions, Delivery::Stream, seed), count, 40);
        prop_assert_eq!(packets(&arrived), (0..count).collect::<Vec<u32>>());
    }

    #[test]
    fn no_second_carries_more_than_the_bandwidth(
        seed in any::<u64>(), bytes_per_second in 2_000_u64..100_000, bytes in 1_usize..1_000,
    ) {
        prop_assert!(most_bytes_in_a_second(seed, bytes_per_second, bytes) <= bytes_per_second + bytes as u64);
    }

    #[test]
    fn the_same_seed_gives_the_same_network(conditions in any_conditions(), seed in any::<u64>()) {
        let run = || send(&mut Conditioner::new(conditions, Delivery::Datagrams, seed), 200, 100);
        prop_assert_eq!(run(), run());
    }
}
