//! Text format of Prometheus, version 0.0.4.

use crate::Histogram;
use crate::registry::{Families, Labels, Series};
use std::fmt::Write;

/// `Content-Type` of [`Registry::render`](crate::Registry::render).
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) fn render(families: &Families) -> String {
    let mut text = String::new();
    for (name, family) in families {
        let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
        line(&mut text, format_args!("# HELP {name} {help}"));
        line(&mut text, format_args!("# TYPE {name} {}", family.kind.label()));
        for (labels, series) in &family.series {
            let braced = braced(labels, None);
            match series {
                Series::Counter(counter) => line(&mut text, format_args!("{name}{braced} {}", counter.value())),
                Series::Gauge(gauge) => line(&mut text, format_args!("{name}{braced} {}", number(gauge.value()))),
                Series::Reading(read) => line(&mut text, format_args!("{name}{braced} {}", number(read()))),
                Series::Histogram(histogram) => render_histogram(&mut text, name, labels, histogram),
            }
        }
    }
    text
}

fn render_histogram(text: &mut String, name: &str, labels: &Labels, histogram: &Histogram) {
    let snapshot = histogram.snapshot();
    for (bound, count) in &snapshot.cumulative {
        line(text, format_args!("{name}_bucket{} {count}", braced(labels, Some(*bound))));
    }
    let braced = braced(labels, None);
    line(text, format_args!("{name}_sum{braced} {}", number(snapshot.sum)));
    line(text, format_args!("{name}_count{braced} {}", snapshot.count));
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("writing to a string cannot fail");
}

/// Returns `{label="value",…}`, or an empty text if there are no labels.
fn braced(labels: &Labels, bound: Option<f64>) -> String {
    let bound = bound.map(|bound| format!("le=\"{}\"", number(bound)));
    let pairs: Vec<String> =
        labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).chain(bound).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => value.to_string(),
    }
}
