//! Sign-in of users, and links of accounts with devices, emails and identity providers.

use crate::function::Function;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[];
