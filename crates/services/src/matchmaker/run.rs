//! Runs: tickets that have to search do so, the oldest first.

use super::blocks::TicketIndex;
use super::candidate::{Candidate, CandidateId, CandidateTicket, HeldCandidate, Output};
use super::group::{GroupSearch, Seeker};
use super::limits::{
    CANDIDATES_MAX, CANDIDATES_MIN, CANDIDATES_PER_PLAYER, GROUP_STEPS_PER_WORK, KEYS_PER_WORK, PLANNED_ENOUGH,
};
use super::stats::RunStats;
use super::ticket::{Ticket, TicketKey};
use super::{Matchmaker, Settings};
use crate::matchmaker::pool::Pool;
use aether_query::Query;

/// Tickets that a search found, the preferred first.
struct Gathered {
    keys: Vec<TicketKey>,
    /// Last ticket that was checked, if the search stopped before the last candidate.
    stopped_at: Option<TicketKey>,
}

/// Parts of the matchmaker that a search reads.
struct Searcher<'a> {
    settings: &'a Settings,
    pool: &'a Pool,
    now_ms: i64,
    work_left: u64,
}

impl Matchmaker {
    /// Time at which the next run is due, in milliseconds since 1970; a time in the past means now. `None` if nothing
    /// waits.
    #[must_use]
    pub fn next_run_ms(&self) -> Option<i64> {
        let has_news = !self.arrivals.is_empty() || !self.queue.is_empty() || self.backfills.has_active();
        if has_news && self.work_left > 0 {
            return Some(i64::MIN);
        }
        let has_rest = has_news || self.backfills.has_later();
        let every_interval = has_rest || !self.settings.mutual && !self.pool.waiting().is_empty();
        let next = every_interval.then(|| self.interval.saturating_add(1).saturating_mul(self.settings.interval_ms));
        let wake = self.wakes.first().map(|(wake_ms, _)| *wake_ms);
        [next, wake, self.seats.next_deadline_ms()].into_iter().flatten().min()
    }

    /// Frees the seats of players who did not join, and lets tickets and backfills search.
    pub fn run(&mut self, now_ms: i64) {
        self.run_part(now_ms, u64::MAX);
    }

    /// Runs as [`run`](Self::run), and stops after this much work, in comparisons. The caller continues with another call
    /// if [`next_run_ms`](Self::next_run_ms) says so.
    pub fn run_part(&mut self, now_ms: i64, work: u64) {
        let is_new_interval = self.start_interval(now_ms);
        for (match_id, users) in self.seats.expire(now_ms) {
            self.backfills.open(&match_id, users.len());
            self.outputs.push_back(Output::SeatsFreed { match_id, users });
        }
        self.queue_tickets(is_new_interval, now_ms);
        let before = self.work_left;
        let enough = before.saturating_sub(work);
        self.counters.last_run = RunStats::default();
        while self.work_left > enough
            && let Some(match_id) = self.backfills.next_active()
        {
            self.counters.last_run.searches += 1;
            self.search_backfill(&match_id, now_ms);
        }
        while self.work_left > enough
            && let Some(key) = self.queue.pop_front()
        {
            self.search(key, now_ms);
        }
        self.counters.last_run.work = before - self.work_left;
        self.counters.last_run.left = self.queue.len();
    }

    /// Sets the times at which a ticket searches again by itself.
    pub(super) fn schedule(&mut self, key: TicketKey, now_ms: i64) {
        let Some(ticket) = self.pool.get(key) else { return };
        let waited_ms = now_ms.saturating_sub(ticket.created_ms);
        let relaxed_ms = self.settings.relaxed_ms(ticket);
        let grows = ticket.widenings.iter().any(|widening| widening.grows_after(waited_ms));
        let next = if grows {
            self.settings.interval_of(now_ms) + 1
        } else if now_ms < relaxed_ms {
            // The first interval that starts when the ticket has waited long enough.
            self.settings.interval_of(relaxed_ms - 1) + 1
        } else {
            return;
        };
        self.wake_at(key, next.saturating_mul(self.settings.interval_ms));
    }

    /// Lets a ticket search in the next interval.
    pub(super) fn wake_next_interval(&mut self, key: TicketKey, now_ms: i64) {
        let next = self.settings.interval_of(now_ms) + 1;
        self.wake_at(key, next.saturating_mul(self.settings.interval_ms));
    }

