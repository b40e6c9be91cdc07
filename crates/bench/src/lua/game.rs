//! The game of the benchmark in Rust: the same as `duel.lua`.

use aether_engine::{Context, Game, GameSchemaBuilder, PlayerMessage, Rejection};
use aether_wire::{CloseReason, ErrorCode, PlayerId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Op code of positions.
const POSITIONS: u16 = 2;
/// Largest coordinate.
const EDGE: f64 = 1_000.0;

/// Match whose members send moves and get all positions.
#[derive(Default)]
pub struct Duel {
    players: BTreeMap<String, Position>,
}

#[derive(Default, Deserialize, Serialize)]
struct Position {
    x: f64,
    y: f64,
}

impl Game for Duel {
    type Input = crate::games::Steps;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let user = room.user(player).unwrap_or_default().to_owned();
        self.players.insert(user, Position::default());
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        self.players.remove(room.user(player).unwrap_or_default());
    }

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &crate::games::Steps) {}

    fn message(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        let moved: Position = serde_json::from_slice(message.payload())
            .map_err(|_| Rejection::new(ErrorCode::BadMessage, "the move is no JSON"))?;
        if let Some(position) = self.players.get_mut(room.user(player).unwrap_or_default()) {
            position.x = (position.x + moved.x).clamp(-EDGE, EDGE);
            position.y = (position.y + moved.y).clamp(-EDGE, EDGE);
        }
        Ok(())
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        if let Ok(positions) = serde_json::to_vec(&self.players) {
            room.broadcast_data(POSITIONS, positions, None);
        }
    }
}
