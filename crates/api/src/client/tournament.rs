//! Tournaments: listing and joining them; writing, deleting and listing records.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::api::write_tournament_record_request::TournamentRecordWrite;
use aether_messages::operation::{
    DeleteTournamentRecord, JoinTournament, ListTournamentRecords, ListTournamentRecordsAroundOwner, ListTournaments,
    WriteTournamentRecord,
};
use http::Method;

const TOURNAMENT: &str = "/v2/tournament/{tournament_id}";

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    [Method::PUT, Method::POST]
        .into_iter()
        .fold(routes, |routes, method| {
            routes.field::<WriteTournamentRecord, Option<TournamentRecordWrite>>(
                method,
                TOURNAMENT,
                |request, record| {
                    request.record = record;
                },
            )
        })
        .address::<ListTournaments>(Method::GET, "/v2/tournament")
        .address::<JoinTournament>(Method::POST, "/v2/tournament/{tournament_id}/join")
        .address::<DeleteTournamentRecord>(Method::DELETE, TOURNAMENT)
        .address::<ListTournamentRecords>(Method::GET, TOURNAMENT)
        .address::<ListTournamentRecordsAroundOwner>(Method::GET, "/v2/tournament/{tournament_id}/owner/{owner_id}")
}
