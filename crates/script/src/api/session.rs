//! Sessions of users.

use crate::arguments::Arguments;
use crate::function::{Function, Outcome, optional, required};
use crate::scripts::ScriptServices;
use aether_services::{GrpcCode, ServiceError};
use aether_wire::CloseReason;

/// Text for the client whose session is disconnected.
const DISCONNECTED: &str = "disconnected by the server";
const NOT_CONNECTED: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "The session is not connected. Its socket may have closed.");

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("session_disconnect", |used, args| Box::pin(disconnect(used, args)))
        .about("Closes the socket of a session. The session itself stays valid.")
        .parameters(&[
            required("sessionID", "string", "Id of the socket session, as in the context and in presences."),
            optional("reason", "number", "Reason of Nakama, from 0 to 4; without an effect."),
        ]),
    Function::service("session_logout", |used, args| Box::pin(log_out(used, args)))
        .about("Ends the sessions of the given tokens, or all sessions of a user if both are nil.")
        .parameters(&[
            required("userID", "string", "User."),
            optional("token", "string", "Access token."),
            optional("refreshToken", "string", "Refresh token."),
        ]),
];

async fn disconnect(used: ScriptServices, args: Arguments) -> Outcome {
    if !(0..=4).contains(&args.optional_integer(1)?.unwrap_or(0)) {
        return Err(args.expected(1, "a reason from 0 to 4"));
    }
    match used.services.router.disconnect(args.id(0)?, CloseReason::Kicked, DISCONNECTED) {
        true => Ok(Vec::new()),
        false => Err(NOT_CONNECTED.into()),
    }
}

async fn log_out(used: ScriptServices, args: Arguments) -> Outcome {
    let (access, refresh) = (args.optional_text(1)?, args.optional_text(2)?);
    used.services.sessions.log_out(args.id(0)?, access.unwrap_or_default(), refresh.unwrap_or_default()).await?;
    Ok(Vec::new())
}
