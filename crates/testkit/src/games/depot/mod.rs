//! A depot: carts that players drive, a crane, and a board. The same game is there twice, [`Depot`] with derived types
//! and [`RuntimeDepot`] with a schema that is made at run time, and both do the same to the last bit. It has a field of
//! every kind, an input, events and messages, entries, requests and checkpoints.

mod runtime;
mod typed;

pub use runtime::RuntimeDepot;
pub use typed::{Board, Cart, Chat, Crane, Depot, Drive, Hook, Lift, Mode, Score, Scored};

/// The code of [`Chat`].
pub const CHAT: u16 = 0;
/// The code of [`Lift`].
pub const LIFT: u16 = 1;
/// The code of [`Scored`].
pub const SCORED: u16 = 2;

/// The depot ends here on every side.
const EDGE: f32 = 500.0;
/// Units a second that a full push gives.
const SPEED: f32 = 20.0;
/// The charge at which a cart scores.
const CHARGE_FULL: f32 = 12.0;
/// The most scores on the board.
const SCORES_MAX: usize = 4;
/// The most readings on the board.
const READINGS_MAX: usize = 6;
/// The most points of one player.
const POINTS_MAX: i64 = 1_000;

/// A position after a tick.
fn moved(position: [f32; 2], velocity: [f32; 2], seconds: f32) -> [f32; 2] {
    [0, 1].map(|axis: usize| (position[axis] + velocity[axis] * seconds).clamp(-EDGE, EDGE))
}

/// The turn of the crane's arm at a tick.
fn arm_at(tick: u32) -> [f32; 4] {
    [(tick % 7) as f32, (tick % 5) as f32 - 2.0, (tick % 11) as f32 - 5.0, 4.0]
}

/// The direction of the crane's gaze at a tick.
fn gaze_at(tick: u32) -> [f32; 3] {
    [(tick % 9) as f32 - 4.0, 1.0, (tick % 13) as f32 - 6.0]
}
