//! Permissions of an account.

/// Permissions of a player beyond playing. They depend only on the role of the account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Spawn, clear and stress-test.
    pub playground: bool,
    /// See more of the manifest.
    pub inspect: bool,
}
