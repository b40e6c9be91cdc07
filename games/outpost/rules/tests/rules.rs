//! Properties of the rules for arbitrary input.

use aether::prelude::*;
use aether_outpost_rules::{
    Builder, CELL, CELLS, Cell, Controls, EDGE, Kind, MATERIAL_MAX, Obstacle, Player, RADIUS, REACH, RELOAD_STEPS,
    SHOT_STEPS, SPAWN_AREA, SPEED, STEP_SECONDS, STRUCTURES_PER_PLAYER_MAX, Shot, StructureGrid, Surroundings,
    can_place, can_remove, fire, fly, is_free, is_near, passes, preview, spawn_point, walk,
};
use proptest::num::f32::ANY;
use proptest::prelude::*;

fn any_kind() -> impl Strategy<Value = Kind> {
    (0..Kind::ALL.len()).prop_map(|index| Kind::ALL[index])
}

fn any_controls() -> impl Strategy<Value = Controls> {
    let sane = (-1.0f32..1.0, -1.0f32..1.0, -10.0f32..10.0);
    let push = prop_oneof![4 => sane, 1 => (ANY, ANY, ANY)];
    (push, any::<bool>()).prop_map(|((x, y, aim), fire)| Controls { push: [x, y], aim, fire })
}

fn any_player() -> impl Strategy<Value = Player> {
    let sane = ([-EDGE..EDGE, -EDGE..EDGE], [-SPEED..SPEED, -SPEED..SPEED]);
    let motion = prop_oneof![4 => sane, 1 => ([ANY, ANY], [ANY, ANY])];
    (motion, any::<u8>()).prop_map(|((position, velocity), reload)| Player { position, velocity, aim: 0.0, reload })
}

prop_compose! {
    /// A dense maze, so that players run into structures.
    fn any_maze()(
        middle in (4u8..CELLS - 4, 4u8..CELLS - 4),
        kinds in proptest::collection::vec(proptest::option::weighted(0.4, any_kind()), 49),
    ) -> (StructureGrid, [f32; 2]) {
        let mut grid = StructureGrid::default();
        for (number, kind) in kinds.into_iter().enumerate() {
            let (column, row) = (middle.0 + (number % 7) as u8 - 3, middle.1 + (number / 7) as u8 - 3);
            let cell = Cell::new(column, row).expect("it is inside");
            grid.set(cell, kind.filter(|_| (column, row) != middle));
        }
        (grid, Cell::new(middle.0, middle.1).expect("it is inside").middle())
    }
}

