//! Rules of Outpost for a browser: the server's rules, on plain numbers.
//!
//! A page updates one [`Ground`] with the visible structures. With it, the page predicts walking and shots, and
//! previews the server's answer to building.

mod builder;
mod ground;
mod measures;
mod shot;
mod walker;

pub use builder::{Site, WebPreview};
pub use ground::{Ground, StructureKind};
pub use measures::{Measures, cost, health, measures};
pub use shot::WebShot;
pub use walker::{Steering, Walker};
