//! Movement that clients propose and the server checks.

use crate::support::{join_request, settings};
use aether_bits::Replicate;
use aether_engine::authority::{MovementRules, Mover};
use aether_engine::{
    ConnectionEndpoint, Context, Game, GameSchemaBuilder, NoObserver, Permissions, Rejection, Room, RoomCounts,
    RoomHandle, RoomSettings,
};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, Correction, EntityId, ErrorCode, InputSeq, MovementDelta, PlayerId, ServerMessage, Vector2,
};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(position = position)]
struct Walker {
    #[replicate(range = -1000.0..=1000.0, step = 0.01)]
    position: [f32; 2],
}

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Nothing {
    unused: bool,
}

/// A game whose clients propose their movement.
#[derive(Default)]
struct Walkers {
    movers: BTreeMap<PlayerId, Mover>,
    rejections: Vec<Rejection>,
}

impl Game for Walkers {
    type Input = Nothing;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Walker>()
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let entity = room.world.spawn(Walker { position: [0.0, 0.0] }).unwrap();
        room.possess(player, entity);
        self.movers.insert(player, Mover::at([0.0, 0.0]));
    }

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Nothing) {}

    fn movement(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        movement: &MovementDelta,
    ) -> Result<(), Rejection> {
        let own = room.possession(player) == Some(movement.entity);
        let Some(mover) = self.movers.get_mut(&player).filter(|_| own) else {
            let rejection = Rejection::new(ErrorCode::NotFound, "you have no such entity");
            self.rejections.push(rejection.clone());
            return Err(rejection);
        };
        if let Err(violation) = mover.propose(&MovementRules::default(), movement.seq, [movement.dx, movement.dy]) {
            room.correct_movement(player, movement.entity, mover, violation);
        }
        if let Some(walker) = room.world.get_mut::<Walker>(movement.entity) {
            walker.position = mover.position;
        }
        Ok(())
    }

    fn resumed(&mut self, _room: &mut Context<'_>, player: PlayerId) {
        self.movers.get_mut(&player).unwrap().resumed();
    }

    fn tick(&mut self, _room: &mut Context<'_>) {
        self.movers.values_mut().for_each(|mover| mover.refill(&MovementRules::default()));
    }
}

struct Walk {
    room: Room<Walkers>,
    endpoint: ConnectionEndpoint,
    entity: EntityId,
}

impl Walk {
    /// One player with full burst credit.
    fn new() -> Self {
        let mut room = Room::builder(Walkers::default(), settings()).build().unwrap();
        let (endpoint, entity) = join(&mut room);
        for _ in 0..8 {
            room.tick(&mut NoObserver);
        }
        Walk { room, endpoint, entity }
    }

    /// Proposes a movement and ticks. Returns the correction, if there is one.
    fn go(&mut self, seq: u32, delta: [f32; 2]) -> Option<Correction> {
        self.propose(self.entity, seq, delta);
        self.room.tick(&mut NoObserver);
        self.corrections().pop()
    }

    fn propose(&self, entity: EntityId, seq: u32, [dx, dy]: [f32; 2]) {
        let movement = MovementDelta { entity, seq: InputSeq(seq), dx, dy, ..MovementDelta::default() };
        self.endpoint.push(ClientMessage::MovementDelta(movement)).unwrap();
    }

    fn corrections(&self) -> Vec<Correction> {
        let messages = std::iter::from_fn(|| self.endpoint.next_reliable());
        messages.filter_map(|m| if let ServerMessage::Correction(c) = &*m { Some(*c) } else { None }).collect()
    }

    fn position(&self) -> [f32; 2] {
        self.room.world().get::<Walker>(self.entity).unwrap().position
    }

    /// Returns the movement counts that are not zero.
    fn violations(&self) -> Vec<(&'static str, u64)> {
        let counts: &RoomCounts = self.room.totals();
        counts.each().filter(|(name, count)| name.starts_with("movement_") && *count > 0).collect()
    }
}

fn join(room: &mut Room<Walkers>) -> (ConnectionEndpoint, EntityId) {
    let handle: RoomHandle = room.handle();
    let endpoint = handle.join(join_request("ann"), DeliveryOrder::Ordered).unwrap();
    room.tick(&mut NoObserver);
    let message = endpoint.next_reliable().unwrap();
    let ServerMessage::Possession(possession) = &*message else { panic!("{message:?}") };
    let entity = possession.entity;
    (endpoint, entity)
}

#[test]
fn allowed_movement_is_applied_and_not_corrected() {
    let mut walk = Walk::new();
    for seq in 1..=20 {
        assert_eq!(walk.go(seq, [1.0, 0.5]), None);
    }
    assert_eq!(walk.position(), [20.0, 10.0]);
    assert_eq!(walk.violations(), []);
    assert_eq!(walk.room.totals().corrections, 0);
}

#[test]
fn ten_times_the_speed_moves_at_the_allowed_one() {
    let mut walk = Walk::new();
    for seq in 1..=10 {
        let before = walk.position();
        let correction = walk.go(seq, [30.0, 40.0 - 0.5]).unwrap();
        let after = walk.position();
        let moved = ((after[0] - before[0]).powi(2) + (after[1] - before[1]).powi(2)).sqrt();
        assert!(moved <= 5.02, "{moved} units in a tick");
        assert_eq!(correction.entity, walk.entity);
        let Vector2 { x, y } = correction.position;
        assert!((x - after[0]).abs() <= 0.01 && (y - after[1]).abs() <= 0.01, "the correction says where it is");
    }
    assert_eq!(walk.violations(), [("movement_speed", 10)]);
    assert_eq!(walk.room.totals().corrections, 10);
}

