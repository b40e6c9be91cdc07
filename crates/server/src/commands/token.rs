//! `aether token`: prints a development token with a role, for a server on this machine.

use crate::config::{Config, ConfigArguments, ConfigError};
use crate::keys::{KeyError, KeyRing};
use crate::tokens::{Claims, Role, Tokens, VALID_SECONDS_MAX};
use aether_wire::limits::NAME_BYTES_MAX;
use std::fmt;
use uuid::Uuid;

/// Flags of `aether token`.
#[derive(clap::Args, Clone, Debug)]
pub struct TokenArguments {
    /// Configuration file and flags.
    #[command(flatten)]
    pub config: ConfigArguments,
    /// Role of the token: admin, developer, moderator, read-only or player
    #[arg(long, default_value = "developer")]
    pub role: Role,
    /// Name of the user
    #[arg(long, default_value = "developer")]
    pub name: String,
    /// Id of the user [default: random]
    #[arg(long, value_name = "UUID")]
    pub user: Option<Uuid>,
    /// Validity of the token, in seconds
    #[arg(long, default_value_t = 86_400, value_parser = clap::value_parser!(u32).range(1..=VALID_SECONDS_MAX as i64))]
    pub seconds: u32,
}

/// Reason why no token was made.
#[derive(Debug)]
pub enum TokenCommandError {
    /// The configuration is invalid.
    Config(ConfigError),
    /// The configured server accepts no development tokens.
    NotAccepted,
    /// The name is too long.
    Name,
    /// The signing keys cannot be read or created.
    Keys(KeyError),
}

impl TokenArguments {
    /// Returns a token signed by the development key of the data folder. `now` is in seconds since 1970.
    pub fn run(&self, now: u64) -> Result<String, TokenCommandError> {
        self.sign(&self.config.load().map_err(TokenCommandError::Config)?, now)
    }

    /// Returns a token as [`TokenArguments::run`] does, for a given configuration.
    pub fn sign(&self, config: &Config, now: u64) -> Result<String, TokenCommandError> {
        if !config.accepts_development() {
            return Err(TokenCommandError::NotAccepted);
        }
        if self.name.len() > NAME_BYTES_MAX {
            return Err(TokenCommandError::Name);
        }
        let ring = KeyRing::open(&config.data_dir, now).map_err(TokenCommandError::Keys)?;
        let user = self.user.unwrap_or_else(Uuid::new_v4);
        let claims = Claims::new(user, &self.name, now, self.seconds).with_role(self.role);
        Ok(Tokens::new(ring, &config.tokens.audience).sign(&claims))
    }
}

impl fmt::Display for TokenCommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(formatter),
            Self::NotAccepted => formatter.write_str(
                "The configured server accepts no development tokens: serve on loopback without trusted proxies, and do \
                 not set tokens.accept_development to false.",
            ),
            Self::Name => write!(formatter, "The name is longer than {NAME_BYTES_MAX} bytes; use a shorter --name."),
            Self::Keys(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for TokenCommandError {}
