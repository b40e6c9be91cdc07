//! Handlers of the match messages of the socket, and of the list of matches.

use super::{
    JoinMatch, JoinedMatch, MATCHES_LISTED_MAX, MatchFilter, MatchInfo, MatchSelector, MatchVisitor, SentData,
};
use crate::calls::{Call, Operations, RatePreset, Serve};
use crate::clock::new_id;
use crate::error::{GrpcCode, ServiceError};
use crate::services::Services;
use aether_messages::operation::ListMatches;
use aether_messages::socket::{MatchCreate, MatchDataSend, MatchJoin, MatchLeave};
use aether_messages::{Empty, api, realtime};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use uuid::Uuid;

/// Longest name of a relayed match, in bytes.
const NAME_BYTES_MAX: usize = 256;
/// Longest id of a match, in bytes.
const ID_BYTES_MAX: usize = aether_wire::limits::ROOM_ID_BYTES_MAX;
/// Matches of a list whose request has no limit.
const LISTED_DEFAULT: i32 = 10;

const INVALID_TOKEN: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "The match token is invalid or has expired. Ask the matchmaker again.",
);
const INVALID_ID: ServiceError = ServiceError::new(GrpcCode::InvalidArgument, "Invalid match ID.");

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<MatchCreate>()
        .with::<MatchJoin>()
        .with::<MatchLeave>()
        .with::<MatchDataSend>()
        .with::<ListMatches>()
}

impl Serve for MatchCreate {
    async fn serve(call: &Call<'_>, request: realtime::MatchCreate) -> Result<realtime::Match, ServiceError> {
        if request.name.len() > NAME_BYTES_MAX {
            return Err(ServiceError::invalid(format!(
                "The name of a match must have at most {NAME_BYTES_MAX} bytes."
            )));
        }
        // A name stands for one match, so that everyone who creates it meets there.
        let id = match request.name.as_str() {
            "" => new_id(call.services.clock.now_ms()),
            name => Uuid::new_v5(&Uuid::NAMESPACE_DNS, name.as_bytes()),
        };
        let join =
            JoinMatch { visitor: visitor(call)?, selector: MatchSelector::Relayed(id), metadata: Default::default() };
        Ok(call.services.matches()?.join(join).await?.into())
    }
}

impl Serve for MatchJoin {
    async fn serve(call: &Call<'_>, request: realtime::MatchJoin) -> Result<realtime::Match, ServiceError> {
        let realtime::MatchJoin { match_id, token, metadata } = request;
        let selector = match (match_id, token) {
            (id, token) if token.is_empty() => MatchSelector::Running(checked(id)?),
            (_, token) => selector_of(call.services, &token)?,
        };
        let join = JoinMatch { visitor: visitor(call)?, selector, metadata };
        Ok(call.services.matches()?.join(join).await?.into())
    }
}

impl Serve for MatchLeave {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: realtime::MatchLeave) -> Result<Empty, ServiceError> {
        call.services.matches()?.leave(&checked(request.match_id)?, call.socket()?)?;
        Ok(Empty::default())
    }
}

impl Serve for MatchDataSend {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: realtime::MatchDataSend) -> Result<Empty, ServiceError> {
        send(call.services, call.socket()?, &request)?;
        Ok(Empty::default())
    }
}

impl Serve for ListMatches {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: api::ListMatchesRequest) -> Result<api::MatchList, ServiceError> {
        let limit = request.limit.unwrap_or(LISTED_DEFAULT);
        if !(1..=MATCHES_LISTED_MAX as i32).contains(&limit) {
            return Err(ServiceError::invalid("Invalid limit - limit must be between 1 and 100."));
        }
        let size = |size: Option<i32>| {
            let parsed = size.map(u32::try_from).transpose();
            parsed.map_err(|_| ServiceError::invalid("Invalid size - a number of players must not be negative."))
        };
        let filter = MatchFilter {
            label: request.label,
            players_min: size(request.min_size)?,
            players_max: size(request.max_size)?,
            private: Some(false),
            authoritative: request.authoritative,
            query: super::parse_query(&request.query.unwrap_or_default())?,
            limit: Some(limit as usize),
            ..MatchFilter::default()
        };
        let matches = call.services.matches()?.list(&filter).await?;
        Ok(api::MatchList { matches: matches.into_iter().map(api::Match::from).collect() })
    }
}

/// Sends the data of a member.
fn send(services: &Services, session: Uuid, request: &realtime::MatchDataSend) -> Result<(), ServiceError> {
    let receivers: Vec<Uuid> =
        request.presences.iter().filter_map(|presence| Uuid::try_parse(&presence.session_id).ok()).collect();
    if receivers.is_empty() && !request.presences.is_empty() {
        return Err(ServiceError::invalid("Invalid presences. Send presences of the match."));
    }
    let sent = SentData {
        op_code: request.op_code,
        data: &request.data,
        receivers: &receivers,
        is_reliable: request.reliable,
    };
    services.matches()?.send(&request.match_id, session, &sent)
}

/// Returns the match that a token of the matchmaker names.
pub fn selector_of(services: &Services, token: &str) -> Result<MatchSelector, ServiceError> {
    let now = u64::try_from(services.clock.now_ms().div_euclid(1_000)).unwrap_or(0);
    let id = services.match_tokens.verify(token, now).map_err(|_| INVALID_TOKEN)?;
    // The matchmaker issues tokens for relayed matches, whose ids end with a dot.
    let relayed = id.strip_suffix('.').and_then(|id| Uuid::try_parse(id).ok());
    Ok(relayed.map_or(MatchSelector::Running(id), MatchSelector::Relayed))
}

fn checked(id: String) -> Result<String, ServiceError> {
    let is_valid = !id.is_empty() && id.len() <= ID_BYTES_MAX && !id.contains(char::is_control);
    if is_valid { Ok(id) } else { Err(INVALID_ID) }
}

fn visitor(call: &Call<'_>) -> Result<MatchVisitor, ServiceError> {
    let session = call.socket()?;
    let ended = ServiceError::new(GrpcCode::FailedPrecondition, "The socket is closed. Connect again.");
    Ok(MatchVisitor {
        socket: call.services.router.session(session).ok_or(ended)?,
        identity: Arc::clone(call.identity()?),
        address: call.context.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
    })
}

impl From<JoinedMatch> for realtime::Match {
    fn from(joined: JoinedMatch) -> realtime::Match {
        let JoinedMatch { id, authoritative, label, size, presences, own } = joined;
        realtime::Match {
            match_id: id,
            authoritative,
            label: authoritative.then_some(label),
            size: i32::try_from(size).unwrap_or(i32::MAX),
            presences,
            self_: Some(own),
        }
    }
}

impl From<MatchInfo> for api::Match {
    fn from(info: MatchInfo) -> api::Match {
        let authoritative = info.tick_hz > 0;
        api::Match {
            match_id: info.id,
            authoritative,
            label: authoritative.then_some(info.label),
            size: i32::try_from(info.players).unwrap_or(i32::MAX),
            tick_rate: i32::try_from(info.tick_hz).unwrap_or(i32::MAX),
            handler_name: if authoritative { info.match_type } else { String::new() },
        }
    }
}
