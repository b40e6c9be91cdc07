//! The derive, its codecs and its descriptor, through the public API.

use aether_bits::codec::{Angle, Codec, Number, Rotation, UnitVector};
use aether_bits::{
    BasisAges, BitReader, BitWriter, Component, DeltaBasis, FieldKind, FieldWriter, ReadError, RecordSchema, Replicate,
    Schema, SchemaValue,
};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Replicate)]
pub enum Hull {
    Scout,
    Freighter,
    Carrier,
}

#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Gun {
    #[replicate(angle = 6)]
    pub aim: f32,
    #[replicate(range = 0..=200, default = 50)]
    pub shells: i32,
}

#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Ship {
    #[replicate(range = -1000.0..=1000.0, step = 0.01, moves_by = velocity)]
    pub position: [f32; 2],
    #[replicate(range = -50.0..=50.0, step = 0.01)]
    pub velocity: [f32; 2],
    #[replicate(range = 0.0..=100.0, step = 0.5, default = 80.0)]
    pub fuel: f32,
    #[replicate(angle = 8)]
    pub heading: f32,
    #[replicate(rotation = 9)]
    pub turret: [f32; 4],
    #[replicate(unit_vector = 10)]
    pub sight: [f32; 3],
    pub hull: Hull,
    pub shield: bool,
    pub crew: u16,
    #[replicate(text = 12)]
    pub name: String,
    #[replicate(list = 3)]
    pub guns: Vec<Gun>,
    #[replicate(list = 4, range = -5.0..=5.0, step = 0.1)]
    pub readings: Vec<f32>,
    #[replicate(skip)]
    pub plan: Vec<u8>,
}

fn any_gun() -> impl Strategy<Value = Gun> {
    (-10.0f32..10.0, -50i32..400).prop_map(|(aim, shells)| Gun { aim, shells })
}

prop_compose! {
    pub fn any_ship()(
        position in [-1200.0f32..1200.0, -1200.0f32..1200.0],
        velocity in [-60.0f32..60.0, -60.0f32..60.0],
        fuel in -10.0f32..200.0,
        heading in -20.0f32..20.0,
        turret in [-1.0f32..1.0, -1.0f32..1.0, -1.0f32..1.0, -1.0f32..1.0],
        sight in [-1.0f32..1.0, -1.0f32..1.0, -1.0f32..1.0],
        hull in prop_oneof![Just(Hull::Scout), Just(Hull::Freighter), Just(Hull::Carrier)],
        rest in (any::<bool>(), any::<u16>(), "\\PC{0,9}"),
        guns in proptest::collection::vec(any_gun(), 0..5),
        readings in proptest::collection::vec(-6.0f32..6.0, 0..6),
    ) -> Ship {
        let (shield, crew, name) = rest;
        Ship { position, velocity, fuel, heading, turret, sight, hull, shield, crew, name, guns, readings, plan: vec![1] }
    }
}

prop_compose! {
    pub fn any_ages()(elapsed in 1u32..64, spacing in 0u32..8) -> BasisAges {
        BasisAges { elapsed, spacing, seconds_per_tick: 0.05 }
    }
}

pub fn snapped(mut ship: Ship) -> Ship {
    ship.snap();
    ship
}

