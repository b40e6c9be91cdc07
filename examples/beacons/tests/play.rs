//! Plays Beacons with clients in memory.

use aether::prelude::*;
use beacons::{BEACONS, Badge, Beacon, Beacons, Captured, GOAL, Score, Steer, Team, Walker, Won};

const TICKS_PER_SECOND: u32 = 20;
const STAND: Steer = Steer { direction: [0.0, 0.0] };

fn harness() -> Harness<Beacons> {
    let room =
        Room::builder(Beacons, beacons::settings()).seed(1).record("beacons").build().expect("the settings are valid");
    Harness::new(room, 1)
}

fn join(harness: &mut Harness<Beacons>, name: &str) -> ClientNumber {
    let client = harness.join(name, DeliveryOrder::Ordered, Conditions::PERFECT);
    harness.tick(2);
    client
}

/// Returns the avatar that shows the name of a client.
fn avatar(harness: &Harness<Beacons>, client: ClientNumber) -> EntityId {
    let name = harness.client(client).name();
    harness.room().world().each::<Badge>().find(|(_, badge)| badge.name == name).expect("the client has joined").0
}

fn team(harness: &Harness<Beacons>, client: ClientNumber) -> Team {
    harness.room().world().get::<Badge>(avatar(harness, client)).expect("an avatar has a badge").team
}

fn position(harness: &Harness<Beacons>, client: ClientNumber) -> [f32; 2] {
    harness.room().world().get::<Walker>(avatar(harness, client)).expect("an avatar walks").position
}

fn beacon(harness: &Harness<Beacons>, number: usize) -> Beacon {
    harness.room().world().each::<Beacon>().nth(number).expect("there are three beacons").1.clone()
}

fn score(harness: &Harness<Beacons>) -> Score {
    harness.room().world().each::<Score>().next().expect("there is a score").1.clone()
}

/// Returns the input that walks a client to a position, and more slowly near it.
fn steer_to(harness: &Harness<Beacons>, client: ClientNumber, target: [f32; 2]) -> Steer {
    let position = position(harness, client);
    Steer { direction: std::array::from_fn(|axis| ((target[axis] - position[axis]) / 4.0).clamp(-1.0, 1.0)) }
}

/// Walks a client to a position and stops there.
fn walk_to(harness: &mut Harness<Beacons>, client: ClientNumber, target: [f32; 2]) {
    for _ in 0..200 {
        let steer = steer_to(harness, client, target);
        harness.set_input(client, Some(&steer));
        harness.tick(1);
    }
    harness.set_input(client, Some(&STAND));
    harness.tick(2);
    let position = position(harness, client);
    assert!(position.iter().zip(target).all(|(at, to)| (at - to).abs() < 1.0), "{position:?} is not at {target:?}");
}

/// Returns the events of a type that a client received. `code` is the index of the type in `declare`.
fn events<E: Component>(harness: &Harness<Beacons>, client: ClientNumber, code: u16) -> Vec<E> {
    let received = &harness.client(client).received().events;
    let payloads = received.iter().filter_map(|event| match &event.body {
        GameBody::Packed { code: sent, payload } if *sent == code => Some(payload),
        _ => None,
    });
    payloads.map(|payload| E::read_full(&mut BitReader::new(payload)).expect("the event has this type")).collect()
}

fn captures(harness: &Harness<Beacons>, client: ClientNumber) -> Vec<Captured> {
    events(harness, client, 0)
}

fn wins(harness: &Harness<Beacons>, client: ClientNumber) -> Vec<Won> {
    events(harness, client, 1)
}

#[test]
fn players_join_the_smaller_team() {
    let mut harness = harness();
    let [ann, ben, cem, dea] = ["Ann", "Ben", "Cem", "Dea"].map(|name| join(&mut harness, name));
    assert_eq!(
        [ann, ben, cem, dea].map(|client| team(&harness, client)),
        [Team::Red, Team::Blue, Team::Red, Team::Blue]
    );
    harness.leave(ann);
    harness.leave(cem);
    harness.tick(2);
    let [eva, fay] = ["Eva", "Fay"].map(|name| join(&mut harness, name));
    assert_eq!([eva, fay].map(|client| team(&harness, client)), [Team::Red, Team::Red]);
    assert!(harness.has_converged(ben), "clients see the names and teams of all avatars");
}

#[test]
fn standing_alone_at_a_beacon_for_two_seconds_captures_it() {
    let mut harness = harness();
    let ann = join(&mut harness, "Ann");
    let ben = join(&mut harness, "Ben");
    harness.set_input(ann, Some(&Steer { direction: [1.0, 0.0] }));
    while beacon(&harness, 1).claimant == Team::Nobody {
        harness.tick(1);
    }
    harness.set_input(ann, Some(&STAND));
    harness.tick(2 * TICKS_PER_SECOND - 2);
    assert_eq!(beacon(&harness, 1).owner, Team::Nobody);
    harness.tick(1);
    assert_eq!(beacon(&harness, 1).owner, Team::Red);
    harness.tick(2);
    assert_eq!(captures(&harness, ben), [Captured { beacon: 1, team: Team::Red }]);
}

