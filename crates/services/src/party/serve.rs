//! Handlers of the party messages of the socket, and of the list of parties.

use super::{NewParty, PartyError, PartyFilter, PartyInfo, PartyUpdate, TicketRequest, limits, message};
use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve, answer_blocks};
use crate::clock::new_id;
use crate::error::GrpcCode;
use crate::matchmaker::serve::{blocked_by, count, parse_ticket};
use crate::matchmaker::{Properties, UserPresence};
use aether_messages::api::{ListPartiesRequest, PartyList};
use aether_messages::operation::ListParties;
use aether_messages::socket::{
    PartyAccept, PartyClose, PartyCreate, PartyDataSend, PartyJoin, PartyJoinRequestList, PartyLeave,
    PartyMatchmakerAdd, PartyMatchmakerRemove, PartyPromote, PartyRemove, PartyUpdate as UpdateParty,
};
use aether_messages::{Empty, realtime};
use uuid::Uuid;

const INVALID_PRESENCE: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "Invalid presence. Send the user_id and the session_id of a presence of the party.",
);

const BLOCKED: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "This user and a member of the party are blocked.");

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<PartyCreate>()
        .with::<PartyJoin>()
        .with::<PartyLeave>()
        .with::<PartyPromote>()
        .with::<PartyAccept>()
        .with::<PartyRemove>()
        .with::<PartyClose>()
        .with::<UpdateParty>()
        .with::<PartyJoinRequestList>()
        .with::<PartyMatchmakerAdd>()
        .with::<PartyMatchmakerRemove>()
        .with::<PartyDataSend>()
        .with::<ListParties>()
}

impl Serve for PartyCreate {
    async fn serve(call: &Call<'_>, request: realtime::PartyCreate) -> Result<realtime::Party, ServiceError> {
        let realtime::PartyCreate { open, max_size, label, hidden } = request;
        let new = NewParty { party_id: String::new(), open, hidden, max_size: count(max_size), label };
        Ok(call.services.parties.create(call.socket()?, new)?.to_message())
    }
}

impl Serve for PartyJoin {
    async fn serve(call: &Call<'_>, request: realtime::PartyJoin) -> Result<Empty, ServiceError> {
        let socket = call.socket_session()?;
        // A party with a block between the user and a member looks as if it did not exist.
        let members = call.services.parties.members(&request.party_id);
        let others = members.into_iter().filter(|member| *member != socket.user).collect();
        if !call.services.friends.blocked_among(socket.user, others).await?.is_empty() {
            return Err(PartyError::NotFound.into());
        }
        call.services.parties.join(socket.session, &request.party_id)?;
        Ok(Empty::default())
    }
}

impl Serve for PartyLeave {
    async fn serve(call: &Call<'_>, request: realtime::PartyLeave) -> Result<Empty, ServiceError> {
        call.services.parties.leave(call.socket()?, &request.party_id)?;
        Ok(Empty::default())
    }
}

impl Serve for PartyPromote {
    async fn serve(call: &Call<'_>, request: realtime::PartyPromote) -> Result<Empty, ServiceError> {
        call.services.parties.promote(call.socket()?, &request.party_id, &parse_presence(request.presence)?)?;
        Ok(Empty::default())
    }
}

impl Serve for PartyAccept {
    async fn serve(call: &Call<'_>, request: realtime::PartyAccept) -> Result<Empty, ServiceError> {
        let (socket, target) = (call.socket()?, parse_presence(request.presence)?);
        let members = call.services.parties.members(&request.party_id);
        if !call.services.friends.blocked_among(target.user_id, members).await?.is_empty() {
            return Err(BLOCKED);
        }
        call.services.parties.accept(socket, &request.party_id, &target)?;
        Ok(Empty::default())
    }
}

impl Serve for PartyRemove {
    async fn serve(call: &Call<'_>, request: realtime::PartyRemove) -> Result<Empty, ServiceError> {
        call.services.parties.remove(call.socket()?, &request.party_id, &parse_presence(request.presence)?)?;
        Ok(Empty::default())
    }
}

