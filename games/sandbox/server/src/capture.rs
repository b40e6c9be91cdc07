//! Captured state of a running room: fields of the game, and fields of components that are not replicated.

use crate::client_flight::ClientFlight;
use crate::game::{Pilot, Sandbox};
use aether::prelude::*;
use aether_sandbox_rules::{Controls, Shot, Thing};

/// Maximum number of players, or of pending requests: more than a room can have.
const LIST_MAX: u64 = 100_000;

/// A pilot with its player.
#[derive(Clone, Replicate)]
struct SavedPilot {
    player: u32,
    controls: Controls,
    hits: u16,
    loaded_at: u32,
}

/// Flight of a pilot whose client proposes the movement.
#[derive(Clone, Replicate)]
struct SavedFlight {
    is_active: bool,
    last_seq: u32,
    credit: u32,
}

/// Packs the state. Components follow in the order of their entities.
pub fn write(game: &Sandbox, world: &World) -> Vec<u8> {
    // A new field must be written, or be scratch memory.
    let Sandbox { pilots, scoreboard, pending_hits, flying: _, spent: _, found: _, found_now: _, witnesses: _ } = game;
    let mut writer = BitWriter::new();
    writer.write(pilots.len() as u64, 32);
    for (player, Pilot { controls, hits, loaded_at, client_flight }) in pilots {
        let pilot = SavedPilot { player: player.0, controls: *controls, hits: *hits, loaded_at: loaded_at.0 };
        pilot.write_full(&mut writer);
        writer.write_bool(client_flight.is_some());
        client_flight.iter().for_each(|flight| write_flight(flight, &mut writer));
    }
    writer.write_bool(scoreboard.is_some());
    writer.write(scoreboard.map_or(0, EntityId::to_bits), 64);
    writer.write(pending_hits.len() as u64, 32);
    for (request, player) in pending_hits {
        writer.write(request.0.into(), 32);
        writer.write(player.0.into(), 32);
    }
    for (_, thing) in world.each::<Thing>() {
        writer.write(thing.spin.to_bits().into(), 32);
    }
    for (_, shot) in world.each::<Shot>() {
        writer.write(shot.ticks_left.into(), 32);
        writer.write(shot.shooter.into(), 32);
    }
    writer.to_bytes()
}

/// Unpacks a state into a game whose world has its entities.
pub fn read(game: &mut Sandbox, world: &mut World, bytes: &[u8]) -> Result<(), ReadError> {
    let reader = &mut BitReader::new(bytes);
    for _ in 0..length(reader)? {
        let SavedPilot { player, controls, hits, loaded_at } = SavedPilot::read_full(reader)?;
        let client_flight = if reader.read_bool()? { Some(read_flight(reader)?) } else { None };
        game.pilots.insert(PlayerId(player), Pilot { controls, hits, loaded_at: Tick(loaded_at), client_flight });
    }
    let has_scoreboard = reader.read_bool()?;
    let scoreboard = EntityId::from_bits(reader.read(64)?).ok_or(ReadError::OutOfRange)?;
    game.scoreboard = has_scoreboard.then_some(scoreboard);
    for _ in 0..length(reader)? {
        let (request, player) = (RequestId(reader.read(32)? as u32), PlayerId(reader.read(32)? as u32));
        game.pending_hits.insert(request, player);
    }
    let mut result = Ok(());
    let mut next = || match reader.read(32) {
        Ok(value) => value as u32,
        Err(error) => {
            result = Err(error);
            0
        }
    };
    world.each_mut(|_, thing: &mut Thing| thing.spin = f32::from_bits(next()));
    world.each_mut(|_, shot: &mut Shot| (shot.ticks_left, shot.shooter) = (next(), next()));
    result
}

/// Packs a flight. Its numbers are exact, because they are part of the state hash.
fn write_flight(ClientFlight { mover, is_active }: &ClientFlight, writer: &mut BitWriter) {
    let saved = SavedFlight { is_active: *is_active, last_seq: mover.last_seq().0, credit: mover.credit() };
    saved.write_full(writer);
    for number in [mover.position, mover.velocity].as_flattened() {
        writer.write(number.to_bits().into(), 32);
    }
}

fn read_flight(reader: &mut BitReader<'_>) -> Result<ClientFlight, ReadError> {
    let SavedFlight { is_active, last_seq, credit } = SavedFlight::read_full(reader)?;
    let mut number = || reader.read(32).map(|bits| f32::from_bits(bits as u32));
    let (position, velocity) = ([number()?, number()?], [number()?, number()?]);
    Ok(ClientFlight { mover: Mover::restored(position, velocity, aether::wire::InputSeq(last_seq), credit), is_active })
}

fn length(reader: &mut BitReader<'_>) -> Result<u64, ReadError> {
    match reader.read(32)? {
        length if length > LIST_MAX => Err(ReadError::TooLong),
        length => Ok(length),
    }
}
