//! Deadlines of a tournament: computed from its terms, its reset schedule and the time.

use super::terms::Terms;
use crate::leaderboard::Schedule;

/// Times of a tournament, in seconds since 1970: of its current period, or the next one before the start, or the last one
/// after the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Start of the time in which the period is active.
    pub start_active: i64,
    /// End of it: the first second in which no score is accepted.
    pub end_active: i64,
    /// Next reset. 0 if there is none.
    pub next_reset: i64,
    /// Last reset. 0 if there was none since the start.
    pub prev_reset: i64,
    /// Expiry of the period, by which its records are listed. 0 without resets.
    pub expiry: i64,
}

/// Schedule of a tournament.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timetable<'a> {
    schedule: Option<&'a Schedule>,
    duration: i64,
    start: i64,
    end: i64,
}

impl Deadlines {
    /// Returns true if scores are accepted.
    #[must_use]
    pub fn is_active(&self, now: i64) -> bool {
        (self.start_active..self.end_active).contains(&now)
    }
}

impl<'a> Timetable<'a> {
    /// Creates the timetable of a tournament that was created at this second.
    pub fn new(terms: &Terms, schedule: Option<&'a Schedule>, created_at: i64) -> Timetable<'a> {
        let start = if terms.start_time == 0 { created_at } else { terms.start_time };
        let end = if terms.end_time == 0 { i64::MAX } else { terms.end_time };
        Timetable { schedule, duration: terms.duration, start, end }
    }

    /// Returns the deadlines at a time.
    pub fn deadlines(&self, now: i64) -> Deadlines {
        let Some(schedule) = self.schedule else {
            let (start_active, end_active) = (self.start, self.end_of(self.start));
            return Deadlines { start_active, end_active, next_reset: 0, prev_reset: 0, expiry: 0 };
        };
        let at = now.max(self.start).min(self.end.saturating_sub(1));
        let last = schedule.last_until(at).filter(|reset| self.end_of(*reset) > self.start);
        let next = schedule.next_after(at).unwrap_or(i64::MAX);
        let begin = last.unwrap_or(next);
        let has_next = next < self.end && now < self.end;
        let expiry = if last.is_some() { next } else { schedule.next_after(next).unwrap_or(i64::MAX) };
        Deadlines {
            start_active: begin.max(self.start),
            end_active: self.end_of(begin),
            next_reset: if has_next { next } else { 0 },
            prev_reset: last.filter(|reset| *reset > self.start).unwrap_or(0),
            expiry,
        }
    }

    /// Returns the first end of an active time after this time.
    pub fn next_end(&self, after: i64) -> Option<i64> {
        let Some(schedule) = self.schedule else {
            return Some(self.end_of(self.start)).filter(|end| *end > after);
        };
        let from = after.max(self.start);
        let current = schedule.last_until(from).map(|reset| self.end_of(reset));
        if let Some(end) = current.filter(|end| *end > after && *end > self.start) {
            return Some(end);
        }
        schedule.next_after(from).filter(|reset| *reset < self.end).map(|reset| self.end_of(reset))
    }

    /// Returns the first reset after this time, while the tournament goes on.
    pub fn next_reset(&self, after: i64) -> Option<i64> {
        self.schedule?.next_after(after.max(self.start)).filter(|reset| *reset < self.end)
    }

    /// Returns the expiry of the period in which an active time ends.
    pub fn expiry_of_end(&self, end: i64) -> i64 {
        self.schedule.map_or(0, |schedule| schedule.next_after(end - 1).unwrap_or(i64::MAX))
    }

    /// Returns the end of the active time that begins with a reset: at most the next reset and the end of the tournament.
    fn end_of(&self, begin: i64) -> i64 {
        let next = self.schedule.and_then(|schedule| schedule.next_after(begin)).unwrap_or(i64::MAX);
        begin.saturating_add(self.duration).min(next).min(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600;
    const DAY: i64 = 24 * HOUR;

    fn terms(start_time: i64, end_time: i64, duration: i64) -> Terms {
        Terms { start_time, end_time, ..Terms::lasting(duration) }
    }

    #[test]
    fn without_resets_it_is_active_once() {
        let terms = terms(100 * DAY, 0, HOUR);
        let times = Timetable::new(&terms, None, 99 * DAY);
        let expected = Deadlines {
            start_active: 100 * DAY,
            end_active: 100 * DAY + HOUR,
            next_reset: 0,
            prev_reset: 0,
            expiry: 0,
        };
        for now in [0, 99 * DAY, 100 * DAY, 200 * DAY] {
            assert_eq!(times.deadlines(now), expected, "at {now}");
        }
        assert!(!expected.is_active(100 * DAY - 1) && expected.is_active(100 * DAY));
        assert!(expected.is_active(100 * DAY + HOUR - 1) && !expected.is_active(100 * DAY + HOUR));
        assert_eq!(times.next_end(0), Some(100 * DAY + HOUR));
        assert_eq!(times.next_end(100 * DAY + HOUR), None);
        assert_eq!(times.next_reset(0), None);
        let sooner = Terms { end_time: 100 * DAY + 60, ..terms };
        assert_eq!(Timetable::new(&sooner, None, 0).deadlines(0).end_active, 100 * DAY + 60, "the end comes first");
    }

    #[test]
    fn with_resets_it_is_active_after_each() {
        let daily = Schedule::parse("0 0 * * *", 0).unwrap();
        // Starts at noon of day 100, within the active time of that day.
        let terms = terms(100 * DAY + 12 * HOUR, 103 * DAY + HOUR, 18 * HOUR);
        let times = Timetable::new(&terms, Some(&daily), 0);
        let seen = |now: i64| {
            let Deadlines { start_active, end_active, next_reset, prev_reset, expiry } = times.deadlines(now);
            [start_active, end_active, next_reset, prev_reset, expiry].map(|seconds| seconds / HOUR - 2_400)
        };
        let none = -2_400;
        assert_eq!(seen(99 * DAY), [12, 18, 24, none, 24], "before the start");
        assert_eq!(seen(100 * DAY + 13 * HOUR), [12, 18, 24, none, 24]);
        assert_eq!(seen(100 * DAY + 20 * HOUR), [12, 18, 24, none, 24], "over, until the reset");
        assert_eq!(seen(101 * DAY), [24, 42, 48, 24, 48]);
        assert_eq!(seen(103 * DAY), [72, 73, none, 72, 96], "the end comes before the next reset");
        assert_eq!(seen(500 * DAY), [72, 73, none, 72, 96], "after the end");
        let ends: Vec<i64> = std::iter::successors(times.next_end(0), |end| times.next_end(*end)).collect();
        assert_eq!(ends.iter().map(|end| end / HOUR - 2_400).collect::<Vec<_>>(), [18, 42, 66, 73]);
        assert_eq!(ends.iter().map(|end| times.expiry_of_end(*end) / DAY).collect::<Vec<_>>(), [101, 102, 103, 104]);
        let resets: Vec<i64> = std::iter::successors(times.next_reset(0), |reset| times.next_reset(*reset)).collect();
        assert_eq!(resets.iter().map(|reset| reset / DAY).collect::<Vec<_>>(), [101, 102, 103]);
    }

    #[test]
    fn a_start_after_the_active_time_waits_for_the_next_reset() {
        let daily = Schedule::parse("0 0 * * *", 0).unwrap();
        let terms = terms(100 * DAY + 12 * HOUR, 0, HOUR);
        let times = Timetable::new(&terms, Some(&daily), 0);
        let expected = Deadlines {
            start_active: 101 * DAY,
            end_active: 101 * DAY + HOUR,
            next_reset: 101 * DAY,
            prev_reset: 0,
            expiry: 102 * DAY,
        };
        assert_eq!(times.deadlines(100 * DAY + 13 * HOUR), expected);
        assert_eq!(times.next_end(0), Some(101 * DAY + HOUR));
    }

    #[test]
    fn a_duration_beyond_the_next_reset_is_active_all_the_time() {
        let hourly = Schedule::parse("0 * * * *", 0).unwrap();
        let terms = terms(100 * DAY, 0, 7 * DAY);
        let times = Timetable::new(&terms, Some(&hourly), 0);
        for now in [100 * DAY, 100 * DAY + HOUR - 1, 100 * DAY + HOUR, 150 * DAY] {
            assert!(times.deadlines(now).is_active(now), "at {now}");
        }
        assert_eq!(times.next_end(100 * DAY), Some(100 * DAY + HOUR), "the reset ends the period");
        assert_eq!(times.expiry_of_end(100 * DAY + HOUR), 100 * DAY + HOUR);
    }
}
