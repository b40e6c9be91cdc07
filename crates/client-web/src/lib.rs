//! The client's core for scripts: it plays any game by the schema that the room tells, with values by name.
//!
//! [`ClientCore`] is an [`aether_client::Client`] of a [`SchemaGame`] game. What is drawn, typed and said crosses between Rust and a
//! script as **rows**: the values of a record as a list of numbers, in an order that follows from the schema alone
//! ([`RowLayout`]). So a frame costs one call for each channel that is drawn, and no names cross but once, in the
//! [`description`] of the schema. The rules that predict the own entity are the script's ([`PredictionRules`]).
//!
//! Everything but [`web`] is plain Rust and is tested as such; `web` is what wasm-bindgen exports.

mod core;
mod description;
mod game;
mod layout;
mod moving;
mod view;
pub mod web;

pub use self::core::ClientCore;
pub use description::description;
pub use game::{PredictionRules, SchemaGame, VisibilityChanges};
pub use layout::{InterpolationPath, RowLayout, RowMotion};
pub use moving::{DisplayedRows, PredictedRow};
pub use view::{ComponentRow, VisibleRows};
