//! Dates in text.

const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Parses a date, as microseconds since 1970 in UTC: `2026-01-31`, `2026-01-31T12:00:00` (or with a space), and the
/// latter with a fraction and an offset such as `Z` or `+01:00`. Without an offset it is UTC.
pub fn parse_date(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut seconds = days(date)? * SECONDS_PER_DAY;
    let mut microseconds = 0;
    if !rest.is_empty() {
        let (clock, rest) = rest.split_at_checked(9)?;
        let separator = clock.chars().next()?;
        seconds += seconds_of_day(&clock[1..])?;
        let (fraction, offset) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
            None => ("", rest),
        };
        let has_dot = rest.starts_with('.');
        match separator {
            'T' if !has_dot || !(fraction.is_empty() || offset.is_empty()) => {}
            ' ' if rest.is_empty() => {}
            _ => return None,
        }
        microseconds = fraction_microseconds(fraction)?;
        seconds -= offset_seconds(offset)?;
    }
    seconds.checked_mul(MICROSECONDS_PER_SECOND)?.checked_add(microseconds)
}

/// Days from 1970-01-01 to a date, by the Gregorian calendar.
fn days(date: &str) -> Option<i64> {
    let (year, month, day) = (digits(date, 0, 4)?, digits(date, 5, 7)?, digits(date, 8, 10)?);
    let bytes = date.as_bytes();
    if bytes[4] != b'-' || bytes[7] != b'-' || !(1..=12).contains(&month) {
        return None;
    }
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=days_in_month).contains(&day) {
        return None;
    }
    // A year that begins in March has its leap day at the end.
    let march_year = if month > 2 { year } else { year - 1 };
    let march_month = (month + 9) % 12;
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let leap_days = march_year.div_euclid(4) - march_year.div_euclid(100) + march_year.div_euclid(400);
    const DAYS_TO_1970: i64 = 719_468;
    Some(march_year * 365 + leap_days + day_of_year - DAYS_TO_1970)
}

/// Seconds of `12:34:56`.
fn seconds_of_day(clock: &str) -> Option<i64> {
    let (hours, minutes, seconds) = (digits(clock, 0, 2)?, digits(clock, 3, 5)?, digits(clock, 6, 8)?);
    let bytes = clock.as_bytes();
    let is_clock = bytes[2] == b':' && bytes[5] == b':' && hours < 24 && minutes < 60 && seconds < 60;
    is_clock.then_some(hours * 3_600 + minutes * 60 + seconds)
}

/// Microseconds of a fraction of at most nine digits; what is finer is left out.
fn fraction_microseconds(fraction: &str) -> Option<i64> {
    if fraction.len() > 9 {
        return None;
    }
    Some(
        fraction
            .bytes()
            .chain(std::iter::repeat(b'0'))
            .take(6)
            .fold(0, |all, digit| all * 10 + i64::from(digit - b'0')),
    )
}

/// Seconds of `Z`, `+01:00` or nothing.
fn offset_seconds(offset: &str) -> Option<i64> {
    let sign = match offset.as_bytes() {
        [] | [b'Z'] => return Some(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let (hours, minutes) = (digits(offset, 1, 3)?, digits(offset, 4, 6)?);
    let is_offset = offset.len() == 6 && offset.as_bytes()[3] == b':' && hours < 24 && minutes < 60;
    is_offset.then_some(sign * (hours * 3_600 + minutes * 60))
}

/// Number at these bytes, if they are digits.
fn digits(text: &str, start: usize, end: usize) -> Option<i64> {
    let digits = text.as_bytes().get(start..end)?;
    digits
        .iter()
        .all(u8::is_ascii_digit)
        .then(|| digits.iter().fold(0, |all, digit| all * 10 + i64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(parse_date("1970-01-01"), Some(0));
        assert_eq!(parse_date("1970-01-02T00:00:01"), Some(86_401_000_000));
        assert_eq!(parse_date("2026-11-17 05:00:00"), Some(1_794_891_600_000_000));
        assert_eq!(parse_date("2000-02-29T12:00:00.25Z"), Some(951_825_600_250_000));
        assert_eq!(parse_date("2000-02-29T13:00:00.250000999+01:00"), Some(951_825_600_250_000));
        assert_eq!(parse_date("1969-12-31T23:59:59Z"), Some(-1_000_000));
        assert_eq!(parse_date("0000-03-01"), Some(-719_468 * 86_400 * 1_000_000));
    }

    #[test]
    fn other_text_is_no_date() {
        for text in [
            "",
            "arena",
            "2026",
            "2026-1-1",
            "2026-02-30",
            "2100-02-29",
            "2026-13-01",
            "2026-01-01T",
            "2026-01-01T24:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.5",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:00Zulu",
            "2026-01-01x00:00:00",
            "2026-01-0ü",
            "２０２６-01-01",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}
