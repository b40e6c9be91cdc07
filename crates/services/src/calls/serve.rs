//! An operation with its handler: what the table calls.

use super::modules::Registered;
use crate::caller::{CallContext, Caller, UserIdentity};
use crate::refusal::{ServiceError, TOKEN_REQUIRED};
use crate::services::Services;
use aether_messages::Operation;
use std::sync::Arc;

/// An operation that is served.
pub trait Serve: Operation {
    /// Access that a caller needs.
    const ACCESS: Access = Access::Session;

    /// Which kind of work it is, by which calls of clients are limited.
    const PRESET: RatePreset = RatePreset::Write;

    /// Handles a call whose hooks have run.
    fn serve(
        call: &Call<'_>,
        request: Self::Request,
    ) -> impl Future<Output = Result<Self::Answer, ServiceError>> + Send;
}

/// Access that an operation asks for. The server's own code may call all operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Everyone.
    Everyone,
    /// Whoever has the server key, which is in every copy of the game.
    ServerKey,
    /// A user who is signed in.
    Session,
    /// The operator of the server.
    Operator,
}

impl Access {
    /// Its name in descriptions.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Access::Everyone => "everyone",
            Access::ServerKey => "server_key",
            Access::Session => "session",
            Access::Operator => "operator",
        }
    }

    /// Refuses a caller who may not call an operation of this access.
    pub(super) fn check(self, caller: &Caller) -> Result<(), ServiceError> {
        match (self, caller) {
            (_, Caller::Server) | (Access::Everyone | Access::ServerKey, _) | (Access::Session, Caller::User(_)) => {
                Ok(())
            }
            (Access::Session, Caller::Stranger) => Err(TOKEN_REQUIRED),
            (Access::Operator, Caller::Stranger | Caller::User(_)) => Err(super::OPERATOR_ONLY),
        }
    }
}

/// Kind of work that an operation is, by which calls of clients are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RatePreset {
    /// Reads a little.
    Read,
    /// Writes a little.
    Write,
    /// Lets someone in, or takes a code.
    Login,
    /// Asks another service, hashes a password, or goes through all that someone has.
    Expensive,
}

impl RatePreset {
    /// All of them.
    pub const ALL: [RatePreset; 4] = [RatePreset::Read, RatePreset::Write, RatePreset::Login, RatePreset::Expensive];

    /// Its name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RatePreset::Read => "read",
            RatePreset::Write => "write",
            RatePreset::Login => "login",
            RatePreset::Expensive => "expensive",
        }
    }
}

/// One call of an operation.
pub struct Call<'a> {
    /// The services.
    pub services: &'a Arc<Services>,
    /// Caller and address.
    pub context: &'a Arc<CallContext>,
    /// The modules that were registered when the call began.
    pub(super) registered: &'a Arc<Registered>,
}

impl Call<'_> {
    /// The user who asks.
    pub fn identity(&self) -> Result<&Arc<UserIdentity>, ServiceError> {
        self.context.caller.user().ok_or(TOKEN_REQUIRED)
    }

    /// Returns the caller.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.context.caller
    }
}
