//! What players do to the world for good: it is stored first, and done when that is certain.
//!
//! Until then its cell, its material and its entity are set aside, so that what was promised can be kept. Nothing of that
//! is in a checkpoint: a deed is done when it is committed, also after the room was rebuilt.

use crate::building::{builder, nobody, refused};
use crate::game::Outpost;
use aether_bits::{BitReader, BitWriter, Replicate};
use aether_engine::{Context, Rejection};
use aether_outpost_rules::{
    Body, Cell, Kind, MATERIAL_MAX, Obstacle, Place, Player, Remove, Shot, Structure, can_place, can_remove, is_free,
    spawn_point,
};
use aether_wire::{EntityId, ErrorCode, PlayerId};

/// How far, in cells, someone is moved aside who stands where something is built.
const ASIDE_CELLS: i32 = 3;

/// Something is built or taken down.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Deed {
    /// Whether it is built.
    pub builds: bool,
    pub column: u8,
    pub row: u8,
    pub kind: Kind,
    /// The player's number.
    pub player: u32,
    /// The player's account.
    #[replicate(text = 128)]
    pub account: String,
}

impl Deed {
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = BitWriter::new();
        self.write_full(&mut writer);
        writer.to_bytes()
    }

    /// What an entry says, if it can be read.
    pub fn from_bytes(bytes: &[u8]) -> Option<Deed> {
        Deed::read_full(&mut BitReader::new(bytes)).ok()
    }

    fn cell(&self) -> Option<Cell> {
        Cell::new(self.column, self.row)
    }

    fn cost(&self) -> i32 {
        if self.builds { self.kind.cost() } else { 0 }
    }

    /// Whether it is of the same person.
    fn is_of(&self, player: PlayerId, account: &str) -> bool {
        self.player == player.0 || !account.is_empty() && self.account == account
    }
}

impl Outpost {
    /// A player wants to build.
    pub(crate) fn place(&mut self, room: &mut Context<'_>, player: PlayerId, place: &Place) -> Result<(), Rejection> {
        let cell = Cell::new(place.column, place.row).ok_or_else(|| refused(Obstacle::Outside))?;
        self.refuse_reserved(cell)?;
        let people: Vec<[f32; 2]> = room.world.each::<Player>().map(|(_, player)| player.position).collect();
        let settler = self.settlers.get(&player).ok_or_else(nobody)?;
        let mut builder = builder(settler, room, &self.grid, &people).ok_or_else(nobody)?;
        for deed in self.deeds.values().filter(|deed| deed.builds && deed.is_of(player, &settler.account)) {
            builder.structures += 1;
            // Material is each player's own, also where two players are of one account.
            builder.material -= if deed.player == player.0 { deed.cost() } else { 0 };
        }
        can_place(&builder, cell, place.kind).map_err(refused)?;
        if !self.has_place(room, 1) {
            return Err(Rejection::new(ErrorCode::LimitReached, "the world has no place for more"));
        }
        self.promise(room, player, cell, (true, place.kind))
    }

    /// A player wants to take down what it built. Half of the material comes back.
    pub(crate) fn remove(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        remove: &Remove,
    ) -> Result<(), Rejection> {
        let cell = Cell::new(remove.column, remove.row).ok_or_else(|| refused(Obstacle::Outside))?;
        self.refuse_reserved(cell)?;
        let settler = self.settlers.get(&player).ok_or_else(nobody)?;
        let builder = builder(settler, room, &self.grid, &[]).ok_or_else(nobody)?;
        let kind = can_remove(&builder, cell, self.is_own(room, player, cell)).map_err(refused)?;
        self.promise(room, player, cell, (false, kind))
    }

    /// A deed is stored: it is done now. What is stored wins over what stands there, which is older.
    pub(crate) fn fulfil(&mut self, room: &mut Context<'_>, deed: &Deed) {
        let Some(cell) = deed.cell() else { return };
        self.release(deed);
        self.clear(room, cell);
        if !deed.builds {
            return self.pay(room, deed, deed.kind.cost() / 2);
        }
        let builder = self.doer(deed).map_or(0, |player| player.0);
        let structure = Structure { position: cell.middle(), kind: deed.kind, health: deed.kind.health(), builder };
        if !self.raise(room, structure.clone(), deed.account.clone()) {
            // A shot can be spared. It is only needed if a room was rebuilt with fewer places than it had.
            let shot = room.world.each::<Shot>().map(|(id, _)| id).next();
            shot.map(|shot| room.world.despawn(shot));
            self.raise(room, structure, deed.account.clone());
        }
        self.pay(room, deed, -deed.cost());
        self.count(PlayerId(builder), 1);
        if deed.kind.stops_people() {
            self.move_aside(room);
        }
    }

