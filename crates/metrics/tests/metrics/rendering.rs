//! The text has the format of Prometheus, with any names and values.

use aether_metrics::Registry;

#[test]
fn every_kind_is_rendered_in_a_stable_order() {
    let registry = Registry::new();
    let ticks = registry.histogram("tick_seconds", "Time of a tick.", &[("room_type", "sandbox")], &[0.005, 0.05, 1.0]);
    for seconds in [0.001, 0.05, 0.5, 2.0] {
        ticks.observe(seconds);
    }
    registry.counter("joins_total", "Joins.", &[("room_type", "sandbox"), ("kind", "new")]).add(7);
    registry.counter("joins_total", "Joins.", &[("room_type", "relay"), ("kind", "new")]).add(u64::MAX);
    registry.gauge("clients", "Clients now.", &[]).set(-2.5);
    let expected = r#"# HELP clients Clients now.
# TYPE clients gauge
clients -2.5
# HELP joins_total Joins.
# TYPE joins_total counter
joins_total{kind="new",room_type="relay"} 18446744073709551615
joins_total{kind="new",room_type="sandbox"} 7
# HELP tick_seconds Time of a tick.
# TYPE tick_seconds histogram
tick_seconds_bucket{room_type="sandbox",le="0.005"} 1
tick_seconds_bucket{room_type="sandbox",le="0.05"} 2
tick_seconds_bucket{room_type="sandbox",le="1"} 3
tick_seconds_bucket{room_type="sandbox",le="+Inf"} 4
tick_seconds_sum{room_type="sandbox"} 2.551
tick_seconds_count{room_type="sandbox"} 4
"#;
    assert_eq!(registry.render(), expected);
    assert_eq!(registry.render(), expected);
}

#[test]
fn hostile_label_values_and_help_stay_on_their_line() {
    let registry = Registry::new();
    registry.counter("joins", "A \\ and\nmore.", &[("label", "a\"} 1\nfake 2\\")]).inc();
    let expected = "# HELP joins A \\\\ and\\nmore.\n# TYPE joins counter\njoins{label=\"a\\\"} 1\\nfake 2\\\\\"} 1\n";
    assert_eq!(registry.render(), expected);
}

#[test]
fn numbers_that_are_not_finite_have_their_own_spelling() {
    let registry = Registry::new();
    for (label, value) in [("a", f64::INFINITY), ("b", f64::NEG_INFINITY), ("c", f64::NAN)] {
        registry.gauge("odd", "Odd numbers.", &[("which", label)]).set(value);
    }
    let text = registry.render();
    assert!(text.ends_with("odd{which=\"a\"} +Inf\nodd{which=\"b\"} -Inf\nodd{which=\"c\"} NaN\n"), "{text}");
}

#[test]
fn a_computed_gauge_is_read_at_render_time_and_may_use_the_registry() {
    let registry = Registry::new();
    let queue = registry.gauge("queue", "Queue.", &[]);
    let (read, inner) = (queue.clone(), registry.clone());
    registry.gauge_with(
        "queue_twice",
        "Twice the queue.",
        &[],
        Box::new(move || {
            inner.counter("reads_total", "Reads.", &[]).inc();
            read.value() * 2.0
        }),
    );
    queue.set(21.0);
    assert!(registry.render().contains("\nqueue_twice 42\n"));
    registry.gauge_with("queue_twice", "Twice the queue.", &[], Box::new(|| 1.0));
    assert!(registry.render().contains("\nqueue_twice 1\n"));
    assert_eq!(registry.counter("reads_total", "Reads.", &[]).value(), 1);
}

#[test]
fn a_renamed_metric_is_also_rendered_under_its_old_name() {
    let registry = Registry::new();
    registry.counter("bytes_sent_total", "Bytes sent.", &[("kind", "event")]).add(3);
    registry.counter("bytes_received_total", "Bytes received.", &[]).add(2);
    registry.keep_old_name("bytes_total", "bytes_sent_total", &[("direction", "out")]);
    registry.keep_old_name("bytes_total", "bytes_received_total", &[("direction", "in")]);
    registry.keep_old_name("gone_total", "never_registered_total", &[]);
    let text = registry.render();
    for line in [
        "bytes_sent_total{kind=\"event\"} 3\n",
        "bytes_received_total 2\n",
        "# TYPE bytes_total counter\n",
        "bytes_total{direction=\"in\"} 2\n",
        "bytes_total{direction=\"out\",kind=\"event\"} 3\n",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert_eq!(text.matches("# TYPE bytes_total").count(), 1);
    assert!(!text.contains("gone_total"), "{text}");
}
