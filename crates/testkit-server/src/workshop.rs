//! A game for tests: it repeats messages, panics, or never returns.

use aether_bits::Replicate;
use aether_engine::{Context, Game, GameSchemaBuilder, PlayerMessage, Rejection};
use aether_wire::{ErrorCode, PlayerId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Code of [`Say`].
pub const SAY: u16 = 0;
/// Code of [`Crash`].
pub const CRASH: u16 = 1;
/// Code of [`Hang`].
pub const HANG: u16 = 2;

/// Rooms that hang continue when this is set, so that a test can end.
pub static RELEASED: AtomicBool = AtomicBool::new(false);

/// An input with numbers.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Stick {
    /// Direction.
    #[replicate(range = -1.0..=1.0, step = 0.01)]
    pub aim: [f32; 2],
}

/// Tool of a player.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "tools", position = position)]
pub struct Tool {
    /// Position of the tool.
    #[replicate(range = -1000.0..=1000.0, step = 0.01)]
    pub position: [f32; 2],
}

/// Chat message of one player, repeated to all.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "chat")]
pub struct Say {
    /// Text of the message.
    #[replicate(text = 200)]
    pub words: String,
}

/// Makes the game panic.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "chat")]
pub struct Crash {
    /// Unused; a record needs a field.
    pub now: bool,
}

/// Makes the next tick hang.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "chat")]
pub struct Hang {
    /// Unused; a record needs a field.
    pub now: bool,
}

/// The game for tests.
#[derive(Default)]
pub struct Workshop {
    hangs: bool,
}

impl Game for Workshop {
    type Input = Stick;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration.component::<Tool>().event::<Say>().event::<Crash>().event::<Hang>()
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        if let Ok(tool) = room.world.spawn(Tool { position: [0.0; 2] }) {
            room.possess(player, tool);
        }
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Stick) {
        if let Some(tool) = room.possession(player).and_then(|tool| room.world.get_mut::<Tool>(tool)) {
            tool.position = [tool.position[0] + input.aim[0], tool.position[1] + input.aim[1]];
        }
    }

    fn message(
        &mut self,
        room: &mut Context<'_>,
        _player: PlayerId,
        message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        if let Some(Ok(say)) = message.read::<Say>() {
            room.broadcast(&say);
            return Ok(());
        }
        assert!(message.code() != CRASH, "crash on request of a player");
        self.hangs |= message.code() == HANG;
        if self.hangs { Ok(()) } else { Err(Rejection::new(ErrorCode::BadValue, "the message is not valid")) }
    }

    fn signal(&mut self, room: &mut Context<'_>, data: &[u8]) -> Vec<u8> {
        room.set_label("signalled");
        data.iter().rev().copied().collect()
    }

    fn tick(&mut self, _room: &mut Context<'_>) {
        while self.hangs && !RELEASED.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
