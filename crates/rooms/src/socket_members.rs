//! Joins of clients of the services socket.

use crate::entry::{RoomEntry, RoomRef};
use crate::host::{RoomHost, RoomRequester, draining};
use crate::matches::to_service_error;
use crate::members::{MATCHES_PER_SESSION_MAX, MemberLink, SocketMember, presence_of};
use crate::room_type::RoomType;
use aether_engine::{ConnectionEndpoint, JoinRequest, Rejection};
use aether_services::matches::{
    JoinMatch, JoinedMatch, MatchSelector, MatchVisitor, authoritative_stream, relayed_stream,
};
use aether_services::realtime::UserPresence;
use aether_services::room::Visit;
use aether_services::router::{StreamId, mode};
use aether_services::{GrpcCode, ServiceError};
use aether_wire::limits::NAME_BYTES_MAX;
use aether_wire::{ErrorCode, JoinMetadata, PlayerId, RoomId, RoomSelector};
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::Poll;
use uuid::Uuid;

impl RoomHost {
    /// Joins a client of the services socket to a match.
    pub(crate) async fn join_socket(&self, join: JoinMatch) -> Result<JoinedMatch, ServiceError> {
        let JoinMatch { visitor, selector, metadata } = join;
        if self.is_draining() {
            return Err(to_service_error(draining()));
        }
        let room = self.find_match(&selector, &visitor).await?;
        if let Some(presences) = room.members.joined(visitor.socket.session) {
            return Ok(joined(&room, presences, &visitor));
        }
        self.check_share(&visitor)?;
        self.check_seat(&room, visitor.identity.user).map_err(to_service_error)?;
        let metadata: JoinMetadata = metadata.into_iter().collect();
        metadata.check().map_err(|error| ServiceError::invalid(format!("Invalid metadata: {error}.")))?;
        let place = room.places.take(visitor.address).map_err(|_| {
            let sentence = "Your network has reached its limit of players in this match. Join another one.";
            ServiceError::with(GrpcCode::ResourceExhausted, sentence)
        })?;
        let Admitted { link, player, is_resumed } = admit(&room, &visitor, metadata).await.map_err(to_service_error)?;
        let services = self.requests.services();
        let sender = services.router.sender(visitor.socket.session);
        let sender = sender.ok_or(ServiceError::new(GrpcCode::FailedPrecondition, "The socket is closed."))?;
        // A resumed player has a place and a visit already.
        let mut place = place.filter(|_| !is_resumed);
        if !is_resumed {
            self.note_join(&room, &visitor, player);
        }
        if room.room.reports_departures()
            && let Some(place) = place.take()
        {
            room.places.keep(player.0, place);
        }
        let member = SocketMember {
            player,
            socket: visitor.socket.clone(),
            sender,
            link,
            room: room.clone(),
            _place: place,
            services: Arc::clone(services),
        };
        let presences = room.members.add(member)?;
        services.matchmaker.claim_seat(&room.id.0, visitor.identity.user);
        Ok(joined(&room, presences, &visitor))
    }

    /// Removes members whose session ends. Called once, by the constructor.
    pub(crate) fn leave_with_sessions(self: &Arc<Self>) {
        let host = Weak::clone(&self.this);
        self.requests.services().router.on_end(move |socket, streams| {
            let Some(host) = host.upgrade() else { return };
            for id in streams.iter().filter_map(match_id) {
                if let Some(room) = host.directory.local(&RoomSelector::Id(id)) {
                    room.members.end_session(socket.session);
                }
            }
        });
    }

    /// Returns the stream of the members of a room.
    pub(crate) fn stream_of(&self, id: &RoomId, room_type: &RoomType) -> StreamId {
        let (id, node) = id.0.split_once('.').unwrap_or((&id.0, ""));
        let id = Uuid::try_parse(id).unwrap_or_default();
        match room_type.tick_hz() {
            0 if node.is_empty() => relayed_stream(id),
            _ => authoritative_stream(id, node),
        }
    }

