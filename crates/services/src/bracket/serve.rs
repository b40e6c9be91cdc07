//! Handlers of the bracket operations. Those of operators are audited before they are done.

use super::limits::{
    BRACKET_LIMIT_MAX, ENTRANT_BYTES, ENTRANTS_MAX, MATCH_BYTES, METADATA_BYTES_MAX, ROUND_ROBIN_ENTRANTS_MAX,
};
use super::operation::{
    BracketDetail, BracketMatchRequest, BracketMatchResultRequest, BracketPage, BracketRequest, ConfirmBracketMatch,
    CreateBracketRequest, GetBracket, JoinBracket, LeaveBracket, ListBrackets, ListBracketsRequest, MatchResult,
    ReportBracketMatch, ShownBracket, ShownMatch,
};
use super::operator::{CreateBracket, DeleteBracket, ResolveBracketMatch, StartBracket};
use super::shown::{detail, shown, shown_match};
use super::{Bracket, BracketQuery, Definition, Format, Phase, Rules, Seeding, Verdict};
use crate::ServiceError;
use crate::calls::{Access, Call, Operations, RatePreset, Serve, answer_blocks};
use crate::clock::new_id;
use aether_messages::{Empty, Operation};
use uuid::Uuid;

/// Maximum bytes of an id in the audit.
const DETAIL_BYTES_MAX: usize = 200;
/// Most matches of a bracket: those of a round robin.
const MATCHES_MAX: usize = ROUND_ROBIN_ENTRANTS_MAX * (ROUND_ROBIN_ENTRANTS_MAX - 1) / 2;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<ListBrackets>()
        .with::<GetBracket>()
        .with::<JoinBracket>()
        .with::<LeaveBracket>()
        .with::<ReportBracketMatch>()
        .with::<ConfirmBracketMatch>()
        .with::<CreateBracket>()
        .with::<StartBracket>()
        .with::<ResolveBracketMatch>()
        .with::<DeleteBracket>()
}

impl Serve for ListBrackets {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListBracketsRequest) -> u32 {
        let listed = request.limit.map_or(BRACKET_LIMIT_MAX, |limit| usize::try_from(limit).unwrap_or(0));
        answer_blocks(listed, METADATA_BYTES_MAX)
    }

    async fn serve(call: &Call<'_>, request: ListBracketsRequest) -> Result<BracketPage, ServiceError> {
        let phase = match request.phase.as_str() {
            "" => None,
            name => Some(
                Phase::from_name(name)
                    .ok_or_else(|| ServiceError::invalid("A phase is `registration`, `running` or `finished`."))?,
            ),
        };
        let query = BracketQuery { phase, limit: request.limit.map(Into::into), cursor: request.cursor };
        let list = call.services.brackets.list(&query).await?;
        Ok(BracketPage { brackets: list.brackets.iter().map(shown).collect(), cursor: list.cursor })
    }
}

impl Serve for GetBracket {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(_request: &BracketRequest) -> u32 {
        detail_blocks()
    }

    async fn serve(call: &Call<'_>, request: BracketRequest) -> Result<BracketDetail, ServiceError> {
        Ok(detail(&*call.services.brackets.find(&request.id).await?))
    }
}

impl Serve for JoinBracket {
    async fn serve(call: &Call<'_>, request: BracketRequest) -> Result<ShownBracket, ServiceError> {
        // Only server code knows ratings: a client would choose its own.
        Ok(shown(&*call.services.brackets.join(&request.id, call.owner()?, 0).await?))
    }
}

impl Serve for LeaveBracket {
    async fn serve(call: &Call<'_>, request: BracketRequest) -> Result<ShownBracket, ServiceError> {
        Ok(shown(&*call.services.brackets.leave(&request.id, call.owner()?).await?))
    }
}

impl Serve for ReportBracketMatch {
    async fn serve(call: &Call<'_>, request: BracketMatchResultRequest) -> Result<ShownMatch, ServiceError> {
        let (number, verdict, scores) = parse(&request)?;
        let brackets = &call.services.brackets;
        one_match(&*brackets.report(&request.id, call.owner()?, number, verdict, scores).await?, number)
    }
}

impl Serve for ConfirmBracketMatch {
    async fn serve(call: &Call<'_>, request: BracketMatchRequest) -> Result<ShownMatch, ServiceError> {
        let number = match_number(request.number)?;
        one_match(&*call.services.brackets.confirm(&request.id, call.owner()?, number).await?, number)
    }
}

impl Serve for CreateBracket {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: CreateBracketRequest) -> Result<ShownBracket, ServiceError> {
        let definition = request.into_definition(call.services.clock.now_ms())?;
        audit::<CreateBracket>(call, &definition.id).await?;
        Ok(shown(&*call.services.brackets.create(definition).await?))
    }
}

