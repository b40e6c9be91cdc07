//! Outpost's rules for a browser: the very same that the server decides with, on plain numbers.
//!
//! A page keeps one [`Ground`] up to date with the structures that it sees. Then it walks on it, sees where a shot flies,
//! and learns before it asks what the server would say to a building.

mod builder;
mod ground;
mod measures;
mod shot;
mod walker;

pub use builder::{Preview, Site};
pub use ground::{Ground, Kind};
pub use measures::{Measures, cost, health, measures};
pub use shot::Shot;
pub use walker::{Steering, Walker};
