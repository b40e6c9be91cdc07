//! Report of a run, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::Serialize;

use crate::arguments::LoadArguments;
use crate::metrics::{BotMetrics, TimeDistribution};

/// Report of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadReport {
    /// Address of the server.
    pub address: String,
    /// Transport of the bots.
    pub transport: String,
    /// Room type.
    pub room_type: String,
    /// Activity of the bots.
    pub play: String,
    /// Number of bots.
    pub bots: u32,
    /// Number of bots per room.
    pub per_room: u32,
    /// Requested inputs or messages per second and bot.
    pub rate: u32,
    /// Measured time in seconds.
    pub seconds: f64,
    /// Number of bots that joined a room.
    pub connected: u64,
    /// Number of bots that failed to join, by reason.
    pub failures: BTreeMap<String, u64>,
    /// Number of connections that ended before the run, by reason.
    pub disconnects: BTreeMap<String, u64>,
    /// Number of errors that the server reported, by code.
    pub errors: BTreeMap<String, u64>,
    /// Number of resumed connections.
    pub resumes: u64,
    /// Number of resumes that got another player, which is a bug.
    pub resumes_as_another: u64,
    /// Number of resumes that the server rejected.
    pub resumes_refused: u64,
    /// Received messages.
    pub received: Transfer,
    /// Sent messages.
    pub sent: Transfer,
    /// Time from the start of a connection to its welcome.
    pub connecting_ms: Latency,
    /// Time from a ping to its pong, without the hold time of the server.
    pub round_trip_ms: Latency,
    /// Time that the server held pings.
    pub ping_hold_ms: Latency,
    /// Age of the newest state, sampled with each input.
    pub staleness_ms: Latency,
    /// Deviation of the arrival of states from the interval of their ticks.
    pub state_jitter_ms: Latency,
    /// Time from an input to the first state that includes it.
    pub input_to_state_ms: Latency,
    /// Time of a message from one bot to another.
    pub delivery_ms: Latency,
    /// Number of state packets.
    pub state_packets: u64,
    /// Number of state packets that could not be decoded.
    pub state_unreadable: u64,
    /// Number of corrections of a bot's position.
    pub corrections: u64,
    /// Expected number of deliveries.
    pub deliveries_expected: u64,
    /// Number of deliveries.
    pub deliveries: u64,
    /// CPU time of the load tool during the measurement, if the system reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
}

/// Messages in one direction, without framing.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Transfer {
    /// Number of messages.
    pub messages: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Messages per second of all bots.
    pub messages_per_second: f64,
    /// Bytes per second of all bots.
    pub bytes_per_second: f64,
    /// Bytes per second and bot.
    pub bytes_per_second_per_bot: f64,
}

/// Distribution of times in milliseconds. All zero if there are none.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    /// Number of samples.
    pub count: u64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

impl LoadReport {
    pub(crate) fn new(
        arguments: &LoadArguments,
        metrics: &BotMetrics,
        played: Duration,
        cpu_seconds: Option<f64>,
    ) -> Self {
        let seconds = played.as_secs_f64();
        let transfer = |messages, bytes| Transfer::new(messages, bytes, seconds, metrics.connected);
        Self {
            address: arguments.address.to_string(),
            transport: format!("{:?}", arguments.transport).to_lowercase(),
            room_type: arguments.room_type().to_owned(),
            play: format!("{:?}", arguments.play()).to_lowercase(),
            bots: arguments.bots,
            per_room: arguments.per_room,
            rate: arguments.rate,
            seconds,
            connected: metrics.connected,
            failures: metrics.failures.0.clone(),
            disconnects: metrics.disconnects.0.clone(),
            errors: metrics.errors.0.clone(),
            resumes: metrics.resumes,
            resumes_as_another: metrics.resumes_as_another,
            resumes_refused: metrics.resumes_refused,
            received: transfer(metrics.messages_in, metrics.bytes_in),
            sent: transfer(metrics.messages_out, metrics.bytes_out),
            connecting_ms: Latency::of(&metrics.connecting),
            round_trip_ms: Latency::of(&metrics.round_trip),
            ping_hold_ms: Latency::of(&metrics.ping_hold),
            staleness_ms: Latency::of(&metrics.staleness),
            state_jitter_ms: Latency::of(&metrics.state_jitter),
            input_to_state_ms: Latency::of(&metrics.input_to_state),
            delivery_ms: Latency::of(&metrics.delivery),
            state_packets: metrics.state_packets,
            state_unreadable: metrics.state_unreadable,
            corrections: metrics.corrections,
            deliveries_expected: metrics.deliveries_expected,
            deliveries: metrics.deliveries,
            cpu_seconds,
        }
    }

    /// Formats the report as a table or as JSON.
    pub fn render(&self, json: bool) -> String {
        match json {
            true => serde_json::to_string_pretty(self).expect("a report contains only numbers and text"),
            false => self.to_string(),
        }
    }