    async fn find_match(&self, selector: &MatchSelector, visitor: &MatchVisitor) -> Result<RoomRef, ServiceError> {
        let requester = RoomRequester { address: visitor.address, user: Some(visitor.identity.user) };
        let found = match selector {
            MatchSelector::Running(id) => self.find(&RoomSelector::Id(RoomId(id.clone())), requester).await,
            MatchSelector::Relayed(id) => self.find_relayed(*id, requester).await,
        };
        found.map_err(|rejection| match rejection.code {
            ErrorCode::RoomNotFound => not_found(),
            _ => to_service_error(rejection),
        })
    }

    fn check_share(&self, visitor: &MatchVisitor) -> Result<(), ServiceError> {
        let router = &self.requests.services().router;
        let matches = router.streams(visitor.socket.session).iter().filter(|stream| is_match(stream)).count();
        if matches < MATCHES_PER_SESSION_MAX {
            return Ok(());
        }
        let sentence = format!("A session may be in at most {MATCHES_PER_SESSION_MAX} matches. Leave one.");
        Err(ServiceError::with(GrpcCode::ResourceExhausted, sentence))
    }

    /// Adds a join to the history.
    fn note_join(&self, room: &RoomEntry, visitor: &MatchVisitor, player: PlayerId) {
        self.requests.services().rooms.note_join(Visit {
            user: visitor.identity.user,
            session: visitor.identity.session,
            room: room.id.0.clone(),
            room_type: room.room_type.name().to_owned(),
            player: player.0,
            node: self.node_id().to_owned(),
        });
    }
}

/// Player that a room has admitted.
struct Admitted {
    link: MemberLink,
    player: PlayerId,
    is_resumed: bool,
}

/// Joins the room, or resumes the player of a user whose socket had ended, and waits for the room to admit it.
async fn admit(room: &RoomEntry, visitor: &MatchVisitor, metadata: JoinMetadata) -> Result<Admitted, Rejection> {
    let name = aether_names::cleaned(&visitor.identity.username);
    let request = JoinRequest {
        user: visitor.identity.user.to_string(),
        name: aether_names::shortened(&name, NAME_BYTES_MAX).into_owned(),
        username: visitor.socket.username.to_string(),
        session: visitor.socket.session.to_string(),
        permissions: visitor.identity.role.permissions(),
        metadata,
    };
    if let Some(player) = room.members.take_away(visitor.identity.user) {
        let link = room.room.join_socket(request.clone(), Some(player), &room.members.tap())?;
        // The player may have left in the meantime.
        if let Ok(player) = admission(&link).await {
            return Ok(Admitted { link, player, is_resumed: true });
        }
    }
    let link = room.room.join_socket(request, None, &room.members.tap())?;
    let player = admission(&link).await?;
    Ok(Admitted { link, player, is_resumed: false })
}

async fn admission(link: &MemberLink) -> Result<PlayerId, Rejection> {
    match link {
        MemberLink::Relay(member) => Ok(member.player()),
        MemberLink::Game(endpoint) => {
            poll_fn(|cx| {
                endpoint.register_waker(cx.waker());
                decided(endpoint)
            })
            .await
        }
    }
}

fn decided(endpoint: &ConnectionEndpoint) -> Poll<Result<PlayerId, Rejection>> {
    match endpoint.admission() {
        Some(admission) => Poll::Ready(admission.clone()),
        None if endpoint.closing().is_some() => {
            Poll::Ready(Err(Rejection::new(ErrorCode::RoomNotFound, "the room has ended; join another one")))
        }
        None => Poll::Pending,
    }
}

fn joined(room: &RoomEntry, presences: Vec<UserPresence>, visitor: &MatchVisitor) -> JoinedMatch {
    JoinedMatch {
        id: room.id.0.clone(),
        authoritative: room.room.tick_hz() > 0,
        label: room.room.label().to_string(),
        size: room.room.players(),
        presences,
        own: presence_of(&visitor.socket),
    }
}

/// Returns the id of the match of a stream; none for other streams.
fn match_id(stream: &StreamId) -> Option<RoomId> {
    is_match(stream).then(|| RoomId(format!("{}.{}", stream.subject, stream.label)))
}

fn is_match(stream: &StreamId) -> bool {
    matches!(stream.mode, mode::RELAYED_MATCH | mode::MATCH)
}

fn not_found() -> ServiceError {
    ServiceError::new(GrpcCode::NotFound, "Match not found.")
}
