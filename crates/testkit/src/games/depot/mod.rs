//! A depot with carts that players drive, a crane and a board. The game exists twice: [`Depot`] with derived types and
//! [`RuntimeDepot`] with a schema that is built at run time. Both produce identical bits. It has fields of every kind,
//! an input, events, messages, entries, requests and checkpoints.

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

/// Edge of the depot on every side.
const EDGE: f32 = 500.0;
/// Speed of a full push, in units per second.
const SPEED: f32 = 20.0;
/// The charge at which a cart scores.
const CHARGE_FULL: f32 = 12.0;
/// Maximum number of scores on the board.
const SCORES_MAX: usize = 4;
/// Maximum number of readings on the board.
const READINGS_MAX: usize = 6;
/// Maximum points of one player.
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