proptest! {
    #[test]
    fn nobody_leaves_the_world_or_breaks_the_speed_limit(
        mut player in any_player(),
        steps in proptest::collection::vec(any_controls(), 1..80),
        seconds in prop_oneof![3 => Just(STEP_SECONDS), 1 => ANY],
    ) {
        // A player from outside is moved inside by the first step.
        walk(&mut player, &Controls::default(), &StructureGrid::default(), STEP_SECONDS);
        for controls in steps {
            let before = player.clone();
            walk(&mut player, &controls, &StructureGrid::default(), seconds);
            prop_assert!(player.position.iter().all(|at| at.abs() <= EDGE - RADIUS), "{player:?}");
            let speed = aether::libm::hypotf(player.velocity[0], player.velocity[1]);
            let before = aether::libm::hypotf(before.velocity[0], before.velocity[1]);
            prop_assert!(speed <= before.max(SPEED) + 0.05, "{speed}");
            let mut snapped = player.clone();
            snapped.snap();
            prop_assert_eq!(&snapped, &player, "a step ends on the wire's grid");
        }
    }

    #[test]
    fn nobody_walks_into_a_structure(
        (grid, middle) in any_maze(),
        steps in proptest::collection::vec((any_controls(), 1u32..12), 1..30),
    ) {
        let mut player = Player::at(middle);
        prop_assert!(is_free(middle, &grid));
        for (controls, times) in steps {
            for _ in 0..times {
                walk(&mut player, &controls, &grid, STEP_SECONDS);
                prop_assert!(is_free(player.position, &grid), "{player:?} overlaps a structure");
            }
        }
    }

    #[test]
    fn an_input_gives_the_same_result_after_a_round_trip_over_the_wire(
        mut here in any_player(),
        controls in any_controls(),
    ) {
        let mut snapped = controls;
        snapped.snap();
        let mut writer = BitWriter::new();
        snapped.write_full(&mut writer);
        let arrived = Controls::read_full(&mut BitReader::new(&writer.to_bytes())).expect("it was written");
        let mut there = here.clone();
        let strides = [
            walk(&mut here, &controls, &StructureGrid::default(), STEP_SECONDS),
            walk(&mut there, &arrived, &StructureGrid::default(), STEP_SECONDS),
        ];
        prop_assert_eq!(strides[0], strides[1]);
        prop_assert_eq!(here, there);
    }

    #[test]
    fn an_allowed_placement_keeps_every_rule(
        (grid, middle) in any_maze(),
        cell in (any::<u8>(), any::<u8>()),
        offset in (-4i16..=4, -4i16..=4),
        is_near_by in any::<bool>(),
        (material, structures) in (0..=MATERIAL_MAX, 0..=STRUCTURES_PER_PLAYER_MAX),
        kind in any_kind(),
    ) {
        let near = Cell::at(middle).expect("it is inside");
        let beside = |index: u8, by: i16| (i16::from(index) + by).clamp(0, i16::from(CELLS) - 1) as u8;
        let beside = Cell { column: beside(near.column, offset.0), row: beside(near.row, offset.1) };
        let cell = if is_near_by { beside } else { Cell { column: cell.0, row: cell.1 } };
        let people = [middle, [middle[0] + 9.0, middle[1] + 1.0]];
        let builder = Builder { surroundings: &grid, position: middle, material, structures, people: &people };
        if can_place(&builder, cell, kind).is_ok() {
            let target = cell.middle();
            prop_assert!(cell.column < CELLS && cell.row < CELLS);
            prop_assert!(is_near(target, middle, REACH) && !is_near(target, [0.0; 2], SPAWN_AREA));
            prop_assert_eq!(grid.structure_at(cell), None);
            prop_assert!(material >= kind.cost() && structures < STRUCTURES_PER_PLAYER_MAX);
            let mut built = grid.clone();
            built.set(cell, Some(Kind::Wall));
            for person in people {
                prop_assert!(is_free(person, &built) || !is_free(person, &grid), "it was built on a player");
            }
            prop_assert_eq!(preview(&builder, target, kind).obstacle, None);
        } else if let Some(inside) = Cell::new(cell.column, cell.row) {
            let shown = preview(&builder, inside.middle(), kind);
            prop_assert_eq!((shown.cell, shown.obstacle), (Some(cell), can_place(&builder, cell, kind).err()));
        }
    }

    #[test]
    fn a_shot_ends_in_time_and_passes_no_obstacle(
        (grid, middle) in any_maze(),
        aim in ANY,
    ) {
        let mut shot = fire(middle, aim, 1);
        for step in 1..=SHOT_STEPS {
            let flight = fly(&mut shot, &grid, STEP_SECONDS);
            prop_assert!(shot.position.iter().all(|at| at.abs() <= EDGE));
            if let Some(cell) = flight.struck {
                prop_assert!(flight.is_over && grid.structure_at(cell).is_some_and(Kind::stops_shots));
            } else {
                let under = Cell::at(flight.to).and_then(|cell| grid.structure_at(cell));
                prop_assert!(under.is_none_or(|kind| !kind.stops_shots()));
            }
            if flight.is_over {
                return Ok(());
            }
            prop_assert!(step < SHOT_STEPS, "it never ends");
        }
    }

    #[test]
    fn any_shot_is_handled_without_panic(
        numbers in [ANY, ANY, ANY, ANY, ANY, ANY, ANY],
        steps_left in any::<u32>(),
    ) {
        let [x, y, dx, dy, seconds, px, py] = numbers;
        let mut shot = Shot { position: [x, y], velocity: [dx, dy], shooter: 0, steps_left, by_turret: false };
        let flight = fly(&mut shot, &StructureGrid::default(), seconds);
        let is_hit = passes(flight.from, flight.to, [px, py]);
        prop_assert!(!is_hit || px.is_finite() && py.is_finite());
        prop_assert!(shot.position.iter().all(|at| at.abs() <= EDGE));
        prop_assert_eq!(Cell::at([px, py]).is_some(), px.abs() <= EDGE && py.abs() <= EDGE);
    }
}

#[test]
fn a_player_reloads_between_shots() {
    let mut player = Player::at([0.0; 2]);
    let controls = Controls { fire: true, ..Controls::default() };
    let fired: Vec<u32> =
        (0..40).filter(|_| walk(&mut player, &controls, &StructureGrid::default(), STEP_SECONDS).fired).collect();
    let expected: Vec<u32> = (0..40).filter(|step| step % u32::from(RELOAD_STEPS) == 0).collect();
    assert_eq!(fired.len(), expected.len());
}

