//! Terms of a tournament: what it has beyond a leaderboard.

use super::limits::{CATEGORY_MAX, COUNT_MAX, DESCRIPTION_BYTES_MAX, SECONDS_MAX, TITLE_BYTES_MAX};
use crate::error::ServiceError;

/// Terms of a tournament. All times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Title, shown to players.
    pub title: String,
    /// Description, shown to players.
    pub description: String,
    /// Category, from 0 to 127. Lists are ordered and filtered by it.
    pub category: u32,
    /// Start. 0 for the time of creation.
    pub start_time: i64,
    /// End. 0 for never.
    pub end_time: i64,
    /// Time for which it is active after the start, or after each reset, in seconds.
    pub duration: i64,
    /// Maximum entrants per period. 0 for no limit.
    pub max_size: i64,
    /// Attempts of an entrant per period. 0 for no limit.
    pub max_num_score: i64,
    /// True if players have to join before they submit scores.
    pub join_required: bool,
}

impl Terms {
    /// Creates the terms of a tournament that starts at once, is active for this many seconds, and that everyone may enter.
    #[must_use]
    pub fn lasting(duration: i64) -> Terms {
        Terms {
            title: String::new(),
            description: String::new(),
            category: 0,
            start_time: 0,
            end_time: 0,
            duration,
            max_size: 0,
            max_num_score: 0,
            join_required: false,
        }
    }

    /// Validates the terms.
    pub(crate) fn check(&self) -> Result<(), ServiceError> {
        let text = |what: &str, text: &str, bytes_max: usize| {
            let why = format!("A tournament's {what} must have at most {bytes_max} bytes and no U+0000.");
            if text.len() > bytes_max || text.contains('\0') { Err(ServiceError::invalid(why)) } else { Ok(()) }
        };
        text("title", &self.title, TITLE_BYTES_MAX)?;
        text("description", &self.description, DESCRIPTION_BYTES_MAX)?;
        let times = 0..=SECONDS_MAX;
        let counts = 0..=COUNT_MAX;
        let why = if self.category > CATEGORY_MAX {
            format!("A tournament's category must be from 0 to {CATEGORY_MAX}.")
        } else if !(1..=SECONDS_MAX).contains(&self.duration) {
            format!("A tournament's duration must be from 1 to {SECONDS_MAX} seconds.")
        } else if !times.contains(&self.start_time) || !times.contains(&self.end_time) {
            format!("Start and end of a tournament must be from 0 to {SECONDS_MAX}, in seconds since 1970.")
        } else if self.end_time > 0 && self.end_time <= self.start_time {
            "A tournament must end after its start.".to_owned()
        } else if !counts.contains(&self.max_size) || !counts.contains(&self.max_num_score) {
            format!("Maximum entrants and attempts of a tournament must be from 0 to {COUNT_MAX}.")
        } else {
            return Ok(());
        };
        Err(ServiceError::invalid(why))
    }
}
