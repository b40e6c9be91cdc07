//! Handlers of operations, and the context of a call.

use super::modules::Registered;
use crate::caller::{CallContext, Caller, UserIdentity};
use crate::error::{GrpcCode, ServiceError, TOKEN_REQUIRED};
use crate::router::SocketSession;
use crate::services::Services;
use crate::session::tokens::Role;
use aether_messages::Operation;
use std::sync::Arc;
use uuid::Uuid;

const SOCKET_REQUIRED: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "This operation needs a socket. Send it over /ws.");

/// Operation with a handler.
pub trait Serve: Operation {
    /// Access that a caller needs.
    const ACCESS: Access = Access::Session;

    /// Kind of work, for rate limits.
    const PRESET: RatePreset = RatePreset::Write;

    /// Upper bound of an answer in bytes, as JSON.
    const ANSWER_BYTES_MAX: usize = super::limits::ANSWER_BYTES_MAX;

    /// Bytes of an answer that are in memory at a time, if it is streamed: produced while it is sent. 0 for others.
    const STREAMED_BYTES: usize = 0;

    /// Returns how many blocks of [`ANSWER_BLOCK_BYTES`](super::ANSWER_BLOCK_BYTES) the answer may need. Interfaces bound
    /// the sum over all running calls. 0 for answers that are always small.
    fn answer_blocks(_request: &Self::Request) -> u32 {
        0
    }

    /// Handles a call whose hooks have run.
    fn serve(
        call: &Call<'_>,
        request: Self::Request,
    ) -> impl Future<Output = Result<Self::Answer, ServiceError>> + Send;
}

/// Access that an operation requires. Server code may call all operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Everyone.
    Everyone,
    /// Holders of the server key, which is in every copy of the game.
    ServerKey,
    /// Signed-in users.
    Session,
    /// Signed-in users, and holders of the HTTP key, who have no account.
    SessionOrHttpKey,
    /// The operator, by the admin key or on this machine.
    Operator,
    /// Holders of the admin key, and accounts with the permission `inspect`.
    Inspect,
    /// Holders of the admin key, and accounts whose role moderates: `moderator` and `admin`.
    Moderate,
    /// Holders of the admin key, and accounts with the permission `manage`.
    Manage,
}

impl Access {
    /// Returns the name used in descriptions.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Access::Everyone => "everyone",
            Access::ServerKey => "server_key",
            Access::Session => "session",
            Access::SessionOrHttpKey => "session_or_http_key",
            Access::Operator => "operator",
            Access::Inspect => "inspect",
            Access::Moderate => "moderate",
            Access::Manage => "manage",
        }
    }

    /// Rejects a caller without this access.
    pub(super) fn check(self, caller: &Caller) -> Result<(), ServiceError> {
        match (self, caller) {
            (_, Caller::Server)
            | (Access::Everyone | Access::ServerKey | Access::SessionOrHttpKey, _)
            | (Access::Session, Caller::User(_)) => Ok(()),
            (Access::Session, Caller::Anonymous) => Err(TOKEN_REQUIRED),
            (Access::Inspect | Access::Moderate | Access::Manage, Caller::User(identity))
                if self.is_permitted(identity.role) =>
            {
                Ok(())
            }
            (Access::Operator | Access::Inspect | Access::Moderate | Access::Manage, _) => Err(super::OPERATOR_ONLY),
        }
    }

    /// Returns true if a role has the permission for this access. The operator needs none.
    #[must_use]
    pub fn is_permitted(self, role: Role) -> bool {
        match self {
            Access::Everyone | Access::ServerKey | Access::Session | Access::SessionOrHttpKey => true,
            Access::Inspect => role.permissions().inspect,
            Access::Moderate => role.can_moderate(),
            Access::Manage => role.permissions().manage,
            Access::Operator => false,
        }
    }
}

/// Kind of work of an operation, for rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RatePreset {
    /// Small read.
    Read,
    /// Small write.
    Write,
    /// Message to other players.
    Message,
    /// Sign-in, or use of a code.
    Login,
    /// Request to another service, password hash, or work over all data of a user.
    Expensive,
}

impl RatePreset {
    /// All presets.
    pub const ALL: [RatePreset; 5] =
        [RatePreset::Read, RatePreset::Write, RatePreset::Message, RatePreset::Login, RatePreset::Expensive];

    /// Returns the name used in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RatePreset::Read => "read",
            RatePreset::Write => "write",
            RatePreset::Message => "message",
            RatePreset::Login => "login",
            RatePreset::Expensive => "expensive",
        }
    }
}

/// Context of one call.
pub struct Call<'a> {
    /// Services.
    pub services: &'a Arc<Services>,
    /// Caller and address.
    pub context: &'a Arc<CallContext>,
    /// Modules registered at the start of the call.
    pub(super) registered: &'a Arc<Registered>,
}

impl Call<'_> {
    /// Returns the identity of the caller, or an error if it is not a user.
    pub fn identity(&self) -> Result<&Arc<UserIdentity>, ServiceError> {
        self.context.caller.user().ok_or(TOKEN_REQUIRED)
    }

    /// Returns the socket session of the call, or an error if it came over no socket.
    pub fn socket(&self) -> Result<Uuid, ServiceError> {
        self.context.socket.ok_or(SOCKET_REQUIRED)
    }

    /// Returns the connected session of the call, or an error if it came over no socket.
    pub fn socket_session(&self) -> Result<SocketSession, ServiceError> {
        self.services.router.session(self.socket()?).ok_or(SOCKET_REQUIRED)
    }

    /// Returns the account that owns what the call writes: that of the caller, or the one that server code names.
    pub fn owner(&self) -> Result<Uuid, ServiceError> {
        match &self.context.caller {
            Caller::User(identity) => Ok(identity.user),
            Caller::Server => self.context.account.ok_or(TOKEN_REQUIRED),
            Caller::Anonymous => Err(TOKEN_REQUIRED),
        }
    }

    /// Returns the caller.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.context.caller
    }
}
