//! Permissions of an account.

/// Permissions of a player beyond playing. They depend only on the role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Spawn, clear and stress-test.
    pub playground: bool,
    /// See more of the manifest, and read the admin API.
    pub inspect: bool,
    /// Ban, unban and sign out players and change their roles, by the admin API.
    pub manage: bool,
}
