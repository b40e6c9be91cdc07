//! Users, and changes of several things at once.

use crate::function::Function;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[];
