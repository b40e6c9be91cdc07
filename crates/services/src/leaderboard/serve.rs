//! Handlers of the leaderboard operations.

use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve, answer_blocks};
use crate::leaderboard::{Operator, RECORD_METADATA_BYTES_MAX, Record, RecordList, RecordQuery, RecordWrite, Score};
use aether_messages::api::write_leaderboard_record_request::LeaderboardRecordWrite;
use aether_messages::api::{
    DeleteLeaderboardRecordRequest, LeaderboardRecord, LeaderboardRecordList, ListLeaderboardRecordsAroundOwnerRequest,
    ListLeaderboardRecordsRequest, Operator as Override, WriteLeaderboardRecordRequest,
};
use aether_messages::operation::{
    DeleteLeaderboardRecord, ListLeaderboardRecords, ListLeaderboardRecordsAroundOwner, WriteLeaderboardRecord,
};
use aether_messages::{Empty, timestamp};
use uuid::Uuid;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<WriteLeaderboardRecord>()
        .with::<DeleteLeaderboardRecord>()
        .with::<ListLeaderboardRecords>()
        .with::<ListLeaderboardRecordsAroundOwner>()
}

impl Serve for WriteLeaderboardRecord {
    async fn serve(call: &Call<'_>, request: WriteLeaderboardRecordRequest) -> Result<LeaderboardRecord, ServiceError> {
        let write = record_write(call, request.record).await?;
        let record = call.services.leaderboards.write(call.caller(), &request.leaderboard_id, write).await?;
        Ok(record_message(&request.leaderboard_id, record))
    }
}

impl Serve for DeleteLeaderboardRecord {
    async fn serve(call: &Call<'_>, request: DeleteLeaderboardRecordRequest) -> Result<Empty, ServiceError> {
        let owner = call.owner()?;
        call.services.leaderboards.delete_record(call.caller(), &request.leaderboard_id, owner).await?;
        Ok(Empty::default())
    }
}

impl Serve for ListLeaderboardRecords {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListLeaderboardRecordsRequest) -> u32 {
        let listed = usize::try_from(request.limit.unwrap_or(0)).unwrap_or(0);
        answer_blocks(listed.saturating_add(request.owner_ids.len()), RECORD_METADATA_BYTES_MAX)
    }

    async fn serve(
        call: &Call<'_>,
        request: ListLeaderboardRecordsRequest,
    ) -> Result<LeaderboardRecordList, ServiceError> {
        let ListLeaderboardRecordsRequest { leaderboard_id, owner_ids, limit, cursor, expiry } = request;
        let owners = owner_ids.iter().map(|id| owner(id)).collect::<Result<Vec<Uuid>, ServiceError>>()?;
        let query = RecordQuery { limit: limit.map(i64::from), cursor, expiry: expiry.unwrap_or(0) };
        let list = call.services.leaderboards.records(&leaderboard_id, &owners, &query).await?;
        Ok(record_list_message(&leaderboard_id, list))
    }
}

impl Serve for ListLeaderboardRecordsAroundOwner {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListLeaderboardRecordsAroundOwnerRequest) -> u32 {
        answer_blocks(usize::try_from(request.limit.unwrap_or(0)).unwrap_or(0), RECORD_METADATA_BYTES_MAX)
    }

    async fn serve(
        call: &Call<'_>,
        request: ListLeaderboardRecordsAroundOwnerRequest,
    ) -> Result<LeaderboardRecordList, ServiceError> {
        let ListLeaderboardRecordsAroundOwnerRequest { leaderboard_id, limit, owner_id, expiry, cursor } = request;
        let query = RecordQuery { limit: limit.map(i64::from), cursor, expiry: expiry.unwrap_or(0) };
        let list = call.services.leaderboards.records_around(&leaderboard_id, owner(&owner_id)?, &query).await?;
        Ok(record_list_message(&leaderboard_id, list))
    }
}

fn record_list_message(board_id: &str, list: RecordList) -> LeaderboardRecordList {
    LeaderboardRecordList {
        records: list.records.into_iter().map(|record| record_message(board_id, record)).collect(),
        owner_records: list.owner_records.into_iter().map(|record| record_message(board_id, record)).collect(),
        next_cursor: list.next_cursor,
        prev_cursor: list.prev_cursor,
        rank_count: signed(list.rank_count),
    }
}

/// Returns the username of an owner, for the record.
async fn username(call: &Call<'_>, owner: Uuid) -> Result<String, ServiceError> {
    match call.caller().user() {
        Some(identity) => Ok(identity.username.clone()),
        None => Ok(call.services.accounts.account(owner).await?.user.username),
    }
}

/// Returns the write of a request, by the account that owns what the call writes.
pub(crate) async fn record_write(
    call: &Call<'_>,
    record: Option<LeaderboardRecordWrite>,
) -> Result<RecordWrite, ServiceError> {
    let owner = call.owner()?;
    let username = username(call, owner).await?;
    let record = record.ok_or_else(|| ServiceError::invalid("A record with a score is required."))?;
    Ok(RecordWrite {
        owner,
        username,
        score: Score { score: record.score, subscore: record.subscore },
        operator: operator(record.operator)?,
        metadata: Some(record.metadata).filter(|metadata| !metadata.is_empty()),
    })
}

/// Returns the message of a record.
pub(crate) fn record_message(board_id: &str, record: Record) -> LeaderboardRecord {
    LeaderboardRecord {
        leaderboard_id: board_id.to_owned(),
        owner_id: record.owner.to_string(),
        username: Some(record.username).filter(|name| !name.is_empty()),
        score: record.score.score,
        subscore: record.score.subscore,
        num_score: i32::try_from(record.num_score).unwrap_or(i32::MAX),
        metadata: record.metadata,
        create_time: Some(timestamp(record.created_at_ms)),
        update_time: Some(timestamp(record.updated_at_ms)),
        expiry_time: (record.expiry != 0).then(|| timestamp(record.expiry.saturating_mul(1_000))),
        rank: signed(record.rank),
        max_num_score: u32::try_from(record.max_num_score).unwrap_or(u32::MAX),
    }
}

/// Returns the operator of a write, if the request names one.
fn operator(number: i32) -> Result<Option<Operator>, ServiceError> {
    match Override::try_from(number) {
        Ok(Override::NoOverride) => Ok(None),
        Ok(Override::Best) => Ok(Some(Operator::Best)),
        Ok(Override::Set) => Ok(Some(Operator::Set)),
        Ok(Override::Increment) => Ok(Some(Operator::Increment)),
        Ok(Override::Decrement) => Ok(Some(Operator::Decrement)),
        Err(_) => Err(ServiceError::invalid("An operator is a number from 0 to 4.")),
    }
}

/// Parses the id of an owner.
pub(crate) fn owner(id: &str) -> Result<Uuid, ServiceError> {
    id.parse().map_err(|_| ServiceError::invalid("An owner's id must be a UUID."))
}

/// Numbers of records in memory always fit.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
