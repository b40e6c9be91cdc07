//! Implementation of the services' match interface.

use crate::entry::RoomEntry;
use crate::host::{RoomHost, RoomRequester, WantedRoom};
use crate::hosted;
use crate::members::not_member;
use aether_services::matches::{
    JoinMatch, JoinedMatch, MATCHES_LISTED_MAX, MatchFilter, MatchInfo, Matches, MatchesFuture, NewMatch, SentData,
};
use aether_services::{GrpcCode, ServiceError};
use aether_wire::{CloseReason, ErrorCode, RoomId, RoomSelector};
use std::sync::Arc;
use uuid::Uuid;

impl RoomHost {
    /// Lists the rooms that pass a filter, the oldest first.
    #[must_use]
    pub fn list(&self, filter: &MatchFilter) -> Vec<MatchInfo> {
        let rooms = self.directory.all();
        let limit = filter.limit.unwrap_or(MATCHES_LISTED_MAX).min(MATCHES_LISTED_MAX);
        let described = rooms.iter().map(|room| (room, info(room))).filter(|(_, info)| filter.allows(info));
        let Some(query) = &filter.query else { return described.map(|(_, info)| info).take(limit).collect() };
        // The best first, and of equals the newest.
        let score = |room: &RoomEntry| query.matches(&*room.label_document()?);
        let found = described.filter_map(|(room, info)| score(room).map(|score| (score.value(), info)));
        let mut found: Vec<(f64, MatchInfo)> = found.collect();
        found.reverse();
        found.sort_by(|(left, _), (right, _)| right.total_cmp(left));
        found.into_iter().map(|(_, info)| info).take(limit).collect()
    }

    fn find_running(&self, id: &str) -> Result<crate::entry::RoomRef, ServiceError> {
        let room = self.directory.local(&RoomSelector::Id(RoomId(id.to_owned())));
        room.ok_or_else(|| {
            ServiceError::with(GrpcCode::NotFound, format!("Match {id} was not found; it may have ended."))
        })
    }
}

impl Matches for RoomHost {
    fn create_with<'a>(&'a self, new: &'a NewMatch) -> MatchesFuture<'a, MatchInfo> {
        Box::pin(async move {
            new.check()?;
            let wanted = WantedRoom {
                label: new.label.clone(),
                is_private: new.private,
                tick_hz: new.tick_hz,
                params: Arc::new(new.params.clone()),
                ..WantedRoom::default()
            };
            let created = RoomHost::create(self, &new.match_type, wanted, RoomRequester::server()).await;
            let room = created.map_err(to_service_error)?;
            Ok(info(&room))
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, Option<MatchInfo>> {
        Box::pin(async move { Ok(self.find_running(id).ok().map(|room| info(&room))) })
    }

    fn list<'a>(&'a self, filter: &'a MatchFilter) -> MatchesFuture<'a, Vec<MatchInfo>> {
        Box::pin(async move { Ok(RoomHost::list(self, filter)) })
    }

    fn signal<'a>(&'a self, id: &'a str, data: Vec<u8>) -> MatchesFuture<'a, Vec<u8>> {
        Box::pin(async move {
            let room = self.find_running(id)?;
            let handle = room.room.signal_handle().cloned().ok_or_else(|| {
                ServiceError::with(
                    GrpcCode::FailedPrecondition,
                    format!("Match {id} is a relay, which does not handle signals."),
                )
            })?;
            hosted::signal(handle, data).await.map_err(to_service_error)
        })
    }

    fn end<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, ()> {
        Box::pin(async move {
            let room = self.find_running(id)?;
            RoomHost::end(self, &room, CloseReason::RoomEnded, "ended by the server");
            Ok(())
        })
    }

    fn join(&self, join: JoinMatch) -> MatchesFuture<'_, JoinedMatch> {
        Box::pin(self.join_socket(join))
    }

    fn leave(&self, id: &str, session: Uuid) -> Result<(), ServiceError> {
        let is_member = self.find_running(id)?.members.leave(session);
        if is_member { Ok(()) } else { Err(not_member()) }
    }

    fn send(&self, id: &str, session: Uuid, sent: &SentData<'_>) -> Result<(), ServiceError> {
        self.find_running(id)?.members.send(session, sent)
    }

    fn kick(&self, id: &str, user: Uuid) -> Result<usize, ServiceError> {
        let room = self.find_running(id)?;
        let players = room.members.players_of(user);
        for player in &players {
            room.room.remove(*player, CloseReason::Kicked);
            room.members.kick(*player);
        }
        Ok(players.len())
    }
}

pub(crate) fn info(room: &RoomEntry) -> MatchInfo {
    MatchInfo {
        id: room.id.0.clone(),
        code: room.code.clone(),
        match_type: room.room_type.name().to_owned(),
        label: room.room.label().to_string(),
        players: room.room.players(),
        players_max: room.room_type.players_max(),
        tick_hz: room.room.tick_hz(),
        private: room.is_private,
    }
}

/// Converts a rejection of a room.
pub(crate) fn to_service_error(rejection: aether_engine::Rejection) -> ServiceError {
    let code = match rejection.code {
        ErrorCode::BadValue => GrpcCode::InvalidArgument,
        ErrorCode::RoomNotFound => GrpcCode::NotFound,
        ErrorCode::LimitReached | ErrorCode::RateLimited => GrpcCode::ResourceExhausted,
        ErrorCode::RoomFull | ErrorCode::JoinRefused => GrpcCode::PermissionDenied,
        ErrorCode::Unavailable => GrpcCode::Unavailable,
        _ => GrpcCode::Internal,
    };
    ServiceError::with(code, rejection.message)
}
