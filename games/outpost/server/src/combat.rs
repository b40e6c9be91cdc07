//! Shots and hits.

use crate::REWIND_TICKS;
use crate::game::Outpost;
use aether::prelude::*;
use aether_outpost_rules::{
    Body, DAMAGE, Fallen, Flight, HEALTH_MAX, Hit, Player, RADIUS, SPEED, Shot, TURRET_REACH, aim_at, fire, fly,
    is_near, passes, spawn_point,
};

/// Number of ticks between two shots of a turret: a bit more than once a second.
const TURRET_TICKS: u32 = 25;

/// A shot after its step.
struct Flown {
    shot: EntityId,
    shooter: PlayerId,
    by_turret: bool,
    flight: Flight,
}

/// Player that can be hit.
struct Target {
    player: PlayerId,
    body: EntityId,
    position: [f32; 2],
    is_protected: bool,
}

impl Outpost {
    /// Moves the shots and applies hits.
    pub(crate) fn fly(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        let mut flown = Vec::new();
        let grid = &self.grid;
        room.world.each_mut(|id, shot: &mut Shot| {
            let flight = fly(shot, grid, seconds);
            flown.push(Flown { shot: id, shooter: PlayerId(shot.shooter), by_turret: shot.by_turret, flight });
        });
        for flown in flown {
            // A player hit by the previous shot may have respawned elsewhere.
            let target = self.target_of(room, &flown);
            if target.is_some() || flown.flight.is_over {
                room.world.despawn(flown.shot);
            }
            match (target, flown.flight.struck) {
                (Some(target), _) => self.hit(room, flown.shooter, target),
                (None, Some(cell)) => self.damage_structure(room, cell, DAMAGE),
                (None, None) => {}
            }
        }
    }

    /// Lets turrets shoot at the nearest player other than their builder.
    pub(crate) fn aim_turrets(&mut self, room: &mut Context<'_>) {
        let now = room.tick().0;
        let mut shots = Vec::new();
        for (built, turret) in self.turrets(room) {
            // Turrets shoot at different ticks.
            if !(now + built.entity.slot).is_multiple_of(TURRET_TICKS) {
                continue;
            }
            let foes = self.players.iter().filter(|(player, player_state)| {
                player.0 != turret.builder
                    && !built.is_of(&player_state.account)
                    && player_state.protected_until.0 <= now
            });
            let positions = foes.filter_map(|(_, foe)| Some(room.world.get::<Player>(foe.body)?.position));
            let near = positions.filter(|position| is_near(*position, turret.position, TURRET_REACH));
            let nearest = near
                .min_by(|a, b| distance_squared(*a, turret.position).total_cmp(&distance_squared(*b, turret.position)));
            if let Some(position) = nearest {
                let aim = aim_at(turret.position, position);
                shots.push(Shot { by_turret: true, ..fire(turret.position, aim, turret.builder) });
            }
        }
        for shot in shots {
            self.shoot(room, shot);
        }
    }

    /// Fires a shot. In a full room it is not fired; slots reserved for structures stay free.
    pub(crate) fn shoot(&self, room: &mut Context<'_>, shot: Shot) {
        if self.has_capacity(room, 1) {
            let _ = room.world.spawn(shot);
        }
    }

    /// Returns the first player that a shot hit: at the position that the shooter saw, or, for a turret, at the current
    /// one.
    fn target_of(&self, room: &Context<'_>, flown: &Flown) -> Option<PlayerId> {
        let Flight { from, to, .. } = flown.flight;
        let reach =
            RADIUS + SPEED * f32::from(REWIND_TICKS) * room.seconds_per_tick() + distance_squared(from, to).sqrt();
        let hit = self.targets(room).filter_map(|target| {
            // Nobody can have walked farther from the seen position.
            if target.player == flown.shooter || target.is_protected || !is_near(from, target.position, reach) {
                return None;
            }
            let seen = if flown.by_turret { None } else { room.position_seen_by(flown.shooter, target.body) };
            let position = seen.unwrap_or(target.position);
            passes(from, to, position).then(|| (distance_squared(from, position), target.player))
        });
        hit.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, player)| player)
    }

    fn targets<'a>(&'a self, room: &'a Context<'_>) -> impl Iterator<Item = Target> + use<'a> {
        let (world, now) = (&*room.world, room.tick());
        self.players.iter().filter_map(move |(&player, player_state)| {
            let position = world.get::<Player>(player_state.body)?.position;
            Some(Target { player, body: player_state.body, position, is_protected: now < player_state.protected_until })
        })
    }

    /// Applies a hit. A player without health respawns at once, protected for a while.
    fn hit(&mut self, room: &mut Context<'_>, shooter: PlayerId, target: PlayerId) {
        let Some(body) = self.players.get(&target).map(|player_state| player_state.body) else { return };
        let Some(state) = room.world.get_mut::<Body>(body) else { return };
        let health = (state.health - DAMAGE).max(0);
        state.health = if health == 0 { HEALTH_MAX } else { health };
        if let Some(player_state) = self.players.get_mut(&shooter) {
            player_state.hits = player_state.hits.saturating_add(1);
        }
        room.broadcast(&Hit { shooter: shooter.0, target: target.0, health });
        if health > 0 {
            return;
        }
        let position = spawn_point(room.random.below(u32::MAX));
        if let Some(player) = room.world.get_mut::<Player>(body) {
            *player = Player { aim: player.aim, ..Player::at(position) };
        }
        if let Some(player_state) = self.players.get_mut(&target) {
            player_state.falls = player_state.falls.saturating_add(1);
            player_state.protected_until = Tick(room.tick().0 + Outpost::PROTECTED_TICKS);
        }
        room.broadcast(&Fallen { player: target.0, shooter: shooter.0 });
    }
}

fn distance_squared(a: [f32; 2], b: [f32; 2]) -> f32 {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    dx * dx + dy * dy
}