impl Serve for PartyClose {
    async fn serve(call: &Call<'_>, request: realtime::PartyClose) -> Result<Empty, ServiceError> {
        call.services.parties.close(call.socket()?, &request.party_id)?;
        Ok(Empty::default())
    }
}

impl Serve for UpdateParty {
    async fn serve(call: &Call<'_>, request: realtime::PartyUpdate) -> Result<Empty, ServiceError> {
        let realtime::PartyUpdate { party_id, label, open, hidden } = request;
        call.services.parties.update(call.socket()?, &party_id, PartyUpdate { label, open, hidden })?;
        Ok(Empty::default())
    }
}

impl Serve for PartyJoinRequestList {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(
        call: &Call<'_>,
        request: realtime::PartyJoinRequestList,
    ) -> Result<realtime::PartyJoinRequest, ServiceError> {
        let presences = call.services.parties.join_requests(call.socket()?, &request.party_id)?;
        Ok(message::join_requests(request.party_id, &presences))
    }
}

impl Serve for PartyMatchmakerAdd {
    async fn serve(
        call: &Call<'_>,
        request: realtime::PartyMatchmakerAdd,
    ) -> Result<realtime::PartyMatchmakerTicket, ServiceError> {
        let ticket = new_id(call.services.clock.now_ms());
        let members = call.services.parties.members(&request.party_id);
        let new = TicketRequest {
            ticket,
            query: request.query,
            min_count: count(request.min_count),
            max_count: count(request.max_count),
            count_multiple: count(request.count_multiple.unwrap_or(1)),
            properties: Properties { strings: request.string_properties, numbers: request.numeric_properties },
            blocked: blocked_by(call.services, members).await?,
        };
        call.services.parties.add_to_matchmaker(call.socket()?, &request.party_id, new)?;
        Ok(realtime::PartyMatchmakerTicket { party_id: request.party_id, ticket: ticket.to_string() })
    }
}

impl Serve for PartyMatchmakerRemove {
    async fn serve(call: &Call<'_>, request: realtime::PartyMatchmakerRemove) -> Result<Empty, ServiceError> {
        let ticket = parse_ticket(&request.ticket)?;
        call.services.parties.remove_from_matchmaker(call.socket()?, &request.party_id, ticket)?;
        Ok(Empty::default())
    }
}

impl Serve for PartyDataSend {
    // It is frequent and changes nothing.
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: realtime::PartyDataSend) -> Result<Empty, ServiceError> {
        let realtime::PartyDataSend { party_id, op_code, data } = request;
        call.services.parties.send_data(call.socket()?, &party_id, op_code, data.into())?;
        Ok(Empty::default())
    }
}

impl Serve for ListParties {
    // It searches all parties.
    const PRESET: RatePreset = RatePreset::Expensive;

    fn answer_blocks(request: &ListPartiesRequest) -> u32 {
        let listed = request.limit.map_or(limits::LISTED_DEFAULT, count);
        answer_blocks(listed.min(limits::LISTED_MAX), limits::LABEL_BYTES_MAX)
    }

    async fn serve(call: &Call<'_>, request: ListPartiesRequest) -> Result<PartyList, ServiceError> {
        let page = call.services.parties.list(&PartyFilter {
            limit: request.limit.map(count),
            open: request.open,
            query: request.query.unwrap_or_default(),
            cursor: request.cursor.unwrap_or_default(),
        })?;
        let parties = page.parties.iter().map(PartyInfo::to_message).collect();
        Ok(PartyList { parties, cursor: page.cursor })
    }
}

/// Reads the presence that a request names. Its username does not matter.
fn parse_presence(presence: Option<realtime::UserPresence>) -> Result<UserPresence, ServiceError> {
    let presence = presence.ok_or(INVALID_PRESENCE)?;
    let id = |text: &str| Uuid::try_parse(text).map_err(|_| INVALID_PRESENCE);
    let (user_id, session_id) = (id(&presence.user_id)?, id(&presence.session_id)?);
    Ok(UserPresence { user_id, session_id, username: presence.username })
}
