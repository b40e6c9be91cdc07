//! Status of users.

use super::stream::presence;
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::router::SocketSession;
use aether_services::{GrpcCode, ServiceError, status};

const NOT_CONNECTED: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "The session is not connected. Its socket may have closed.");

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

const SESSION: Parameter = required("sessionID", "string", "Id of the socket session.");
const USERS: Parameter = required("userIDs", "{string}", "Users.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("status_follow", |used, args| Box::pin(follow(used, args)))
        .about("Lets a session follow the status of users. Returns their current statuses.")
        .parameters(&[SESSION, USERS])
        .returns("{StreamPresence}"),
    Function::service("status_unfollow", |used, args| Box::pin(unfollow(used, args)))
        .about("Lets a session no longer follow the status of users.")
        .parameters(&[SESSION, USERS]),
];

async fn follow(used: ScriptServices, args: Arguments) -> Outcome {
    let (session, users) = (session(&used, &args)?, args.ids(1)?);
    let presences = status::follow(&used.services, &session, users, Vec::new()).await?;
    Ok(vec![Value::list(presences.iter().map(presence))])
}

async fn unfollow(used: ScriptServices, args: Arguments) -> Outcome {
    let (session, users) = (session(&used, &args)?, args.ids(1)?);
    used.services.router.unfollow(session.session, &users)?;
    Ok(Vec::new())
}

fn session(used: &ScriptServices, args: &Arguments) -> Result<SocketSession, ScriptError> {
    Ok(used.services.router.session(args.id(0)?).ok_or(NOT_CONNECTED)?)
}
