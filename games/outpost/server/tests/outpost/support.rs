//! Rooms of Outpost, and state of their clients.

use aether::bits::DeltaBasis;
use aether::prelude::*;
use aether_outpost_rules::{Body, Cell, Controls, Kind, Place, Player, Presence, Structure};
use aether_outpost_server::{Outpost, settings};

pub type Stage = Harness<Outpost>;

/// Settings with a snapshot every tick, so that clients follow a world in motion.
pub fn prompt() -> RoomSettings {
    RoomSettings { snapshot_hz: 30, ..settings() }
}

pub fn stage(settings: RoomSettings) -> Stage {
    let room = Room::builder(Outpost::default(), settings).seed(5).build().expect("the settings are valid");
    Harness::new(room, 6)
}

/// Returns the entity that a client possesses.
pub fn entity(stage: &Stage, client: ClientNumber) -> EntityId {
    stage.client(client).received().possessions.last().expect("it has a body").entity
}

/// Returns the player component, as the room has it.
pub fn player(stage: &Stage, client: ClientNumber) -> Player {
    stage.room().world().get::<Player>(entity(stage, client)).expect("it has a body").clone()
}

/// Returns the body component, as the room has it.
pub fn body(stage: &Stage, client: ClientNumber) -> Body {
    stage.room().world().get::<Body>(entity(stage, client)).expect("it has a body").clone()
}

/// Returns a component, as a client sees it.
pub fn seen<C: Component>(stage: &Stage, client: ClientNumber, entity: EntityId) -> Option<C> {
    let index = stage.room().schema().components.iter().position(|component| component.name == C::NAME)?;
    let (kind, value) = stage.client(client).mirror().value(entity, index)?;
    let mut writer = BitWriter::new();
    kind.write_delta(DeltaBasis::new(&kind.initial()), value, &mut writer).expect("it was read");
    C::read_full(&mut BitReader::new(&writer.to_bytes())).ok()
}

/// Returns all components of a type that a client sees.
pub fn all_seen<C: Component>(stage: &Stage, client: ClientNumber) -> Vec<C> {
    stage.client(client).mirror().entities().filter_map(|entity| seen(stage, client, entity)).collect()
}

/// Returns the names in a client's list of players.
pub fn names(stage: &Stage, client: ClientNumber) -> Vec<String> {
    let mut names: Vec<_> = all_seen::<Presence>(stage, client).into_iter().map(|it| it.name).collect();
    names.sort();
    names
}

/// Returns the events of a type that a client received.
pub fn events<E: Component>(stage: &Stage, client: ClientNumber) -> Vec<E> {
    let code = stage.room().schema().events.iter().position(|event| event.name == E::NAME);
    let read = |body: &GameBody| match body {
        GameBody::Packed { code: of, payload } if code == Some(usize::from(*of)) => {
            E::read_full(&mut BitReader::new(payload)).ok()
        }
        _ => None,
    };
    stage.client(client).received().events.iter().filter_map(|event| read(&event.body)).collect()
}

/// Returns the answer to a command: none yet, success, or a rejection.
pub fn answer(stage: &Stage, client: ClientNumber, seq: CommandSeq) -> Option<Result<(), (ErrorCode, String)>> {
    let ack = stage.client(client).received().acks.iter().find(|ack| ack.seq == seq)?;
    Some(match &ack.error {
        None => Ok(()),
        Some(error) => Err((error.code, error.message.clone())),
    })
}

/// Builds and returns the answer.
pub fn build(stage: &mut Stage, client: ClientNumber, cell: Cell, kind: Kind) -> Result<(), (ErrorCode, String)> {
    let seq = stage.send_message(client, &Place::on(cell, kind));
    for _ in 0..60 {
        stage.tick(1);
        if let Some(answer) = answer(stage, client, seq) {
            return answer;
        }
    }
    panic!("no answer arrived");
}

/// Returns a cell outwards of a player's spawn point, where building is allowed.
pub fn outwards(stage: &Stage, client: ClientNumber, distance: f32) -> Cell {
    let [x, y] = player(stage, client).position;
    let scale = 1.0 + distance / (x * x + y * y).sqrt();
    Cell::at([x * scale, y * scale]).expect("it is inside")
}

/// Returns the structure on a cell, as the room has it.
pub fn structure(stage: &Stage, cell: Cell) -> Option<Structure> {
    let mut structures = stage.room().world().each::<Structure>();
    structures.find(|(_, structure)| Cell::at(structure.position) == Some(cell)).map(|(_, found)| found.clone())
}

/// Returns controls that differ from player to player and change a few times a second.
pub fn controls(tick: u32, player: u32) -> Controls {
    let mut hasher = StateHasher::new(u64::from(tick / 10));
    hasher.word(u64::from(player));
    let bits = hasher.finish();
    let share = |shift: u32| (bits >> shift & 0xff) as f32 / 127.5 - 1.0;
    Controls { push: [share(0), share(8)], aim: share(16) * 4.0, fire: bits >> 24 & 1 == 1 }
}
