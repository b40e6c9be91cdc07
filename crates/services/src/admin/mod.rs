//! Operations on players for operators: shown, banned, unbanned, signed out, given a role.

pub mod operation;
pub(crate) mod serve;
