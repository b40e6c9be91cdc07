//! Handlers of the status messages of the socket.

use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve};
use crate::router::mode;
use crate::status;
use aether_messages::socket::{StatusFollow, StatusUnfollow, StatusUpdate};
use aether_messages::{Empty, realtime};

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<StatusFollow>().with::<StatusUnfollow>().with::<StatusUpdate>()
}

impl Serve for StatusFollow {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: realtime::StatusFollow) -> Result<realtime::Status, ServiceError> {
        let (follower, ids) = (call.socket_session()?, status::parse_ids(&request.user_ids)?);
        let followed = status::follow(call.services, &follower, ids, request.usernames);
        let presences = followed.await?.iter().map(|presence| presence.to_message(mode::STATUS)).collect();
        Ok(realtime::Status { presences })
    }
}

impl Serve for StatusUnfollow {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: realtime::StatusUnfollow) -> Result<Empty, ServiceError> {
        call.services.router.unfollow(call.socket()?, &status::parse_ids(&request.user_ids)?)?;
        Ok(Empty::default())
    }
}

impl Serve for StatusUpdate {
    async fn serve(call: &Call<'_>, request: realtime::StatusUpdate) -> Result<Empty, ServiceError> {
        let (session, user) = (call.socket()?, call.identity()?.user);
        status::update(&call.services.router, session, user, request.status)?;
        Ok(Empty::default())
    }
}