    /// A deed is done, or will not be: what was set aside for it is free.
    pub(crate) fn release(&mut self, deed: &Deed) {
        if let Some(cell) = deed.cell() {
            self.deeds.remove(&cell);
        }
    }

    /// Whether the world has place for so many entities beside those that are promised.
    pub(crate) fn has_place(&self, room: &Context<'_>, count: usize) -> bool {
        room.world.len() + self.deeds.len() + count <= room.settings().entities_max
    }

    /// Stores a deed, and sets aside what it needs.
    fn promise(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        cell: Cell,
        (builds, kind): (bool, Kind),
    ) -> Result<(), Rejection> {
        let account = self.settlers.get(&player).ok_or_else(nobody)?.account.clone();
        let deed = Deed { builds, column: cell.column, row: cell.row, kind, player: player.0, account };
        room.commit(deed.to_bytes())?;
        self.deeds.insert(cell, deed);
        Ok(())
    }

    fn refuse_reserved(&self, cell: Cell) -> Result<(), Rejection> {
        match self.deeds.contains_key(&cell) {
            true => Err(Rejection::new(ErrorCode::BadValue, "something is being done there: try again in a moment")),
            false => Ok(()),
        }
    }

    /// Gives material to whoever did a deed, or takes it; also if they are away.
    fn pay(&mut self, room: &mut Context<'_>, deed: &Deed, change: i32) {
        let changed = |material: i32| (material + change).clamp(0, MATERIAL_MAX);
        let is_meant = |account: &str| account == deed.account;
        let settler = self.settlers.get(&PlayerId(deed.player)).filter(|settler| is_meant(&settler.account));
        if let Some(body) = settler.and_then(|settler| room.world.get_mut::<Body>(settler.body)) {
            body.material = changed(body.material);
        } else if let Some(character) = self.character_of(PlayerId(deed.player), &deed.account) {
            character.material = changed(character.material);
        }
    }

    /// Who did a deed, if they are in: the same player, or another of the same account.
    fn doer(&self, deed: &Deed) -> Option<PlayerId> {
        let same = self.settlers.get_key_value(&PlayerId(deed.player)).filter(|(_, it)| it.account == deed.account);
        let mut others = self.settlers.iter().filter(|(_, it)| !it.account.is_empty() && it.account == deed.account);
        same.or_else(|| others.next()).map(|(player, _)| *player)
    }

    /// Moves those aside who have walked to where something stands now.
    fn move_aside(&mut self, room: &mut Context<'_>) {
        let bodies: Vec<(PlayerId, EntityId)> = self.settlers.iter().map(|(&id, settler)| (id, settler.body)).collect();
        for (id, body) in bodies {
            let Some(place) = room.world.get::<Player>(body).map(|player| player.position) else { continue };
            if is_free(place, &self.grid) {
                continue;
            }
            let free = self.free_near(place).unwrap_or_else(|| spawn_point(id.0));
            if let Some(player) = room.world.get_mut::<Player>(body) {
                (player.position, player.velocity) = (free, [0.0; 2]);
            }
        }
    }

    /// The middle of the nearest cell on which one can stand.
    fn free_near(&self, place: [f32; 2]) -> Option<[f32; 2]> {
        let here = Cell::at(place)?;
        let around =
            (-ASIDE_CELLS..=ASIDE_CELLS).flat_map(|up| (-ASIDE_CELLS..=ASIDE_CELLS).map(move |right| (right, up)));
        let cells = around.filter_map(|(right, up)| {
            let column = u8::try_from(i32::from(here.column) + right).ok()?;
            let row = u8::try_from(i32::from(here.row) + up).ok()?;
            Some(Cell::new(column, row)?.middle())
        });
        let distance = |to: &[f32; 2]| (to[0] - place[0]).powi(2) + (to[1] - place[1]).powi(2);
        cells.filter(|cell| is_free(*cell, &self.grid)).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}
