//! Exports give the same results as the rules.

use aether_outpost_rules::{
    self as rules, Builder, CELLS, Cell, Controls, MATERIAL_MAX, Player, STEP_SECONDS, StructureGrid, spawn_point,
};
use aether_outpost_web::{Ground, Site, Steering, StructureKind, Walker, WebPreview, WebShot, cost, health, measures};

const KINDS: [(StructureKind, rules::Kind); 4] = [
    (StructureKind::Wall, rules::Kind::Wall),
    (StructureKind::Door, rules::Kind::Door),
    (StructureKind::Fence, rules::Kind::Fence),
    (StructureKind::Turret, rules::Kind::Turret),
];

/// Pseudo-random numbers.
struct TestRandom(u64);

impl TestRandom {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Returns a number from -1 to 1.
    fn share(&mut self) -> f32 {
        self.below(2_001) as f32 / 1_000.0 - 1.0
    }

    fn cell(&mut self) -> Cell {
        // Around the spawn area.
        let [column, row] = [0, 1].map(|_| CELLS / 2 - 12 + self.below(24) as u8);
        Cell::new(column, row).expect("it is inside")
    }
}

/// Creates the same structures for the page and for the server.
fn town(chance: &mut TestRandom) -> (Ground, StructureGrid) {
    let (mut ground, mut grid) = (Ground::new(), StructureGrid::default());
    for _ in 0..160 {
        let (cell, (kind, rule)) = (chance.cell(), KINDS[chance.below(4) as usize]);
        let [x, y] = cell.middle();
        let is_cleared = chance.below(5) == 0;
        ground.set(x, y, (!is_cleared).then_some(kind));
        grid.set(cell, (!is_cleared).then_some(rule));
    }
    (ground, grid)
}

#[test]
fn a_walk_in_the_page_is_the_walk_on_the_server() {
    let mut chance = TestRandom(7);
    let (ground, grid) = town(&mut chance);
    let mut player = Player::at(spawn_point(3));
    let mut walker = Walker { x: player.position[0], y: player.position[1], ..Walker::new() };
    let (mut push, mut shots) = ([0.0; 2], 0);
    for step in 0..3_000 {
        if step % 20 == 0 {
            push = [chance.share(), chance.share()];
        }
        let (aim, fire) = (chance.share() * 4.0, chance.below(3) == 0);
        let controls = Controls { push, aim, fire };
        let fired = rules::walk(&mut player, &controls, &grid, STEP_SECONDS).fired;
        let steering = Steering { push_x: push[0], push_y: push[1], aim, fire };
        assert_eq!(ground.walk(&mut walker, &steering, STEP_SECONDS), fired, "step {step}");
        let Walker { x, y, velocity_x, velocity_y, aim, reload } = walker;
        assert_eq!(player, Player { position: [x, y], velocity: [velocity_x, velocity_y], aim, reload }, "step {step}");
        shots += u32::from(fired);
    }
    assert!(shots > 100, "it shot {shots} times");
}

#[test]
fn a_shot_in_the_page_is_the_shot_on_the_server() {
    let mut chance = TestRandom(11);
    let (ground, grid) = town(&mut chance);
    let mut ended_early = 0;
    for number in 0..200 {
        let ([x, y], aim) = (spawn_point(number), chance.share() * 4.0);
        let (mut shot, mut rule) = (WebShot::new(x, y, aim), rules::fire([x, y], aim, 0));
        for step in 0..rules::SHOT_STEPS {
            let flight = rules::fly(&mut rule, &grid, STEP_SECONDS);
            assert_eq!(ground.fly(&mut shot, STEP_SECONDS), flight.is_over, "shot {number}, step {step}");
            assert_eq!([shot.x(), shot.y()], rule.position);
            assert_eq!([shot.velocity_x(), shot.velocity_y()], rule.velocity);
            if flight.is_over {
                ended_early += u32::from(flight.struck.is_some());
                break;
            }
        }
    }
    assert!(ended_early > 50, "{ended_early} shots ended at a structure");
}

