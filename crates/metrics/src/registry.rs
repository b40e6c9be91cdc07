//! Metrics by name and labels.

use crate::{Counter, Gauge, Histogram, text};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All metrics of a program. Clones are the same registry.
///
/// Its lock is held for registering, removing and copying what is to be rendered; recording never touches it.
#[derive(Clone, Default)]
pub struct Registry {
    families: Arc<Mutex<Families>>,
    old_names: Arc<Mutex<Vec<OldName>>>,
}

/// A name that a metric had before, under which it is still rendered.
#[derive(Clone)]
struct OldName {
    old: String,
    new: String,
    labels: Labels,
}

/// Sorted, so that the text is the same for the same metrics.
pub(crate) type Families = BTreeMap<String, Family>;

/// Label names and values, sorted by name: the order a caller lists them in means nothing.
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

    /// The counter of this name and these labels, made when it is new.
    ///
    /// # Panics
    ///
    /// As all registrations: when the name or a label is not one Prometheus accepts, a label is named twice, or the
    /// name is taken by another kind of metric. Each is a mistake in the program, found the first time it runs.
    pub fn counter(&self, name: &str, help: &str, labels: &[(&str, &str)]) -> Counter {
        match self.series(name, help, labels, || Series::Counter(Counter::default())) {
            Series::Counter(counter) => counter,
            other => unreachable!("a counter family holds a {}", other.kind().label()),
        }
    }

    /// The gauge of this name and these labels, made when it is new. Panics as [`Registry::counter`] does, and when
    /// [`Registry::gauge_with`] made it.
    pub fn gauge(&self, name: &str, help: &str, labels: &[(&str, &str)]) -> Gauge {
        match self.series(name, help, labels, || Series::Gauge(Gauge::default())) {
            Series::Gauge(gauge) => gauge,
            _ => panic!("metric {name} is read by a function, so it has no gauge to set"),
        }
    }

    /// A gauge whose number is read when the text is rendered. A second one of the same name and labels replaces the
    /// first. Panics as [`Registry::counter`] does.
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

    /// The histogram of this name and these labels, made when it is new. Series of one name may have different
    /// buckets, because rooms of different rates have different budgets.
    ///
    /// Panics as [`Registry::counter`] does, and when the buckets do not rise or differ from those it was made with.
    pub fn histogram(&self, name: &str, help: &str, labels: &[(&str, &str)], buckets: &[f64]) -> Histogram {
        let histogram = self.histogram_or_existing(name, help, labels, buckets);
        assert_eq!(histogram.buckets(), buckets, "histogram {name} is registered with other buckets");
        histogram
    }

    /// Returns the histogram of this name and these labels with the buckets that it was made with; these are for a new one.
    /// It is for series whose best buckets change while the program runs.
    ///
    /// Panics as [`Registry::counter`] does, and when the buckets do not rise.
    pub fn histogram_or_existing(&self, name: &str, help: &str, labels: &[(&str, &str)], buckets: &[f64]) -> Histogram {
        assert!(labels.iter().all(|(label, _)| *label != "le"), "histogram {name} may not use the label le itself");
        match self.series(name, help, labels, || Series::Histogram(Histogram::new(buckets))) {
            Series::Histogram(histogram) => histogram,
            other => unreachable!("a histogram family holds a {}", other.kind().label()),
        }
    }

    /// Takes a series out of the text, and says whether it was there. Handles to it go on counting, unseen.
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

    /// Everything in Prometheus' text format, version 0.0.4, in a stable order.
    pub fn render(&self) -> String {
        // Copied first, so that a reading function may use the registry without meeting its own lock.
        let mut families = self.lock().clone();
        self.add_old_names(&mut families);
        text::render(&families)
    }

    fn add_old_names(&self, families: &mut Families) {
        for name in self.old_names.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let Some(Family { kind, series, .. }) = families.get(&name.new).cloned() else { continue };
            let help = format!("Old name of {}, for one version.", name.new);
            let old = families.entry(name.old.clone()).or_insert_with(|| Family { help, kind, series: BTreeMap::new() });
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
        // No change to the map is left half done, so what another thread's panic left behind is whole.
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
        assert!(pair[0].0 != pair[1].0, "metric {name} names its label {} twice", pair[0].0);
    }
    sorted
}

fn is_metric_name(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}

/// Names that begin with two underscores are Prometheus' own.
fn is_label_name(name: &str) -> bool {
    is_metric_name(name) && !name.contains(':') && !name.starts_with("__")
}
