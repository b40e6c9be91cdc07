//! A game that does what tests need: it repeats what it hears, panics, or never returns.

use aether_bits::Replicate;
use aether_engine::{Context, Game, GameSchemaBuilder, PlayerMessage, Rejection};
use aether_wire::{ErrorCode, PlayerId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The code of [`Say`].
pub const SAY: u16 = 0;
/// The code of [`Crash`].
pub const CRASH: u16 = 1;
/// The code of [`Hang`].
pub const HANG: u16 = 2;

/// Rooms that hang go on when this is set, so that a test can end.
pub static RELEASED: AtomicBool = AtomicBool::new(false);

/// An input with numbers.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Stick {
    /// Where it points.
    #[replicate(range = -1.0..=1.0, step = 0.01)]
    pub aim: [f32; 2],
}

/// Where a player's tool is.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "tools", position = position)]
pub struct Tool {
    /// Where it is.
    #[replicate(range = -1000.0..=1000.0, step = 0.01)]
    pub position: [f32; 2],
}

/// Said by one player, repeated to all.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "chat")]
pub struct Say {
    /// The words.
    #[replicate(text = 200)]
    pub words: String,
}

/// The game panics.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "chat")]
pub struct Crash {
    /// Not needed, but a record has a field.
    pub now: bool,
}

/// The next tick does not return.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "chat")]
pub struct Hang {
    /// Not needed, but a record has a field.
    pub now: bool,
}

/// The game.
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
        assert!(message.code() != CRASH, "a player asked for it");
        self.hangs |= message.code() == HANG;
        if self.hangs { Ok(()) } else { Err(Rejection::new(ErrorCode::BadValue, "that cannot be read")) }
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
