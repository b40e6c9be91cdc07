//! The matchmaker as a service: tickets of sockets, seats and requests of rooms, and messages through the router.

use super::candidate::{Candidate, Decision, Output};
use super::decision::MatchedHook;
use super::error::MatchmakerError;
use super::metrics::MatchmakerMetrics;
use super::{BackfillRequest, MatchTarget, Matchmaker, MatchmakerStats, NewTicket, Settings, message};
use crate::clock::WallClock;
use crate::router::Router;
use crate::session::MatchTokens;
use aether_metrics::Registry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use uuid::Uuid;

/// Work of one part of a run, in comparisons. It takes 3 to 6 milliseconds, for which requests wait.
const PART_WORK_MAX: u64 = 100_000;

/// Longest wait between two runs while tickets or seats wait.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Settings of the matchmaker as a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceSettings {
    /// Rules and limits.
    pub rules: Settings,
    /// Room type that is created for a match. Without it a match is relayed: players join it by token.
    pub room_type: Option<String>,
    /// True if two players are not matched while one blocks the other.
    pub honour_blocks: bool,
}

/// Dependencies of the service.
pub(crate) struct ServiceParts<'a> {
    pub router: Arc<Router>,
    pub clock: Arc<dyn WallClock>,
    pub tokens: MatchTokens,
    pub hook: Option<MatchedHook>,
    pub registry: &'a Registry,
}

/// The matchmaker of a server.
///
/// Calls change the state under a lock and return at once. A task of the server waits with
/// [`until_due`](Self::until_due), lets tickets search with [`run_part`](Self::run_part), and decides on each candidate
/// with [`decide`](super::decide).
pub struct MatchmakerService {
    state: Mutex<Matchmaker>,
    /// Notified when a run may be due earlier than before.
    changed: Notify,
    pub(super) room_type: Option<String>,
    /// True if new tickets need the users whom their players block.
    pub honours_blocks: bool,
    pub(super) hook: Option<MatchedHook>,
    pub(super) tokens: MatchTokens,
    pub(super) metrics: MatchmakerMetrics,
    router: Arc<Router>,
    clock: Arc<dyn WallClock>,
}

/// Result of a part of a run.
#[derive(Debug, Default)]
pub struct RunPart {
    /// Candidates that wait for a decision.
    pub candidates: Vec<Candidate>,
    /// True if tickets have yet to search at once.
    pub has_more: bool,
}

impl MatchmakerService {
    pub(crate) fn new(parts: ServiceParts<'_>, settings: ServiceSettings) -> MatchmakerService {
        MatchmakerService {
            state: Mutex::new(Matchmaker::new(settings.rules)),
            changed: Notify::new(),
            room_type: settings.room_type,
            honours_blocks: settings.honour_blocks,
            hook: parts.hook,
            tokens: parts.tokens,
            metrics: MatchmakerMetrics::new(parts.registry),
            router: parts.router,
            clock: parts.clock,
        }
    }

    /// Adds a ticket of connected sessions.
    pub fn add(&self, ticket: NewTicket) -> Result<(), MatchmakerError> {
        let sessions: Vec<Uuid> = ticket.presences.iter().map(|presence| presence.session_id).collect();
        self.change(|matchmaker, now_ms| matchmaker.add(ticket, now_ms))?;
        // A session that ended in the meantime is not announced again.
        sessions
            .into_iter()
            .filter(|session| self.router.session(*session).is_none())
            .for_each(|it| self.end_session(it));
        Ok(())
    }

    /// Removes a ticket of a session. Only its leader removes that of a party.
    pub fn remove(&self, session: Uuid, ticket: Uuid) -> Result<(), MatchmakerError> {
        self.change(|matchmaker, _| matchmaker.remove(session, ticket))
    }

    /// Removes all tickets of a session that ended.
    pub fn end_session(&self, session: Uuid) {
        self.change(|matchmaker, _| matchmaker.end_session(session));
    }

    /// Adds or replaces the request of a running match for more players.
    pub fn request_backfill(&self, request: BackfillRequest) -> Result<(), MatchmakerError> {
        self.change(|matchmaker, _| matchmaker.request_backfill(request))
    }

    /// Removes the request of a match. Returns false if there is none.
    pub fn cancel_backfill(&self, match_id: &str) -> bool {
        self.change(|matchmaker, _| matchmaker.cancel_backfill(match_id))
    }

