//! Keep-alive, time-out, full queues, memory.

use std::time::Duration;

use aether_rudp::{Channel, CloseCause, Connection, ConnectionState, SendError, Settings};

use crate::support::{Faults, Link, Pair, World};

const LOST: Faults = Faults {
    loss: 1_000,
    duplicates: 0,
    reordering: 0,
    jitter: Duration::ZERO,
    bursts: 0,
    burst_max: Duration::ZERO,
    stalls: 0,
    stall_max: Duration::ZERO,
};

fn world(faults: Faults) -> World {
    let delay = Duration::from_millis(20);
    World::new(Link::new(1, delay, faults), Link::new(2, delay, faults), Settings::default())
}

#[test]
fn an_idle_connection_stays_open() {
    let mut world = world(Faults { loss: 100, ..Faults::default() });
    world.run_until(Duration::from_secs(3_600));
    let server = world.server.expect("a connection");
    assert_eq!((world.client.state(), server.state()), (ConnectionState::Open, ConnectionState::Open));
    let stats = server.stats();
    assert!(stats.packets_out < 3_600, "{stats:?}");
}

#[test]
fn a_silent_peer_times_out() {
    let mut world = world(Faults::default());
    world.run_until(Duration::from_secs(2));
    world.up.faults = LOST;
    world.down.faults = LOST;
    let server = world.server.as_mut().unwrap();
    server.send(Channel::ReliableOrdered, &[1; 10_000]).unwrap();
    let sent_before = world.down.sent;
    world.run_until(Duration::from_secs(30));
    let server = world.server.unwrap();
    assert_eq!(server.state(), ConnectionState::Closed(CloseCause::TimedOut));
    assert_eq!(world.client.state(), ConnectionState::Closed(CloseCause::TimedOut));
    // Probes back off: at most two a second, besides the first window.
    assert!(world.down.sent - sent_before < 80, "{}", world.down.sent - sent_before);
    assert_eq!(server.unacknowledged_bytes(), 0, "a closed connection holds nothing");
}

#[test]
fn a_lost_close_is_repeated() {
    for seed in 0..20 {
        let delay = Duration::from_millis(20);
        let link = |seed| Link::new(seed, delay, Faults { loss: 100, ..Faults::default() });
        let mut world = World::new(link(seed), link(seed + 100), Settings::default());
        world.run_until(Duration::from_secs(4));
        world.client.close(9);
        world.run_until(Duration::from_secs(7));
        let server = world.server.expect("a connection");
        assert_eq!(world.client.state(), ConnectionState::Closed(CloseCause::Local));
        assert_eq!(server.state(), ConnectionState::Closed(CloseCause::Peer(9)), "seed {seed}");
    }
}

#[test]
fn full_queues_refuse_reliable_and_drop_old_unreliable_messages() {
    let settings = Settings { queue_bytes_max: 10_000, unreliable_bytes_max: 10_000, ..Settings::default() };
    let mut pair = Pair::with_settings(settings);
    for channel in [Channel::ReliableOrdered, Channel::ReliableUnordered] {
        let queued = (0..100).take_while(|_| pair.server.send(channel, &[0; 900]).is_ok()).count();
        assert!((8..=11).contains(&queued), "{queued}");
        assert_eq!(pair.server.send(channel, &[0; 900]), Err(SendError::QueueFull));
        let empty = (0..10_000).take_while(|_| pair.server.send(channel, &[]).is_ok()).count();
        assert!(empty < 1_000, "{empty}");
    }
    for index in 0..100_u8 {
        pair.server.send(Channel::Unreliable, &[index; 900]).unwrap();
    }
    assert!(pair.server.backlog_bytes() <= 30_000);
    assert!(pair.server.stats().unreliable_dropped >= 85);
    pair.run(Duration::from_millis(300));
    let newest = pair.to_client.iter().filter(|(channel, _)| *channel == Channel::Unreliable);
    let newest: Vec<u8> = newest.map(|(_, message)| message[0]).collect();
    assert!(newest.contains(&99) && newest.len() >= 8 && !newest.contains(&0), "{newest:?}");
}

#[test]
fn several_messages_share_a_packet_and_the_overhead_is_small() {
    let mut pair = Pair::new();
    pair.run(Duration::from_millis(200));
    let before = pair.server.stats();
    for _ in 0..20 {
        pair.server.send(Channel::Unreliable, &[0; 32]).unwrap();
    }
    let mut packet = Vec::new();
    pair.server.poll_transmit(pair.now, &mut packet).unwrap();
    assert_eq!(pair.server.stats().packets_out - before.packets_out, 1);
    // Header 3, acknowledgement 4 or 5, two for each message, tag 16.
    assert!(packet.len() <= 20 * 34 + 24, "{} bytes", packet.len());
    assert_eq!(pair.server.poll_transmit(pair.now, &mut packet), None);
}

#[test]
fn an_idle_connection_is_small() {
    let bytes = size_of::<Connection>();
    assert!(bytes <= 2_560, "{bytes} bytes");
}