    /// Lets a ticket search at a time, unless it does so earlier; it then sets its next time itself.
    fn wake_at(&mut self, key: TicketKey, wake_ms: i64) {
        let Some(ticket) = self.pool.get_mut(key) else { return };
        match ticket.wakes_ms {
            Some(earlier) if earlier <= wake_ms => return,
            Some(later) => {
                self.wakes.remove(&(later, key));
            }
            None => {}
        }
        ticket.wakes_ms = Some(wake_ms);
        self.wakes.insert((wake_ms, key));
    }

    /// Removes a ticket and its time.
    pub(super) fn take(&mut self, key: TicketKey) -> Option<Ticket> {
        let ticket = self.pool.remove(key)?;
        if let Some(wake_ms) = ticket.wakes_ms {
            self.wakes.remove(&(wake_ms, key));
        }
        Some(ticket)
    }

    /// Renews the work if a new interval began. Returns true if so.
    fn start_interval(&mut self, now_ms: i64) -> bool {
        let interval = self.settings.interval_of(now_ms);
        // A clock that is set back also starts an interval: the next one could be far away.
        let is_new = interval != self.interval;
        if is_new {
            self.interval = interval;
            self.work_left = self.settings.work_max;
            self.backfills.start_interval();
        }
        is_new
    }

    /// Queues tickets that have to search, the oldest first.
    fn queue_tickets(&mut self, is_new_interval: bool, now_ms: i64) {
        let mut keys = std::mem::take(&mut self.arrivals);
        while let Some((wake_ms, key)) = self.wakes.first().copied().filter(|(wake_ms, _)| *wake_ms <= now_ms) {
            self.wakes.remove(&(wake_ms, key));
            if let Some(ticket) = self.pool.get_mut(key) {
                ticket.wakes_ms = None;
            }
            self.schedule(key, now_ms);
            keys.push(key);
        }
        if is_new_interval && !self.settings.mutual {
            keys.extend(self.pool.waiting());
        }
        keys.sort_unstable();
        for key in keys {
            if let Some(ticket) = self.pool.get_mut(key)
                && ticket.held_by.is_none()
                && !std::mem::replace(&mut ticket.is_queued, true)
            {
                self.queue.push_back(key);
            }
        }
    }

    /// Lets a ticket search for a running match, then for other tickets.
    fn search(&mut self, key: TicketKey, now_ms: i64) {
        let Some(ticket) = self.pool.get_mut(key) else { return };
        ticket.is_queued = false;
        if ticket.held_by.is_some() {
            return;
        }
        self.counters.last_run.searches += 1;
        let resume_after = ticket.resume_after.take();
        let Some(ticket) = self.pool.get(key) else { return };
        let waited_ms = now_ms.saturating_sub(ticket.created_ms);
        if let Some(match_id) = self.backfills.find_for(ticket, waited_ms, &mut self.work_left) {
            let match_id = match_id.to_owned();
            return self.hold(vec![key], Some(match_id));
        }
        let mut searcher = Searcher { settings: &self.settings, pool: &self.pool, now_ms, work_left: self.work_left };
        let mut gathered = searcher.gather(key, ticket, resume_after);
        if let Some(by) = ticket.cuts.checked_rem(gathered.keys.len()) {
            // The last search gave up before it tried all groups: begin with others.
            gathered.keys.rotate_left(by);
        }
        let (group, is_cut) = searcher.find_group(ticket, &gathered.keys);
        self.work_left = searcher.work_left;
        if let Some(group) = group {
            self.hold(std::iter::once(key).chain(group).collect(), None);
        } else if gathered.stopped_at.is_some() {
            // The candidates after the last one may suit.
            if let Some(ticket) = self.pool.get_mut(key) {
                ticket.resume_after = gathered.stopped_at;
                ticket.is_queued = true;
                self.queue.push_back(key);
            }
        } else if is_cut {
            if let Some(ticket) = self.pool.get_mut(key) {
                ticket.cuts = ticket.cuts.wrapping_add(CANDIDATES_MIN + 1);
            }
            self.wake_next_interval(key, now_ms);
        }
    }

