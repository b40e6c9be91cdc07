//! Reset schedules of boards.

use crate::error::ServiceError;
use chrono::{DateTime, Utc};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

/// Maximum bytes of a schedule. Real ones have a few dozen; a long one is slow to search.
const SCHEDULE_BYTES_MAX: usize = 128;

/// Reset times of a board, in UTC: minute, hour, day of month, month and day of week, as in cron, or a short name such
/// as `@daily`.
///
/// ```
/// use aether_services::leaderboard::Schedule;
///
/// let mondays = Schedule::parse("0 0 * * 1", 0).unwrap();
/// let first = mondays.next_after(0).unwrap();
/// assert_eq!(first, 4 * 24 * 3_600, "1970 began on a Thursday");
/// assert_eq!(mondays.next_after(first), Some(first + 7 * 24 * 3_600));
/// ```
#[derive(Clone, Debug)]
pub struct Schedule(Cron);

impl Schedule {
    /// Parses a schedule. Fails if it has no time after `now`, in seconds since 1970.
    pub fn parse(text: &str, now: i64) -> Result<Schedule, ServiceError> {
        if text.len() > SCHEDULE_BYTES_MAX {
            return Err(ServiceError::invalid(format!(
                "A reset schedule must have at most {SCHEDULE_BYTES_MAX} bytes."
            )));
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(text).map_err(|error| {
            ServiceError::invalid(format!(
                "\"{text}\" is not a reset schedule: {error}. Give minute, hour, day of month, month and day of week, \
                 such as \"0 0 * * 1\"."
            ))
        })?;
        let schedule = Schedule(cron);
        match schedule.next_after(now) {
            Some(_) => Ok(schedule),
            None => Err(ServiceError::invalid(format!(
                "The reset schedule \"{text}\" never occurs. Correct its day and month."
            ))),
        }
    }

    /// Returns the first time after this one, in seconds since 1970.
    #[must_use]
    pub fn next_after(&self, seconds: i64) -> Option<i64> {
        let from = DateTime::<Utc>::from_timestamp(seconds, 0)?;
        self.0.find_next_occurrence(&from, false).ok().map(|next| next.timestamp())
    }

    /// Returns the last time not after this one, in seconds since 1970.
    #[must_use]
    pub fn last_until(&self, seconds: i64) -> Option<i64> {
        let from = DateTime::<Utc>::from_timestamp(seconds, 0)?;
        self.0.find_previous_occurrence(&from, true).ok().map(|last| last.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::GrpcCode;

    /// Parses a time in UTC to seconds since 1970.
    fn at(text: &str) -> i64 {
        text.parse::<DateTime<Utc>>().unwrap().timestamp()
    }

    fn next(schedule: &str, after: &str) -> i64 {
        Schedule::parse(schedule, at(after)).unwrap().next_after(at(after)).unwrap()
    }

    #[test]
    fn schedules_occur_as_expected() {
        let expected = [
            ("0 0 * * *", "2026-02-28T23:59:59Z", "2026-03-01T00:00:00Z"),
            ("0 0 * * *", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"),
            ("*/15 * * * *", "2026-01-01T10:07:30Z", "2026-01-01T10:15:00Z"),
            ("0 12 * * 1", "2026-11-16T12:00:00Z", "2026-11-23T12:00:00Z"),
            ("0 0 * * 7", "2026-11-16T00:00:00Z", "2026-11-22T00:00:00Z"),
            ("0 0 * * SUN", "2026-11-16T00:00:00Z", "2026-11-22T00:00:00Z"),
            ("0 0 1 JAN *", "2026-11-16T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("0 0 L * *", "2027-02-01T00:00:00Z", "2027-02-28T00:00:00Z"),
            ("0 0 1,15 * 5", "2026-11-16T00:00:00Z", "2026-11-20T00:00:00Z"),
            ("  30   6  *  *  1-5 ", "2026-11-20T06:30:00Z", "2026-11-23T06:30:00Z"),
            ("@hourly", "2026-11-16T00:59:59Z", "2026-11-16T01:00:00Z"),
            ("@weekly", "2026-11-16T00:00:00Z", "2026-11-22T00:00:00Z"),
            ("@monthly", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"),
        ];
        for (schedule, after, comes) in expected {
            assert_eq!(next(schedule, after), at(comes), "{schedule} after {after}");
        }
    }

    #[test]
    fn leap_days_are_found() {
        assert_eq!(next("0 0 29 2 *", "2026-01-01T00:00:00Z"), at("2028-02-29T00:00:00Z"));
        assert_eq!(next("0 0 29 2 *", "2096-02-29T00:00:00Z"), at("2104-02-29T00:00:00Z"), "2100 is no leap year");
        assert_eq!(next("59 23 31 12 *", "2026-12-31T23:59:00Z"), at("2027-12-31T23:59:00Z"));
    }

    #[test]
    fn the_last_time_precedes_the_next() {
        let schedule = Schedule::parse("0 0 29 2 *", 0).unwrap();
        let now = at("2026-11-16T01:02:03Z");
        assert_eq!(schedule.last_until(now), Some(at("2024-02-29T00:00:00Z")));
        let leap_day = at("2028-02-29T00:00:00Z");
        assert_eq!(schedule.last_until(leap_day), Some(leap_day), "a reset belongs to what it begins");
        assert_eq!(schedule.last_until(leap_day - 1), Some(at("2024-02-29T00:00:00Z")));
    }

    #[test]
    fn invalid_schedules_are_rejected() {
        let long = format!("0 0 {} * *", "1,".repeat(SCHEDULE_BYTES_MAX));
        let wrong = [
            "0 0 30 2 *",
            "0 0 31 4,6,9,11 *",
            "",
            "   ",
            "* * * *",
            "0 0 0 * * *",
            "0 0 0 * * * 2030",
            "60 * * * *",
            "* 24 * * *",
            "0 0 0 * *",
            "0 0 * 13 *",
            "0 0 * * 8",
            "*/0 * * * *",
            "5-1 * * * *",
            "@sometimes",
            "every day",
            "0 0 * * *\0",
            "\u{1F600} * * * *",
            &long,
        ];
        for text in wrong {
            let error = Schedule::parse(text, at("2026-11-16T00:00:00Z")).expect_err(text);
            assert_eq!(error.code, GrpcCode::InvalidArgument, "{text}");
        }
    }

    #[test]
    fn times_beyond_the_calendar_have_no_next() {
        let schedule = Schedule::parse("0 0 * * *", 0).unwrap();
        for seconds in [i64::MIN, i64::MAX, 1 << 50] {
            assert_eq!(schedule.next_after(seconds), None);
            assert_eq!(schedule.last_until(seconds), None);
        }
    }
}
