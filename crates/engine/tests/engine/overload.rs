//! The overload ladder of a room.

use crate::support::{Crate, Scene, Scoreboard, settings};
use aether_engine::{OverloadLadder, RoomSettings};
use aether_replication::UpdateRing;
use aether_space::InterestSettings;

const BUSY: f32 = 0.95;
const CALM: f32 = 0.1;

fn ringed() -> RoomSettings {
    RoomSettings {
        rings: vec![UpdateRing { distance: 50.0, interval: 1 }, UpdateRing { distance: 200.0, interval: 1 }],
        ..settings()
    }
}

/// Loads the room until it reaches a rung.
fn climb(scene: &mut Scene, rung: u8) {
    for _ in 0..1_000 {
        if scene.room.overload().rung() >= rung {
            break;
        }
        scene.room.set_load(BUSY);
    }
    assert_eq!(scene.room.overload().rung(), rung);
}

#[test]
fn load_leads_up_the_ladder_and_calm_leads_down_again() {
    let mut scene = Scene::new(settings());
    for rung in 1..=OverloadLadder::RUNGS {
        climb(&mut scene, rung);
    }
    assert_eq!(scene.room.overload().time_rate(), 0.5, "at the top time runs slower");
    (0..10_000).for_each(|_| scene.room.set_load(BUSY));
    assert_eq!(scene.room.overload().rung(), OverloadLadder::RUNGS);
    (0..10_000).for_each(|_| scene.room.set_load(CALM));
    assert_eq!((scene.room.overload().rung(), scene.room.overload().time_rate()), (0, 1.0));
}

#[test]
fn far_entities_slow_down_first_and_near_ones_do_not() {
    let mut scene = Scene::new(ringed());
    let mut ann = scene.join("ann");
    let near = scene.spawn_at([20.0, 0.0]);
    let far = scene.spawn_at([150.0, 0.0]);
    scene.play(5, &mut [&mut ann]);
    let mut changes_seen = |scene: &mut Scene| {
        let mut seen = [0; 2];
        for step in 0..40 {
            let y = if step % 2 == 0 { 1.0 } else { 2.0 };
            let before = [near, far].map(|entity| ann.place(entity));
            scene.next(move |room| {
                for entity in [near, far] {
                    room.world.get_mut::<Crate>(entity).unwrap().position[1] += y;
                }
            });
            scene.play(1, &mut [&mut ann]);
            for (seen, (entity, before)) in seen.iter_mut().zip([near, far].into_iter().zip(before)) {
                *seen += usize::from(ann.place(entity) != before);
            }
            if step == 19 {
                let back = [[20.0, 0.0], [150.0, 0.0]];
                scene.next(move |room| {
                    for (entity, place) in [near, far].into_iter().zip(back) {
                        room.world.get_mut::<Crate>(entity).unwrap().position = place;
                    }
                });
            }
        }
        for (entity, place) in [(near, [20.0, 0.0]), (far, [150.0, 0.0])] {
            scene.put(entity, place);
        }
        scene.play(8, &mut [&mut ann]);
        assert!(scene.agrees_with(&ann), "nothing is lost, only late");
        seen
    };
    assert_eq!(changes_seen(&mut scene), [40, 40]);
    climb(&mut scene, 1);
    assert_eq!(changes_seen(&mut scene), [40, 20]);
    climb(&mut scene, 2);
    assert_eq!(changes_seen(&mut scene), [40, 10]);
}

#[test]
fn then_fewer_entities_are_shown_the_nearest_ones() {
    let interest = InterestSettings { nearest_max: Some(100), ..InterestSettings::default() };
    let mut scene = Scene::new(RoomSettings { interest: Some(interest), ..ringed() });
    let crowd: Vec<_> = (0..150).map(|step| scene.spawn_at([10.0 + 0.5 * step as f32, 1.0])).collect();
    let mut ann = scene.join("ann");
    scene.play(3, &mut [&mut ann]);
    let shown = |scene: &mut Scene, ann: &mut crate::support::Client| {
        scene.play(10, &mut [ann]);
        assert!(scene.agrees_with(ann));
        ann.crates()
    };
    assert_eq!(shown(&mut scene, &mut ann), 100);
    climb(&mut scene, 2);
    assert_eq!(shown(&mut scene, &mut ann), 100, "rings come first");
    climb(&mut scene, 3);
    assert_eq!(shown(&mut scene, &mut ann), 50);
    climb(&mut scene, 4);
    assert_eq!(shown(&mut scene, &mut ann), 25);
    assert!(crowd[..24].iter().all(|&entity| ann.mirror.contains(entity)));
    climb(&mut scene, 6);
    assert_eq!(shown(&mut scene, &mut ann), 25);
    let board = scene.room.world().each::<Scoreboard>().next().unwrap().0;
    assert!(ann.mirror.contains(board) && ann.own_place().is_some());
    (0..1_000).for_each(|_| scene.room.set_load(CALM));
    assert_eq!(shown(&mut scene, &mut ann), 100, "and all come back");
}

#[test]
fn time_slows_down_last() {
    let mut scene = Scene::new(settings());
    let rates: Vec<_> = (0..=OverloadLadder::RUNGS)
        .map(|rung| {
            climb(&mut scene, rung);
            scene.room.overload().time_rate()
        })
        .collect();
    assert_eq!(rates, [1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5]);
}