proptest! {
    #[test]
    fn a_delta_restores_the_snapped_value(states in [any_ship(), any_ship(), any_ship()], ages in any_ages()) {
        let [base, earlier, now] = states.map(snapped);
        let basis = DeltaBasis { value: &base, earlier: (ages.spacing > 0).then_some(&earlier), ages };
        let mut writer = BitWriter::new();
        now.write_delta(basis, &mut writer);
        let bytes = writer.to_bytes();
        let mut reader = BitReader::new(&bytes);
        let read = Ship::read_delta(basis, &mut reader).unwrap();
        prop_assert!(read.same(&now), "{read:?} is not {now:?}");
        prop_assert_eq!(reader.position(), writer.bits());
        prop_assert_eq!(read.plan, Vec::<u8>::new());
    }

    #[test]
    fn snapping_again_changes_nothing(ship in any_ship()) {
        let once = snapped(ship);
        let twice = snapped(once.clone());
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn the_descriptor_writes_the_same_bits(states in [any_ship(), any_ship(), any_ship()], ages in any_ages()) {
        let [base, earlier, now] = states.map(snapped);
        let kind = Ship::kind();
        let untyped = |ship: &Ship| {
            let mut writer = BitWriter::new();
            ship.write_full(&mut writer);
            let bytes = writer.to_bytes();
            kind.read_delta(DeltaBasis::new(&kind.initial()), &mut BitReader::new(&bytes)).unwrap()
        };
        let known = ages.spacing > 0;
        let (mut typed, mut generic) = (BitWriter::new(), BitWriter::new());
        now.write_delta(DeltaBasis { value: &base, earlier: known.then_some(&earlier), ages }, &mut typed);
        let (base, earlier) = (untyped(&base), untyped(&earlier));
        let basis = DeltaBasis { value: &base, earlier: known.then_some(&earlier), ages };
        kind.write_delta(basis, &untyped(&now), &mut generic).unwrap();
        prop_assert_eq!(typed.bits(), generic.bits());
        prop_assert_eq!(typed.to_bytes(), generic.to_bytes());
        let bytes = generic.to_bytes();
        let read = kind.read_delta(basis, &mut BitReader::new(&bytes)).unwrap();
        prop_assert_eq!(read, untyped(&now));
        prop_assert!(typed.bits() <= kind.bits_max() as usize);
    }

    #[test]
    fn random_bits_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), base in any_ship()) {
        let base = snapped(base);
        if let Ok(mut ship) = Ship::read_delta(DeltaBasis::new(&base), &mut BitReader::new(&bytes)) {
            let read = ship.clone();
            ship.snap();
            prop_assert!(read.same(&ship), "a value that was read is on the grid");
        }
        let _ = Schema::from_bytes(&bytes);
    }

    #[test]
    fn every_step_survives_a_round_trip(steps in 0u32..=200_000) {
        let number = Number::new(-1000.0, 1000.0, 0.01);
        prop_assert_eq!(number.quantize(number.dequantize(steps)), steps);
    }

    #[test]
    fn rotations_stay_close(value in [-1.0f32..1.0, -1.0f32..1.0, -1.0f32..1.0, -1.0f32..1.0]) {
        let length = value.iter().map(|c| c * c).sum::<f32>().sqrt();
        prop_assume!(length > 0.1);
        let value = value.map(|c| c / length);
        let mut packed = value;
        Rotation::new(9).snap(&mut packed);
        let dot: f32 = value.iter().zip(packed).map(|(a, b)| a * b).sum();
        prop_assert!(dot.abs() > 0.9999, "{dot}");
    }

    #[test]
    fn unit_vectors_stay_close(value in [-1.0f32..1.0, -1.0f32..1.0, -1.0f32..1.0]) {
        let length = value.iter().map(|c| c * c).sum::<f32>().sqrt();
        prop_assume!(length > 0.1);
        let value = value.map(|c| c / length);
        let mut packed = value;
        UnitVector::new(10).snap(&mut packed);
        let dot: f32 = value.iter().zip(packed).map(|(a, b)| a * b).sum();
        prop_assert!(dot > 0.9999, "{dot}");
    }
}

#[test]
fn every_packed_direction_is_stable() {
    for bits in [2, 3, 5] {
        let steps = (1 << bits) - 1;
        for largest in 0..4 {
            for code in 0..(1u32 << (3 * bits)) {
                let rest = [code & steps, code >> bits & steps, code >> (2 * bits) & steps];
                let mut once = Rotation::new(bits).dequantize(largest, rest);
                Rotation::new(bits).snap(&mut once);
                let mut twice = once;
                Rotation::new(bits).snap(&mut twice);
                assert_eq!(once, twice, "{bits} bits, largest {largest}, rest {rest:?}");
            }
        }
    }
}

#[test]
fn angles_wrap() {
    let angle = Angle::new(8);
    let mut writer = BitWriter::new();
    let (mut base, mut now) = (6.2f32, 0.1f32);
    angle.snap(&mut base);
    angle.snap(&mut now);
    angle.write(DeltaBasis::new(&base), &now, &mut FieldWriter::new(&mut writer));
    assert!(writer.bits() < 12, "a small turn across zero took {} bits", writer.bits());
    for quirk in [f32::NAN, f32::INFINITY, -0.0, 1e30, -1e30] {
        let mut value = quirk;
        angle.snap(&mut value);
        assert!((0.0..std::f32::consts::TAU).contains(&value), "{quirk} became {value}");
    }
}

