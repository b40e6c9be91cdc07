//! The game.

use crate::client_flight::ClientFlight;
use crate::{REWIND_TICKS, capture, save};
use aether::names::shortened;
use aether::prelude::*;
use aether::wire::MovementDelta;
use aether_sandbox_rules::{
    Controls, EDGE, HIT_RADIUS, Hit, Look, RELOAD_SECONDS, SHOT_SECONDS, SPEED_MAX, Scoreboard, Ship, Shot, Thing,
    fire, step, wrap,
};
use std::collections::BTreeMap;

/// Maximum length of a name, as in [`Scoreboard`]. Longer names are shortened.
const NAME_BYTES_MAX: usize = 24;
/// Damage of a hit to a hull.
const DAMAGE: i32 = 25;

/// The sandbox.
#[derive(Default)]
pub struct Sandbox {
    pub(crate) pilots: BTreeMap<PlayerId, Pilot>,
    pub(crate) scoreboard: Option<EntityId>,
    /// Pending requests for stored hits.
    pub(crate) pending_hits: BTreeMap<RequestId, PlayerId>,
    /// Scratch memory: flying shots, shots that have ended, ships near a shot, and players who are told of a hit.
    pub(crate) flying: Vec<(EntityId, PlayerId, [f32; 2])>,
    pub(crate) spent: Vec<EntityId>,
    pub(crate) found: Vec<FoundEntity>,
    pub(crate) found_now: Vec<FoundEntity>,
    pub(crate) witnesses: Vec<PlayerId>,
}

#[derive(Default)]
pub(crate) struct Pilot {
    pub controls: Controls,
    pub hits: u16,
    pub loaded_at: Tick,
    /// Flight by movements that the client proposes, from the first one on.
    pub client_flight: Option<ClientFlight>,
}

impl Game for Sandbox {
    type Input = Controls;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration
            .component::<Ship>()
            .component::<Thing>()
            .component::<Shot>()
            .component::<Scoreboard>()
            .event::<Hit>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        room.set_label("sandbox");
        for _ in 0..20 {
            let look = [Look::Crate, Look::Rock, Look::Beacon][room.random.below(3) as usize];
            let position = self.random_position(room);
            self.spawn_thing(room, look, position, 0.0, 0.5);
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let is_new = !self.pilots.contains_key(&player);
        let pilot = self.pilots.entry(player).or_default();
        pilot.controls = Controls::default();
        if let Some(flight) = &mut pilot.client_flight {
            flight.stop();
        }
        let position = self.random_position(room);
        let heading = room.random.between(0.0, std::f32::consts::TAU);
        let colour = room.random.below(256) as u8;
        let ship = Ship { position, velocity: [0.0; 2], heading, hull: 100, colour };
        if let Ok(entity) = room.world.spawn(ship) {
            room.possess(player, entity);
        }
        // A player that respawns after the world was cleared has its hits already.
        if let Some(user) = room.user(player).filter(|_| is_new) {
            let (owner, key) = (user.to_owned(), "hits".to_owned());
            let request = room.request(Request::Read { owner, collection: crate::COLLECTION.to_owned(), key });
            self.pending_hits.insert(request, player);
        }
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        let hits = self.pilots.remove(&player).map_or(0, |pilot| pilot.hits);
        if let Some(user) = room.user(player) {
            let (owner, key, value) = (user.to_owned(), "hits".to_owned(), hits.to_le_bytes().to_vec());
            room.request(Request::Write { owner, collection: crate::COLLECTION.to_owned(), key, value });
        }
    }

    fn input(&mut self, _room: &mut Context<'_>, player: PlayerId, input: &Controls) {
        if let Some(pilot) = self.pilots.get_mut(&player) {
            pilot.controls = *input;
            if let (true, Some(flight)) = (input.thrust || input.left || input.right, &mut pilot.client_flight) {
                flight.is_active = false;
            }
        }
    }