    /// Lets a running match search for tickets until its seats are taken.
    fn search_backfill(&mut self, match_id: &str, now_ms: i64) {
        let Some(backfill) = self.backfills.get(match_id) else { return };
        let mut found: Vec<(f64, TicketKey)> = Vec::new();
        let blocks = self.pool.blocks(None);
        for key in blocks.flat_map(|block| oldest_first(block, block.candidates(&backfill.query), None)) {
            let Some(ticket) = self.pool.get(key) else { continue };
            self.work_left = self.work_left.saturating_sub(ticket.check_cost() + backfill.check_cost());
            if backfill.suits(ticket, now_ms.saturating_sub(ticket.created_ms)).is_some()
                && let Some(score) = backfill.query.matches(&ticket.document)
            {
                found.push((score.value(), key));
            }
            if found.len() >= CANDIDATES_MAX || self.work_left == 0 {
                break;
            }
        }
        found.sort_by(|left, right| right.0.total_cmp(&left.0));
        let mut open = backfill.open;
        let mut chosen = Vec::new();
        for (_, key) in found {
            let Some(ticket) = self.pool.get(key).filter(|ticket| ticket.count() <= open) else { continue };
            let meets = |other: &TicketKey| {
                self.pool.get(*other).is_some_and(|other| can_meet(ticket, other, self.settings.distinct_users))
            };
            if chosen.iter().all(meets) {
                open -= ticket.count();
                chosen.push(key);
            }
        }
        if (self.work_left == 0 || chosen.len() == CANDIDATES_MAX) && open > 0 {
            self.backfills.search_later(match_id);
        }
        if !chosen.is_empty() {
            self.hold(chosen, Some(match_id.to_owned()));
        }
    }

    /// Makes a candidate of tickets.
    fn hold(&mut self, keys: Vec<TicketKey>, backfill: Option<String>) {
        self.next_candidate += 1;
        let id = self.next_candidate;
        let mut tickets = Vec::with_capacity(keys.len());
        let mut players = 0;
        for key in &keys {
            self.pool.hide(*key);
            if let Some(ticket) = self.pool.get_mut(*key) {
                ticket.held_by = Some(id);
                ticket.resume_after = None;
                players += ticket.count();
                tickets.push(CandidateTicket::of(ticket));
            }
        }
        if let Some(match_id) = &backfill {
            self.backfills.take(match_id, players);
        }
        self.counters.last_run.found += 1;
        self.outputs.push_back(Output::Candidate(Candidate {
            id: CandidateId(id),
            backfill: backfill.clone(),
            tickets,
        }));
        self.candidates.insert(id, HeldCandidate { keys, backfill });
    }
}

impl Settings {
    /// Number of the interval that a time is in.
    fn interval_of(&self, now_ms: i64) -> i64 {
        now_ms.div_euclid(self.interval_ms)
    }

    /// Time from which a ticket accepts its minimum count.
    fn relaxed_ms(&self, ticket: &Ticket) -> i64 {
        ticket.created_ms.saturating_add(self.interval_ms.saturating_mul(i64::from(self.max_intervals)))
    }
}

