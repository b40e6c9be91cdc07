//! The client's core for scripts: it plays any game by the schema that the room tells, with values by name.
//!
//! [`Core`] is an [`aether_client::Client`] of a [`Scripted`] game. What is drawn, typed and said crosses between Rust and a
//! script as **rows**: the values of a record as a list of numbers, in an order that follows from the schema alone
//! ([`Layout`]). So a frame costs one call for each channel that is drawn, and no names cross but once, in the
//! [`description`] of the schema. The rules that predict the own entity are the script's ([`Rules`]).
//!
//! Everything but [`web`] is plain Rust and is tested as such; `web` is what wasm-bindgen exports.

mod core;
mod description;
mod game;
mod layout;
mod moving;
mod view;
pub mod web;

pub use self::core::Core;
pub use description::description;
pub use game::{Rules, Scripted, Seen};
pub use layout::{Layout, Motion, Way};
pub use moving::{Predicted, Shown};
pub use view::{Row, View};