    fn movement(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        movement: &MovementDelta,
    ) -> Result<(), Rejection> {
        let rules = room.settings().movement;
        let seconds = room.seconds_per_tick();
        let own = room.possession(player).filter(|own| *own == movement.entity);
        let ship = own.and_then(|own| room.world.get_mut::<Ship>(own));
        let (Some(pilot), Some(ship)) = (self.pilots.get_mut(&player), ship) else {
            // The answer is the same for hidden, foreign and missing entities, so that it reveals nothing.
            return Err(Rejection::new(ErrorCode::NotFound, "you have no such entity; move the one that you possess"));
        };
        let flight = pilot.client_flight.get_or_insert_with(|| ClientFlight::new(ship));
        if let Err(violation) = flight.propose(ship, movement, &rules, seconds) {
            room.correct_movement(player, movement.entity, &flight.mover, violation);
        }
        Ok(())
    }

    fn resumed(&mut self, _room: &mut Context<'_>, player: PlayerId) {
        if let Some(flight) = self.pilots.get_mut(&player).and_then(|pilot| pilot.client_flight.as_mut()) {
            flight.mover.resumed();
        }
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        self.fly(room);
        self.shoot(room);
        self.hit(room);
        let seconds = room.seconds_per_tick();
        room.world.each_mut(|_, thing: &mut Thing| thing.turn(seconds));
        self.update_scoreboard(room);
    }

    fn answer(&mut self, _room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        let pilot = self.pending_hits.remove(&id).and_then(|player| self.pilots.get_mut(&player));
        if let (Some(pilot), Answer::Value(Some(value))) = (pilot, answer)
            && let Ok(hits) = value.as_slice().try_into()
        {
            pilot.hits = pilot.hits.saturating_add(u16::from_le_bytes(hits));
        }
    }

    fn playground(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        command: &PlaygroundCommand,
    ) -> Result<(), Rejection> {
        let full = || Rejection::new(ErrorCode::LimitReached, "the room has reached its maximum number of entities");
        match command {
            PlaygroundCommand::Spawn(spawn) => {
                let look = look_of(&spawn.kind)?;
                let position = [wrap(spawn.x), wrap(spawn.y)];
                let thing = self.spawn_thing(room, look, position, spawn.rotation, 0.0).ok_or_else(full)?;
                room.world.set_owner(thing, Some(player));
            }
            PlaygroundCommand::Clear => self.scoreboard = None,
            PlaygroundCommand::Stress { count, rotate } => {
                for _ in 0..*count {
                    let position = self.random_position(room);
                    let spin = if *rotate { room.random.between(-2.0, 2.0) } else { 0.0 };
                    self.spawn_thing(room, Look::Rock, position, 0.0, spin).ok_or_else(full)?;
                }
            }
        }
        Ok(())
    }

    fn signal(&mut self, room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        format!("{} players, {} entities", self.pilots.len(), room.world.len()).into_bytes()
    }

    fn checkpoint(&self, world: &World) -> Option<Vec<u8>> {
        Some(save::write(world))
    }