#[test]
fn each_kind_of_cheating_is_corrected_and_counted_under_its_name() {
    let cases: [(&str, u32, [f32; 2]); 5] = [
        ("movement_not_finite", 2, [f32::NAN, 0.0]),
        ("movement_not_finite", 2, [0.0, f32::NEG_INFINITY]),
        ("movement_teleport", 2, [500.0, 0.0]),
        ("movement_sequence", 1, [1.0, 0.0]),
        ("movement_acceleration", 2, [-4.0, 0.0]),
    ];
    for (name, seq, delta) in cases {
        let mut walk = Walk::new();
        assert_eq!(walk.go(1, [1.0, 0.0]), None);
        let correction = walk.go(seq, delta).unwrap_or_else(|| panic!("{name} is not corrected"));
        assert_eq!(walk.violations(), [(name, 1)]);
        let position = walk.position();
        assert!(position.iter().all(|number| number.is_finite()));
        assert!((position[0] - 1.0).abs() <= 2.0, "{name} led to {position:?}");
        assert_eq!([correction.position.x, correction.position.y], position);
    }
}

#[test]
fn the_world_has_an_edge() {
    let mut walk = Walk::new();
    let mut seq = 0;
    while walk.position()[0] < 1_000.0 {
        seq += 1;
        walk.go(seq, [f32::min(5.0, 1.5 * seq as f32), 0.0]);
        assert!(seq < 300);
    }
    let correction = walk.go(seq + 1, [1.0, 0.0]);
    assert_eq!(walk.position(), [1_000.0, 0.0]);
    assert_eq!(correction.unwrap().position, Vector2 { x: 1_000.0, y: 0.0 });
    assert!(walk.room.totals().movement_bounds >= 1);
}

#[test]
fn more_movements_than_ticks_do_not_move_faster() {
    let mut walk = Walk::new();
    let mut seq = 0;
    for _ in 0..10 {
        for _ in 0..20 {
            seq += 1;
            walk.propose(walk.entity, seq, [1.0, 0.0]);
        }
        walk.room.tick(&mut NoObserver);
    }
    assert!(walk.position()[0] <= 10.0 + 4.0, "{:?}", walk.position());
    let rate = walk.room.totals().movement_rate;
    assert!(rate >= 186, "{rate}");
    assert_eq!(walk.corrections().len() as u64, rate);
}

#[test]
fn a_correction_names_the_last_sequence_that_it_takes_into_account() {
    let mut walk = Walk::new();
    for seq in 1..=5 {
        assert_eq!(walk.go(seq, [1.0, 0.0]), None);
    }
    let correction = walk.go(6, [400.0, 0.0]).unwrap();
    assert_eq!(correction.ack_seq, InputSeq(6), "movements are counted with the inputs");
}

#[test]
fn moving_a_foreign_entity_is_rejected_as_if_it_did_not_exist() {
    let mut walk = Walk::new();
    let (other_link, others) = join(&mut walk.room);
    let place = |walk: &Walk| walk.room.world().get::<Walker>(others).unwrap().position;
    let before = place(&walk);
    walk.propose(others, 1, [1.0, 0.0]);
    walk.propose(EntityId { slot: u32::MAX, generation: u16::MAX }, 2, [1.0, 0.0]);
    walk.propose(EntityId { generation: walk.entity.generation + 1, ..walk.entity }, 3, [1.0, 0.0]);
    walk.room.tick(&mut NoObserver);
    assert_eq!((place(&walk), walk.position()), (before, [0.0, 0.0]));
    let rejections = &walk.room.game().rejections;
    assert_eq!(rejections.len(), 3);
    assert!(rejections.iter().all(|rejection| *rejection == rejections[0]));
    assert_eq!(walk.room.totals().refused, 3);
    assert_eq!(walk.corrections(), []);
    assert!(other_link.next_reliable().is_none());
    assert_eq!(walk.go(4, [1.0, 0.0]), None, "it costs the player nothing");
}

#[test]
fn a_game_that_moves_by_inputs_rejects_movement() {
    let mut scene = crate::support::Scene::new(settings());
    let mut ann = scene.join("ann");
    ann.read();
    let entity = ann.possession().unwrap();
    let movement = MovementDelta { entity, seq: InputSeq(1), dx: 5.0, dy: 0.0, ..MovementDelta::default() };
    ann.send(ClientMessage::MovementDelta(movement));
    scene.play(1, &mut [&mut ann]);
    assert_eq!(ann.own_place(), Some([10.0, 0.0]));
    assert_eq!(scene.totals().refused, 1);
    assert_eq!(Permissions::default(), join_request("ann").permissions);
}

#[test]
fn movements_count_from_one_after_a_resume() {
    let settings = RoomSettings { resume_ticks: 20, ..settings() };
    let mut room = Room::builder(Walkers::default(), settings).build().unwrap();
    let (endpoint, entity) = join(&mut room);
    let player = *endpoint.admission().unwrap().as_ref().unwrap();
    let mut walk = Walk { room, endpoint, entity };
    walk.room.tick(&mut NoObserver);
    assert_eq!(walk.go(900, [1.0, 0.0]), None);
    walk.endpoint = walk.room.handle().resume(player, DeliveryOrder::Ordered).unwrap();
    walk.room.tick(&mut NoObserver);
    assert_eq!(walk.go(1, [1.0, 0.0]), None);
    assert_eq!(walk.position(), [2.0, 0.0]);
    assert_eq!(walk.violations(), []);
}
