//! Metrics by name and labels.

use crate::{Counter, Gauge, Histogram, text};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All metrics of a program. Clones share the same registry.
///
/// The lock is taken to register, remove and render, never to record.
#[derive(Clone, Default)]
pub struct Registry {
    families: Arc<Mutex<Families>>,
    old_names: Arc<Mutex<Vec<OldName>>>,
}

/// Old name of a metric, which is still rendered.
#[derive(Clone)]
struct OldName {
    old: String,
    new: String,
    labels: Labels,
}

/// Families by name, sorted so that the text is stable.
pub(crate) type Families = BTreeMap<String, Family>;

/// Label names and values, sorted by name. The order of the caller does not matter.
pub(crate) type Labels = Vec<(String, String)>;

/// All series of one name.
#[derive(Clone)]
pub(crate) struct Family {
    pub(crate) help: String,
    pub(crate) kind: Kind,
    pub(crate) series: BTreeMap<Labels, Series>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Clone)]
pub(crate) enum Series {
    Counter(Counter),
    Gauge(Gauge),
    Reading(Arc<dyn Fn() -> f64 + Send + Sync>),
    Histogram(Histogram),
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the counter with this name and these labels, and creates it if needed.
    ///
    /// # Panics
    ///
    /// As all registrations: if Prometheus does not allow the name or a label, a label is given twice, or the name is
    /// used by another kind of metric. Each is a bug, found at the first run.
    pub fn counter(&self, name: &str, help: &str, labels: &[(&str, &str)]) -> Counter {
        match self.series(name, help, labels, || Series::Counter(Counter::default())) {
            Series::Counter(counter) => counter,
            other => unreachable!("a counter family holds a {}", other.kind().label()),
        }
    }

    /// Returns the gauge with this name and these labels, and creates it if needed. Panics like [`Registry::counter`],
    /// and if [`Registry::gauge_with`] created it.
    pub fn gauge(&self, name: &str, help: &str, labels: &[(&str, &str)]) -> Gauge {
        match self.series(name, help, labels, || Series::Gauge(Gauge::default())) {
            Series::Gauge(gauge) => gauge,
            _ => panic!("metric {name} is computed by a function and cannot be set"),
        }
    }

    /// Registers a gauge whose number is computed by `read` when the text is rendered. It replaces one with the same
    /// name and labels. Panics like [`Registry::counter`].
    pub fn gauge_with(
        &self,
        name: &str,
        help: &str,
        labels: &[(&str, &str)],
        read: Box<dyn Fn() -> f64 + Send + Sync>,
    ) {
        let labels = sorted(name, labels);
        self.change(name, help, Kind::Gauge, |series| series.insert(labels, Series::Reading(Arc::from(read))));
    }

    /// Returns the histogram with this name and these labels, and creates it if needed. Series of one name may have
    /// different buckets, because rooms with different tick rates have different budgets.
    ///
    /// Panics like [`Registry::counter`], and if the buckets are not ascending or differ from those of the existing
    /// one.
    pub fn histogram(&self, name: &str, help: &str, labels: &[(&str, &str)], buckets: &[f64]) -> Histogram {
        let histogram = self.histogram_or_existing(name, help, labels, buckets);
        assert_eq!(histogram.buckets(), buckets, "histogram {name} is registered with other buckets");
        histogram
    }

    /// Returns the histogram with this name and these labels. An existing one has its own buckets; `buckets` are for a
    /// new one. It is for series whose best buckets change while the program runs.
    ///
    /// Panics like [`Registry::counter`], and if the buckets are not ascending.
    pub fn histogram_or_existing(&self, name: &str, help: &str, labels: &[(&str, &str)], buckets: &[f64]) -> Histogram {
        assert!(labels.iter().all(|(label, _)| *label != "le"), "histogram {name} may not use the label le itself");
        match self.series(name, help, labels, || Series::Histogram(Histogram::new(buckets))) {
            Series::Histogram(histogram) => histogram,
            other => unreachable!("a histogram family holds a {}", other.kind().label()),
        }
    }