    /// Takes the reserved seat of a user who joins a match. Returns false if there is none, or its time is over.
    pub fn claim_seat(&self, match_id: &str, user: Uuid) -> bool {
        self.change(|matchmaker, _| matchmaker.claim_seat(match_id, user))
    }

    /// Returns true if a match keeps a seat for a user.
    #[must_use]
    pub fn has_seat(&self, match_id: &str, user: Uuid) -> bool {
        self.state().has_seat(match_id, user)
    }

    /// Number of reserved seats of a match.
    #[must_use]
    pub fn reserved_seats(&self, match_id: &str) -> usize {
        self.state().reserved_seats(match_id)
    }

    /// Removes the seats and the request of a match that ended.
    pub fn end_match(&self, match_id: &str) {
        self.change(|matchmaker, _| matchmaker.end_match(match_id));
    }

    /// Returns the current numbers.
    #[must_use]
    pub fn stats(&self) -> MatchmakerStats {
        self.state().stats()
    }

    /// Waits until a run is due. One task waits at a time.
    pub async fn until_due(&self) {
        loop {
            let due_ms = self.state().next_run_ms();
            let changed = self.changed.notified();
            let Some(due_ms) = due_ms else {
                changed.await;
                continue;
            };
            let wait_ms = u64::try_from(due_ms.saturating_sub(self.clock.now_ms())).unwrap_or(0);
            let wait = Duration::from_millis(wait_ms).min(WAIT_MAX);
            // Also over after a part of a long wait. A run before its time does nothing, and notices a clock that was set.
            if wait.is_zero() || tokio::time::timeout(wait, changed).await.is_err() {
                return;
            }
        }
    }

    /// Lets tickets and backfills search for a few milliseconds. Call it on a thread that may block.
    #[must_use]
    pub fn run_part(&self) -> RunPart {
        let began = Instant::now();
        let mut state = self.state();
        state.run_part(self.clock.now_ms(), PART_WORK_MAX);
        let time = began.elapsed();
        state.note_run_time(time);
        let mut candidates = Vec::new();
        while let Some(output) = state.poll_output() {
            match output {
                Output::Candidate(candidate) => candidates.push(candidate),
                // Rooms read the number of reserved seats; a backfill offers them again by itself.
                Output::SeatsFreed { users, .. } => self.metrics.seats_freed.add(users.len() as u64),
            }
        }
        self.metrics.run_seconds.observe(time.as_secs_f64());
        self.metrics.show(&state);
        RunPart { candidates, has_more: state.next_run_ms() == Some(i64::MIN) }
    }

    /// Makes a match of a candidate, or of some of its tickets, and sends the players to it.
    pub(super) fn accept(
        &self,
        candidate: &Candidate,
        tickets: Option<Vec<Uuid>>,
        target: MatchTarget,
    ) -> Result<(), MatchmakerError> {
        let decision = match tickets {
            None => Decision::Accept(target),
            Some(tickets) => Decision::AcceptOnly(tickets, target),
        };
        let (deliveries, now_ms) =
            self.change(|matchmaker, now_ms| Ok((matchmaker.resolve(candidate.id, decision, now_ms)?, now_ms)))?;
        let matched = |ticket: Uuid| deliveries.iter().any(|delivery| delivery.event.ticket == ticket);
        for ticket in candidate.tickets.iter().filter(|ticket| matched(ticket.ticket)) {
            self.metrics.wait_seconds.observe((now_ms - ticket.created_ms).max(0) as f64 / 1_000.0);
        }
        self.metrics.count_match(candidate.backfill.is_some());
        for (session, message) in message::matched(&deliveries) {
            self.router.send_to_session(session, message);
        }
        Ok(())
    }

    /// Lets the tickets of a candidate search again, unless it was decided on.
    pub(super) fn release(&self, candidate: &Candidate) {
        let released = self.change(|matchmaker, now_ms| matchmaker.resolve(candidate.id, Decision::Release, now_ms));
        if released.is_ok() {
            self.metrics.released.inc();
        }
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Changes the state at the current time, and wakes the task that runs it.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Matchmaker, i64) -> T) -> T {
        let mut state = self.state();
        let outcome = change(&mut state, self.clock.now_ms());
        self.metrics.show(&state);
        drop(state);
        self.changed.notify_one();
        outcome
    }

    fn state(&self) -> MutexGuard<'_, Matchmaker> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
