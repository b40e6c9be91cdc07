//! A game whose rooms take long to build.

use aether_bits::Replicate;
use aether_engine::{Context, Game, GameSchemaBuilder};
use aether_wire::PlayerId;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Number of rooms that are being built.
pub static BUILDING: AtomicU32 = AtomicU32::new(0);

/// Time that [`SlowStart::init`] takes.
pub const INIT_TIME: Duration = Duration::from_secs(2);

/// An empty input.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Nothing {
    /// Unused; a record needs a field.
    pub value: bool,
}

/// A game whose `init` takes [`INIT_TIME`].
#[derive(Default)]
pub struct SlowStart;

impl Game for SlowStart {
    type Input = Nothing;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration
    }

    fn init(&mut self, _room: &mut Context<'_>) {
        BUILDING.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(INIT_TIME);
        BUILDING.fetch_sub(1, Ordering::Relaxed);
    }

    fn join(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Nothing) {}

    fn tick(&mut self, _room: &mut Context<'_>) {}
}
