//! Layout of rows.

use crate::support::{row_of, ship_of, snapped};
use aether_bits::{BitWriter, FieldKind, RecordSchema, Replicate, Schema, SchemaValue};
use aether_client_web::{InterpolationPath, RowLayout, RowMotion, description};
use aether_testkit_client::rules::{Controls, Scoreboard, Ship, Thing};
use proptest::prelude::*;

fn layout<C: aether_bits::Component>() -> RowLayout {
    RowLayout::new(&C::kind())
}

proptest! {
    #[test]
    fn a_row_is_snapped_like_its_type(
        position in prop::array::uniform2(-1500.0_f32..1500.0),
        velocity in prop::array::uniform2(-200.0_f32..200.0),
        heading in -9.0_f32..9.0,
        hull in -50..200_i32,
        colour: u8,
    ) {
        let ship = Ship { position, velocity, heading, hull, colour };
        let mut row = row_of(&ship);
        layout::<Ship>().snap(&mut row);
        prop_assert_eq!(ship_of(&row), snapped(ship));
    }

    #[test]
    fn arbitrary_rows_are_tolerated(row in prop::collection::vec(prop_oneof![any::<f64>(), Just(f64::NAN), 0.0..30.0], 0..40)) {
        for layout in [layout::<Ship>(), layout::<Scoreboard>(), layout::<Thing>()] {
            let mut snapped = row.clone();
            layout.snap(&mut snapped);
            let is_row = layout.value(&row).is_some();
            prop_assert_eq!(layout.pack(&row, &mut BitWriter::new()), is_row);
            prop_assert!(!is_row || row.len() <= layout.len_max());
        }
    }
}

#[test]
fn texts_come_last_and_can_be_read_back() {
    let layout = layout::<Scoreboard>();
    let board = Scoreboard { leader: "Zoë 🚀".to_owned(), hits: 3, players: 9 };
    let mut writer = BitWriter::new();
    board.write_full(&mut writer);
    let row = layout.unpack(&writer.to_bytes()).expect("a valid row");
    assert_eq!(row[..3], [3.0, 9.0, 6.0], "numbers first, then the length in UTF-16");
    let mut again = BitWriter::new();
    assert!(layout.pack(&row, &mut again));
    assert_eq!(again.to_bytes(), writer.to_bytes());
    let mut long = row.clone();
    long[2] = 200.0;
    assert_eq!(layout.value(&long), None);
}

#[test]
fn interpolation_follows_from_the_field_kinds() {
    let motion = |at, len, path| RowMotion { at, len, path };
    let ship = layout::<Ship>();
    assert_eq!(
        ship.motions(),
        [
            motion(0, 2, InterpolationPath::Straight),
            motion(2, 2, InterpolationPath::Straight),
            motion(4, 1, InterpolationPath::Turn)
        ]
    );
    assert_eq!(
        ship.position(),
        Some(motion(0, 2, InterpolationPath::Straight)),
        "the field with a velocity is the position"
    );
    assert_eq!(layout::<Thing>().position(), Some(motion(0, 2, InterpolationPath::Straight)));
    assert_eq!(layout::<Scoreboard>().motions(), []);
}

#[test]
fn a_schema_is_described_as_json_and_initial_values() {
    let schema = Schema {
        components: vec![RecordSchema::of::<Ship>(), RecordSchema::of::<Scoreboard>()],
        inputs: vec![RecordSchema::of::<Controls>()],
        events: Vec::new(),
    };
    let (text, initials) = description(&schema);
    let fields = concat!(
        r#"["position",["numbers",2],2],["velocity",["numbers",2],2],["heading",["numbers",1],1],"#,
        r#"["hull",["whole",0,100],1],["colour",["whole",0,255],1]"#
    );
    assert!(
        text.starts_with(&format!(
            r#"{{"components":[{{"name":"Ship","channel":"movement","kind":["record",[{fields}]]"#
        )),
        "{text}"
    );
    assert!(
        text.contains(r#"["hits",["whole",0,65535],1],["players",["whole",0,65535],1],["leader",["text",24],1]"#),
        "{text}"
    );
    assert_eq!(initials, [0.0, 0.0, 0.0, 0.0, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn names_are_escaped_in_the_description() {
    let kind = FieldKind::Record { fields: Vec::new() };
    let name = "\"]}\\\n\u{7}".to_owned();
    let schema = Schema { components: vec![RecordSchema { name, channel: String::new(), kind }], ..Schema::default() };
    let (text, _) = description(&schema);
    assert!(text.contains(r#""name":"\"]}\\\u000a\u0007""#), "{text}");
}

#[test]
fn a_list_of_records_is_a_row() {
    let pair = FieldKind::Record {
        fields: ["x", "y"]
            .map(|name| aether_bits::FieldSchema {
                name: name.to_owned(),
                kind: FieldKind::Whole { min: 0, max: 9 },
                initial: SchemaValue::Whole(0),
                moves_by: None,
            })
            .to_vec(),
    };
    let kind = FieldKind::List { len_max: 4, element: Box::new(pair) };
    let field = aether_bits::FieldSchema {
        name: "all".to_owned(),
        kind,
        initial: SchemaValue::List(Vec::new()),
        moves_by: None,
    };
    let layout = RowLayout::new(&FieldKind::Record { fields: vec![field] });
    let row = [2.0, 1.0, 2.0, 3.0, 4.0];
    let mut snapped = row.to_vec();
    layout.snap(&mut snapped);
    assert_eq!(snapped, row);
    assert_eq!(layout.value(&[5.0, 1.0]), None, "the list is too long");
    assert_eq!(layout.len_max(), 9);
}
