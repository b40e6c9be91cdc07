//! Metrics that games and scripts record by name while the server runs.
//!
//! Names begin with [`PREFIX`], so that they never meet those of the server. The number of names and of label sets is
//! bounded, because each stays in memory and in every scrape. A value beyond a limit, or of a name that would look like
//! another one, is dropped and counted.

use crate::error::ServiceError;
use aether_metrics::{Counter, Gauge, Histogram, Registry};
use std::collections::{BTreeMap, HashMap};
use std::sync::{PoisonError, RwLock};
use tracing::debug;

/// Prefix of all names.
pub const PREFIX: &str = "game_";
/// Maximum number of names.
pub const NAMES_MAX: usize = 200;
/// Maximum number of label sets of one name. A label with the id of a user would reach it soon.
pub const SERIES_PER_NAME_MAX: usize = 100;
/// Maximum number of label sets of all names together. A timer with this many takes about 2 MB of a scrape.
pub const SERIES_MAX: usize = 1_000;
/// Maximum number of labels of a value.
pub const LABELS_MAX: usize = 8;
/// Maximum bytes of a name, without prefix and suffix, and of the name of a label.
pub const NAME_BYTES_MAX: usize = 64;
/// Maximum bytes of the value of a label. The rest is cut off.
pub const LABEL_BYTES_MAX: usize = 64;

/// Upper bounds of the buckets of timers, in seconds: from 0.1 ms to 10 s.
const TIMER_BUCKETS: [f64; 11] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

/// Metrics by name and labels.
pub struct GameMetrics {
    registry: Registry,
    recorded: RwLock<Recorded>,
    dropped: Counter,
}

/// Labels by name.
pub type Labels = BTreeMap<String, String>;

#[derive(Default)]
struct Recorded {
    families: HashMap<Name, Family>,
    /// Names of lines in the text of a scrape, by which two metrics could be confused, with the metric that has them.
    lines: HashMap<String, Name>,
    series: usize,
}

type Family = HashMap<Labels, Series>;

/// Kind of a metric, and its name as the caller gave it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Name {
    kind: Kind,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Counter,
    Gauge,
    Timer,
}

#[derive(Clone)]
enum Series {
    Counter(Counter),
    Gauge(Gauge),
    Timer(Histogram),
}

impl GameMetrics {
    /// Creates the metrics in a registry.
    #[must_use]
    pub fn new(registry: &Registry) -> GameMetrics {
        let help =
            "Values of game metrics that were dropped, because of too many names or label sets, or of names alike.";
        let dropped = registry.counter("aether_game_metrics_dropped_total", help, &[]);
        GameMetrics { registry: registry.clone(), recorded: RwLock::default(), dropped }
    }

    /// Adds to a counter, `game_<name>_total`.
    pub fn count(&self, name: &str, labels: &Labels, amount: u64) {
        if let Some(Series::Counter(counter)) = self.series(Kind::Counter, name, labels) {
            counter.add(amount);
        }
    }

    /// Sets a gauge, `game_<name>`.
    pub fn set(&self, name: &str, labels: &Labels, value: f64) {
        if let Some(Series::Gauge(gauge)) = self.series(Kind::Gauge, name, labels) {
            gauge.set(value);
        }
    }

    /// Records a duration in a histogram, `game_<name>_seconds`.
    pub fn time(&self, name: &str, labels: &Labels, seconds: f64) {
        if let Some(Series::Timer(timer)) = self.series(Kind::Timer, name, labels) {
            timer.observe(seconds);
        }
    }

    /// Returns a series, and creates it if needed. `None` if the value is dropped.
    fn series(&self, kind: Kind, name: &str, labels: &Labels) -> Option<Series> {
        let name = Name { kind, name: name.to_owned() };
        let recorded = self.recorded.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = recorded.families.get(&name).and_then(|family| family.get(labels)) {
            return Some(series.clone());
        }
        drop(recorded);
        let mut recorded = self.recorded.write().unwrap_or_else(PoisonError::into_inner);
        let series = recorded.add(&self.registry, name, labels);
        if series.is_none() {
            self.dropped.inc();
        }
        series
    }
}

impl Recorded {
    fn add(&mut self, registry: &Registry, name: Name, labels: &Labels) -> Option<Series> {
        check(&name.name, labels).ok()?;
        let lines = name.lines();
        if let Some(other) = lines.iter().filter_map(|line| self.lines.get(line)).find(|other| **other != name) {
            debug!(name = name.name, other = other.name, "metric would look like another one");
            return None;
        }
        // Another thread may have added it meanwhile.
        if let Some(series) = self.families.get(&name).and_then(|family| family.get(labels)) {
            return Some(series.clone());
        }
        let known = self.families.get(&name).map(HashMap::len);
        let has_place = match known {
            None => self.families.len() < NAMES_MAX,
            Some(count) => count < SERIES_PER_NAME_MAX,
        };
        if !has_place || self.series >= SERIES_MAX {
            return None;
        }
        let series = name.register(registry, &lines[0], labels);
        self.lines.extend(lines.into_iter().map(|line| (line, name.clone())));
        self.series += 1;
        self.families.entry(name).or_default().insert(labels.clone(), series.clone());
        Some(series)
    }
}

/// Rejects names of a metric and its labels that are empty or too long, and too many labels.
pub fn check(name: &str, labels: &Labels) -> Result<(), ServiceError> {
    let is_name = |name: &str| (1..=NAME_BYTES_MAX).contains(&name.len());
    if !is_name(name) || !labels.keys().all(|label| is_name(label)) {
        let why = format!("The name of a metric or a label must have 1 to {NAME_BYTES_MAX} bytes.");
        return Err(ServiceError::invalid(why));
    }
    if labels.len() > LABELS_MAX {
        return Err(ServiceError::invalid(format!("A metric must have at most {LABELS_MAX} labels.")));
    }
    Ok(())
}

