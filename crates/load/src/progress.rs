//! Progress display of a run.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::bot::{Phase, Shared};
use crate::metrics::BotMetrics;

const REDRAW_INTERVAL: Duration = Duration::from_millis(250);
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// Shows the progress of a run: a bar on a terminal, otherwise a line per second.
pub(crate) struct Progress {
    display: Display,
    next: Instant,
    before: (Instant, u64, u64),
}

enum Display {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let display = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Display::Nothing,
            (false, false) => Display::Lines,
            (false, true) => {
                let style = ProgressStyle::with_template("{bar:30} {percent:>3} % {msg}");
                Display::Bar(ProgressBar::new(0).with_style(style.expect("the template is a constant")))
            }
        };
        let now = Instant::now();
        Self { display, next: now, before: (now, 0, 0) }
    }

    /// Updates the display if it is due. `done` of `all` is the progress of the phase.
    pub(crate) fn show(&mut self, shared: &Shared, done: u64, all: u64) {
        let now = Instant::now();
        if now < self.next || matches!(self.display, Display::Nothing) {
            return;
        }
        let metrics = shared.metrics();
        let text = self.text(shared, &metrics, now);
        match &self.display {
            Display::Nothing => {}
            Display::Lines => {
                self.next = now + LINE_INTERVAL;
                eprintln!("{:>4} s  {text}", shared.start.elapsed().as_secs());
            }
            Display::Bar(bar) => {
                self.next = now + REDRAW_INTERVAL;
                bar.set_length(all);
                bar.set_position(done);
                bar.set_message(text);
            }
        }
    }

    pub(crate) fn finish(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }

    fn text(&mut self, shared: &Shared, metrics: &BotMetrics, now: Instant) -> String {
        let (before, messages, bytes) =
            std::mem::replace(&mut self.before, (now, metrics.messages_in, metrics.bytes_in));
        let seconds = now.duration_since(before).as_secs_f64().max(0.001);
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let phase = match shared.phase() {
            Phase::Ramp => "joining",
            Phase::Play => "playing",
            Phase::Drain | Phase::End => "leaving",
        };
        let mut text = format!("{phase}: {} of {} bots joined", shared.rooms.total(), shared.arguments.bots);
        let failed = metrics.failures.total();
        if failed > 0 {
            text.push_str(&format!(", {failed} failed"));
        }
        let disconnected = metrics.disconnects.total();
        if disconnected > 0 {
            text.push_str(&format!(", {disconnected} disconnected"));
        }
        if metrics.messages_in > 0 {
            let messages = rate(metrics.messages_in, messages);
            let kilobytes = rate(metrics.bytes_in, bytes) / 1_000.0;
            text.push_str(&format!(", {messages:.0} messages/s, {kilobytes:.0} kB/s"));
        }
        if metrics.round_trip.len() > 0 {
            text.push_str(&format!(", round trip p99 {:.1} ms", metrics.round_trip.quantile_ms(0.99)));
        }
        text
    }
}