    fn restore(&mut self, room: &mut Context<'_>, checkpoint: &[u8]) -> Result<(), Rejection> {
        for thing in save::read(checkpoint).map_err(|error| Rejection::new(ErrorCode::BadValue, error.to_string()))? {
            if room.world.spawn(thing).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn capture(&self, world: &World) -> Option<Vec<u8>> {
        Some(capture::write(self, world))
    }

    fn restore_capture(&mut self, room: &mut Context<'_>, bytes: &[u8]) -> Result<(), Rejection> {
        capture::read(self, room.world, bytes)
            .map_err(|error| Rejection::new(ErrorCode::BadValue, format!("the captured state is damaged: {error}")))
    }

    fn hash(&self, hasher: &mut StateHasher) {
        for (player, pilot) in &self.pilots {
            hasher.word(u64::from(player.0));
            hasher.word(u64::from(pilot.hits) << 32 | u64::from(pilot.loaded_at.0));
            if let Some(flight) = &pilot.client_flight {
                flight.mover.hash_into(hasher);
                hasher.word(u64::from(flight.is_active));
            }
        }
    }
}

impl Sandbox {
    fn fly(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        let rules = room.settings().movement;
        for (&player, pilot) in &mut self.pilots {
            if let Some(flight) = pilot.client_flight.as_mut().filter(|flight| flight.is_active) {
                flight.mover.refill(&rules);
            } else if let Some(ship) = room.possession(player).and_then(|ship| room.world.get_mut::<Ship>(ship)) {
                step(ship, pilot.controls, seconds);
            }
        }
    }

    fn shoot(&mut self, room: &mut Context<'_>) {
        let tick_hz = 1.0 / room.seconds_per_tick();
        for (&player, pilot) in &mut self.pilots {
            let ship = room.possession(player).and_then(|ship| room.world.get::<Ship>(ship));
            if let Some(ship) = ship
                && pilot.controls.fire
                && room.tick() >= pilot.loaded_at
            {
                let shot = fire(ship, player.0, (SHOT_SECONDS * tick_hz) as u32);
                pilot.loaded_at = Tick(room.tick().0 + (RELOAD_SECONDS * tick_hz) as u32);
                // In a full room a shot is not fired.
                let _ = room.world.spawn(shot);
            }
        }
    }

    /// Moves the shots and applies hits.
    fn hit(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        let (mut spent, mut flying) = (std::mem::take(&mut self.spent), std::mem::take(&mut self.flying));
        room.world.each_mut(|id, shot: &mut Shot| {
            for axis in 0..2 {
                shot.position[axis] = wrap(shot.position[axis] + shot.velocity[axis] * seconds);
            }
            shot.ticks_left = shot.ticks_left.saturating_sub(1);
            if shot.ticks_left == 0 {
                spent.push(id);
            } else {
                flying.push((id, PlayerId(shot.shooter), shot.position));
            }
        });
        for (shot, shooter, position) in flying.drain(..) {
            if let Some(target) = self.target(room, shooter, position) {
                spent.push(shot);
                self.damage(room, shooter, target);
            }
        }
        for shot in spent.drain(..) {
            room.world.despawn(shot);
        }
        (self.spent, self.flying) = (spent, flying);
    }

    /// Returns the first player, in the order of players, whose ship a shot hits where the shooter saw it. A ship that
    /// the shooter has not seen yet is hit where it is.
    fn target(&mut self, room: &Context<'_>, shooter: PlayerId, shot: [f32; 2]) -> Option<PlayerId> {
        let Sandbox { pilots, found, found_now, .. } = self;
        room.world.query().with::<Ship>().near(shot, HIT_RADIUS, found_now);
        match room.query_seen_by(shooter) {
            None => found.clear(),
            Some(seen) => {
                seen.with::<Ship>().near(shot, HIT_RADIUS, found);
                found_now.retain(|target| room.position_seen_by(shooter, target.entity).is_none());
            }
        }
        // No ship can have flown farther from the seen position.
        let by_controls = SPEED_MAX * room.seconds_per_tick();
        let by_client = room.settings().movement.speed_max.max(by_controls);
        let is_near_now = |pilot, ship| {
            let is_moved_by_client = pilots.get(&pilot).is_some_and(|pilot| pilot.client_flight.is_some());
            let speed = if is_moved_by_client { by_client } else { by_controls };
            let reach = HIT_RADIUS + speed * f32::from(REWIND_TICKS);
            room.world.position(ship).is_some_and(|at| is_near_wrapped(at, shot, reach))
        };
        let pilot_of = |target: &FoundEntity| {
            let pilot = room.world.owner(target.entity).filter(|pilot| pilots.contains_key(pilot))?;
            (room.possession(pilot) == Some(target.entity)).then_some((pilot, target.entity))
        };
        let hits = found.iter().chain(&*found_now).filter_map(pilot_of);
        hits.filter(|&(pilot, ship)| pilot != shooter && is_near_now(pilot, ship)).map(|(pilot, _)| pilot).min()
    }

    fn damage(&mut self, room: &mut Context<'_>, shooter: PlayerId, target: PlayerId) {
        let position = self.random_position(room);
        let Some(entity) = room.possession(target) else { return };
        let Some(ship) = room.world.get_mut::<Ship>(entity) else { return };
        ship.hull -= DAMAGE;
        let hull = ship.hull.max(0);
        if hull == 0 {
            (ship.hull, ship.position, ship.velocity) = (100, position, [0.0; 2]);
            if let Some(flight) = self.pilots.get_mut(&target).and_then(|pilot| pilot.client_flight.as_mut()) {
                flight.stop();
            }
        }
        if let Some(pilot) = self.pilots.get_mut(&shooter) {
            pilot.hits = pilot.hits.saturating_add(1);
        }
        self.find_witnesses(room, shooter, entity);
        room.send_to(&self.witnesses, &Hit { shooter: shooter.0, target: target.0, hull });
    }

    /// Finds the players who are told of a hit: those who can see the ship, and the shooter. With hundreds of players
    /// there are hundreds of hits a second, which nobody else can use.
    fn find_witnesses(&mut self, room: &Context<'_>, shooter: PlayerId, ship: EntityId) {
        let Sandbox { found, witnesses, .. } = self;
        let radius = room.settings().interest.map_or(f32::INFINITY, |interest| interest.radius);
        let position = room.world.position(ship).unwrap_or_default();
        room.world.query().with::<Ship>().near(position, radius, found);
        witnesses.clear();
        witnesses.extend(found.iter().filter_map(|witness| room.world.owner(witness.entity)));
        if !witnesses.contains(&shooter) {
            witnesses.push(shooter);
        }
    }

    fn update_scoreboard(&mut self, room: &mut Context<'_>) {
        let best = self.pilots.iter().max_by_key(|(player, pilot)| (pilot.hits, std::cmp::Reverse(player.0)));
        let leader = shortened(best.and_then(|(player, _)| room.name(*player)).unwrap_or(""), NAME_BYTES_MAX);
        let hits = best.map_or(0, |(_, pilot)| pilot.hits);
        let players = self.pilots.len() as u16;
        let shown = self.scoreboard.and_then(|board| room.world.get::<Scoreboard>(board));
        if shown.is_some_and(|board| board.leader == leader && board.hits == hits && board.players == players) {
            return;
        }
        let now = Scoreboard { leader: leader.into_owned(), hits, players };
        match self.scoreboard.and_then(|board| room.world.get_mut::<Scoreboard>(board)) {
            Some(board) => *board = now,
            None => self.scoreboard = room.world.spawn(now).ok(),
        }
    }

    fn spawn_thing(
        &self,
        room: &mut Context<'_>,
        look: Look,
        position: [f32; 2],
        rotation: f32,
        spin: f32,
    ) -> Option<EntityId> {
        room.world.spawn(Thing { position, rotation, look, spin }).ok()
    }

    fn random_position(&self, room: &mut Context<'_>) -> [f32; 2] {
        [room.random.between(-EDGE, EDGE) * 0.9, room.random.between(-EDGE, EDGE) * 0.9]
    }
}

fn look_of(kind: &str) -> Result<Look, Rejection> {
    match kind {
        "crate" => Ok(Look::Crate),
        "rock" => Ok(Look::Rock),
        "beacon" => Ok(Look::Beacon),
        _ => Err(Rejection::new(ErrorCode::NotFound, "unknown kind; use crate, rock or beacon")),
    }
}

/// Returns whether two positions are near each other in a world that wraps around.
fn is_near_wrapped(a: [f32; 2], b: [f32; 2], reach: f32) -> bool {
    (0..2).all(|axis| {
        let apart = (a[axis] - b[axis]).abs();
        apart.min(2.0 * EDGE - apart) <= reach
    })
}