#[test]
fn leaving_a_beacon_too_early_starts_the_capture_anew() {
    let mut harness = harness();
    let ann = join(&mut harness, "Ann");
    harness.set_input(ann, Some(&Steer { direction: [1.0, 0.0] }));
    harness.tick(10 * TICKS_PER_SECOND);
    assert_eq!(position(&harness, ann), [30.0, 0.0], "the edge of the map stops walkers");
    let passed = beacon(&harness, 1);
    assert_eq!((passed.owner, passed.claimant, passed.progress), (Team::Nobody, Team::Nobody, 0));
}

#[test]
fn a_contested_beacon_is_not_captured() {
    let mut harness = harness();
    let ann = join(&mut harness, "Ann");
    let ben = join(&mut harness, "Ben");
    for client in [ann, ben] {
        let towards_centre = if client == ann { 1.0 } else { -1.0 };
        harness.set_input(client, Some(&Steer { direction: [towards_centre, 0.0] }));
    }
    harness.tick(4 * TICKS_PER_SECOND);
    for client in [ann, ben] {
        harness.set_input(client, Some(&STAND));
    }
    harness.tick(5 * TICKS_PER_SECOND);
    assert_eq!(beacon(&harness, 1).owner, Team::Nobody);
    walk_to(&mut harness, ben, [20.0, 0.0]);
    harness.tick(2 * TICKS_PER_SECOND);
    assert_eq!(beacon(&harness, 1).owner, Team::Red);
}

#[test]
fn held_beacons_score_a_point_per_second() {
    let mut harness = harness();
    let ann = join(&mut harness, "Ann");
    walk_to(&mut harness, ann, BEACONS[1]);
    let before = score(&harness);
    harness.tick(10 * TICKS_PER_SECOND);
    assert_eq!(score(&harness), Score { red: before.red + 10, blue: 0 });
    walk_to(&mut harness, ann, BEACONS[0]);
    harness.tick(2 * TICKS_PER_SECOND);
    let before = score(&harness);
    harness.tick(5 * TICKS_PER_SECOND);
    assert_eq!(score(&harness), Score { red: before.red + 10, blue: 0 });
}

#[test]
fn the_first_team_with_enough_points_wins_and_the_room_starts_over() {
    let mut harness = harness();
    let ann = join(&mut harness, "Ann");
    let ben = join(&mut harness, "Ben");
    walk_to(&mut harness, ben, BEACONS[2]);
    while wins(&harness, ann).is_empty() {
        assert!(score(&harness).blue < GOAL);
        harness.tick(1);
        assert!(harness.room().now() < Tick(200 * TICKS_PER_SECOND), "nobody wins");
    }
    harness.tick(2);
    assert_eq!(wins(&harness, ann), [Won { team: Team::Blue }]);
    assert_eq!(wins(&harness, ben), [Won { team: Team::Blue }]);
    assert_eq!(score(&harness), Score { red: 0, blue: 0 });
    assert!((0..BEACONS.len()).all(|number| beacon(&harness, number).owner == Team::Nobody));
    assert_eq!(position(&harness, ben), [24.0, 0.0]);
    walk_to(&mut harness, ben, BEACONS[0]);
    assert_eq!(beacon(&harness, 0).owner, Team::Blue, "the next round is played like the first");
}

#[test]
fn clients_converge_after_a_storm_and_the_game_replays() {
    let mut harness = harness();
    let clients: Vec<ClientNumber> =
        (0..6).map(|n| harness.join(&format!("{n}"), DeliveryOrder::Unordered, Conditions::STORM)).collect();
    harness.tick(3 * TICKS_PER_SECOND);
    for tick in 0..60 * TICKS_PER_SECOND {
        for (number, &client) in clients.iter().enumerate() {
            let round = (tick / (15 * TICKS_PER_SECOND)) as usize;
            let steer = steer_to(&harness, client, BEACONS[(number % 2 + round) % BEACONS.len()]);
            harness.set_input(client, Some(&steer));
        }
        harness.tick(1);
    }
    harness.heal();
    harness.tick(6 * TICKS_PER_SECOND + 10);
    for &client in &clients {
        assert!(harness.has_converged(client));
        assert!(harness.client(client).received().faults.is_empty());
        assert_eq!(captures(&harness, client), captures(&harness, clients[0]));
    }
    assert!(!captures(&harness, clients[0]).is_empty());
    let recording = Recording::from_bytes(&harness.room().recording().unwrap().to_bytes()).unwrap();
    let mut replay = Replay::new(Beacons, beacons::settings(), &recording).unwrap();
    let now = harness.room().now();
    assert_eq!(replay.run_to(now), Ok(Some((now, harness.room().hash()))));
}
