//! The visible world at the moment of the own ship.
//!
//! The own ship is predicted, so it is ahead of the state that arrives. Asteroids and shots move straight: they are
//! moved ahead to the same moment, so that they collide where they are drawn. Ships of other players are drawn where they
//! were a moment ago, because nobody knows what their players do next.

use crate::client_game::{AsteroidsClient, Drawn, OwnShip};
use aether::prelude::*;
use aether_asteroids_rules::{
    Asteroid, HighScore, HighScores, SHOT_STEPS, STEP_SECONDS, Ship, Shot, Standing, TICK_HZ, Wave, wrapped,
};

/// Ticks for which an own shot is shown beyond the moment at which the server's should arrive.
const GHOST_TICKS: u32 = 3;

/// The visible world.
#[derive(Debug, Default)]
pub struct Scene {
    /// Own ship.
    pub own: Option<Ship>,
    /// Ships of other players.
    pub others: Vec<Ship>,
    /// Asteroids.
    pub asteroids: Vec<SeenAsteroid>,
    /// Shots.
    pub shots: Vec<Shot>,
    /// Players, in the order of their scores.
    pub standings: Vec<Standing>,
    /// Current wave.
    pub wave: Option<Wave>,
    /// High scores, highest first.
    pub high_scores: Vec<HighScore>,
    /// Number of the own player.
    pub player: u32,
    /// Time of the client, in seconds.
    pub seconds: f32,
}

/// An asteroid with its entity, which decides its look.
#[derive(Debug)]
pub struct SeenAsteroid {
    /// Number that differs between asteroids.
    pub key: u64,
    /// The asteroid.
    pub asteroid: Asteroid,
}

/// Own shots that have been fired, but have not arrived from the server yet.
#[derive(Debug, Default)]
pub struct FiredShots {
    shots: Vec<(Shot, Tick, Tick)>,
    reload_before: u8,
}

impl Scene {
    /// Reads the world from the client.
    pub fn of(client: &Client<AsteroidsClient>, fired: &FiredShots) -> Scene {
        let mut scene = Scene {
            player: client.welcome().map_or(0, |welcome| welcome.player.0),
            seconds: client.tick().0 as f32 * STEP_SECONDS,
            own: client.own_state().map(|OwnShip(ship)| ship),
            ..Scene::default()
        };
        let Some(mirror) = client.mirror() else { return scene };
        let stats = client.stats();
        let displayed_lead = stats.lead_ticks as f32 * STEP_SECONDS + stats.delay.as_secs_f32();
        let newest_lead = client.tick().0.saturating_sub(mirror.tick().0) as f32 * STEP_SECONDS;
        for entity in mirror.entities() {
            match client.entity(entity) {
                Some(Drawn::Ship(ship)) if Some(entity) != client.own_entity() => scene.others.push(ship),
                Some(Drawn::Ship(_)) => {}
                Some(Drawn::Asteroid(asteroid)) => scene.add_asteroid(entity, asteroid, displayed_lead),
                Some(Drawn::Shot(shot)) => scene.add_shot(shot, displayed_lead),
                // New entities are drawn at once, before the displayed time reaches them.
                None => scene.add_new(mirror, entity, newest_lead),
            }
        }
        scene.shots.extend(fired.shots.iter().map(|(shot, ..)| shot.clone()));
        scene.standings.sort_by(|a, b| b.score.cmp(&a.score).then(a.player.cmp(&b.player)));
        scene
    }

    /// Own player.
    pub fn standing(&self) -> Option<&Standing> {
        self.standing_of(self.player)
    }

    /// Player of a number.
    pub fn standing_of(&self, player: u32) -> Option<&Standing> {
        self.standings.iter().find(|standing| standing.player == player)
    }

    fn add_new(&mut self, mirror: &Mirror, entity: EntityId, lead: f32) {
        if let Some(asteroid) = mirror.get::<Asteroid>(entity) {
            self.add_asteroid(entity, asteroid.clone(), lead);
        } else if let Some(shot) = mirror.get::<Shot>(entity) {
            self.add_shot(shot.clone(), lead);
        } else if let Some(standing) = mirror.get::<Standing>(entity) {
            self.standings.push(standing.clone());
        } else if let Some(wave) = mirror.get::<Wave>(entity) {
            self.wave = Some(wave.clone());
        } else if let Some(scores) = mirror.get::<HighScores>(entity) {
            self.high_scores.clone_from(&scores.rows);
        }
    }

    fn add_asteroid(&mut self, entity: EntityId, mut asteroid: Asteroid, lead: f32) {
        asteroid.position = ahead(asteroid.position, asteroid.velocity, lead);
        self.asteroids.push(SeenAsteroid { key: key_of(entity), asteroid });
    }

    fn add_shot(&mut self, mut shot: Shot, lead: f32) {
        shot.position = ahead(shot.position, shot.velocity, lead);
        self.shots.push(shot);
    }
}

impl FiredShots {
    /// Adds a shot if the predicted ship has fired since the last frame, and moves the others.
    pub fn update(&mut self, client: &Client<AsteroidsClient>) {
        let now = client.tick();
        let Some(OwnShip(ship)) = client.predicted_state() else {
            *self = FiredShots::default();
            return;
        };
        for (shot, moved_at, _) in &mut self.shots {
            let seconds = now.0.saturating_sub(moved_at.0) as f32 * STEP_SECONDS;
            (shot.position, *moved_at) = (ahead(shot.position, shot.velocity, seconds), now);
        }
        self.shots.retain(|(_, _, until)| *until > now);
        // Reloading only counts down, except with a shot.
        if ship.reload > self.reload_before {
            let arrived = client.mirror().map_or(now, Mirror::tick);
            let way = now.0.saturating_sub(arrived.0).min(u32::from(SHOT_STEPS)) + GHOST_TICKS;
            self.shots.push((ship.fire(), now, Tick(now.0 + way.min(TICK_HZ))));
        }
        self.reload_before = ship.reload;
    }
}

fn ahead(position: [f32; 2], velocity: [f32; 2], seconds: f32) -> [f32; 2] {
    wrapped([0, 1].map(|axis| position[axis] + velocity[axis] * seconds))
}

fn key_of(entity: EntityId) -> u64 {
    u64::from(entity.generation) << 32 | u64::from(entity.slot)
}
