//! Matches: create, find, list and signal.

use crate::function::Function;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[];