    /// Number of deliveries that did not arrive.
    pub fn deliveries_lost(&self) -> u64 {
        self.deliveries_expected.saturating_sub(self.deliveries)
    }

    /// Returns true if every bot joined and none was disconnected.
    pub fn all_stayed(&self) -> bool {
        self.connected == u64::from(self.bots) && self.disconnects.is_empty()
    }
}

impl Transfer {
    fn new(messages: u64, bytes: u64, seconds: f64, bots: u64) -> Self {
        let seconds = seconds.max(f64::MIN_POSITIVE);
        let bytes_per_second = bytes as f64 / seconds;
        Self {
            messages,
            bytes,
            messages_per_second: messages as f64 / seconds,
            bytes_per_second,
            bytes_per_second_per_bot: bytes_per_second / (bots.max(1) as f64),
        }
    }
}

impl Latency {
    fn of(times: &TimeDistribution) -> Self {
        if times.len() == 0 {
            return Self::default();
        }
        Self {
            count: times.len(),
            p50: times.quantile_ms(0.5),
            p90: times.quantile_ms(0.9),
            p99: times.quantile_ms(0.99),
            p999: times.quantile_ms(0.999),
            max: times.max_ms(),
        }
    }
}

impl Display for LoadReport {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} bots over {} at {}", self.bots, self.transport, self.address)?;
        writeln!(
            formatter,
            "{} in rooms of {} ({}), {} per second, {:.1} s\n",
            self.play, self.per_room, self.room_type, self.rate, self.seconds
        )?;
        row(formatter, "connected", format!("{} of {}", self.connected, self.bots))?;
        reasons(formatter, "failed", &self.failures)?;
        reasons(formatter, "disconnected", &self.disconnects)?;
        reasons(formatter, "error", &self.errors)?;
        if self.resumes + self.resumes_refused > 0 {
            let Self { resumes, resumes_as_another, resumes_refused, .. } = self;
            let text = format!("{resumes}, as another player {resumes_as_another}, rejected {resumes_refused}");
            row(formatter, "resumed", text)?;
        }
        for (name, transfer) in [("received", &self.received), ("sent", &self.sent)] {
            row(formatter, name, transfer.to_string())?;
        }
        if self.state_packets + self.state_unreadable > 0 {
            let Self { state_packets, state_unreadable, corrections, .. } = self;
            row(formatter, "state packets", format!("{state_packets}, invalid {state_unreadable}"))?;
            row(formatter, "corrections", corrections.to_string())?;
        }
        if self.deliveries_expected > 0 {
            let text = format!("{} of {}, lost {}", self.deliveries, self.deliveries_expected, self.deliveries_lost());
            row(formatter, "deliveries", text)?;
        }
        if let Some(seconds) = self.cpu_seconds {
            row(formatter, "CPU time", format!("{seconds:.2} s, {:.0} % of a core", 100.0 * seconds / self.seconds))?;
        }
        self.write_times(formatter)
    }
}

impl LoadReport {
    fn write_times(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "\n{:<16}", "milliseconds")?;
        for column in ["count", "p50", "p90", "p99", "p99.9", "max"] {
            write!(formatter, "{column:>10}")?;
        }
        writeln!(formatter)?;
        for (name, latency) in [
            ("connecting", &self.connecting_ms),
            ("round trip", &self.round_trip_ms),
            ("ping hold", &self.ping_hold_ms),
            ("staleness", &self.staleness_ms),
            ("state jitter", &self.state_jitter_ms),
            ("input to state", &self.input_to_state_ms),
            ("delivery", &self.delivery_ms),
        ] {
            if latency.count > 0 {
                let Latency { count, p50, p90, p99, p999, max } = latency;
                write!(formatter, "{name:<16}{count:>10}")?;
                writeln!(formatter, "{p50:>10.2}{p90:>10.2}{p99:>10.2}{p999:>10.2}{max:>10.2}")?;
            }
        }
        Ok(())
    }
}

impl Display for Transfer {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let kilobytes = self.bytes_per_second / 1_000.0;
        let per_bot = self.bytes_per_second_per_bot / 1_000.0;
        let rate = self.messages_per_second;
        write!(
            formatter,
            "{} messages, {rate:.0} per second, {kilobytes:.1} kB/s, {per_bot:.2} kB/s per bot",
            self.messages
        )
    }
}

fn row(formatter: &mut Formatter<'_>, name: &str, text: String) -> fmt::Result {
    writeln!(formatter, "{name:<16}{text}")
}

fn reasons(formatter: &mut Formatter<'_>, name: &str, reasons: &BTreeMap<String, u64>) -> fmt::Result {
    reasons.iter().try_for_each(|(reason, count)| row(formatter, name, format!("{count} × {reason}")))
}