#[test]
fn a_preview_equals_the_servers_decision() {
    let mut chance = TestRandom(13);
    let (ground, grid) = town(&mut chance);
    let (mut allowed, mut rejected) = (0, std::collections::BTreeSet::new());
    for _ in 0..5_000 {
        let people = [0, 1].map(|_| [chance.share() * 60.0, chance.share() * 60.0]);
        let (material, structures) = (chance.below(MATERIAL_MAX as u64) as i32, chance.below(66) as u32);
        let builder = Builder { surroundings: &grid, position: people[0], material, structures, people: &people };
        let mut site = Site::new();
        [site.x, site.y] = people[0];
        (site.material, site.structures) = (material, structures);
        site.set_people(people.as_flattened());
        let pointer = [people[0][0] + chance.share() * 20.0, people[0][1] + chance.share() * 20.0];
        let (kind, rule) = KINDS[chance.below(4) as usize];
        let expected = rules::preview(&builder, pointer, rule);
        let shown = ground.preview(&site, pointer[0], pointer[1], kind);
        assert_same(&shown, &expected);
        match expected.obstacle {
            Some(obstacle) => rejected.insert(obstacle.sentence()),
            None => {
                allowed += 1;
                false
            }
        };
        let is_own = chance.below(2) == 0;
        let cell = Cell::at(pointer).expect("it is inside");
        let obstacle = rules::can_remove(&builder, cell, is_own).err();
        let shown = ground.preview_removal(&site, pointer[0], pointer[1], is_own);
        assert_same(&shown, &rules::Preview { cell: Some(cell), obstacle });
    }
    assert!(allowed > 100, "{allowed} could be built");
    assert_eq!(rejected.len(), 6, "every reason but the edge occurred: {rejected:?}");
}

#[test]
fn outside_of_the_world_there_is_no_cell() {
    let (mut ground, site) = (Ground::new(), Site::new());
    ground.set(f32::NAN, 0.0, Some(StructureKind::Wall));
    ground.set(300.0, 0.0, Some(StructureKind::Wall));
    for position in [[300.0, 0.0], [0.0, -257.0], [f32::NAN, 0.0]] {
        for preview in [
            ground.preview(&site, position[0], position[1], StructureKind::Wall),
            ground.preview_removal(&site, position[0], position[1], true),
        ] {
            assert_eq!((preview.column(), preview.row()), (None, None));
            assert_eq!(preview.obstacle().as_deref(), Some(rules::Obstacle::Outside.sentence()));
        }
    }
}

#[test]
fn cleared_ground_is_empty() {
    let mut chance = TestRandom(17);
    let (mut ground, _) = town(&mut chance);
    ground.clear();
    let mut walker = Walker { y: 20.0, ..Walker::new() };
    let steering = Steering { push_x: 1.0, ..Steering::new() };
    for _ in 0..60 {
        ground.walk(&mut walker, &steering, STEP_SECONDS);
    }
    assert!(walker.x > 30.0, "nothing was in the way until {}", walker.x);
}

#[test]
fn measures_equal_the_rules() {
    let measures = measures();
    assert_eq!(measures.cell * f32::from(CELLS), 2.0 * measures.edge);
    assert_eq!((measures.reach, measures.radius), (rules::REACH, rules::RADIUS));
    assert_eq!((measures.structures_max, measures.material_max), (rules::STRUCTURES_PER_PLAYER_MAX, MATERIAL_MAX));
    for (kind, rule) in KINDS {
        assert_eq!((cost(kind), health(kind)), (rule.cost(), rule.health()));
    }
}

fn assert_same(shown: &WebPreview, expected: &rules::Preview) {
    assert_eq!(shown.column(), expected.cell.map(|cell| cell.column));
    assert_eq!(shown.row(), expected.cell.map(|cell| cell.row));
    assert_eq!(shown.obstacle(), expected.obstacle.map(|obstacle| obstacle.sentence().to_owned()));
}
