//! Handlers of the tournament operations.

use super::{Tournament, TournamentQuery};
use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve, answer_blocks};
use crate::leaderboard::serve::{owner, record_message, record_write, signed};
use crate::leaderboard::{BOARD_METADATA_BYTES_MAX, RECORD_METADATA_BYTES_MAX, RecordList, RecordQuery, order_number};
use crate::tournament::limits::{AROUND_LIMIT_MAX, RECORD_LIMIT_DEFAULT, TOURNAMENT_LIMIT_MAX};
use aether_messages::api::write_leaderboard_record_request::LeaderboardRecordWrite;
use aether_messages::api::{
    DeleteTournamentRecordRequest, JoinTournamentRequest, LeaderboardRecord, ListTournamentRecordsAroundOwnerRequest,
    ListTournamentRecordsRequest, ListTournamentsRequest, Tournament as TournamentMessage, TournamentList,
    TournamentRecordList, WriteTournamentRecordRequest,
};
use aether_messages::operation::{
    DeleteTournamentRecord, JoinTournament, ListTournamentRecords, ListTournamentRecordsAroundOwner, ListTournaments,
    WriteTournamentRecord,
};
use aether_messages::{Empty, timestamp};
use uuid::Uuid;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<ListTournaments>()
        .with::<JoinTournament>()
        .with::<WriteTournamentRecord>()
        .with::<DeleteTournamentRecord>()
        .with::<ListTournamentRecords>()
        .with::<ListTournamentRecordsAroundOwner>()
}

impl Serve for ListTournaments {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListTournamentsRequest) -> u32 {
        let listed = request.limit.map_or(TOURNAMENT_LIMIT_MAX, |limit| usize::try_from(limit).unwrap_or(0));
        answer_blocks(listed, BOARD_METADATA_BYTES_MAX)
    }

    async fn serve(call: &Call<'_>, request: ListTournamentsRequest) -> Result<TournamentList, ServiceError> {
        let query = TournamentQuery {
            category_start: request.category_start.unwrap_or(0),
            category_end: request.category_end,
            start_time: request.start_time.unwrap_or(0).into(),
            end_time: request.end_time.map(Into::into),
            limit: request.limit.map(Into::into),
            cursor: request.cursor,
        };
        let list = call.services.tournaments.list(&query).await?;
        let tournaments = list.tournaments.iter().filter_map(tournament_message).collect();
        Ok(TournamentList { tournaments, cursor: list.cursor })
    }
}

impl Serve for JoinTournament {
    async fn serve(call: &Call<'_>, request: JoinTournamentRequest) -> Result<Empty, ServiceError> {
        call.services.tournaments.join(&request.tournament_id, call.owner()?).await?;
        Ok(Empty::default())
    }
}

impl Serve for WriteTournamentRecord {
    async fn serve(call: &Call<'_>, request: WriteTournamentRecordRequest) -> Result<LeaderboardRecord, ServiceError> {
        let record = request.record.map(|record| LeaderboardRecordWrite {
            score: record.score,
            subscore: record.subscore,
            metadata: record.metadata,
            operator: record.operator,
        });
        let write = record_write(call, record).await?;
        let record = call.services.tournaments.write(call.caller(), &request.tournament_id, write).await?;
        Ok(record_message(&request.tournament_id, record))
    }
}

impl Serve for DeleteTournamentRecord {
    async fn serve(call: &Call<'_>, request: DeleteTournamentRecordRequest) -> Result<Empty, ServiceError> {
        call.services.tournaments.delete_record(call.caller(), &request.tournament_id, call.owner()?).await?;
        Ok(Empty::default())
    }
}

impl Serve for ListTournamentRecords {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListTournamentRecordsRequest) -> u32 {
        let listed = request.limit.map_or(RECORD_LIMIT_DEFAULT, |limit| usize::try_from(limit).unwrap_or(0));
        answer_blocks(listed.saturating_add(request.owner_ids.len()), RECORD_METADATA_BYTES_MAX)
    }

    async fn serve(
        call: &Call<'_>,
        request: ListTournamentRecordsRequest,
    ) -> Result<TournamentRecordList, ServiceError> {
        let ListTournamentRecordsRequest { tournament_id, owner_ids, limit, cursor, expiry } = request;
        let owners = owner_ids.iter().map(|id| owner(id)).collect::<Result<Vec<Uuid>, ServiceError>>()?;
        let query = RecordQuery { limit: limit.map(i64::from), cursor, expiry: expiry.unwrap_or(0) };
        let list = call.services.tournaments.records(&tournament_id, &owners, &query).await?;
        Ok(record_list_message(&tournament_id, list))
    }
}

impl Serve for ListTournamentRecordsAroundOwner {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListTournamentRecordsAroundOwnerRequest) -> u32 {
        let listed = request.limit.map_or(AROUND_LIMIT_MAX, |limit| usize::try_from(limit).unwrap_or(0));
        answer_blocks(listed, RECORD_METADATA_BYTES_MAX)
    }

    async fn serve(
        call: &Call<'_>,
        request: ListTournamentRecordsAroundOwnerRequest,
    ) -> Result<TournamentRecordList, ServiceError> {
        let ListTournamentRecordsAroundOwnerRequest { tournament_id, limit, owner_id, expiry, cursor } = request;
        let query = RecordQuery { limit: limit.map(i64::from), cursor, expiry: expiry.unwrap_or(0) };
        let list = call.services.tournaments.records_around(&tournament_id, owner(&owner_id)?, &query).await?;
        Ok(record_list_message(&tournament_id, list))
    }
}

fn record_list_message(id: &str, list: RecordList) -> TournamentRecordList {
    TournamentRecordList {
        records: list.records.into_iter().map(|record| record_message(id, record)).collect(),
        owner_records: list.owner_records.into_iter().map(|record| record_message(id, record)).collect(),
        next_cursor: list.next_cursor,
        prev_cursor: list.prev_cursor,
        rank_count: signed(list.rank_count),
    }
}

fn tournament_message(tournament: &Tournament) -> Option<TournamentMessage> {
    let Tournament { board, deadlines, size, can_enter } = tournament;
    let definition = &board.definition;
    let terms = definition.tournament.as_ref()?;
    let created_at = board.created_at_ms.div_euclid(1_000);
    let start = if terms.start_time == 0 { created_at } else { terms.start_time };
    Some(TournamentMessage {
        id: definition.id.clone(),
        title: terms.title.clone(),
        description: terms.description.clone(),
        category: terms.category,
        sort_order: order_number(definition.order),
        size: unsigned(*size),
        max_size: unsigned(terms.max_size),
        max_num_score: unsigned(terms.max_num_score),
        can_enter: *can_enter,
        end_active: unsigned(deadlines.end_active),
        next_reset: unsigned(deadlines.next_reset),
        metadata: definition.metadata.clone(),
        create_time: Some(timestamp(board.created_at_ms)),
        start_time: Some(timestamp(start.saturating_mul(1_000))),
        end_time: (terms.end_time != 0).then(|| timestamp(terms.end_time.saturating_mul(1_000))),
        duration: unsigned(terms.duration),
        start_active: unsigned(deadlines.start_active),
        prev_reset: unsigned(deadlines.prev_reset),
        operator: definition.operator.number_on_wire(),
        authoritative: definition.authoritative,
        join_required: terms.join_required,
    })
}

fn unsigned(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(if number < 0 { 0 } else { u32::MAX })
}
