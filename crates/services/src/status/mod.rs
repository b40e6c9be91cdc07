//! Status of users: a text that each session of a user may set, and that followers see.
//!
//! A status is a presence in the [status stream](crate::router::StreamId::status) of its user, so it ends with the
//! session. A user has as many statuses as sessions that set one. A session follows its own user from the start.

pub(crate) mod serve;

use crate::account::USERS_MAX;
use crate::error::ServiceError;
use crate::router::{Presence, PresenceMeta, Router, SocketSession, StreamId};
use crate::services::Services;
use uuid::Uuid;

const INVALID_USER: ServiceError =
    ServiceError::new(crate::GrpcCode::InvalidArgument, "Invalid user identifier. Send ids of users.");

/// Starts the status of a session that has just connected: it follows its own user, and `is_shown` sets an empty status.
pub fn start(router: &Router, socket: &SocketSession, is_shown: bool) -> Result<(), ServiceError> {
    router.follow(socket.session, &[socket.user])?;
    if is_shown {
        update(router, socket.session, socket.user, Some(String::new()))?;
    }
    Ok(())
}

/// Sets the status of a session, or removes it.
pub fn update(router: &Router, session: Uuid, user: Uuid, status: Option<String>) -> Result<(), ServiceError> {
    let stream = StreamId::status(user);
    match status {
        Some(status) => {
            router.track(session, &stream, PresenceMeta { status, ..PresenceMeta::default() })?;
        }
        None => {
            router.untrack(session, &stream);
        }
    }
    Ok(())
}

/// Follows users by id and username. Returns their current statuses. Users that do not exist, or with a block in between,
/// are ignored.
pub async fn follow(
    services: &Services,
    follower: &SocketSession,
    ids: Vec<Uuid>,
    usernames: Vec<String>,
) -> Result<Vec<Presence>, ServiceError> {
    if ids.len() > USERS_MAX || usernames.len() > USERS_MAX {
        return Err(ServiceError::invalid(format!("Follow at most {USERS_MAX} users at a time.")));
    }
    if ids.is_empty() && usernames.is_empty() {
        return Ok(Vec::new());
    }
    let users = services.accounts.users(ids, usernames, Vec::new()).await?;
    let mut users: Vec<Uuid> = users.iter().map(|user| user.id).collect();
    let blocked = services.friends.blocked_among(follower.user, users.clone()).await?;
    users.retain(|user| !blocked.contains(user));
    let presences = services.router.follow(follower.session, &users)?;
    // A block that came in between ended no follow yet.
    let blocked = Vec::from_iter(services.friends.blocked_among(follower.user, users).await?);
    if blocked.is_empty() {
        return Ok(presences);
    }
    services.router.unfollow(follower.session, &blocked)?;
    Ok(presences.into_iter().filter(|presence| !blocked.contains(&presence.socket.user)).collect())
}

fn parse_ids(ids: &[String]) -> Result<Vec<Uuid>, ServiceError> {
    ids.iter().map(|id| Uuid::try_parse(id).map_err(|_| INVALID_USER)).collect()
}
