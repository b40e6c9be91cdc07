//! The game.

use crate::asteroid_field::{AsteroidField, clear_position};
use crate::high_scores::ScoreBoard;
use crate::player_state::PlayerState;
use aether::names::shortened;
use aether::prelude::*;
use aether_asteroids_rules::{
    Asteroid, Controls, Explosion, HighScores, LIVES_START, NAME_BYTES_MAX, PROTECTED_TICKS, PlayStatus, Ship, Shot,
    Standing, TICK_HZ, Wave, steer,
};
use std::collections::BTreeMap;

/// Time without inputs after which a ship drifts on: half a second.
const COAST_TICKS: u32 = TICK_HZ / 2;

/// Asteroids.
#[derive(Default)]
pub struct Asteroids {
    pub(crate) players: BTreeMap<PlayerId, PlayerState>,
    pub(crate) field: AsteroidField,
    high_scores: ScoreBoard,
}

impl Game for Asteroids {
    type Input = Controls;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration
            .component::<Ship>()
            .component::<Asteroid>()
            .component::<Shot>()
            .component::<Standing>()
            .component::<Wave>()
            .component::<HighScores>()
            .event::<Explosion>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        room.set_label(crate::NAME);
        self.field.reset(room);
        self.high_scores.update(room);
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let account = room.user(player).unwrap_or_default().to_owned();
        let name = shortened(room.name(player).unwrap_or_default(), NAME_BYTES_MAX).into_owned();
        // A room for its number of players has room for them.
        let Ok(standing) = room.world.spawn(Standing::new(player.0, &name)) else { return room.kick(player) };
        self.players.insert(player, PlayerState::new(account, standing, room.tick()));
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        self.submit(room, player);
        let Some(state) = self.players.remove(&player) else { return };
        for entity in state.ship.into_iter().chain([state.standing]) {
            room.world.despawn(entity);
        }
        if self.players.is_empty() {
            self.field.reset(room);
        }
    }

    fn resumed(&mut self, _room: &mut Context<'_>, player: PlayerId) {
        if let Some(state) = self.players.get_mut(&player) {
            (state.is_firing, state.has_pressed) = (false, false);
        }
    }

    /// One input is one step, whenever it arrives, so that predictions match.
    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Controls) {
        let Some(state) = self.players.get_mut(&player) else { return };
        state.input_at = room.tick();
        state.has_pressed |= input.fire && !state.is_firing;
        state.is_firing = input.fire;
        let Some(ship) = state.ship.and_then(|ship| room.world.get_mut::<Ship>(ship)) else { return };
        if steer(ship, input).fired {
            let shot = ship.fire();
            // In a full room nothing is fired.
            let _ = room.world.spawn(shot);
        }
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        self.coast(room);
        self.field.update(room);
        self.fly(room);
        self.crash(room);
        self.end_protection(room);
        self.start_games(room);
        self.spawn_ships(room);
        self.high_scores.update(room);
    }

    fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        self.high_scores.answer(room, id, answer);
    }

    /// Submits the scores of all players, as if they had left.
    fn terminate(&mut self, room: &mut Context<'_>) {
        let players: Vec<PlayerId> = self.players.keys().copied().collect();
        for player in players {
            self.submit(room, player);
        }
    }

    fn signal(&mut self, room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        let (players, wave) = (self.players.len(), self.field.number());
        format!("{players} players, wave {wave}, {} entities", room.world.len()).into_bytes()
    }

    fn hash(&self, hasher: &mut StateHasher) {
        for (player, state) in &self.players {
            hasher.word(u64::from(player.0));
            state.hash(hasher);
        }
        self.field.hash(hasher);
    }
}

impl Asteroids {
    /// Submits a player's score, if it has grown since it was last submitted.
    pub(crate) fn submit(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let Some(state) = self.players.get_mut(&player) else { return };
        let score = room.world.get::<Standing>(state.standing).map_or(0, |standing| standing.score);
        if !state.account.is_empty() && score > state.submitted {
            state.submitted = score;
            self.high_scores.submit(room, &state.account, score);
        }
    }

    /// Moves the ships of players who send no inputs, such as after a lost connection.
    fn coast(&mut self, room: &mut Context<'_>) {
        let now = room.tick().0;
        for state in self.players.values().filter(|state| now > state.input_at.0 + COAST_TICKS) {
            if let Some(ship) = state.ship.and_then(|ship| room.world.get_mut::<Ship>(ship)) {
                steer(ship, &Controls::default());
            }
        }
    }

    fn end_protection(&mut self, room: &mut Context<'_>) {
        let now = room.tick();
        for state in self.players.values().filter(|state| state.protected_until == now) {
            if let Some(ship) = state.ship.and_then(|ship| room.world.get_mut::<Ship>(ship)) {
                ship.is_protected = false;
            }
        }
    }

    /// Starts new games of players who press the trigger after the end of the last one. If nobody else plays, the waves
    /// begin anew.
    fn start_games(&mut self, room: &mut Context<'_>) {
        let now = room.tick();
        for player in self.players.keys().copied().collect::<Vec<_>>() {
            let Some(state) = self.players.get_mut(&player) else { continue };
            let has_pressed = std::mem::take(&mut state.has_pressed);
            let is_over = |standing: &Standing| standing.status == PlayStatus::GameOver;
            if !has_pressed || now < state.starts_at || !room.world.get::<Standing>(state.standing).is_some_and(is_over)
            {
                continue;
            }
            (state.starts_at, state.submitted) = (now, 0);
            if room.world.each::<Standing>().all(|(_, standing)| is_over(standing)) {
                self.field.reset(room);
            }
            let Some(standing) = self.players.get(&player).map(|state| state.standing) else { continue };
            if let Some(standing) = room.world.get_mut::<Standing>(standing) {
                (standing.score, standing.lives, standing.status) = (0, LIVES_START, PlayStatus::Waiting);
            }
        }
    }

    /// Spawns the ships that are due, far from asteroids.
    fn spawn_ships(&mut self, room: &mut Context<'_>) {
        let now = room.tick();
        for (player, state) in
            self.players.iter_mut().filter(|(_, state)| state.ship.is_none() && state.starts_at <= now)
        {
            let is_waiting = |standing: &Standing| standing.status == PlayStatus::Waiting;
            if !room.world.get::<Standing>(state.standing).is_some_and(is_waiting) {
                continue;
            }
            let asteroids: Vec<[f32; 2]> =
                room.world.each::<Asteroid>().map(|(_, asteroid)| asteroid.position).collect();
            let position = clear_position(room.random, &asteroids);
            // In a full room it is tried again in the next tick.
            let Ok(ship) = room.world.spawn(Ship { is_protected: true, ..Ship::at(position, player.0) }) else {
                return;
            };
            state.ship = Some(ship);
            state.protected_until = Tick(now.0 + PROTECTED_TICKS);
            room.possess(*player, ship);
            if let Some(standing) = room.world.get_mut::<Standing>(state.standing) {
                standing.status = PlayStatus::Flying;
            }
        }
    }
}
