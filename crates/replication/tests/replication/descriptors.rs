//! A mirror that knows only the descriptor has the same state as one that knows the types.

use crate::common::{Body, Random, Tag, stir};
use crate::support::{Room, line, typeless_mirror};
use aether_bits::{FieldKind, SchemaValue};
use aether_replication::DeliveryOrder;

fn expected_body(body: &Body) -> SchemaValue {
    let numbers = |values: &[f32]| SchemaValue::Numbers(values.to_vec());
    SchemaValue::List(vec![numbers(&body.position), numbers(&body.velocity), numbers(&[body.heading])])
}

fn expected_tag(tag: &Tag) -> SchemaValue {
    SchemaValue::List(vec![SchemaValue::Text(tag.name.clone()), SchemaValue::Whole(i64::from(tag.score))])
}

#[test]
fn every_value_is_the_same_with_and_without_its_type() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut room = Room::new(order);
        let mut random = Random(31);
        let mut typeless = typeless_mirror(order, &room.world);
        let (mut bodies, mut tags) = (0, 0);
        for _ in 0..100 {
            for packet in room.round(|world| stir(world, &mut random)) {
                typeless.apply(&packet).unwrap();
            }
            assert!(room.agrees());
            assert_eq!(typeless.hash(), room.mirror.hash());
            assert!(typeless.entities().eq(room.mirror.entities()));
            for id in room.world.entities() {
                let body = room.world.get::<Body>(id);
                let tag = room.world.get::<Tag>(id);
                assert_eq!(room.mirror.get::<Body>(id), body);
                assert_eq!(room.mirror.get::<Tag>(id), tag);
                assert_eq!(typeless.value(id, 0).map(|(_, value)| value.clone()), body.map(expected_body));
                assert_eq!(typeless.value(id, 1).map(|(_, value)| value.clone()), tag.map(expected_tag));
                bodies += u32::from(body.is_some());
                tags += u32::from(tag.is_some());
            }
        }
        assert!(bodies > 1_000 && tags > 100, "{bodies} bodies and {tags} tags were compared");
    }
}

#[test]
fn a_value_comes_with_its_kind() {
    let mut room = Room::new(DeliveryOrder::Ordered);
    let mut typeless = typeless_mirror(DeliveryOrder::Ordered, &room.world);
    for packet in room.round(|world| drop(line(world, 1, 1.0))) {
        typeless.apply(&packet).unwrap();
    }
    let id = typeless.entities().next().unwrap();
    let (kind, _) = typeless.value(id, 0).unwrap();
    let FieldKind::Record { fields } = kind else { panic!("a component is a record") };
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["position", "velocity", "heading"]);
}

#[test]
fn each_kind_of_mirror_answers_in_its_own_way_only() {
    let mut room = Room::new(DeliveryOrder::Ordered);
    let mut typeless = typeless_mirror(DeliveryOrder::Ordered, &room.world);
    for packet in room.round(|world| drop(line(world, 1, 1.0))) {
        typeless.apply(&packet).unwrap();
    }
    let id = typeless.entities().next().unwrap();
    assert!(typeless.get::<Body>(id).is_none());
    assert!(room.mirror.value(id, 0).is_none());
    assert!(room.mirror.get::<Tag>(id).is_none() && typeless.value(id, 1).is_none(), "it has no tag");
    assert!(typeless.value(id, 2).is_none() && typeless.value(id, 31).is_none(), "there is no such component");
}
