//! Client core for scripts: it plays any game by the schema that the room sends.
//!
//! [`ClientCore`] is an [`aether_client::Client`] of a [`SchemaGame`]. States, inputs and messages cross between Rust
//! and the script as **rows**: the values of a record as a list of numbers, in an order that follows from the schema
//! ([`RowLayout`]). A frame costs one call per drawn channel, and names cross only once, in the [`description`] of the
//! schema. The script provides the rules that predict the own entity ([`PredictionRules`]).
//!
//! Everything except [`web`] is plain Rust and tested as such; `web` is exported by wasm-bindgen.

mod core;
mod description;
mod game;
mod layout;
mod rows;
mod visible_rows;
pub mod web;

pub use self::core::ClientCore;
pub use description::description;
pub use game::{PredictionRules, SchemaGame, VisibilityChanges};
pub use layout::{InterpolationPath, RowLayout, RowMotion};
pub use rows::{DisplayedRows, PredictedRow};
pub use visible_rows::{ComponentRow, VisibleRows};
