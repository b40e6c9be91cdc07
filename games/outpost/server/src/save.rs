//! What outlasts the room: structures and characters. Shots do not.
//!
//! ```text
//! checkpoint = version (8 bits) · structures (32) · structure × … · characters (32) · character × …
//! ```
//! Each of them is packed as it would travel.

use crate::settler::Character;
use aether_bits::{BitReader, BitWriter, ReadError, Replicate};
use aether_outpost_rules::{CELLS, Structure};

/// The layout of a checkpoint.
const VERSION: u64 = 1;
/// There are no more cells, and so no more structures.
const STRUCTURES_MAX: u64 = CELLS as u64 * CELLS as u64;
/// The most characters that are kept of players who are away; whoever left first is forgotten first. They are a few
/// hundred bytes each.
pub const CHARACTERS_MAX: usize = 1_000;
/// What a checkpoint may hold: those who are away, and those who are in.
const CHARACTERS_READ_MAX: u64 = 2 * CHARACTERS_MAX as u64;

/// What is kept of a room.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    pub structures: Vec<SavedStructure>,
    pub characters: Vec<Character>,
}

/// A structure and whose it is.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct SavedStructure {
    pub structure: Structure,
    /// The builder's account.
    #[replicate(text = 128)]
    pub builder: String,
}

impl Saved {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = BitWriter::new();
        writer.write(VERSION, 8);
        writer.write(self.structures.len() as u64, 32);
        self.structures.iter().for_each(|structure| structure.write_full(&mut writer));
        writer.write(self.characters.len() as u64, 32);
        self.characters.iter().for_each(|character| character.write_full(&mut writer));
        writer.to_bytes()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Saved, ReadError> {
        let mut reader = BitReader::new(bytes);
        if reader.read(8)? != VERSION {
            return Err(ReadError::OutOfRange);
        }
        let structures = read_list(&mut reader, STRUCTURES_MAX)?;
        let characters = read_list(&mut reader, CHARACTERS_READ_MAX)?;
        Ok(Saved { structures, characters })
    }
}

fn read_list<R: Replicate>(reader: &mut BitReader<'_>, len_max: u64) -> Result<Vec<R>, ReadError> {
    let len = reader.read(32)?;
    if len > len_max {
        return Err(ReadError::TooLong);
    }
    (0..len).map(|_| R::read_full(reader)).collect()
}