#[test]
fn values_that_are_not_finite_become_finite() {
    let mut ship = Ship::initial();
    ship.position = [f32::NAN, f32::INFINITY];
    ship.turret = [f32::NAN; 4];
    ship.sight = [0.0; 3];
    ship.snap();
    assert_eq!(ship.position, [-1000.0, 1000.0]);
    assert!(ship.turret.iter().chain(&ship.sight).all(|c| c.is_finite()));
}

#[test]
fn defaults_and_positions_come_from_the_declaration() {
    let ship = Ship::initial();
    assert_eq!((ship.fuel, ship.hull, Gun::initial().shells), (80.0, Hull::Scout, 50));
    assert_eq!((Ship::NAME, Ship::CHANNEL), ("Ship", "movement"));
    assert_eq!(Ship { position: [1.0, 2.0], ..ship }.position(), Some([1.0, 2.0]));
}

#[derive(Clone, Replicate)]
#[replicate(position(x, y))]
struct Pin {
    #[replicate(range = -10.0..=10.0, step = 0.5)]
    x: f32,
    #[replicate(range = -10.0..=10.0, step = 0.5)]
    y: f32,
}

#[derive(Clone, Replicate)]
#[replicate(place = at)]
struct OldBuoy {
    #[replicate(range = -10.0..=10.0, step = 0.5)]
    at: [f32; 2],
}

#[derive(Clone, Replicate)]
#[replicate(place(x, y))]
struct OldPin {
    #[replicate(range = -10.0..=10.0, step = 0.5)]
    x: f32,
    #[replicate(range = -10.0..=10.0, step = 0.5)]
    y: f32,
}

#[test]
fn the_old_name_of_the_position_attribute_still_works() {
    assert_eq!(Pin { x: 3.0, y: 4.0 }.position(), Some([3.0, 4.0]));
    assert_eq!(OldPin { x: 3.0, y: 4.0 }.position(), Some([3.0, 4.0]));
    assert_eq!(OldBuoy { at: [3.0, 4.0] }.position(), Some([3.0, 4.0]));
    let has_position = [Ship::HAS_POSITION, Pin::HAS_POSITION, OldPin::HAS_POSITION, OldBuoy::HAS_POSITION];
    assert_eq!((has_position, Gun::HAS_POSITION), ([true; 4], false));
}

#[test]
fn an_unchanged_record_takes_about_a_bit_a_number() {
    let ship = snapped(Ship::initial());
    let mut writer = BitWriter::new();
    ship.write_delta(DeltaBasis::new(&ship), &mut writer);
    assert!(writer.bits() <= 36, "{} bits", writer.bits());
}

#[test]
fn a_schema_survives_a_round_trip_and_its_hash_covers_every_part() {
    let schema = Schema {
        components: vec![RecordSchema::of::<Ship>(), RecordSchema::of::<Gun>()],
        inputs: vec![RecordSchema::of::<Gun>()],
        events: vec![],
    };
    assert_eq!(Schema::from_bytes(&schema.to_bytes()), Ok(schema.clone()));
    let mut other = schema.clone();
    other.components[0].channel = "flight".to_owned();
    assert_ne!(other.hash(), schema.hash());
    let mut other = schema.clone();
    let FieldKind::Record { fields } = &mut other.components[0].kind else { panic!("a struct is a record") };
    fields[2].initial = SchemaValue::Numbers(vec![70.0]);
    assert_ne!(other.hash(), schema.hash());
}

#[test]
fn a_descriptor_beyond_its_limits_is_rejected() {
    let mut deep = FieldKind::Flag;
    for _ in 0..5 {
        deep = FieldKind::List { len_max: 1, element: Box::new(deep) };
    }
    let field = aether_bits::FieldSchema { name: "deep".into(), initial: deep.initial(), kind: deep, moves_by: None };
    let record =
        RecordSchema { name: "R".into(), channel: "c".into(), kind: FieldKind::Record { fields: vec![field] } };
    let schema = Schema { components: vec![record], ..Schema::default() };
    assert_eq!(Schema::from_bytes(&schema.to_bytes()), Err(ReadError::TooDeep));
    for cut in 0..20 {
        let bytes = Schema { components: vec![RecordSchema::of::<Gun>()], ..Schema::default() }.to_bytes();
        assert!(Schema::from_bytes(&bytes[..bytes.len() - 1 - cut]).is_err());
    }
}
