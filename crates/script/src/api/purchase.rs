//! Purchases and subscriptions.

use crate::function::Function;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[];
