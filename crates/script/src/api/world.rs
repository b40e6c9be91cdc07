//! Entities of a match on the realtime path.

use crate::function::Function;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[];