impl Name {
    /// Returns the name in the registry, and the further names of lines in a scrape.
    fn lines(&self) -> Vec<String> {
        let name = format!("{PREFIX}{}", plain(&self.name));
        match self.kind {
            Kind::Counter => vec![name + "_total"],
            Kind::Gauge => vec![name],
            Kind::Timer => ["", "_bucket", "_sum", "_count"].map(|end| format!("{name}_seconds{end}")).to_vec(),
        }
    }

    fn register(&self, registry: &Registry, name: &str, labels: &Labels) -> Series {
        // Names that become equal are one label.
        let labels: BTreeMap<String, &str> =
            labels.iter().map(|(label, value)| (label_name(label), cut(value, LABEL_BYTES_MAX))).collect();
        let labels: Vec<(&str, &str)> = labels.iter().map(|(label, value)| (label.as_str(), *value)).collect();
        match self.kind {
            Kind::Counter => Series::Counter(registry.counter(name, "Counter of the game.", &labels)),
            Kind::Gauge => Series::Gauge(registry.gauge(name, "Gauge of the game.", &labels)),
            Kind::Timer => {
                Series::Timer(registry.histogram(name, "Durations measured by the game.", &labels, &TIMER_BUCKETS))
            }
        }
    }
}

/// Replaces characters that names of metrics may not have.
fn plain(name: &str) -> String {
    name.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' }).collect()
}

/// Returns an allowed name of a label. Those that begin with a digit or two underscores, and `le`, are not.
fn label_name(name: &str) -> String {
    let name = plain(name);
    let is_allowed = name.starts_with(|first: char| first.is_ascii_alphabetic()) && name != "le";
    if is_allowed { name } else { format!("label_{name}") }
}

fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels<const N: usize>(labels: [(&str, &str); N]) -> Labels {
        labels.into_iter().map(|(label, value)| (label.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn values_are_in_the_text_of_the_registry() {
        let registry = Registry::new();
        let metrics = GameMetrics::new(&registry);
        for _ in 0..2 {
            metrics.count("coins.spent", &labels([("shop", "north"), ("le", "1"), ("__x", "ü")]), 3);
        }
        metrics.set("players", &Labels::new(), 4.5);
        metrics.time("turn", &Labels::new(), 0.002);
        let text = registry.render();
        for line in [
            "game_coins_spent_total{label___x=\"ü\",label_le=\"1\",shop=\"north\"} 6",
            "game_players 4.5",
            "game_turn_seconds_bucket{le=\"0.005\"} 1",
            "game_turn_seconds_count 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }

    #[test]
    fn values_beyond_the_limits_are_dropped_and_counted() {
        let registry = Registry::new();
        let metrics = GameMetrics::new(&registry);
        for user in 0..=SERIES_PER_NAME_MAX {
            metrics.count("visits", &labels([("user", &user.to_string())]), 1);
        }
        assert_eq!(metrics.dropped.value(), 1);
        for name in 0..NAMES_MAX {
            metrics.set(&format!("gauge{name}"), &Labels::new(), 1.0);
        }
        assert_eq!(metrics.dropped.value(), 2, "one name is that of the counter");
        for (name, set) in (0..SERIES_MAX).map(|number| (number % NAMES_MAX, number / NAMES_MAX)) {
            metrics.set(&format!("gauge{name}"), &labels([("set", &set.to_string())]), 1.0);
        }
        let lines = registry.render().lines().filter(|line| line.starts_with(PREFIX)).count();
        assert_eq!(lines, SERIES_MAX);
        // A known series is recorded.
        metrics.count("visits", &labels([("user", "0")]), 1);
        assert_eq!(registry.counter("game_visits_total", "", &[("user", "0")]).value(), 2);
    }

    #[test]
    fn names_that_would_look_alike_are_dropped() {
        let registry = Registry::new();
        let metrics = GameMetrics::new(&registry);
        metrics.time("turn", &Labels::new(), 1.0);
        for name in ["turn_seconds", "turn.seconds_count"] {
            metrics.set(name, &Labels::new(), 7.0);
        }
        metrics.count("a.b", &Labels::new(), 1);
        metrics.count("a_b", &Labels::new(), 1);
        assert_eq!(metrics.dropped.value(), 3);
        let text = registry.render();
        assert!(text.contains("game_turn_seconds_count 1\n") && text.contains("game_a_b_total 1\n"), "{text}");
    }

    #[test]
    fn names_and_values_are_bounded() {
        let registry = Registry::new();
        let metrics = GameMetrics::new(&registry);
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for name in ["", &long] {
            assert!(check(name, &Labels::new()).is_err());
            assert!(check("ok", &labels([(name, "x")])).is_err());
            metrics.count(name, &Labels::new(), 1);
        }
        assert_eq!(metrics.dropped.value(), 2);
        let many = |count| (0..count).map(|number| (format!("l{number}"), String::new())).collect();
        assert!(check("ok", &many(LABELS_MAX)).is_ok());
        assert!(check("ok", &many(LABELS_MAX + 1)).is_err());
        metrics.count("ok", &labels([("l", &"ü".repeat(LABEL_BYTES_MAX))]), 1);
        let value = "ü".repeat(LABEL_BYTES_MAX / 2);
        assert!(registry.render().contains(&format!("game_ok_total{{l=\"{value}\"}} 1")));
    }
}
