//! Violations of the movement rules.

use super::support::{Flyer, SNAP, events, is_same, links, until_counted, violations};
use aether_testkit_server::{Encoding, TestServer, TransportKind, until};
use aether_wire::{ClientMessage, Correction, InputSeq, MovementDelta};
use std::collections::{BTreeMap, BTreeSet};

/// A proposal: its number and distance. Then, if it is corrected: the distance from the start, the velocity and the
/// acknowledged number.
type Proposal = (u32, [f32; 2], Option<([f32; 2], [f32; 2], u32)>);

/// Proposals of a ship at rest, by the kind of violation that they all have. At most 5 units a tick, and 2 units a tick
/// faster or slower than the last movement.
const CASES: [(&str, [Proposal; 4]); 4] = [
    (
        "movement_speed",
        [
            (1, [6.0, 0.0], Some(([2.0, 0.0], [2.0, 0.0], 1))),
            (2, [6.0, 0.0], Some(([6.0, 0.0], [4.0, 0.0], 2))),
            (3, [49.0, 0.0], Some(([11.0, 0.0], [5.0, 0.0], 3))),
            (4, [5.0, 0.0], None),
        ],
    ),
    (
        "movement_acceleration",
        [
            (1, [0.0, -4.0], Some(([0.0, -2.0], [0.0, -2.0], 1))),
            (2, [0.0, 4.0], Some(([0.0, -2.0], [0.0, 0.0], 2))),
            (7, [0.0, 4.0], Some(([0.0, 0.0], [0.0, 2.0], 7))),
            (8, [0.0, 4.0], None),
        ],
    ),
    (
        "movement_teleport",
        [
            (1, [1.0, 1.0], None),
            (2, [50.0, 0.0], Some(([1.0, 1.0], [0.0, 0.0], 2))),
            (3, [-16_777_216.0, 16_777_216.0], Some(([1.0, 1.0], [0.0, 0.0], 3))),
            (4, [0.0, 2_000.0], Some(([1.0, 1.0], [0.0, 0.0], 4))),
        ],
    ),
    (
        "movement_sequence",
        [
            (5, [1.0, -1.0], None),
            (5, [1.0, -1.0], Some(([1.0, -1.0], [1.0, -1.0], 5))),
            (4, [1.0, 1.0], Some(([1.0, -1.0], [1.0, -1.0], 5))),
            (1, [9.0, 9.0], Some(([1.0, -1.0], [1.0, -1.0], 5))),
        ],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_violation_is_corrected_and_counted_under_its_name() {
    let server = TestServer::start(|_| {}).await;
    let mut expected = BTreeMap::new();
    for (link, (kind, proposals)) in links().into_iter().flat_map(|link| CASES.map(|case| (link, case))) {
        let mut flyer = Flyer::join(&server, link).await;
        for proposal in proposals {
            check(&mut flyer, proposal, &format!("{kind}, {link:?}, {proposal:?}")).await;
        }
        *expected.entry(kind).or_default() += 3;
        until_counted(&server, &expected).await;
    }
    assert_eq!(events(&server, "refused"), 0);
    server.stop().await;
}

async fn check(flyer: &mut Flyer, (seq, [dx, dy], corrected): Proposal, what: &str) {
    let start = flyer.position;
    let seq = InputSeq(seq);
    let movement = MovementDelta { entity: flyer.ship, seq, dx, dy, ..MovementDelta::default() };
    flyer.player.send(ClientMessage::MovementDelta(movement)).await;
    let Some((moved, velocity, ack_seq)) = corrected else {
        // The position of the start is that of the first proposal.
        flyer.read_until(what, |flyer| flyer.acknowledged >= seq).await;
        assert_eq!(flyer.corrections, [], "{what}");
        flyer.position = start;
        return;
    };
    let correction = flyer.correction().await;
    let Correction { entity, position, velocity: found, ack_seq: acknowledged } = correction;
    assert_eq!((entity, acknowledged), (flyer.ship, InputSeq(ack_seq)), "{what}");
    let expected = [start[0] + moved[0], start[1] + moved[1]];
    assert!(is_same([position.x, position.y], expected), "{what}: {correction:?} instead of {expected:?}");
    assert!(is_same([found.x, found.y], velocity), "{what}: {correction:?}");
    flyer.position = start;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_honest_client_is_not_corrected() {
    let server = TestServer::start(|_| {}).await;
    for link in links() {
        let mut flyer = Flyer::join(&server, link).await;
        let start = flyer.position;
        // Speeds up, turns, slows down and stops, always within the rules.
        let speeds = [1.0, 2.5, 4.0, 5.0, 5.0, 5.0, 4.0, 2.0, 0.0];
        for speed in speeds {
            flyer.step([speed, 0.0]).await;
        }
        for speed in [-2.0, -2.0, -1.0, 0.0] {
            flyer.step([0.0, speed]).await;
        }
        let expected = [start[0] + 28.5, start[1] - 5.0];
        assert!(is_same(flyer.position, expected), "{link:?}: {:?} instead of {expected:?}", flyer.position);
        assert_eq!(flyer.corrections, [], "{link:?}");
    }
    assert_eq!((violations(&server), events(&server, "corrections")), (BTreeMap::new(), 0));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn movements_beyond_one_per_tick_are_corrected_and_do_not_move() {
    const SENT: u32 = 20;
    let server = TestServer::start(|_| {}).await;
    let mut rate = 0;
    for link in links() {
        let mut flyer = Flyer::join(&server, link).await;
        let start = flyer.position;
        for _ in 0..SENT {
            let movement = flyer.movement(flyer.ship, [0.5, 0.0]);
            flyer.player.client.queue(&ClientMessage::MovementDelta(movement)).expect("it is queued");
        }
        flyer.player.client.flush().await.expect("they are sent");
        flyer.read_until("the last movement", |flyer| flyer.acknowledged == InputSeq(SENT)).await;
        let moved = ((flyer.position[0] - start[0]) / 0.5).round() as u32;
        assert!(is_same(flyer.position, [start[0] + 0.5 * moved as f32, start[1]]), "{link:?}: {:?}", flyer.position);
        assert!((1..SENT).contains(&moved), "{link:?}: {moved} of {SENT} movements were applied");
        let excess = SENT - moved;
        flyer.read_until("the corrections", |flyer| flyer.corrections.len() == excess as usize).await;
        let acknowledged: BTreeSet<_> = flyer.corrections.iter().map(|correction| correction.ack_seq).collect();
        assert_eq!(acknowledged.len(), flyer.corrections.len(), "{:?}", flyer.corrections);
        for correction in &flyer.corrections {
            assert_eq!(correction.entity, flyer.ship);
            let moved = correction.position.x - start[0];
            assert!((0.5 - SNAP..0.5 * SENT as f32).contains(&moved), "{correction:?} after {start:?}");
        }
        rate += u64::from(excess);
        until_counted(&server, &BTreeMap::from([("movement_rate", rate)])).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_world_has_an_edge() {
    let server = TestServer::start(|_| {}).await;
    let [a, b, c, d] = links().map(|link| fly_into_the_edge(&server, link));
    tokio::join!(a, b, c, d);
    until_counted(&server, &BTreeMap::from([("movement_bounds", 4)])).await;
    server.stop().await;
}

/// Flies to the nearest edge, within the rules, and then beyond it.
async fn fly_into_the_edge(server: &TestServer, link: (TransportKind, Encoding)) {
    let mut flyer = near_an_edge(server, link).await;
    let axis = usize::from(flyer.position[1].abs() > flyer.position[0].abs());
    let direction = flyer.position[axis].signum();
    let towards_edge = |speed: f32| {
        let mut delta = [0.0; 2];
        delta[axis] = direction * speed;
        delta
    };
    flyer.step(towards_edge(2.0)).await;
    flyer.step(towards_edge(4.0)).await;
    while flyer.position[axis].abs() <= 995.0 {
        flyer.step(towards_edge(5.0)).await;
    }
    assert_eq!(flyer.corrections, [], "{link:?}");
    let seq = flyer.propose(towards_edge(5.0)).await;
    let correction = flyer.correction().await;
    let found = [correction.position.x, correction.position.y];
    let mut expected = flyer.position;
    expected[axis] = direction * 1_000.0;
    assert!(is_same(found, expected), "{link:?}: {correction:?} instead of {expected:?}");
    assert_eq!((correction.velocity.x, correction.velocity.y), (0.0, 0.0), "{link:?}");
    assert_eq!((correction.entity, correction.ack_seq), (flyer.ship, seq), "{link:?}");
}

/// Joins until the ship starts near an edge, so that the flight is short.
async fn near_an_edge(server: &TestServer, link: (TransportKind, Encoding)) -> Flyer {
    for _ in 0..200 {
        let mut flyer = Flyer::join(server, link).await;
        if flyer.position.iter().any(|coordinate| coordinate.abs() > 800.0) {
            return flyer;
        }
        flyer.player.send(ClientMessage::Leave).await;
    }
    panic!("one of five ships starts there");
}

#[tokio::test(flavor = "multi_thread")]
async fn movements_count_from_one_after_a_resume() {
    let server = TestServer::start(|_| {}).await;
    for link in links() {
        let mut flyer = Flyer::join(&server, link).await;
        for speed in [1.0, 1.0, 1.0] {
            flyer.step([speed, 0.0]).await;
        }
        let (position, hello) = (flyer.position, flyer.player.resume_hello());
        drop(flyer);
        let mut again = Flyer::join_with(&server, link, &hello).await;
        again.step([1.0, 0.0]).await;
        let expected = [position[0] + 1.0, position[1]];
        assert!(is_same(again.position, expected), "{link:?}: {:?} instead of {expected:?}", again.position);
    }
    until("no corrections", || events(&server, "corrections") == 0).await;
    assert_eq!(violations(&server), BTreeMap::new());
    server.stop().await;
}
