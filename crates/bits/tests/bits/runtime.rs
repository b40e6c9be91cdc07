//! Records that are declared at run time, against the derive's types of the same declaration.

use crate::replicate::{Gun, Hull, Ship, any_ages, any_ship, snapped};
use aether_bits::runtime::{
    DynamicValue, FieldBuilder, FieldHandle, Record, RecordBuilder, RecordType, RuntimeSchema, SchemaBuilder,
    SchemaError, ValueError,
};
use aether_bits::{BitReader, BitWriter, Component, DeltaBasis, RecordSchema, Replicate, Schema, SchemaValue};
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

fn gun() -> RecordBuilder {
    RecordBuilder::new("Gun")
        .field("aim", FieldBuilder::angle(6))
        .field("shells", FieldBuilder::whole(0..=200).initial(50))
}

fn ship() -> RecordBuilder {
    RecordBuilder::new("Ship")
        .channel("movement")
        .position("position")
        .field("position", FieldBuilder::numbers(2, -1000.0..=1000.0, 0.01).moves_by("velocity"))
        .field("velocity", FieldBuilder::numbers(2, -50.0..=50.0, 0.01))
        .field("fuel", FieldBuilder::number(0.0..=100.0, 0.5).initial(80.0))
        .field("heading", FieldBuilder::angle(8))
        .field("turret", FieldBuilder::rotation(9))
        .field("sight", FieldBuilder::unit_vector(10))
        .field("hull", FieldBuilder::choice(["Scout", "Freighter", "Carrier"]))
        .field("shield", FieldBuilder::flag())
        .field("crew", FieldBuilder::whole(0..=65_535))
        .field("name", FieldBuilder::text(12))
        .field("guns", FieldBuilder::list(3, FieldBuilder::record(gun())))
        .field("readings", FieldBuilder::list(4, FieldBuilder::number(-5.0..=5.0, 0.1)))
        .private("plan", Vec::<u8>::new())
}

static SCHEMA: LazyLock<RuntimeSchema> = LazyLock::new(|| {
    let mut schema = SchemaBuilder::default();
    schema.component(ship()).unwrap();
    schema.input(gun()).unwrap();
    schema.event(gun()).unwrap();
    schema.build()
});

fn ship_type() -> &'static Arc<RecordType> {
    &SCHEMA.components()[0]
}

fn field(name: &str) -> FieldHandle {
    ship_type().field(name).unwrap()
}

