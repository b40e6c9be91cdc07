//! Names that people choose and others read.
//!
//! [`check`] rejects characters that nobody sees or that change the text around them. [`NameKeys`] are equal for names
//! that look alike.

mod characters;
mod keys;

pub use characters::{BadCharacter, check, cleaned};
pub use keys::NameKeys;
