//! What a person sees while a run is on.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::bot::{Phase, Shared};
use crate::measures::BotMetrics;

const REDRAW_INTERVAL: Duration = Duration::from_millis(250);
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// Shows how far a run is: a bar on a terminal, a line each second elsewhere.
pub(crate) struct Progress {
    shown: Shown,
    next: Instant,
    before: (Instant, u64, u64),
}

enum Shown {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let shown = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Shown::Nothing,
            (false, false) => Shown::Lines,
            (false, true) => {
                let style = ProgressStyle::with_template("{bar:30} {percent:>3} % {msg}");
                Shown::Bar(ProgressBar::new(0).with_style(style.expect("the template is a constant")))
            }
        };
        let now = Instant::now();
        Self { shown, next: now, before: (now, 0, 0) }
    }

    /// Shows where things are, if it is time for that. `done` of `all` is what the phase counts.
    pub(crate) fn show(&mut self, shared: &Shared, done: u64, all: u64) {
        let now = Instant::now();
        if now < self.next || matches!(self.shown, Shown::Nothing) {
            return;
        }
        let measures = shared.measures();
        let text = self.text(shared, &measures, now);
        match &self.shown {
            Shown::Nothing => {}
            Shown::Lines => {
                self.next = now + LINE_INTERVAL;
                eprintln!("{:>4} s  {text}", shared.start.elapsed().as_secs());
            }
            Shown::Bar(bar) => {
                self.next = now + REDRAW_INTERVAL;
                bar.set_length(all);
                bar.set_position(done);
                bar.set_message(text);
            }
        }
    }

    pub(crate) fn finish(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }

    fn text(&mut self, shared: &Shared, measures: &BotMetrics, now: Instant) -> String {
        let (before, messages, bytes) =
            std::mem::replace(&mut self.before, (now, measures.messages_in, measures.bytes_in));
        let seconds = now.duration_since(before).as_secs_f64().max(0.001);
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let phase = match shared.phase() {
            Phase::Ramp => "joining",
            Phase::Play => "playing",
            Phase::Drain | Phase::End => "leaving",
        };
        let mut text = format!("{phase}: {} of {} in", shared.rooms.total(), shared.arguments.bots);
        let failed = measures.failures.total();
        if failed > 0 {
            text.push_str(&format!(", {failed} failed"));
        }
        let disconnected = measures.disconnects.total();
        if disconnected > 0 {
            text.push_str(&format!(", {disconnected} disconnected"));
        }
        if measures.messages_in > 0 {
            let messages = rate(measures.messages_in, messages);
            let kilobytes = rate(measures.bytes_in, bytes) / 1_000.0;
            text.push_str(&format!(", {messages:.0} messages/s, {kilobytes:.0} kB/s"));
        }
        if measures.round_trip.len() > 0 {
            text.push_str(&format!(", round trip p99 {:.1} ms", measures.round_trip.quantile_ms(0.99)));
        }
        text
    }
}
