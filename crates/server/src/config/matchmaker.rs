//! Settings of the matchmaker.

use super::declare::section;
use super::{Config, ConfigProblem};
use aether_services::matchmaker::limits::{TICKETS_MAX, TICKETS_PER_SESSION_MAX, TICKETS_PER_USER_MAX};
use aether_services::matchmaker::{ServiceSettings, Settings};

section! {
    /// The matchmaker.
    pub struct Matchmaker {
        /// Time between two searches of a ticket that waits. A new ticket searches at once. A shorter time widens ranges in
        /// finer steps, and costs more time of the processor.
        interval_ms: u32 = 1000, within 100..=60000;
        /// Intervals after which a ticket accepts its minimum count. Until then it waits for the maximum.
        max_intervals: u32 = 10, within 0..=10000;
        /// A match needs every ticket to accept every other. If false, only the query of the ticket that searches counts, and
        /// every ticket searches in every interval, which costs more time of the processor.
        mutual: bool = true;
        /// A user is in a match once only. If false, two sessions of a user can meet.
        distinct_users: bool = true;
        /// Two players are not matched while one blocks the other. Each ticket then reads whom its players block: the latest
        /// 200 of each. Players of running matches are not checked.
        honour_blocks: bool = false;
        /// Maximum number of tickets of one session, counting those of its parties.
        tickets_per_session_max: usize = TICKETS_PER_SESSION_MAX, within 1..=100;
        /// Maximum number of tickets of one user in all sessions.
        tickets_per_user_max: usize = TICKETS_PER_USER_MAX, within 1..=1000;
        /// Maximum number of tickets of the server. A ticket takes about 2 KiB.
        tickets_max: usize = TICKETS_MAX, within 1..=1000000;
        /// Time for which a match keeps the seat of a matched player who has not joined yet.
        seat_seconds: u32 = 15, within 1..=300;
        /// Maximum work of an interval, in comparisons of two tickets. A million takes 30 to 60 milliseconds of a processor.
        /// Tickets that are left search in the next interval.
        work_max: u32 = 10000000, within 10000..=1000000000;
        /// Room type that is created for each match. Default: matches are relayed, and players join them by token. A hook of
        /// the program may decide otherwise.
        room_type: Option<String> = None;
    }
}

impl Matchmaker {
    /// Returns the settings of the service.
    pub(crate) fn settings(&self) -> ServiceSettings {
        let rules = Settings {
            interval_ms: self.interval_ms.into(),
            max_intervals: self.max_intervals,
            mutual: self.mutual,
            distinct_users: self.distinct_users,
            tickets_per_session_max: self.tickets_per_session_max,
            tickets_per_user_max: self.tickets_per_user_max,
            tickets_max: self.tickets_max,
            seat_ms: i64::from(self.seat_seconds) * 1_000,
            work_max: self.work_max.into(),
        };
        ServiceSettings { rules, room_type: self.room_type.clone(), honour_blocks: self.honour_blocks }
    }
}

impl Config {
    pub(super) fn validate_matchmaker(&self, problems: &mut Vec<ConfigProblem>) {
        let matchmaker = &self.matchmaker;
        if matchmaker.tickets_per_user_max < matchmaker.tickets_per_session_max {
            let sentence = format!(
                "matchmaker.tickets_per_user_max ({}) is less than matchmaker.tickets_per_session_max ({}), so that a \
                 session could never use its share: raise it, or lower the other.",
                matchmaker.tickets_per_user_max, matchmaker.tickets_per_session_max
            );
            problems.push(self.problem("matchmaker.tickets_per_user_max", sentence));
        }
    }

    /// Returns the problem of a room type for matches that this server does not have.
    pub(crate) fn unknown_match_type(&self, known: &[&str]) -> Option<ConfigProblem> {
        let name = self.matchmaker.room_type.as_deref().filter(|name| !known.contains(name))?;
        let known = known.join(", ");
        let sentence = format!("matchmaker.room_type: unknown room type {name}; this server has {known}.");
        Some(self.problem("matchmaker.room_type", sentence))
    }
}
