//! Building and removing.

use crate::support::{all_seen, answer, body, build, outwards, stage, structure};
use aether::prelude::*;
use aether_outpost_rules::{Cell, Kind, MATERIAL_MAX, Remove, Structure};
use aether_outpost_server::settings;

#[test]
fn a_structure_costs_material_and_is_seen_by_everyone_near() {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    let ben = stage.join("ben", DeliveryOrder::Unordered, Conditions::BROADBAND);
    stage.tick(10);
    let cell = outwards(&stage, ann, 9.0);
    assert_eq!(build(&mut stage, ann, cell, Kind::Turret), Ok(()));
    assert!(body(&stage, ann).material <= MATERIAL_MAX - Kind::Turret.cost() + 1);
    stage.tick(20);
    for client in [ann, ben] {
        let seen = all_seen::<Structure>(&stage, client);
        assert_eq!(seen.len(), 1);
        assert_eq!((seen[0].kind, Cell::at(seen[0].position)), (Kind::Turret, Some(cell)));
        assert_eq!(Some(seen[0].builder), stage.client(ann).player().map(|player| player.0));
    }
}

#[test]
fn every_rejection_has_a_reason() {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    let ben = stage.join("ben", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(5);
    let cell = outwards(&stage, ann, 9.0);
    let rejected = |answer: Result<(), (ErrorCode, String)>| answer.expect_err("it is not allowed");
    let far = outwards(&stage, ann, 60.0);
    let (code, sentence) = rejected(build(&mut stage, ann, far, Kind::Wall));
    assert_eq!(code, ErrorCode::BadValue);
    assert!(sentence.contains("too far"), "{sentence}");
    let centre = Cell::at([1.0, 1.0]).expect("it is inside");
    assert!(rejected(build(&mut stage, ann, centre, Kind::Wall)).1.contains("spawn area"));
    assert_eq!(build(&mut stage, ann, cell, Kind::Wall), Ok(()));
    assert!(rejected(build(&mut stage, ann, cell, Kind::Wall)).1.contains("already"));
    let seq = stage.send_message(ben, &Remove::on(cell));
    stage.tick(3);
    let theirs = answer(&stage, ben, seq).expect("it was answered");
    assert_eq!(theirs.expect_err("it is not theirs").0, ErrorCode::Forbidden);
    let [beside, above] = [(1, 0), (0, 1)].map(|(right, up)| Cell { column: cell.column + right, row: cell.row + up });
    for cell in [beside, above] {
        assert_eq!(build(&mut stage, ann, cell, Kind::Turret), Ok(()));
    }
    let corner = Cell { column: beside.column, row: above.row };
    let (code, sentence) = rejected(build(&mut stage, ann, corner, Kind::Turret));
    assert_eq!(code, ErrorCode::LimitReached, "{sentence}");
    assert!(sentence.contains("material"), "{sentence}");
}

#[test]
fn removing_refunds_half_of_the_material() {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(5);
    let cell = outwards(&stage, ann, 9.0);
    assert_eq!(build(&mut stage, ann, cell, Kind::Turret), Ok(()));
    let before = body(&stage, ann).material;
    let seq = stage.send_message(ann, &Remove::on(cell));
    stage.tick(3);
    assert_eq!(answer(&stage, ann, seq), Some(Ok(())));
    let gained = body(&stage, ann).material - before;
    assert!((20..=21).contains(&gained), "{gained}");
    assert_eq!(structure(&stage, cell), None);
    let again = stage.send_message(ann, &Remove::on(cell));
    stage.tick(3);
    let nothing = answer(&stage, ann, again).expect("it was answered").expect_err("it is gone");
    assert_eq!(nothing.0, ErrorCode::NotFound);
    stage.tick(600);
    assert_eq!(body(&stage, ann).material, MATERIAL_MAX, "material grows over time up to its maximum");
}
