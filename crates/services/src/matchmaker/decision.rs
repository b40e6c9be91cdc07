//! Decisions on match candidates: by the hook of the program, or by the settings.

use super::candidate::{Candidate, MatchTarget};
use super::service::MatchmakerService;
use crate::clock::new_id;
use crate::error::{GrpcCode, ServiceError};
use crate::matches::NewMatch;
use crate::services::Services;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, warn};
use uuid::Uuid;

/// Longest time of a decision: of the hook and of the creation of the match. Then the tickets search again.
const DECISION_TIME_MAX: Duration = Duration::from_secs(10);

const MATCH_ENDED: ServiceError = ServiceError::new(GrpcCode::NotFound, "The match that asked for players has ended.");
const FOREIGN_TICKET: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "The hook named no ticket, or one that is not in the candidate.");

/// Hook `matchmaker_matched`: decides on the candidates of the matchmaker.
pub struct MatchedHook(Box<HookFunction>);

type HookFunction = dyn Fn(Arc<Services>, Arc<Candidate>) -> HookFuture + Send + Sync;
type HookFuture = Pin<Box<dyn Future<Output = Result<MatchedAnswer, ServiceError>> + Send>>;

/// Answer of the hook on a candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MatchedAnswer {
    /// As without a hook.
    #[default]
    Default,
    /// All tickets become a match.
    Accept(MatchPlan),
    /// Only these tickets become a match. The others go on waiting.
    AcceptOnly(Vec<Uuid>, MatchPlan),
    /// No match: all tickets go on waiting, and search again in the next interval.
    Refuse,
}

/// Match that accepted players are sent to. Players of a backfill join the match that asked for them, whatever the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MatchPlan {
    /// A room of the type in the settings, or else a relayed match.
    #[default]
    Default,
    /// A new match of a room type.
    Create(NewMatch),
    /// A running match with this id.
    Running(String),
}

/// Match of a decision.
struct Destination {
    target: MatchTarget,
    /// True if it was created for the candidate, and ends if the candidate does not exist any more.
    is_new: bool,
}

/// Releases the candidate when it is dropped without a decision: on an error, a panic and a timeout.
struct ReleaseOnDrop<'a>(&'a MatchmakerService, &'a Candidate);

impl Drop for ReleaseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.release(self.1);
    }
}

impl MatchedHook {
    /// Wraps a function.
    pub fn new<F>(hook: impl Fn(Arc<Services>, Arc<Candidate>) -> F + Send + Sync + 'static) -> MatchedHook
    where
        F: Future<Output = Result<MatchedAnswer, ServiceError>> + Send + 'static,
    {
        MatchedHook(Box::new(move |services, candidate| Box::pin(hook(services, candidate))))
    }

    /// Calls the function.
    pub async fn call(
        &self,
        services: &Arc<Services>,
        candidate: &Arc<Candidate>,
    ) -> Result<MatchedAnswer, ServiceError> {
        (self.0)(Arc::clone(services), Arc::clone(candidate)).await
    }
}

/// Decides on a candidate of [`run_part`](MatchmakerService::run_part): calls the hook, creates the match and sends the
/// players to it. If that fails, the tickets search again in the next interval.
pub async fn decide(services: &Arc<Services>, candidate: Candidate) {
    let candidate = Arc::new(candidate);
    let _released = ReleaseOnDrop(&services.matchmaker, &candidate);
    match tokio::time::timeout(DECISION_TIME_MAX, make_match(services, &candidate)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => debug!(%error, "match candidate released"),
        Err(_) => warn!(seconds = DECISION_TIME_MAX.as_secs(), "match candidate released: the decision took too long"),
    }
}

async fn make_match(services: &Arc<Services>, candidate: &Arc<Candidate>) -> Result<(), ServiceError> {
    let answer = match &services.matchmaker.hook {
        None => MatchedAnswer::Default,
        Some(hook) => hook.call(services, candidate).await.inspect_err(|error| {
            warn!(%error, "hook matchmaker_matched failed");
        })?,
    };
    let (tickets, plan) = match answer {
        MatchedAnswer::Default => (None, MatchPlan::Default),
        MatchedAnswer::Accept(plan) => (None, plan),
        MatchedAnswer::AcceptOnly(tickets, plan) => (Some(tickets), plan),
        MatchedAnswer::Refuse => return Ok(()),
    };
    let is_known = |ticket: &Uuid| candidate.tickets.iter().any(|known| known.ticket == *ticket);
    if tickets.as_ref().is_some_and(|tickets| tickets.is_empty() || !tickets.iter().all(is_known)) {
        warn!("hook matchmaker_matched named tickets that are not in the candidate");
        return Err(FOREIGN_TICKET);
    }
    let Destination { target, is_new } = destination(services, candidate, plan).await?;
    let match_id = target.match_id.clone();
    let accepted = services.matchmaker.accept(candidate, tickets, target);
    if accepted.is_err() && is_new {
        // A player left in the meantime.
        services.matches()?.end(&match_id).await?;
    }
    Ok(accepted?)
}

async fn destination(
    services: &Arc<Services>,
    candidate: &Candidate,
    plan: MatchPlan,
) -> Result<Destination, ServiceError> {
    let running = |match_id| Destination { target: MatchTarget { match_id, token: None }, is_new: false };
    if let Some(match_id) = &candidate.backfill {
        if services.matches()?.find(match_id).await?.is_none() {
            services.matchmaker.end_match(match_id);
            return Err(MATCH_ENDED);
        }
        return Ok(running(match_id.clone()));
    }
    let new = match (plan, &services.matchmaker.room_type) {
        (MatchPlan::Running(match_id), _) => return Ok(running(match_id)),
        (MatchPlan::Create(new), _) => new,
        // Only matched players find the room.
        (MatchPlan::Default, Some(match_type)) => {
            NewMatch { match_type: match_type.clone(), private: true, ..NewMatch::default() }
        }
        (MatchPlan::Default, None) => return Ok(relayed(&services.matchmaker)),
    };
    let created = services.matches()?.create_with(&new).await?;
    Ok(Destination { is_new: true, ..running(created.id) })
}

/// Returns a relayed match, which exists once its first player joins by token.
fn relayed(matchmaker: &MatchmakerService) -> Destination {
    let now_ms = matchmaker.now_ms();
    let match_id = format!("{}.", new_id(now_ms));
    let now_seconds = u64::try_from(now_ms.div_euclid(1_000)).unwrap_or(0);
    let token = matchmaker.tokens.issue(&match_id, now_seconds);
    Destination { target: MatchTarget { match_id, token: Some(token) }, is_new: false }
}
