//! Leaderboards: writing, deleting and listing records.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::api::write_leaderboard_record_request::LeaderboardRecordWrite;
use aether_messages::operation::{
    DeleteLeaderboardRecord, ListLeaderboardRecords, ListLeaderboardRecordsAroundOwner, WriteLeaderboardRecord,
};
use http::Method;

const BOARD: &str = "/v2/leaderboard/{leaderboard_id}";

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .field::<WriteLeaderboardRecord, Option<LeaderboardRecordWrite>>(Method::POST, BOARD, |request, record| {
            request.record = record;
        })
        .address::<DeleteLeaderboardRecord>(Method::DELETE, BOARD)
        .address::<ListLeaderboardRecords>(Method::GET, BOARD)
        .address::<ListLeaderboardRecordsAroundOwner>(Method::GET, "/v2/leaderboard/{leaderboard_id}/owner/{owner_id}")
}
