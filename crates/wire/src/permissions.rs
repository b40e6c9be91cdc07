//! Permissions of an account.

/// What a player may do beyond playing. It comes from the account's role and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Spawn, clear and stress-test.
    pub playground: bool,
    /// See more of the manifest.
    pub inspect: bool,
}
