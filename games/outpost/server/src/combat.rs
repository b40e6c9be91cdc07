//! Shots, and whom they hit.

use crate::REWIND_TICKS;
use crate::game::Outpost;
use aether_engine::Context;
use aether_outpost_rules::{
    Body, DAMAGE, Fallen, Flight, HEALTH_MAX, Hit, Player, RADIUS, SPEED, Shot, TURRET_REACH, aim_at, fire, fly,
    is_near, passes, spawn_point,
};
use aether_wire::{EntityId, PlayerId, Tick};

/// A turret shoots every so many ticks: a bit more than once a second.
const TURRET_TICKS: u32 = 25;

/// A shot that has just flown a step.
struct Flown {
    shot: EntityId,
    shooter: PlayerId,
    by_turret: bool,
    flight: Flight,
}

/// Someone who can be hit.
struct Target {
    player: PlayerId,
    body: EntityId,
    place: [f32; 2],
    is_protected: bool,
}

impl Outpost {
    /// Moves the shots, and sees whom and what they hit.
    pub(crate) fn fly(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        let mut flown = Vec::new();
        let grid = &self.grid;
        room.world.each_mut(|id, shot: &mut Shot| {
            let flight = fly(shot, grid, seconds);
            flown.push(Flown { shot: id, shooter: PlayerId(shot.shooter), by_turret: shot.by_turret, flight });
        });
        for flown in flown {
            // Someone may have fallen by the shot before and be elsewhere now.
            let target = self.target_of(room, &flown);
            if target.is_some() || flown.flight.is_over {
                room.world.despawn(flown.shot);
            }
            match (target, flown.flight.struck) {
                (Some(target), _) => self.hit(room, flown.shooter, target),
                (None, Some(cell)) => self.strike(room, cell, DAMAGE),
                (None, None) => {}
            }
        }
    }

    /// Lets the turrets shoot at whoever is nearest, but at their builders.
    pub(crate) fn aim_turrets(&mut self, room: &mut Context<'_>) {
        let now = room.tick().0;
        let mut shots = Vec::new();
        for (plot, turret) in self.turrets(room) {
            // Not all of them at once.
            if !(now + plot.entity.slot).is_multiple_of(TURRET_TICKS) {
                continue;
            }
            let foes = self.settlers.iter().filter(|(player, settler)| {
                player.0 != turret.builder && !plot.is_of(&settler.account) && settler.protected_until.0 <= now
            });
            let places = foes.filter_map(|(_, foe)| Some(room.world.get::<Player>(foe.body)?.position));
            let near = places.filter(|place| is_near(*place, turret.position, TURRET_REACH));
            let nearest = near
                .min_by(|a, b| distance_squared(*a, turret.position).total_cmp(&distance_squared(*b, turret.position)));
            if let Some(place) = nearest {
                let aim = aim_at(turret.position, place);
                shots.push(Shot { by_turret: true, ..fire(turret.position, aim, turret.builder) });
            }
        }
        for shot in shots {
            self.shoot(room, shot);
        }
    }

    /// Fires a shot. In a full room it is simply not fired, and it takes no place that is promised to a structure.
    pub(crate) fn shoot(&self, room: &mut Context<'_>, shot: Shot) {
        if self.has_place(room, 1) {
            let _ = room.world.spawn(shot);
        }
    }

    /// Whom a shot hit first: where the shooter saw them, if a player aimed, and where they are, if a turret did.
    fn target_of(&self, room: &Context<'_>, flown: &Flown) -> Option<PlayerId> {
        let Flight { from, to, .. } = flown.flight;
        let reach =
            RADIUS + SPEED * f32::from(REWIND_TICKS) * room.seconds_per_tick() + distance_squared(from, to).sqrt();
        let hit = self.targets(room).filter_map(|target| {
            // Nobody is farther from where they were seen than they can have walked since.
            if target.player == flown.shooter || target.is_protected || !is_near(from, target.place, reach) {
                return None;
            }
            let seen = if flown.by_turret { None } else { room.position_seen_by(flown.shooter, target.body) };
            let place = seen.unwrap_or(target.place);
            passes(from, to, place).then(|| (distance_squared(from, place), target.player))
        });
        hit.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, player)| player)
    }

    fn targets<'a>(&'a self, room: &'a Context<'_>) -> impl Iterator<Item = Target> + use<'a> {
        let (world, now) = (&*room.world, room.tick());
        self.settlers.iter().filter_map(move |(&player, settler)| {
            let place = world.get::<Player>(settler.body)?.position;
            Some(Target { player, body: settler.body, place, is_protected: now < settler.protected_until })
        })
    }

    /// Someone was hit. Whoever has nothing left begins anew, at once and spared for a while.
    fn hit(&mut self, room: &mut Context<'_>, shooter: PlayerId, target: PlayerId) {
        let Some(body) = self.settlers.get(&target).map(|settler| settler.body) else { return };
        let Some(state) = room.world.get_mut::<Body>(body) else { return };
        let health = (state.health - DAMAGE).max(0);
        state.health = if health == 0 { HEALTH_MAX } else { health };
        if let Some(settler) = self.settlers.get_mut(&shooter) {
            settler.hits = settler.hits.saturating_add(1);
        }
        room.broadcast(&Hit { shooter: shooter.0, target: target.0, health });
        if health > 0 {
            return;
        }
        let place = spawn_point(room.random.below(u32::MAX));
        if let Some(player) = room.world.get_mut::<Player>(body) {
            *player = Player { aim: player.aim, ..Player::at(place) };
        }
        if let Some(settler) = self.settlers.get_mut(&target) {
            settler.falls = settler.falls.saturating_add(1);
            settler.protected_until = Tick(room.tick().0 + Outpost::PROTECTED_TICKS);
        }
        room.broadcast(&Fallen { player: target.0, shooter: shooter.0 });
    }
}

fn distance_squared(a: [f32; 2], b: [f32; 2]) -> f32 {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    dx * dx + dy * dy
}
