//! Ranges around a ticket's own value that widen while it waits.

use super::error::MatchmakerError;
use super::limits::WIDENED_MAX;
use super::ticket::Properties;
use aether_query::Query;
use std::collections::BTreeMap;

/// Prefix of the numeric properties that describe ranges.
const PREFIX: &str = "widen.";

/// Range around a ticket's own value of one numeric property.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Widening {
    /// Name of the property.
    name: String,
    /// Own value of the ticket.
    center: f64,
    /// Distance at first.
    from: f64,
    /// Growth of the distance, per second.
    by: f64,
    /// Largest distance.
    to: f64,
}

impl Widening {
    /// Returns true for the name of a property that describes a range.
    pub fn is_name(name: &str) -> bool {
        name.starts_with(PREFIX)
    }

    /// Reads all ranges from numeric properties.
    pub fn all_of(numbers: &BTreeMap<String, f64>) -> Result<Vec<Widening>, MatchmakerError> {
        let mut found: BTreeMap<&str, Widening> = BTreeMap::new();
        for (key, value) in numbers.iter().filter(|(key, _)| Widening::is_name(key)) {
            let invalid = || MatchmakerError::Widening(key.clone());
            let (name, part) = key[PREFIX.len()..].rsplit_once('.').ok_or_else(invalid)?;
            let center = *numbers.get(name).ok_or_else(invalid)?;
            if *value < 0.0 {
                return Err(invalid());
            }
            let range = found.entry(name).or_insert_with(|| Widening {
                name: name.to_owned(),
                center,
                from: 0.0,
                by: 0.0,
                to: f64::INFINITY,
            });
            match part {
                "from" => range.from = *value,
                "by" => range.by = *value,
                "to" => range.to = *value,
                _ => return Err(invalid()),
            }
        }
        if found.len() > WIDENED_MAX {
            return Err(MatchmakerError::TooManyWidenings);
        }
        Ok(found.into_values().collect())
    }

    /// Returns the accepted distance after a time.
    pub fn distance(&self, waited_ms: i64) -> f64 {
        (self.from + self.by * (waited_ms.max(0) as f64 / 1_000.0)).min(self.to)
    }

    /// Returns true if the distance still grows after this time.
    pub fn grows_after(&self, waited_ms: i64) -> bool {
        self.by > 0.0 && self.distance(waited_ms) < self.to
    }

    /// Returns true if properties have a value in the range.
    pub fn accepts(&self, properties: &Properties, waited_ms: i64) -> bool {
        let (lowest, highest) = self.bounds(waited_ms);
        properties.numbers.get(&self.name).is_some_and(|value| (lowest..=highest).contains(value))
    }

    /// Returns a query for tickets in the range, if the language can express it.
    pub fn query(&self, waited_ms: i64) -> Option<Query> {
        let (lowest, highest) = self.bounds(waited_ms);
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "._".contains(character);
        if !(lowest.is_finite() && highest.is_finite() && self.name.chars().all(is_plain)) {
            return None;
        }
        let field = format!("properties.{}", self.name);
        Query::parse(&format!("+{field}:>={lowest} +{field}:<={highest}")).ok()
    }

    fn bounds(&self, waited_ms: i64) -> (f64, f64) {
        let distance = self.distance(waited_ms);
        // A sum with zero has no negative zero, which the index would order before zero.
        (self.center - distance + 0.0, self.center + distance + 0.0)
    }
}
