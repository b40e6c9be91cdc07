//! Handlers of the matchmaker messages of the socket, and of its stats.

use super::error::MatchmakerError;
use super::limits::BLOCKED_PER_PLAYER_MAX;
use super::ticket::{NewTicket, Properties, UserPresence};
use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve};
use crate::clock::new_id;
use crate::services::Services;
use aether_messages::api::{MatchmakerCompletionStats, MatchmakerStats};
use aether_messages::operation::GetMatchmakerStats;
use aether_messages::socket::{MatchmakerAdd, MatchmakerRemove};
use aether_messages::{Empty, realtime, timestamp};
use std::collections::BTreeSet;
use uuid::Uuid;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<MatchmakerAdd>().with::<MatchmakerRemove>().with::<GetMatchmakerStats>()
}

impl Serve for MatchmakerAdd {
    async fn serve(
        call: &Call<'_>,
        request: realtime::MatchmakerAdd,
    ) -> Result<realtime::MatchmakerTicket, ServiceError> {
        let services = call.services;
        let id = new_id(services.clock.now_ms());
        let socket = call.socket_session()?;
        services.matchmaker.add(NewTicket {
            id,
            presences: vec![UserPresence::of(&socket)],
            blocked: blocked_by(services, vec![socket.user]).await?,
            party_id: None,
            query: request.query,
            min_count: count(request.min_count),
            max_count: count(request.max_count),
            count_multiple: count(request.count_multiple.unwrap_or(1)),
            properties: Properties { strings: request.string_properties, numbers: request.numeric_properties },
        })?;
        Ok(realtime::MatchmakerTicket { ticket: id.to_string() })
    }
}

impl Serve for MatchmakerRemove {
    async fn serve(call: &Call<'_>, request: realtime::MatchmakerRemove) -> Result<Empty, ServiceError> {
        call.services.matchmaker.remove(call.socket()?, parse_ticket(&request.ticket)?)?;
        Ok(Empty::default())
    }
}

impl Serve for GetMatchmakerStats {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, _: Empty) -> Result<MatchmakerStats, ServiceError> {
        let stats = call.services.matchmaker.stats();
        let completions = stats.completions.iter().map(|completion| MatchmakerCompletionStats {
            create_time: Some(timestamp(completion.created_ms)),
            complete_time: Some(timestamp(completion.completed_ms)),
        });
        Ok(MatchmakerStats {
            ticket_count: i32::try_from(stats.tickets).unwrap_or(i32::MAX),
            oldest_ticket_create_time: stats.oldest_created_ms.map(timestamp),
            completions: completions.collect(),
        })
    }
}

/// Returns the users whom players of a ticket block, if the matchmaker needs them.
pub(crate) async fn blocked_by(services: &Services, users: Vec<Uuid>) -> Result<BTreeSet<Uuid>, ServiceError> {
    if !services.matchmaker.honours_blocks {
        return Ok(BTreeSet::new());
    }
    services.friends.blocked_by(users, BLOCKED_PER_PLAYER_MAX).await
}

/// Returns a count of a request. A negative one is refused like zero.
pub(crate) fn count(count: i32) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// Reads the id of a ticket.
pub(crate) fn parse_ticket(ticket: &str) -> Result<Uuid, MatchmakerError> {
    Uuid::try_parse(ticket).map_err(|_| MatchmakerError::TicketNotFound)
}