fn named(fields: &[(&str, DynamicValue)]) -> DynamicValue {
    DynamicValue::Record(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

/// A ship by the names of its fields, brought into range as the derive's type would be.
fn dynamic(ship: &Ship) -> DynamicValue {
    let hull = match ship.hull {
        Hull::Scout => "Scout",
        Hull::Freighter => "Freighter",
        Hull::Carrier => "Carrier",
    };
    let gun = |gun: &Gun| named(&[("aim", gun.aim.into()), ("shells", gun.shells.clamp(0, 200).into())]);
    let name = &ship.name[..ship.name.floor_char_boundary(12)];
    let readings = ship.readings.iter().take(4).map(|reading| reading.clamp(-5.0, 5.0)).collect::<Vec<f32>>();
    named(&[
        ("position", ship.position.map(|axis| axis.clamp(-1000.0, 1000.0)).into()),
        ("velocity", ship.velocity.map(|axis| axis.clamp(-50.0, 50.0)).into()),
        ("fuel", ship.fuel.clamp(0.0, 100.0).into()),
        ("heading", ship.heading.into()),
        ("turret", ship.turret.into()),
        ("sight", ship.sight.into()),
        ("hull", hull.into()),
        ("shield", ship.shield.into()),
        ("crew", ship.crew.into()),
        ("name", name.into()),
        ("guns", DynamicValue::List(ship.guns.iter().take(3).map(gun).collect())),
        ("readings", readings.into()),
        ("plan", ship.plan.clone().into()),
    ])
}

fn described(ship: &Ship) -> Record {
    let mut record = ship_type().record(&dynamic(ship)).unwrap();
    ship_type().snap(&mut record);
    record
}

fn has_direction(ship: &Ship) -> bool {
    let length = |numbers: &[f32]| numbers.iter().map(|number| number * number).sum::<f32>();
    length(&ship.turret) > 0.01 && length(&ship.sight) > 0.01
}

#[test]
fn a_declaration_has_the_schema_of_the_derive() {
    assert_eq!(*ship_type().schema(), RecordSchema::of::<Ship>());
    assert_eq!(*SCHEMA.input().unwrap().schema(), RecordSchema::of::<Gun>());
    let typed = Schema {
        components: vec![RecordSchema::of::<Ship>()],
        inputs: vec![RecordSchema::of::<Gun>()],
        events: vec![RecordSchema::of::<Gun>()],
    };
    assert_eq!(SCHEMA.schema(), typed);
    assert_eq!(SCHEMA.schema().hash(), typed.hash());
    assert_eq!(Schema::from_bytes(&SCHEMA.schema().to_bytes()), Ok(typed), "the schema is within the limits of a peer");
}

proptest! {
    #[test]
    fn records_pack_and_hash_as_their_typed_twins(
        states in [any_ship(), any_ship(), any_ship()].prop_filter("a direction", |ships| ships.iter().all(has_direction)),
        ages in any_ages(),
    ) {
        let records = states.each_ref().map(described);
        let [base, earlier, now] = states.map(snapped);
        let known = ages.spacing > 0;
        let (mut typed, mut runtime) = (BitWriter::new(), BitWriter::new());
        now.write_delta(DeltaBasis { value: &base, earlier: known.then_some(&earlier), ages }, &mut typed);
        let basis = DeltaBasis { value: &records[0], earlier: known.then_some(&records[1]), ages };
        ship_type().write_delta(basis, &records[2], &mut runtime);
        prop_assert_eq!((typed.bits(), typed.to_bytes()), (runtime.bits(), runtime.to_bytes()));
        let (mut typed, mut runtime) = (BitWriter::new(), BitWriter::new());
        prop_assert_eq!(now.digest(&mut typed), ship_type().digest(&records[2], &mut runtime));
        prop_assert_eq!(now.same(&base), records[2].same(&records[0]));
        prop_assert_eq!(now.position(), ship_type().position(&records[2]));
        let bytes = runtime.to_bytes();
        let read = ship_type().read_full(&mut BitReader::new(&bytes)).unwrap();
        prop_assert!(read.same(&records[2]));
    }

    #[test]
    fn presented_values_are_accepted_again(ship in any_ship().prop_filter("a direction", has_direction)) {
        let record = described(&ship);
        let again = ship_type().record(&ship_type().present(&record)).unwrap();
        prop_assert_eq!(&again, &record, "a value on the grid is never out of range");
        let mut snapped = again.clone();
        ship_type().snap(&mut snapped);
        prop_assert_eq!(snapped, again);
    }

    #[test]
    fn a_record_that_is_overwritten_is_equal(a in any_ship(), b in any_ship()) {
        prop_assume!(has_direction(&a) && has_direction(&b));
        let (mut to, from) = (described(&a), described(&b));
        to.clone_from(&from);
        prop_assert_eq!(to, from);
    }
}

#[test]
fn fields_are_read_and_written_by_handles() {
    let mut record = ship_type().initial();
    let mut edit = ship_type().edit(&mut record);
    edit.set_numbers(field("position"), &[1.0, -2.0]).unwrap();
    edit.set_number(field("fuel"), 7.5).unwrap();
    edit.set_whole(field("crew"), 12).unwrap();
    edit.set_flag(field("shield"), true).unwrap();
    edit.set_choice(field("hull"), 2).unwrap();
    edit.set_text(field("name"), "Zoë").unwrap();
    edit.set_value(field("readings"), SchemaValue::List(vec![SchemaValue::Numbers(vec![0.5])])).unwrap();
    edit.set(field("plan"), &DynamicValue::from(vec![1u8, 2])).unwrap();
    assert_eq!(edit.record_type().name(), "Ship");
    assert_eq!(record.vector(field("position")), Some([1.0, -2.0]));
    assert_eq!(record.vector::<3>(field("position")), None);
    assert_eq!((record.number(field("fuel")), record.whole(field("crew"))), (Some(7.5), Some(12)));
    assert_eq!((record.flag(field("shield")), record.choice(field("hull"))), (Some(true), Some(2)));
    assert_eq!((record.text(field("name")), record.list(field("readings")).map(<[_]>::len)), (Some("Zoë"), Some(1)));
    assert_eq!(record.private(field("plan")), Some(&DynamicValue::from(vec![1u8, 2])));
    assert_eq!((record.text(field("fuel")), record.flag(field("plan"))), (None, None), "of another type");
    assert_eq!(ship_type().position(&record), Some([1.0, -2.0]));
    assert_eq!(ship_type().initial().number(field("fuel")), Some(80.0));
}

#[test]
fn a_position_may_be_two_fields() {
    let mut schema = SchemaBuilder::default();
    let side = || FieldBuilder::number(-10.0..=10.0, 0.5);
    let pin = RecordBuilder::new("Pin").position_fields("x", "y").field("y", side()).field("x", side());
    schema.component(pin).unwrap();
    let schema = schema.build();
    let pin = &schema.components()[0];
    let record = pin.record(&named(&[("x", 3.0.into()), ("y", (-4).into())])).unwrap();
    assert_eq!((pin.has_position(), pin.position(&record)), (true, Some([3.0, -4.0])));
}

#[test]
fn values_that_do_not_fit_are_rejected_and_change_nothing() {
    let rejected: [(&str, DynamicValue, &str); 22] = [
        ("position", [1000.1, 0.0].into(), "`position` is 1000.1, which is outside its range -1000 to 1000"),
        ("position", [f32::NAN, 0.0].into(), "`position` must be a finite number"),
        ("position", [f64::INFINITY, 0.0].into(), "`position` must be a finite number"),
        ("position", [0.0].into(), "`position` must be a list of 2 numbers"),
        ("position", 5.0.into(), "`position` must be a list of 2 numbers"),
        (
            "fuel",
            1e300.into(),
            "`fuel` is 340282350000000000000000000000000000000, which is outside its range 0 to 100",
        ),
        ("fuel", "full".into(), "`fuel` must be a number"),
        ("turret", [0.0; 4].into(), "`turret` is 0, which is outside its range of length one"),
        ("sight", [1.0, 0.0].into(), "`sight` must be a list of 3 numbers"),
        ("heading", f64::NAN.into(), "`heading` must be a finite number"),
        ("hull", "Barge".into(), "`hull` has no variant `Barge`; use one of Scout, Freighter, Carrier"),
        ("hull", 3.into(), "`hull` has no variant `3`; use one of Scout, Freighter, Carrier"),
        ("hull", (-1).into(), "`hull` has no variant `-1`; use one of Scout, Freighter, Carrier"),
        ("shield", 1.into(), "`shield` must be true or false"),
        ("crew", 65_536.into(), "`crew` is 65536, which is outside its range 0 to 65535"),
        ("crew", 1.5.into(), "`crew` must be a whole number from 0 to 65535"),
        ("crew", f64::NAN.into(), "`crew` must be a finite number"),
        ("name", "thirteen long".into(), "`name` has length 13, above its limit of 12"),
        ("guns", vec![named(&[]); 4].into_list(), "`guns` has length 4, above its limit of 3"),
        (
            "guns",
            vec![named(&[("barrel", 1.into())])].into_list(),
            "there is no field `guns[0].barrel`; use one of aim, shells",
        ),
        ("readings", [0.0, 9.0].into(), "`readings[1]` is 9, which is outside its range -5 to 5"),
        ("plan", 3.into(), "`plan` must be a list"),
    ];
    let mut record = ship_type().initial();
    for (name, value, sentence) in rejected {
        let error = ship_type().edit(&mut record).set(field(name), &value).unwrap_err();
        assert_eq!(error.to_string(), sentence, "{value:?}");
        let error = ship_type().record(&named(&[(name, value)])).unwrap_err();
        assert_eq!(error.to_string(), sentence);
    }
    let mut edit = ship_type().edit(&mut record);
    assert!(matches!(edit.set_numbers(field("position"), &[f32::NAN; 2]), Err(ValueError::NotFinite { .. })));
    assert!(matches!(edit.set_numbers(field("velocity"), &[51.0, 0.0]), Err(ValueError::OutOfRange { .. })));
    assert!(matches!(edit.set_whole(field("crew"), -1), Err(ValueError::OutOfRange { .. })));
    assert!(matches!(edit.set_whole(field("fuel"), 1), Err(ValueError::WrongType { .. })));
    assert!(matches!(edit.set_text(field("name"), "far too long a name"), Err(ValueError::TooLong { .. })));
    assert!(matches!(edit.set_text(field("crew"), "x"), Err(ValueError::WrongType { .. })));
    assert!(matches!(edit.set_choice(field("hull"), 3), Err(ValueError::UnknownChoice { .. })));
    let foreign = SCHEMA.input().unwrap().field("aim").unwrap();
    assert!(matches!(edit.set_number(foreign, 1.0), Err(ValueError::OtherRecord { .. })));
    assert!(matches!(edit.replace(&SCHEMA.input().unwrap().initial()), Err(ValueError::OtherRecord { .. })));
    assert_eq!(record, ship_type().initial());
    assert_eq!(record.numbers(foreign), None);
    let unknown = ship_type().field("wings").unwrap_err().to_string();
    assert!(unknown.starts_with("there is no field `Ship.wings`; use one of position, velocity"), "{unknown}");
}

trait IntoList {
    fn into_list(self) -> DynamicValue;
}

impl IntoList for Vec<DynamicValue> {
    fn into_list(self) -> DynamicValue {
        DynamicValue::List(self)
    }
}

/// Declares a component with one field, and returns the error.
fn schema_error(field: FieldBuilder) -> String {
    let mut schema = SchemaBuilder::default();
    let error = schema.component(RecordBuilder::new("Ship").field("part", field)).unwrap_err();
    assert_eq!(schema.build().components().len(), 0, "nothing was added");
    error.to_string()
}

#[test]
fn invalid_declarations_name_the_field() {
    let flag = FieldBuilder::flag;
    let deep = FieldBuilder::list(1, FieldBuilder::list(1, FieldBuilder::list(1, flag())));
    let number = || FieldBuilder::number(0.0..=1.0, 0.1);
    let nested = RecordBuilder::new("Inner").field("x", flag()).field("x", flag());
    let secret = RecordBuilder::new("Inner").private("x", 1);
    let cases = [
        (FieldBuilder::whole(5..=5), "the range 5 to 5 is not possible"),
        (FieldBuilder::whole(i64::MIN..=i64::MAX), "at most 61 bits"),
        (FieldBuilder::number(0.0..=1.0, 0.0), "the range 0 to 1 in steps of 0 is not possible"),
        (FieldBuilder::number(1.0..=0.0, 0.1), "min < max"),
        (FieldBuilder::number(f64::NAN..=1.0, 0.1), "is not possible"),
        (FieldBuilder::number(0.0..=1e9, 0.001), "f32 can represent"),
        (FieldBuilder::numbers(5, 0.0..=1.0, 0.1), "the number of components is 5; use 1 to 4"),
        (FieldBuilder::numbers(0, 0.0..=1.0, 0.1), "the number of components is 0; use 1 to 4"),
        (FieldBuilder::angle(21), "the bits of an angle is 21; use 1 to 20"),
        (FieldBuilder::rotation(1), "the bits of a component is 1; use 2 to 16"),
        (FieldBuilder::unit_vector(17), "the bits of a component is 17; use 2 to 16"),
        (FieldBuilder::choice(Vec::<String>::new()), "the number of variants is 0; use 1 to 64"),
        (FieldBuilder::choice((0..65).map(|n| n.to_string())), "the number of variants is 65; use 1 to 64"),
        (FieldBuilder::choice(["A", "A"]), "the name `A` is used twice"),
        (FieldBuilder::choice([""]), "the name has 0 bytes; use 1 to 63"),
        (FieldBuilder::text(0), "the text's length is 0; use 1 to 255"),
        (FieldBuilder::text(256), "the text's length is 256; use 1 to 255"),
        (FieldBuilder::list(65, flag()), "the list's length is 65; use 1 to 64"),
        (FieldBuilder::list(2, number().initial(1.0)), "an element of a list cannot have an initial value"),
        (
            FieldBuilder::list(2, FieldBuilder::record(nested)),
            "`Ship.part[]` cannot be declared: the name `x` is used twice; choose another one",
        ),
        (FieldBuilder::record(secret), "only fields of a component can be private"),
        (deep, "`Ship.part[][][]` cannot be declared: records and lists are nested more than 4 deep"),
        (number().initial(2.0), "the initial value does not fit: `Ship.part` is 2, which is outside its range 0 to 1"),
        (flag().initial("yes"), "must be true or false"),
        (number().moves_by("part"), "it moves by `part`"),
        (flag().moves_by("other"), "it moves by `other`"),
    ];
    for (field, sentence) in cases {
        let error = schema_error(field);
        assert!(error.starts_with("`Ship.part") && error.contains(sentence), "{error}");
    }
}

#[test]
fn records_beyond_the_limits_are_rejected() {
    let error_of = |record: RecordBuilder| SchemaBuilder::default().component(record).unwrap_err().to_string();
    let many =
        (0..33).fold(RecordBuilder::new("Many"), |record, n| record.field(format!("f{n}"), FieldBuilder::flag()));
    assert_eq!(error_of(many), "`Many` cannot be declared: the limit is 32 fields");
    let twice = RecordBuilder::new("Twice").field("x", FieldBuilder::flag()).private("x", 1);
    assert_eq!(error_of(twice), "`Twice` cannot be declared: the name `x` is used twice; choose another one");
    let long = RecordBuilder::new("x".repeat(64));
    assert!(error_of(long).ends_with("the name has 64 bytes; use 1 to 63"));
    let long = RecordBuilder::new("R").channel("x".repeat(64));
    assert!(error_of(long).ends_with("the name has 64 bytes; use 1 to 63"));
    for record in [RecordBuilder::new("P").position("x"), RecordBuilder::new("P").position_fields("z", "x")] {
        let record = record.field("x", FieldBuilder::number(0.0..=1.0, 0.1)).field("z", FieldBuilder::flag());
        assert!(error_of(record).contains("the position is `"), "a position is two numbers");
    }
    let mut schema = SchemaBuilder::default();
    for number in 0..32 {
        schema.component(RecordBuilder::new(format!("C{number}"))).unwrap();
    }
    let error_of = |error: SchemaError| error.to_string();
    assert!(error_of(schema.component(RecordBuilder::new("C32")).unwrap_err()).contains("the limit is 32 components"));
    schema.input(gun()).unwrap();
    assert!(error_of(schema.input(RecordBuilder::new("Second")).unwrap_err()).contains("the limit is 1 inputs"));
    for number in 0..64 {
        schema.event(RecordBuilder::new(format!("E{number}"))).unwrap();
    }
    assert!(error_of(schema.event(RecordBuilder::new("E64")).unwrap_err()).contains("the limit is 64 events"));
    let private = RecordBuilder::new("Said").private("x", 1);
    assert!(error_of(SchemaBuilder::default().event(private).unwrap_err()).contains("private"));
    let mut schema = SchemaBuilder::default();
    schema.event(gun()).unwrap();
    assert!(error_of(schema.event(gun()).unwrap_err()).contains("the name `Gun` is used twice"));
    let built = schema.build();
    let gun = built.find_event("Gun").unwrap();
    assert_eq!((built.event_of(0), built.event_of(1), gun.code()), (Some(gun), None, 0));
    assert_eq!(built.event(gun).map(|known| known.name()), Some("Gun"));
    assert!(built.find_component("Gun").is_none() && built.input().is_none());
}