    /// Removes a series. Returns false if it did not exist. Its handles still work but are no longer rendered.
    pub fn remove(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        let mut families = self.lock();
        let Some(family) = families.get_mut(name) else { return false };
        let removed = family.series.remove(&sorted(name, labels)).is_some();
        if family.series.is_empty() {
            families.remove(name);
        }
        removed
    }

    /// Renders a metric under its old name too, with these labels added to each series. Several metrics may share one
    /// old name, each with other labels.
    pub fn keep_old_name(&self, old: &str, new: &str, labels: &[(&str, &str)]) {
        let labels = sorted(old, labels);
        let mut names = self.old_names.lock().unwrap_or_else(PoisonError::into_inner);
        names.push(OldName { old: old.to_owned(), new: new.to_owned(), labels });
    }

    /// Renders all metrics in the text format of Prometheus, version 0.0.4, in a stable order.
    pub fn render(&self) -> String {
        // The families are copied first, so that a function of a gauge may use the registry without a deadlock.
        let mut families = self.lock().clone();
        self.add_old_names(&mut families);
        text::render(&families)
    }

    fn add_old_names(&self, families: &mut Families) {
        for name in self.old_names.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let Some(Family { kind, series, .. }) = families.get(&name.new).cloned() else { continue };
            let help = format!("Old name of {}, for one version.", name.new);
            let old =
                families.entry(name.old.clone()).or_insert_with(|| Family { help, kind, series: BTreeMap::new() });
            old.series.extend(series.into_iter().map(|(mut labels, series)| {
                labels.extend(name.labels.iter().cloned());
                labels.sort();
                (labels, series)
            }));
        }
    }

    fn series(&self, name: &str, help: &str, labels: &[(&str, &str)], make: impl FnOnce() -> Series) -> Series {
        let labels = sorted(name, labels);
        let made = make();
        self.change(name, help, made.kind(), |series| series.entry(labels).or_insert(made).clone())
    }

    fn change<Answer>(
        &self,
        name: &str,
        help: &str,
        kind: Kind,
        change: impl FnOnce(&mut BTreeMap<Labels, Series>) -> Answer,
    ) -> Answer {
        assert!(is_metric_name(name), "{name:?} is not a metric name: letters, digits, _ and :, not a digit first");
        let mut families = self.lock();
        let family = families.entry(name.to_owned()).or_insert_with(|| Family {
            help: help.to_owned(),
            kind,
            series: BTreeMap::new(),
        });
        assert!(
            family.kind == kind,
            "metric {name} is registered as a {}, not as a {}",
            family.kind.label(),
            kind.label()
        );
        change(&mut family.series)
    }

    fn lock(&self) -> MutexGuard<'_, Families> {
        // Every change of the map is complete before a panic is possible, so a poisoned map is valid.
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.lock().keys()).finish()
    }
}

impl Kind {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Series {
    fn kind(&self) -> Kind {
        match self {
            Self::Counter(_) => Kind::Counter,
            Self::Gauge(_) | Self::Reading(_) => Kind::Gauge,
            Self::Histogram(_) => Kind::Histogram,
        }
    }
}

fn sorted(name: &str, labels: &[(&str, &str)]) -> Labels {
    let mut sorted: Labels = labels.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect();
    sorted.sort();
    for (label, _) in &sorted {
        assert!(is_label_name(label), "{label:?} of metric {name} is not a label name: letters, digits and _");
    }
    for pair in sorted.windows(2) {
        assert!(pair[0].0 != pair[1].0, "metric {name} has the label {} twice", pair[0].0);
    }
    sorted
}

fn is_metric_name(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}

/// True if a label name is allowed. Names with two leading underscores are reserved by Prometheus.
fn is_label_name(name: &str) -> bool {
    is_metric_name(name) && !name.contains(':') && !name.starts_with("__")
}
