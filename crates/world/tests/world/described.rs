//! Components that are declared at run time behave as derived ones.

use crate::support::{self, Anchor, Body, Label, changed};
use aether_bits::runtime::{
    ComponentHandle, DynamicValue, FieldBuilder, FieldHandle, Record, RecordBuilder, RuntimeSchema, SchemaBuilder,
    ValueError,
};
use aether_bits::{BasisAges, BitWriter};
use aether_wire::{EntityId, Tick};
use aether_world::{SpawnError, World};

/// The components of the other tests, declared at run time, with their handles.
struct Declared {
    schema: RuntimeSchema,
    body: ComponentHandle,
    label: ComponentHandle,
    anchor: ComponentHandle,
    position: FieldHandle,
    velocity: FieldHandle,
    name: FieldHandle,
    score: FieldHandle,
    secret: FieldHandle,
    anchored_at: FieldHandle,
}

fn declared() -> Declared {
    let mut schema = SchemaBuilder::default();
    let vector = || FieldBuilder::numbers(2, -100.0..=100.0, 0.5);
    let body = RecordBuilder::new("Body")
        .channel("movement")
        .position("position")
        .field("position", vector().moves_by("velocity"))
        .field("velocity", FieldBuilder::numbers(2, -10.0..=10.0, 0.25));
    let label = RecordBuilder::new("Label")
        .field("name", FieldBuilder::text(8))
        .field("score", FieldBuilder::whole(0..=65_535))
        .private("secret", 0);
    let anchor = RecordBuilder::new("Anchor").position("position").field("position", vector());
    let body = schema.component(body).unwrap();
    let label = schema.component(label).unwrap();
    let anchor = schema.component(anchor).unwrap();
    let schema = schema.build();
    let field = |component, name| schema.component(component).unwrap().field(name).unwrap();
    Declared {
        body,
        label,
        anchor,
        position: field(body, "position"),
        velocity: field(body, "velocity"),
        name: field(label, "name"),
        score: field(label, "score"),
        secret: field(label, "secret"),
        anchored_at: field(anchor, "position"),
        schema,
    }
}

impl Declared {
    fn world(&self) -> World {
        let builder = self.schema.components().iter().fold(World::builder(), |world, known| world.described(known));
        support::begun(builder.rewind_ticks(4))
    }

    fn record(&self, component: ComponentHandle, set: &[(FieldHandle, DynamicValue)]) -> Record {
        let known = self.schema.component(component).unwrap();
        let mut record = known.initial();
        for (field, value) in set {
            known.edit(&mut record).set(*field, value).unwrap();
        }
        record
    }

    fn body(&self, position: [f32; 2], velocity: [f32; 2]) -> Record {
        self.record(self.body, &[(self.position, position.into()), (self.velocity, velocity.into())])
    }

    fn label(&self, name: &str, score: u16) -> Record {
        self.record(self.label, &[(self.name, name.into()), (self.score, score.into())])
    }

