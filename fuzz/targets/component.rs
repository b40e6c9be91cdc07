//! A component with every packing: a decoded value survives a round trip, and the descriptor reads the same bits as the
//! derive.

#![no_main]

use aether_bits::{BitReader, BitWriter, DeltaBasis, Replicate};
use libfuzzer_sys::fuzz_target;

#[derive(Clone, Debug, PartialEq, Replicate)]
enum Hull {
    Scout,
    Freighter,
    Carrier,
}

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Gun {
    #[replicate(angle = 6)]
    aim: f32,
    #[replicate(range = 0..=200, default = 50)]
    shells: i32,
}

#[derive(Clone, Debug, Replicate)]
struct Ship {
    #[replicate(range = -1000.0..=1000.0, step = 0.01, moves_by = velocity)]
    position: [f32; 2],
    #[replicate(range = -50.0..=50.0, step = 0.01)]
    velocity: [f32; 2],
    #[replicate(rotation = 9)]
    turret: [f32; 4],
    #[replicate(unit_vector = 10)]
    sight: [f32; 3],
    hull: Hull,
    shield: bool,
    #[replicate(text = 12)]
    name: String,
    #[replicate(list = 3)]
    guns: Vec<Gun>,
    #[replicate(list = 4, range = -5.0..=5.0, step = 0.1)]
    readings: Vec<f32>,
}

fuzz_target!(|bytes: &[u8]| {
    let kind = Ship::kind();
    let mut typed_reader = BitReader::new(bytes);
    let mut generic_reader = BitReader::new(bytes);
    let typed = Ship::read_full(&mut typed_reader);
    let generic = kind.read_delta(DeltaBasis::new(&kind.initial()), &mut generic_reader);
    assert_eq!(typed.is_ok(), generic.is_ok());
    let Ok(ship) = typed else { return };
    assert_eq!(typed_reader.position(), generic_reader.position());

    let mut writer = BitWriter::new();
    ship.write_full(&mut writer);
    let written = writer.to_bytes();
    let again = Ship::read_full(&mut BitReader::new(&written)).expect("a written value can be read");
    assert!(again.same(&ship), "{again:?} is not {ship:?}");
});
