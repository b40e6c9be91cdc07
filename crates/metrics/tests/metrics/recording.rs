//! Handles record the same number from many threads.

use aether_metrics::{Counter, Gauge, Histogram, Registry};

const THREADS: u32 = 4;
const ROUNDS: u32 = 10_000;

fn on_all_threads(work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..ROUNDS).for_each(|_| work()));
        }
    });
}

#[test]
fn no_addition_is_lost_between_threads() {
    let (counter, gauge, histogram) = (Counter::default(), Gauge::default(), Histogram::new(&[1.0, 4.0]));
    on_all_threads(|| {
        counter.add(3);
        gauge.add(2.0);
        gauge.dec();
        histogram.observe(0.5);
        histogram.observe(8.0);
    });
    let rounds = u64::from(THREADS * ROUNDS);
    assert_eq!(counter.value(), 3 * rounds);
    assert_eq!(gauge.value(), f64::from(THREADS * ROUNDS));
    let snapshot = histogram.snapshot();
    assert_eq!(snapshot.cumulative, [(1.0, rounds), (4.0, rounds), (f64::INFINITY, 2 * rounds)]);
    assert_eq!(snapshot.sum, 8.5 * f64::from(THREADS * ROUNDS));
    assert_eq!(snapshot.count, 2 * rounds);
}

#[test]
fn registering_on_many_threads_gives_one_handle() {
    let registry = Registry::new();
    on_all_threads(|| registry.counter("joins_total", "Joins.", &[("room_type", "sandbox")]).inc());
    let joins = registry.counter("joins_total", "Joins.", &[("room_type", "sandbox")]);
    assert_eq!(joins.value(), u64::from(THREADS * ROUNDS));
}

#[test]
fn a_value_on_a_bound_belongs_to_its_bucket() {
    let histogram = Histogram::new(&[1.0, 2.0]);
    for value in [-1.0, 1.0, 1.5, 2.0, 2.1] {
        histogram.observe(value);
    }
    assert_eq!(histogram.snapshot().cumulative, [(1.0, 2), (2.0, 4), (f64::INFINITY, 5)]);
}

#[test]
fn a_value_that_is_not_finite_is_ignored() {
    let histogram = Histogram::new(&[1.0]);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0] {
        histogram.observe(value);
    }
    let snapshot = histogram.snapshot();
    assert_eq!((snapshot.count, snapshot.sum), (1, 1.0));
}

#[test]
fn the_same_name_and_labels_are_the_same_metric_in_any_label_order() {
    let registry = Registry::new();
    registry.gauge("clients", "Clients.", &[("a", "1"), ("b", "2")]).set(5.0);
    assert_eq!(registry.gauge("clients", "Clients.", &[("b", "2"), ("a", "1")]).value(), 5.0);
    assert_eq!(registry.gauge("clients", "Clients.", &[("a", "1")]).value(), 0.0);
}

#[test]
fn a_removed_series_is_gone_and_its_handle_still_works() {
    let registry = Registry::new();
    let sandbox = registry.counter("joins_total", "Joins.", &[("room_type", "sandbox")]);
    registry.counter("joins_total", "Joins.", &[("room_type", "relay")]).inc();
    assert!(registry.remove("joins_total", &[("room_type", "sandbox")]));
    assert!(!registry.remove("joins_total", &[("room_type", "sandbox")]));
    sandbox.inc();
    assert!(!registry.render().contains("sandbox"));
    assert!(registry.render().contains("joins_total{room_type=\"relay\"} 1\n"));
    assert_eq!(registry.counter("joins_total", "Joins.", &[("room_type", "sandbox")]).value(), 0);
    registry.remove("joins_total", &[("room_type", "sandbox")]);
    registry.remove("joins_total", &[("room_type", "relay")]);
    assert_eq!(registry.render(), "");
}

#[test]
#[should_panic(expected = "metric joins is registered as a counter, not as a gauge")]
fn one_name_is_one_kind() {
    let registry = Registry::new();
    registry.counter("joins", "Joins.", &[]);
    registry.gauge("joins", "Joins.", &[]);
}

#[test]
fn a_failed_registration_leaves_the_registry_usable() {
    let registry = Registry::new();
    registry.counter("joins", "Joins.", &[]).inc();
    let failed = std::panic::catch_unwind(|| registry.gauge("joins", "Joins.", &[]));
    assert!(failed.is_err());
    let failed = std::panic::catch_unwind(|| registry.gauge_with("joins", "Joins.", &[], Box::new(|| 0.0)));
    assert!(failed.is_err());
    assert_eq!(registry.counter("joins", "Joins.", &[]).value(), 1);
}

#[test]
fn names_outside_the_grammar_are_rejected() {
    let failed = |name: &'static str, labels: &'static [(&'static str, &'static str)]| {
        std::panic::catch_unwind(|| Registry::new().counter(name, "Help.", labels)).is_err()
    };
    for name in ["", "1st", "with-dash", "with space", "ünique", "new\nline"] {
        assert!(failed(name, &[]), "{name:?}");
    }
    assert!(!failed("rule:joins_2", &[("_label2", "")]));
    for labels in [&[("", "")], &[("1st", "")], &[("a:b", "")], &[("__own", "")], &[("a-b", "")]] {
        assert!(failed("name", labels), "{labels:?}");
    }
    assert!(failed("name", &[("a", "1"), ("a", "2")]));
}

#[test]
fn buckets_that_are_not_ascending_or_change_are_rejected() {
    for buckets in [[1.0, 1.0], [2.0, 1.0], [1.0, f64::INFINITY], [f64::NAN, 1.0]] {
        assert!(std::panic::catch_unwind(|| Histogram::new(&buckets)).is_err(), "{buckets:?}");
    }
    let registry = Registry::new();
    registry.histogram("tick_seconds", "Ticks.", &[("hz", "20")], &[0.05]);
    registry.histogram("tick_seconds", "Ticks.", &[("hz", "60")], &[0.016]);
    assert!(
        std::panic::catch_unwind(|| registry.histogram("tick_seconds", "Ticks.", &[("hz", "20")], &[1.0])).is_err()
    );
    assert!(std::panic::catch_unwind(|| registry.histogram("other", "Other.", &[("le", "1")], &[1.0])).is_err());
}