    fn anchor(&self, position: [f32; 2]) -> Record {
        self.record(self.anchor, &[(self.anchored_at, position.into())])
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn within(&mut self, size: f32) -> f32 {
        (self.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0) * size
    }
}

/// Applies the same random change to both worlds.
fn change_both(typed: &mut World, runtime: &mut World, declared: &Declared, random: &mut Random) {
    for id in typed.entities().collect::<Vec<_>>() {
        let (x, y) = (random.within(99.0), random.within(9.0));
        match random.below(12) {
            0 => assert_eq!(typed.despawn(id), runtime.despawn(id)),
            1 => {
                let score = random.below(900) as u16;
                assert_eq!(
                    typed.insert(id, support::label("late", score)),
                    runtime.insert_record(id, declared.label, declared.label("late", score))
                );
            }
            2 => assert_eq!(typed.remove::<Label>(id), runtime.remove_record(id, declared.label)),
            3 => assert_eq!(typed.remove::<Body>(id), runtime.remove_record(id, declared.body)),
            4 => assert_eq!(
                typed.insert(id, Anchor { position: [x, y] }),
                runtime.insert_record(id, declared.anchor, declared.anchor([x, y]))
            ),
            5 => assert_eq!(typed.remove::<Anchor>(id), runtime.remove_record(id, declared.anchor)),
            6 => {
                let label = typed.get_mut::<Label>(id).map(|label| label.score /= 2);
                let record = runtime.record_mut(id, declared.label).map(|mut label| {
                    let half = label.whole(declared.score).unwrap() / 2;
                    label.set_whole(declared.score, half).unwrap();
                });
                assert_eq!(label, record);
            }
            7..9 => {
                let body = typed.get_mut::<Body>(id).map(|body| body.velocity = [y, -y]);
                let record = runtime
                    .record_mut(id, declared.body)
                    .map(|mut body| body.set_numbers(declared.velocity, &[y, -y]).unwrap());
                assert_eq!(body, record);
            }
            _ => {}
        }
    }
    for _ in 0..random.below(4) {
        let (position, velocity) = ([random.within(99.0), random.within(99.0)], [random.within(9.0), 0.0]);
        let record = declared.body(position, velocity);
        assert_eq!(typed.spawn(Body { position, velocity }), runtime.spawn_record(declared.body, record));
    }
    let step = |position: [f32; 2], velocity: [f32; 2]| {
        [0, 1].map(|axis: usize| (position[axis] + velocity[axis] * 0.3).clamp(-100.0, 100.0))
    };
    typed.each_mut(|_, body: &mut Body| body.position = step(body.position, body.velocity));
    let (position, velocity) = (declared.position, declared.velocity);
    runtime.each_record_mut(declared.body, |_, mut body| {
        let to = step(body.vector(position).unwrap(), body.vector(velocity).unwrap());
        body.set_numbers(position, &to).unwrap();
    });
}

/// Every encoding of a slot that replication uses.
fn packed(world: &World, id: EntityId) -> Vec<(bool, Vec<u8>)> {
    let mut all = Vec::new();
    for (index, column) in world.columns().iter().enumerate() {
        if world.shape(id.slot) >> index & 1 == 0 {
            continue;
        }
        let mut writer = BitWriter::new();
        column.write_full(id.slot, &mut writer);
        all.push((column.changed_after(id.slot, Tick(world.tick().0 - 1)), writer.to_bytes()));
        for (age, spacing) in [(1, 0), (1, 1), (3, 2), (40, 0)] {
            let ages = BasisAges { elapsed: age, spacing, seconds_per_tick: 0.05 };
            let mut writer = BitWriter::new();
            let base = Tick(world.tick().0.saturating_sub(age));
            all.push((column.write_delta(id.slot, base, ages, &mut writer), writer.to_bytes()));
        }
    }
    all
}

#[test]
fn both_worlds_have_the_same_bits() {
    let declared = declared();
    let mut typed = support::begun(support::builder().component::<Anchor>().rewind_ticks(4));
    let mut runtime = declared.world();
    assert_eq!(typed.schema(), runtime.schema());
    let mut random = Random(5);
    let mut compared = 0;
    for _ in 0..300 {
        change_both(&mut typed, &mut runtime, &declared, &mut random);
        typed.settle();
        runtime.settle();
        assert_eq!(typed.hash(), runtime.hash(), "at tick {}", typed.tick());
        assert_eq!(changed(&typed), changed(&runtime));
        assert_eq!(typed.despawned(), runtime.despawned());
        assert!(typed.without_position().iter().eq(runtime.without_position().iter()));
        for id in typed.entities() {
            assert_eq!(
                (typed.shape(id.slot), typed.shaped_at(id.slot)),
                (runtime.shape(id.slot), runtime.shaped_at(id.slot))
            );
            assert_eq!(typed.last_changes(id.slot), runtime.last_changes(id.slot));
            assert_eq!(typed.position(id), runtime.position(id));
            let then = Tick(typed.tick().0.saturating_sub(2));
            assert_eq!(typed.rewind().position_at(id, then, 0.5), runtime.rewind().position_at(id, then, 0.5));
            assert_eq!(packed(&typed, id), packed(&runtime, id));
            compared += 1;
        }
        typed.advance();
        runtime.advance();
    }
    assert!(compared > 1_000, "{compared} entities were compared");
}

#[test]
fn a_private_field_changes_no_bit() {
    let declared = declared();
    let mut world = declared.world();
    let id = world.spawn_record(declared.label, declared.label("a", 1)).unwrap();
    support::step(&mut world);
    let before = world.hash();
    world.record_mut(id, declared.label).unwrap().set_whole(declared.secret, 7).unwrap();
    world.settle();
    assert_eq!((changed(&world), world.hash()), (Vec::new(), before));
    assert_eq!(world.record(id, declared.label).unwrap().whole(declared.secret), Some(7));
}

#[test]
fn a_rejected_value_changes_nothing() {
    let declared = declared();
    let mut world = declared.world();
    let id = world.spawn_record(declared.body, declared.body([1.0, 2.0], [0.0; 2])).unwrap();
    support::step(&mut world);
    let before = world.hash();
    let mut body = world.record_mut(id, declared.body).unwrap();
    assert!(matches!(body.set_numbers(declared.position, &[101.0, 0.0]), Err(ValueError::OutOfRange { .. })));
    assert!(matches!(body.set_numbers(declared.position, &[f32::NAN, 0.0]), Err(ValueError::NotFinite { .. })));
    assert!(matches!(body.set_text(declared.name, "x"), Err(ValueError::OtherRecord { .. })));
    world.settle();
    assert_eq!((changed(&world), world.hash()), (Vec::new(), before));
}

#[test]
fn a_record_of_another_type_is_rejected() {
    let declared = declared();
    let mut world = declared.world();
    let body = || declared.body([0.0; 2], [0.0; 2]);
    assert_eq!(world.spawn_record(declared.label, body()), Err(SpawnError::OtherRecord));
    let id = world.spawn_record(declared.body, body()).unwrap();
    assert_eq!(world.insert_record(id, declared.anchor, body()), Err(SpawnError::OtherRecord));
    assert_eq!(world.insert_record(id, declared.body, Record::default()), Err(SpawnError::OtherRecord));
    let gone = EntityId { slot: 9, generation: 9 };
    assert_eq!(world.insert_record(gone, declared.body, body()), Err(SpawnError::NoEntity));
    assert!(world.record(id, declared.label).is_none() && !world.remove_record(id, declared.label));
    assert!(world.record(gone, declared.body).is_none() && world.record_mut(gone, declared.body).is_none());
    assert_eq!(world.each_record(declared.body).map(|(id, _)| id).collect::<Vec<_>>(), [id]);
    assert_eq!(world.record_type(declared.body).unwrap().name(), "Body");
    let mut typed = support::world();
    assert_eq!(typed.spawn_record(declared.body, body()), Err(SpawnError::UnknownComponent), "a typed column");
    assert!(world.get::<Body>(id).is_none(), "this column has no Rust type");
}

#[test]
fn a_tick_of_records_allocates_nothing_once_all_versions_are_written() {
    let declared = declared();
    let mut world = declared.world();
    let ids: Vec<_> = (0..50)
        .map(|number| {
            let body = declared.body([number as f32, 0.0], [1.0, -1.0]);
            let id = world.spawn_record(declared.body, body).unwrap();
            world.insert_record(id, declared.label, declared.label("label", 1)).unwrap();
            id
        })
        .collect();
    let mut writer = BitWriter::new();
    let mut tick = |world: &mut World, score: i64| {
        world.advance();
        let (position, velocity) = (declared.position, declared.velocity);
        world.each_record_mut(declared.body, |_, mut body| {
            let (at, by): ([f32; 2], [f32; 2]) = (body.vector(position).unwrap(), body.vector(velocity).unwrap());
            let to: [f32; 2] = [0, 1].map(|axis: usize| (at[axis] + by[axis]).clamp(-100.0, 100.0));
            body.set_numbers(position, &to).unwrap();
            body.set_numbers(velocity, &[(score % 7) as f32, by[1]]).unwrap();
        });
        for &id in &ids {
            let mut label = world.record_mut(id, declared.label).unwrap();
            label.set_whole(declared.score, score).unwrap();
            label.set_text(declared.name, if score % 2 == 0 { "even" } else { "odd" }).unwrap();
        }
        world.settle();
        for &id in &ids {
            for column in &world.columns()[..2] {
                writer.clear();
                let ages = BasisAges { elapsed: 1, spacing: 1, seconds_per_tick: 0.05 };
                column.write_delta(id.slot, Tick(world.tick().0 - 1), ages, &mut writer);
                column.write_full(id.slot, &mut writer);
            }
        }
    };
    for score in 0..100 {
        tick(&mut world, score);
    }
    let info = allocation_counter::measure(|| {
        for score in 100..150 {
            tick(&mut world, score);
        }
    });
    assert_eq!(info.count_total, 0, "{info:?}");
    assert_eq!(changed(&world).len(), 50);
}
