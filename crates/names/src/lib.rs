//! Names that people choose and others read.
//!
//! [`check`] rejects characters that nobody sees or that change the text around them. [`NameKeys`] are equal for names
//! that look alike. [`shortened`] cuts a name that is longer than a game shows.

mod characters;
mod keys;
mod shorten;

pub use characters::{BadCharacter, check, cleaned};
pub use keys::NameKeys;
pub use shorten::shortened;
