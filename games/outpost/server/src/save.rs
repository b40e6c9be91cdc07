//! Checkpoint format: structures and characters. Shots are not stored.
//!
//! ```text
//! checkpoint = version (8 bits) · accounts (32) · account × … · structures (32) · structure × …
//!            · characters (32) · character × …
//! ```
//! Each item is packed as on the wire. A structure refers to its builder by an index into the list of accounts: a few
//! accounts build thousands of structures, and writing a checkpoint blocks the tick.

use crate::player_state::{AccountCharacter, Character};
use aether::prelude::*;
use aether_outpost_rules::{CELLS, Cell, Kind, Structure};
use std::collections::BTreeMap;

/// Version of the format.
const VERSION: u64 = 3;
/// Version in which an account had one character. It can still be read.
const VERSION_ACCOUNT_CHARACTERS: u64 = 2;
/// Upper bound of structures: one per cell.
const STRUCTURES_MAX: u64 = CELLS as u64 * CELLS as u64;
/// Maximum number of stored characters of absent players; the one that left first is dropped first. Each takes a few
/// hundred bytes.
pub const CHARACTERS_MAX: usize = 1_000;
/// Maximum number of those of one account: as many as it has profiles. An account that creates and deletes profiles
/// does not replace the characters of others.
pub const CHARACTERS_PER_ACCOUNT_MAX: usize = 16;
/// Maximum number of characters in a checkpoint: absent and present ones.
const CHARACTERS_READ_MAX: u64 = 2 * CHARACTERS_MAX as u64;

/// Contents of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    accounts: Vec<Account>,
    structures: Vec<SavedStructure>,
    pub characters: Vec<Character>,
}

/// Account of a builder.
#[derive(Clone, Debug, PartialEq, Replicate)]
struct Account {
    #[replicate(text = 128)]
    id: String,
}

/// Structure with its builder.
#[derive(Clone, Debug, PartialEq, Replicate)]
struct SavedStructure {
    #[replicate(range = 0..=127)]
    column: u8,
    #[replicate(range = 0..=127)]
    row: u8,
    kind: Kind,
    #[replicate(range = 0..=250)]
    health: i32,
    /// Index of the builder's account.
    builder: u16,
}

impl Saved {
    /// Collects structures with the accounts of their builders, and characters.
    pub fn new<'a>(
        structures: impl Iterator<Item = (Cell, &'a Structure, &'a str)>,
        characters: Vec<Character>,
    ) -> Saved {
        let mut indexes: BTreeMap<&str, u16> = BTreeMap::new();
        let mut saved = Saved { characters, ..Saved::default() };
        for (Cell { column, row }, structure, account) in structures {
            // There are fewer cells than `u16` values.
            let builder = *indexes.entry(account).or_insert_with(|| {
                saved.accounts.push(Account { id: account.to_owned() });
                (saved.accounts.len() - 1) as u16
            });
            let Structure { kind, health, .. } = *structure;
            saved.structures.push(SavedStructure { column, row, kind, health, builder });
        }
        saved
    }

    /// Returns the structures, each with the account of its builder.
    pub fn structures(&self) -> impl Iterator<Item = (Structure, &str)> {
        self.structures.iter().filter_map(|it| {
            let position = Cell::new(it.column, it.row)?.middle();
            let account = self.accounts.get(usize::from(it.builder))?;
            Some((Structure { position, kind: it.kind, health: it.health, builder: 0 }, account.id.as_str()))
        })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = BitWriter::new();
        writer.write(VERSION, 8);
        write_list(&self.accounts, &mut writer);
        write_list(&self.structures, &mut writer);
        write_list(&self.characters, &mut writer);
        writer.to_bytes()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Saved, ReadError> {
        let mut reader = BitReader::new(bytes);
        let version = reader.read(8)?;
        if ![VERSION, VERSION_ACCOUNT_CHARACTERS].contains(&version) {
            return Err(ReadError::OutOfRange);
        }
        let accounts = read_list(&mut reader, STRUCTURES_MAX)?;
        let structures = read_list(&mut reader, STRUCTURES_MAX)?;
        let characters = match version {
            VERSION => read_list(&mut reader, CHARACTERS_READ_MAX)?,
            _ => {
                let old: Vec<AccountCharacter> = read_list(&mut reader, CHARACTERS_READ_MAX)?;
                old.into_iter().map(Character::from).collect()
            }
        };
        Ok(Saved { accounts, structures, characters })
    }
}

pub fn write_list<R: Replicate>(list: &[R], writer: &mut BitWriter) {
    writer.write(list.len() as u64, 32);
    list.iter().for_each(|it| it.write_full(writer));
}

pub fn read_list<R: Replicate>(reader: &mut BitReader<'_>, len_max: u64) -> Result<Vec<R>, ReadError> {
    let len = reader.read(32)?;
    if len > len_max {
        return Err(ReadError::TooLong);
    }
    (0..len).map(|_| R::read_full(reader)).collect()
}