impl Serve for StartBracket {
    const ACCESS: Access = Access::Manage;

    fn answer_blocks(_request: &BracketRequest) -> u32 {
        detail_blocks()
    }

    async fn serve(call: &Call<'_>, request: BracketRequest) -> Result<BracketDetail, ServiceError> {
        audit::<StartBracket>(call, &request.id).await?;
        Ok(detail(&*call.services.brackets.start(&request.id).await?))
    }
}

impl Serve for ResolveBracketMatch {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: BracketMatchResultRequest) -> Result<ShownMatch, ServiceError> {
        let (number, verdict, scores) = parse(&request)?;
        audit::<ResolveBracketMatch>(call, &format!("{number} {}", request.id)).await?;
        one_match(&*call.services.brackets.resolve(&request.id, number, verdict, scores).await?, number)
    }
}

impl Serve for DeleteBracket {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: BracketRequest) -> Result<Empty, ServiceError> {
        audit::<DeleteBracket>(call, &request.id).await?;
        match call.services.brackets.delete(&request.id).await? {
            true => Ok(Empty::default()),
            false => Err(super::rows::NOT_FOUND),
        }
    }
}

async fn audit<O: Operation>(call: &Call<'_>, detail: &str) -> Result<(), ServiceError> {
    if detail.contains('\0') {
        return Err(ServiceError::invalid("The id of a bracket has no U+0000."));
    }
    let detail = &detail[..detail.floor_char_boundary(DETAIL_BYTES_MAX)];
    call.services.audit.write(call.caller(), Uuid::nil(), O::NAME, detail).await
}

/// Blocks of the largest bracket.
fn detail_blocks() -> u32 {
    answer_blocks(MATCHES_MAX + ENTRANTS_MAX, MATCH_BYTES.max(ENTRANT_BYTES))
}

fn one_match(bracket: &Bracket, number: usize) -> Result<ShownMatch, ServiceError> {
    shown_match(bracket, number).ok_or(super::rows::NOT_FOUND)
}

fn match_number(number: Option<i32>) -> Result<usize, ServiceError> {
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| ServiceError::invalid("Name the match by its number, from 0."))
}

/// Returns number, verdict and scores of a request.
fn parse(request: &BracketMatchResultRequest) -> Result<(usize, Verdict, [u32; 2]), ServiceError> {
    let number = match_number(request.number)?;
    let MatchResult { winner_id, draw, both_lose, scores } = request.result.clone().unwrap_or_default();
    let verdict = match (winner_id.as_str(), draw, both_lose) {
        ("", true, false) => Verdict::Draw,
        ("", false, true) => Verdict::BothLose,
        ("", ..) | (_, true, _) | (_, _, true) => {
            return Err(ServiceError::invalid("A result has either `winner_id`, `draw` or `both_lose`."));
        }
        (id, false, false) => {
            Verdict::Winner(id.parse().map_err(|_| ServiceError::invalid("`winner_id` must be a UUID."))?)
        }
    };
    let scores = match scores.as_slice() {
        [] => [0; 2],
        [one, other] => [*one, *other],
        _ => return Err(ServiceError::invalid("`scores` are two numbers: of the first and the second side.")),
    };
    Ok((number, verdict, scores))
}

impl CreateBracketRequest {
    /// Returns the definition of the bracket. Without an id, it gets a new one.
    pub fn into_definition(self, now_ms: i64) -> Result<Definition, ServiceError> {
        let format = Format::from_name(&self.format).ok_or_else(|| {
            let names = Format::ALL.map(|format| format!("`{}`", format.name())).join(", ");
            ServiceError::invalid(format!("A bracket's format is one of {names}."))
        })?;
        let seeding = match self.seeding.as_str() {
            "" => Some(Seeding::Order),
            name => Seeding::read(name, self.leaderboard_id),
        };
        let seeding =
            seeding.ok_or_else(|| ServiceError::invalid("A seeding is `order`, `rating` or `leaderboard`."))?;
        let negative = |_| ServiceError::invalid("`rounds`, `match_seconds` and `max_size` must not be negative.");
        let rounds = u32::try_from(self.rounds.unwrap_or(0)).map_err(negative)?;
        let max_size = self.max_size.map(usize::try_from).transpose().map_err(negative)?;
        let id = if self.id.is_empty() { new_id(now_ms).to_string() } else { self.id };
        let default = Definition::new(id, format);
        Ok(Definition {
            title: self.title,
            rules: Rules { format, rounds, match_seconds: self.match_seconds.unwrap_or(0).into() },
            seeding,
            max_size: max_size.unwrap_or(default.max_size),
            metadata: self.metadata.unwrap_or(default.metadata),
            id: default.id,
        })
    }
}
