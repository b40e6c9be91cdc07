//! Checkpoint format: all objects, packed as on the wire.

use aether::prelude::*;
use aether_sandbox_rules::Thing;

/// Maximum number of objects in a checkpoint.
const THINGS_MAX: u64 = 100_000;

/// Packs the objects of a world.
pub fn write(world: &World) -> Vec<u8> {
    let mut writer = BitWriter::new();
    writer.write(world.each::<Thing>().count() as u64, 32);
    for (_, thing) in world.each::<Thing>() {
        thing.write_full(&mut writer);
        writer.write(u64::from(thing.spin.to_bits()), 32);
    }
    writer.to_bytes()
}

/// Unpacks a checkpoint.
pub fn read(bytes: &[u8]) -> Result<Vec<Thing>, ReadError> {
    let mut reader = BitReader::new(bytes);
    let count = reader.read(32)?;
    if count > THINGS_MAX {
        return Err(ReadError::TooLong);
    }
    (0..count)
        .map(|_| {
            let thing = Thing::read_full(&mut reader)?;
            Ok(Thing { spin: f32::from_bits(reader.read(32)? as u32), ..thing })
        })
        .collect()
}