impl Searcher<'_> {
    /// Collects the tickets that can be in a match with a ticket.
    fn gather(&mut self, key: TicketKey, ticket: &Ticket, after: Option<TicketKey>) -> Gathered {
        let missing = ticket.counts.max - ticket.count();
        let wanted = (missing * CANDIDATES_PER_PLAYER).clamp(CANDIDATES_MIN, CANDIDATES_MAX);
        if missing == 0 {
            return Gathered { keys: Vec::new(), stopped_at: None };
        }
        let pool = self.pool;
        let waited_ms = self.waited_ms(ticket);
        let ranges: Vec<Query> = ticket.widenings.iter().filter_map(|widening| widening.query(waited_ms)).collect();
        let mut found: Vec<(f64, TicketKey)> = Vec::new();
        let mut stopped_at = None;
        'blocks: for block in pool.blocks(after) {
            let planned = planned(block, ticket, &ranges);
            self.charge(1 + planned.as_ref().map_or(0, Vec::len) as u64 / KEYS_PER_WORK);
            for other in oldest_first(block, planned, after) {
                if other != key
                    && let Some(score) = self.score(ticket, other)
                {
                    found.push((score, other));
                }
                if found.len() >= wanted || self.work_left == 0 {
                    stopped_at = Some(other);
                    break 'blocks;
                }
            }
        }
        found.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        Gathered { keys: found.into_iter().map(|(_, key)| key).collect(), stopped_at }
    }

    /// Returns the score of another ticket, unless the two cannot be in one match.
    fn score(&mut self, ticket: &Ticket, other: TicketKey) -> Option<f64> {
        let other = self.pool.get(other)?;
        let largest = ticket.counts.max.min(other.counts.max);
        if ticket.counts.min.max(other.counts.min) > largest || ticket.count() + other.count() > largest {
            return None;
        }
        self.charge(ticket.check_cost());
        let score = ticket.accepts(&other.document, &other.properties, self.waited_ms(ticket))?;
        if self.settings.mutual {
            self.charge(other.check_cost());
            other.accepts(&ticket.document, &ticket.properties, self.waited_ms(other))?;
        }
        can_meet(ticket, other, self.settings.distinct_users).then_some(score.value())
    }

    /// Finds a group of candidates that makes a match with a ticket. Also returns true if the search was cut short.
    fn find_group(&mut self, ticket: &Ticket, keys: &[TicketKey]) -> (Option<Vec<TicketKey>>, bool) {
        let tickets: Vec<&Ticket> = keys.iter().filter_map(|key| self.pool.get(*key)).collect();
        let seekers: Vec<Seeker> = tickets.iter().map(|ticket| self.seeker(ticket)).collect();
        let mut known: Vec<Option<bool>> = vec![None; tickets.len() * tickets.len()];
        let first = self.seeker(ticket);
        let search = GroupSearch {
            first,
            candidates: &seekers,
            any_decides: self.settings.mutual,
            are_compatible: |left: usize, right: usize| {
                let place = left * tickets.len() + right;
                *known[place].get_or_insert_with(|| self.are_compatible(tickets[left], tickets[right]))
            },
        };
        let found = search.run();
        self.charge(1 + found.steps / GROUP_STEPS_PER_WORK);
        (found.group.map(|group| group.into_iter().map(|index| keys[index]).collect()), found.is_cut)
    }

    /// Returns true if two candidates of a ticket can be in one match.
    fn are_compatible(&mut self, left: &Ticket, right: &Ticket) -> bool {
        if !can_meet(left, right, self.settings.distinct_users) {
            return false;
        }
        if !self.settings.mutual {
            return true;
        }
        self.charge(left.check_cost() + right.check_cost());
        left.accepts(&right.document, &right.properties, self.waited_ms(left)).is_some()
            && right.accepts(&left.document, &left.properties, self.waited_ms(right)).is_some()
    }

    fn seeker(&self, ticket: &Ticket) -> Seeker {
        let is_relaxed = self.now_ms >= self.settings.relaxed_ms(ticket);
        Seeker { count: ticket.count(), counts: ticket.counts, is_relaxed }
    }

    fn waited_ms(&self, ticket: &Ticket) -> i64 {
        self.now_ms.saturating_sub(ticket.created_ms)
    }

    fn charge(&mut self, work: u64) {
        self.work_left = self.work_left.saturating_sub(work);
    }
}

/// Keys of the tickets in a block that a ticket's query and ranges may accept, unordered, or `None` if all have to be
/// checked.
fn planned(block: &TicketIndex, ticket: &Ticket, ranges: &[Query]) -> Option<Vec<TicketKey>> {
    let narrowest = ranges.iter().filter_map(|range| block.candidates(range)).min_by_key(Vec::len);
    if narrowest.as_ref().is_some_and(|keys| keys.len() <= PLANNED_ENOUGH) {
        return narrowest;
    }
    narrowest.into_iter().chain(block.candidates(&ticket.query)).min_by_key(Vec::len)
}

/// Planned keys of a block after a key, or all if there is no plan, the oldest first.
fn oldest_first(
    block: &TicketIndex,
    planned: Option<Vec<TicketKey>>,
    after: Option<TicketKey>,
) -> impl Iterator<Item = TicketKey> {
    let all = planned.is_none().then(|| block.keys_after(after).copied());
    let planned = planned.map(|mut keys| {
        keys.retain(|key| after.is_none_or(|after| *key > after));
        keys.sort_unstable();
        keys
    });
    planned.into_iter().flatten().chain(all.into_iter().flatten())
}

/// Returns true if two tickets have no session, and if required no user, in common, and no player blocks another.
fn can_meet(left: &Ticket, right: &Ticket, distinct_users: bool) -> bool {
    let is_blocked = left.blocks(right) || right.blocks(left);
    !is_blocked
        && left.presences.iter().all(|one| {
            right
                .presences
                .iter()
                .all(|other| one.session_id != other.session_id && !(distinct_users && one.user_id == other.user_id))
        })
}