#[test]
fn a_player_slides_along_a_wall() {
    let mut grid = StructureGrid::default();
    for row in 60..90 {
        grid.set(Cell::new(70, row).expect("it is inside"), Some(Kind::Wall));
    }
    let wall = Cell::new(70, 65).expect("it is inside").corner();
    let mut player = Player::at([wall[0] - 5.0, wall[1]]);
    let controls = Controls { push: [0.7, 0.7], ..Controls::default() };
    for _ in 0..60 {
        walk(&mut player, &controls, &grid, STEP_SECONDS);
    }
    assert_eq!(player.position[0], wall[0] - RADIUS, "it stops at the wall");
    assert!(player.position[1] > wall[1] + 15.0, "it continues along it: {player:?}");
}

#[test]
fn doors_let_players_through_and_fences_let_shots_through() {
    for (kind, walks, shoots) in [
        (Kind::Wall, false, false),
        (Kind::Door, true, false),
        (Kind::Fence, false, true),
        (Kind::Turret, false, false),
    ] {
        let mut grid = StructureGrid::default();
        let cell = Cell::new(80, 80).expect("it is inside");
        grid.set(cell, Some(kind));
        let [x, y] = cell.middle();
        let mut player = Player::at([x - 6.0, y]);
        let mut shot = player.fire(1);
        for _ in 0..30 {
            walk(&mut player, &Controls { push: [1.0, 0.0], ..Controls::default() }, &grid, STEP_SECONDS);
        }
        assert_eq!(player.position[0] > x + CELL, walks, "{kind:?}: {player:?}");
        let struck = (0..30).find_map(|_| fly(&mut shot, &grid, STEP_SECONDS).struck);
        assert_eq!(struck, (!shoots).then_some(cell), "{kind:?}");
    }
}

#[test]
fn every_obstacle_is_reported() {
    let mut grid = StructureGrid::default();
    let cell = Cell::new(100, 100).expect("it is inside");
    let [x, y] = cell.middle();
    let people = [[x - 6.0, y]];
    let grid_before = grid.clone();
    let builder =
        Builder { surroundings: &grid_before, position: people[0], material: 50, structures: 3, people: &people };
    assert_eq!(can_place(&builder, cell, Kind::Wall), Ok(()));
    let outside = Cell { column: CELLS, row: 0 };
    assert_eq!(can_place(&builder, outside, Kind::Wall), Err(Obstacle::Outside));
    assert_eq!(can_place(&Builder { position: [0.0; 2], ..builder }, cell, Kind::Wall), Err(Obstacle::TooFar));
    let centre = Cell::at([4.0, 4.0]).expect("it is inside");
    let at_centre = Builder { position: [0.0; 2], ..builder };
    assert_eq!(can_place(&at_centre, centre, Kind::Wall), Err(Obstacle::SpawnArea));
    let under = Cell::at(people[0]).expect("it is inside");
    assert_eq!(can_place(&builder, under, Kind::Door), Err(Obstacle::SomeoneThere));
    let busy = Builder { structures: STRUCTURES_PER_PLAYER_MAX, ..builder };
    assert_eq!(can_place(&busy, cell, Kind::Fence), Err(Obstacle::TooMany));
    assert_eq!(can_place(&Builder { material: 39, ..builder }, cell, Kind::Turret), Err(Obstacle::TooExpensive));
    assert_eq!(can_remove(&builder, cell, true), Err(Obstacle::Nothing));
    grid.set(cell, Some(Kind::Fence));
    let builder = Builder { surroundings: &grid, ..builder };
    assert_eq!(can_place(&builder, cell, Kind::Wall), Err(Obstacle::Occupied));
    assert_eq!(can_remove(&builder, cell, false), Err(Obstacle::NotYours));
    assert_eq!(can_remove(&Builder { position: [0.0; 2], ..builder }, cell, true), Err(Obstacle::TooFar));
    assert_eq!(can_remove(&builder, cell, true), Ok(Kind::Fence));
}

#[test]
fn no_spawn_point_is_inside_a_structure() {
    let mut grid = StructureGrid::default();
    for column in 0..CELLS {
        for row in 0..CELLS {
            let cell = Cell { column, row };
            let [x, y] = cell.middle();
            let builder =
                Builder { surroundings: &grid, position: [x, y], material: MATERIAL_MAX, structures: 0, people: &[] };
            if can_place(&builder, cell, Kind::Wall).is_ok() {
                grid.set(cell, Some(Kind::Wall));
            }
        }
    }
    for number in 0..100 {
        assert!(is_free(spawn_point(number), &grid), "spawn point {number}");
    }
}
