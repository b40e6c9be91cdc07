//! Shots, crashes, and their consequences.

use crate::game::Asteroids;
use aether::prelude::*;
use aether_asteroids_rules::{
    Asteroid, AsteroidSize, Explosion, ExplosionKind, LIVES_MAX, PlayStatus, SHIP_POINTS, SHIP_RADIUS, STEP_SECONDS,
    Ship, Shot, Standing, TICK_HZ, fly, is_near, lives_earned, meets,
};

/// Time from the loss of a ship to the next one: two seconds.
const RESPAWN_TICKS: u32 = 2 * TICK_HZ;
/// Time from the end of a game until the trigger starts the next one: one second, so that nobody misses the end.
const GAME_OVER_TICKS: u32 = TICK_HZ;

/// A shot after its step.
struct Flown {
    id: EntityId,
    position: [f32; 2],
    path: [f32; 2],
    player: u32,
    flies_on: bool,
}

/// Target of a shot.
enum Target {
    Asteroid(EntityId),
    Ship(PlayerId),
}

impl Asteroids {
    /// Moves the shots and applies hits.
    pub(crate) fn fly(&mut self, room: &mut Context<'_>) {
        let mut flown = Vec::new();
        room.world.each_mut(|id, shot: &mut Shot| {
            let flies_on = fly(shot);
            let path = shot.velocity.map(|part| part * STEP_SECONDS);
            flown.push(Flown { id, position: shot.position, path, player: shot.player, flies_on });
        });
        for shot in flown {
            let target = target_of(room.world, &shot);
            if target.is_some() || !shot.flies_on {
                room.world.despawn(shot.id);
            }
            match target {
                Some(Target::Asteroid(asteroid)) => self.shoot_asteroid(room, PlayerId(shot.player), asteroid),
                Some(Target::Ship(player)) => self.shoot_ship(room, PlayerId(shot.player), player),
                None => {}
            }
        }
    }

    /// Destroys ships that touch an asteroid, together with the asteroid.
    pub(crate) fn crash(&mut self, room: &mut Context<'_>) {
        let ships: Vec<(PlayerId, [f32; 2])> = vulnerable_ships(room.world).collect();
        for (player, position) in ships {
            let touches = |(_, asteroid): &(EntityId, &Asteroid)| {
                is_near(position, asteroid.position, SHIP_RADIUS + asteroid.size.radius())
            };
            let Some((asteroid, _)) = room.world.each::<Asteroid>().find(touches) else { continue };
            self.explode_asteroid(room, asteroid, 0);
            self.destroy_ship(room, player, 0);
        }
    }

    fn shoot_asteroid(&mut self, room: &mut Context<'_>, shooter: PlayerId, asteroid: EntityId) {
        let Some(points) = room.world.get::<Asteroid>(asteroid).map(|asteroid| asteroid.size.points()) else { return };
        self.explode_asteroid(room, asteroid, shooter.0);
        self.add_points(room, shooter, points);
    }

    fn shoot_ship(&mut self, room: &mut Context<'_>, shooter: PlayerId, player: PlayerId) {
        self.destroy_ship(room, player, shooter.0);
        self.add_points(room, shooter, SHIP_POINTS);
        let standing = self.players.get(&shooter).map(|state| state.standing);
        if let Some(standing) = standing.and_then(|standing| room.world.get_mut::<Standing>(standing)) {
            standing.kills = standing.kills.saturating_add(1);
        }
    }

    fn explode_asteroid(&mut self, room: &mut Context<'_>, id: EntityId, by: u32) {
        let Some(asteroid) = room.world.get::<Asteroid>(id) else { return };
        let kind = match asteroid.size {
            AsteroidSize::Large => ExplosionKind::Large,
            AsteroidSize::Medium => ExplosionKind::Medium,
            AsteroidSize::Small => ExplosionKind::Small,
        };
        let (position, velocity) = (asteroid.position, asteroid.velocity);
        room.broadcast(&Explosion { position, velocity, kind, by, player: 0 });
        self.field.break_up(room, id);
    }

    /// Destroys a ship. The player gets another one after a while, or the game is over.
    fn destroy_ship(&mut self, room: &mut Context<'_>, player: PlayerId, by: u32) {
        let Some(state) = self.players.get_mut(&player) else { return };
        let Some(entity) = state.ship.take() else { return };
        if let Some(ship) = room.world.get::<Ship>(entity) {
            let (position, velocity) = (ship.position, ship.velocity);
            let kind = ExplosionKind::Ship;
            room.broadcast(&Explosion { position, velocity, kind, by, player: player.0 });
        }
        room.world.despawn(entity);
        let Some(standing) = room.world.get_mut::<Standing>(state.standing) else { return };
        standing.lives = standing.lives.saturating_sub(1);
        let is_over = standing.lives == 0;
        standing.status = if is_over { PlayStatus::GameOver } else { PlayStatus::Waiting };
        state.starts_at = Tick(room.tick().0 + if is_over { GAME_OVER_TICKS } else { RESPAWN_TICKS });
        state.has_pressed = false;
        if is_over {
            self.submit(room, player);
        }
    }

    fn add_points(&mut self, room: &mut Context<'_>, player: PlayerId, points: u32) {
        let standing = self.players.get(&player).map(|state| state.standing);
        let Some(standing) = standing.and_then(|standing| room.world.get_mut::<Standing>(standing)) else { return };
        // A shot may hit after the end of its player's game, whose score is submitted already.
        if standing.status == PlayStatus::GameOver {
            return;
        }
        let score = standing.score.saturating_add(points);
        let lives = u32::from(standing.lives) + lives_earned(standing.score, score);
        standing.lives = lives.min(u32::from(LIVES_MAX)) as u8;
        standing.score = score;
    }
}

/// Returns the first target that a shot hit in its step: of several, the one nearest to the start of the step.
fn target_of(world: &World, shot: &Flown) -> Option<Target> {
    let start = [0, 1].map(|axis| shot.position[axis] - shot.path[axis]);
    let asteroids = world.each::<Asteroid>().filter_map(|(id, asteroid)| {
        let is_hit = meets(shot.position, shot.path, asteroid.position, asteroid.size.radius());
        is_hit.then(|| (gap(start, asteroid.position, asteroid.size.radius()), Target::Asteroid(id)))
    });
    let ships = vulnerable_ships(world).filter_map(|(player, position)| {
        let is_hit = player.0 != shot.player && meets(shot.position, shot.path, position, SHIP_RADIUS);
        is_hit.then(|| (gap(start, position, SHIP_RADIUS), Target::Ship(player)))
    });
    asteroids.chain(ships).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, target)| target)
}

/// Returns the distance from a position to the rim of a circle.
fn gap(from: [f32; 2], center: [f32; 2], radius: f32) -> f32 {
    let [x, y] = aether_asteroids_rules::offset(from, center);
    (x * x + y * y).sqrt() - radius
}

fn vulnerable_ships(world: &World) -> impl Iterator<Item = (PlayerId, [f32; 2])> {
    world.each::<Ship>().filter(|(_, ship)| !ship.is_protected).map(|(_, ship)| (PlayerId(ship.player), ship.position))
}
