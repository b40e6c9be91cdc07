//! Figures of several libraries: shown as a table, and read from the lines of `peers/udp`.

use super::report::Figures;

/// Prefix of a line of figures.
const LINE_PREFIX: &str = "figures ";

/// Header of the table.
pub const HEADER: &str = "
                      echoes per CPU second    latency p50 / p99 in ms            overhead per message
library                 single   in bursts     no loss          5 % loss            single   in bursts   lost";

/// Row of the table.
pub fn row(figures: &Figures) -> String {
    let lossy = match figures.lossy_p50_ms.is_nan() {
        true => "-".to_owned(),
        false => format!("{:.1} / {:.1}", figures.lossy_p50_ms, figures.lossy_p99_ms),
    };
    format!(
        "{:<20} {:>9.0} {:>11.0}     {:<16} {lossy:<16} {:>7.1} B {:>9.1} B   {:.2} %",
        figures.name,
        figures.single_per_core,
        figures.burst_per_core,
        format!("{:.1} / {:.1}", figures.p50_ms, figures.p99_ms),
        figures.overhead_single,
        figures.overhead_burst,
        figures.lost * 100.0,
    )
}

/// Reads a line of figures: nine numbers, then the name.
pub fn parse(line: &str) -> Option<Figures> {
    let mut parts = line.strip_prefix(LINE_PREFIX)?.splitn(10, ' ');
    let mut number = || parts.next()?.parse::<f64>().ok();
    Some(Figures {
        single_per_core: number()?,
        burst_per_core: number()?,
        p50_ms: number()?,
        p99_ms: number()?,
        lossy_p50_ms: number()?,
        lossy_p99_ms: number()?,
        overhead_single: number()?,
        overhead_burst: number()?,
        lost: number()?,
        name: parts.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_figures_is_read() {
        let figures = parse("figures 1.5 2 3 4 NaN NaN 7 8 0.5 quinn streams").unwrap();
        assert_eq!((figures.name.as_str(), figures.single_per_core, figures.lost), ("quinn streams", 1.5, 0.5));
        assert!(figures.lossy_p50_ms.is_nan());
        assert!(row(&figures).starts_with("quinn streams"));
        assert!(parse("figures 1 2").is_none() && parse("other").is_none());
    }
}
