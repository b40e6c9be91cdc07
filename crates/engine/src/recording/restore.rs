//! Encoding of [`RestoreData`] in a recording.

use super::RecordingError;
use super::bytes::{Reader, Writer};
use super::tick_input::{read_join_request, write_join_request};
use crate::durable::{ENTRY_BYTES_MAX, EntryNumber, RestoreData};
use aether_wire::{PlayerId, Tick};

/// Maximum number of players or entries that are read: more than a room can have.
const LIST_MAX: u64 = 1 << 20;

pub(super) fn write(restore: &RestoreData, writer: &mut Writer) {
    let RestoreData { tick, state, applied, last_player, players, journal } = restore;
    writer.number(u64::from(tick.0));
    match state {
        None => writer.number(0),
        Some(state) => {
            writer.number(state.len() as u64 + 1);
            writer.raw(state);
        }
    }
    writer.number(applied.0);
    writer.number(u64::from(last_player.0));
    writer.number(players.len() as u64);
    for (player, request) in players {
        writer.number(u64::from(player.0));
        write_join_request(request, writer);
    }
    writer.number(journal.len() as u64);
    for (number, entry) in journal {
        writer.number(number.0);
        writer.bytes(entry);
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<RestoreData, RecordingError> {
    let damaged = RecordingError::Damaged;
    let tick = Tick(reader.small()?);
    let state = match reader.number()?.checked_sub(1) {
        None => None,
        Some(len) => Some(reader.raw(usize::try_from(len).map_err(|_| damaged)?)?.to_vec()),
    };
    let applied = EntryNumber(reader.number()?);
    let last_player = PlayerId(reader.small()?);
    let mut players = Vec::new();
    for _ in 0..reader.number_up_to(LIST_MAX)? {
        players.push((PlayerId(reader.small()?), read_join_request(reader)?));
    }
    let mut journal = Vec::new();
    for _ in 0..reader.number_up_to(LIST_MAX)? {
        let (number, entry) = (EntryNumber(reader.number()?), reader.bytes()?);
        if entry.len() > ENTRY_BYTES_MAX {
            return Err(damaged);
        }
        journal.push((number, entry));
    }
    Ok(RestoreData { tick, state, applied, last_player, players, journal })
}
