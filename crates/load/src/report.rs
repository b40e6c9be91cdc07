//! What a run found, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::Serialize;

use crate::arguments::LoadArguments;
use crate::measures::{BotMetrics, TimeDistribution};

/// What a run found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadReport {
    /// The server.
    pub address: String,
    /// What the bots connected through.
    pub transport: String,
    /// The type of the rooms.
    pub room_type: String,
    /// What the bots did.
    pub play: String,
    /// How many bots there were.
    pub bots: u32,
    /// How many of them shared a room.
    pub per_room: u32,
    /// Inputs or messages that each was to send a second.
    pub rate: u32,
    /// How long they played.
    pub seconds: f64,
    /// How many bots came in.
    pub connected: u64,
    /// Bots that did not, by reason.
    pub failures: BTreeMap<String, u64>,
    /// Connections that ended before the run did, by reason.
    pub disconnects: BTreeMap<String, u64>,
    /// Errors that the server told of, by code.
    pub errors: BTreeMap<String, u64>,
    /// Connections that were taken up again.
    pub resumes: u64,
    /// Those of them that came back as another player, which is a fault.
    pub resumes_as_another: u64,
    /// Attempts to take one up that the server refused.
    pub resumes_refused: u64,
    /// What came.
    pub received: Transfer,
    /// What went.
    pub sent: Transfer,
    /// From the start of a connection to its welcome.
    pub connecting_ms: Latency,
    /// From a ping to its pong, without the time that the server held it.
    pub round_trip_ms: Latency,
    /// How long the server held pings.
    pub ping_hold_ms: Latency,
    /// How old the newest state was, looked at whenever a bot sent an input.
    pub staleness_ms: Latency,
    /// By how much states came sooner or later than their ticks.
    pub state_jitter_ms: Latency,
    /// From an input to the first state that includes it.
    pub input_to_state_ms: Latency,
    /// From one bot to another, where bots send messages.
    pub delivery_ms: Latency,
    /// State packets that came.
    pub state_packets: u64,
    /// State packets that could not be read.
    pub state_unreadable: u64,
    /// Corrections of a bot's place.
    pub corrections: u64,
    /// Deliveries that there ought to have been.
    pub deliveries_expected: u64,
    /// Deliveries that there were.
    pub deliveries: u64,
    /// Processor time of the bots themselves while they played, where the system tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
}

/// Messages of one direction, without the frames around them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Transfer {
    /// How many.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages a second, all bots together.
    pub messages_per_second: f64,
    /// Bytes a second, all bots together.
    pub bytes_per_second: f64,
    /// Bytes a second of each bot.
    pub bytes_per_second_per_bot: f64,
}

/// A distribution of times in milliseconds. Without any, all are zero.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    /// How many times were taken.
    pub count: u64,
    /// Half of them were shorter.
    pub p50: f64,
    /// Nine of ten were shorter.
    pub p90: f64,
    /// All but one of a hundred were shorter.
    pub p99: f64,
    /// All but one of a thousand were shorter.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

impl LoadReport {
    pub(crate) fn new(
        arguments: &LoadArguments,
        measures: &BotMetrics,
        played: Duration,
        cpu_seconds: Option<f64>,
    ) -> Self {
        let seconds = played.as_secs_f64();
        let transfer = |messages, bytes| Transfer::new(messages, bytes, seconds, measures.connected);
        Self {
            address: arguments.address.to_string(),
            transport: format!("{:?}", arguments.transport).to_lowercase(),
            room_type: arguments.room_type.clone(),
            play: format!("{:?}", arguments.play()).to_lowercase(),
            bots: arguments.bots,
            per_room: arguments.per_room,
            rate: arguments.rate,
            seconds,
            connected: measures.connected,
            failures: measures.failures.0.clone(),
            disconnects: measures.disconnects.0.clone(),
            errors: measures.errors.0.clone(),
            resumes: measures.resumes,
            resumes_as_another: measures.resumes_as_another,
            resumes_refused: measures.resumes_refused,
            received: transfer(measures.messages_in, measures.bytes_in),
            sent: transfer(measures.messages_out, measures.bytes_out),
            connecting_ms: Latency::of(&measures.connecting),
            round_trip_ms: Latency::of(&measures.round_trip),
            ping_hold_ms: Latency::of(&measures.ping_hold),
            staleness_ms: Latency::of(&measures.staleness),
            state_jitter_ms: Latency::of(&measures.state_jitter),
            input_to_state_ms: Latency::of(&measures.input_to_state),
            delivery_ms: Latency::of(&measures.delivery),
            state_packets: measures.state_packets,
            state_unreadable: measures.state_unreadable,
            corrections: measures.corrections,
            deliveries_expected: measures.deliveries_expected,
            deliveries: measures.deliveries,
            cpu_seconds,
        }
    }

    /// The report as a table, or as JSON.
    pub fn render(&self, json: bool) -> String {
        match json {
            true => serde_json::to_string_pretty(self).expect("a report has only numbers and text in it"),
            false => self.to_string(),
        }
    }

    /// Deliveries that did not arrive.
    pub fn deliveries_lost(&self) -> u64 {
        self.deliveries_expected.saturating_sub(self.deliveries)
    }

    /// Whether every bot came in and stayed.
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
            "{} in rooms of {} ({}), {} a second, {:.1} s\n",
            self.play, self.per_room, self.room_type, self.rate, self.seconds
        )?;
        row(formatter, "connected", format!("{} of {}", self.connected, self.bots))?;
        reasons(formatter, "failed", &self.failures)?;
        reasons(formatter, "disconnected", &self.disconnects)?;
        reasons(formatter, "error", &self.errors)?;
        if self.resumes + self.resumes_refused > 0 {
            let Self { resumes, resumes_as_another, resumes_refused, .. } = self;
            let text = format!("{resumes}, as another player {resumes_as_another}, refused {resumes_refused}");
            row(formatter, "resumed", text)?;
        }
        for (name, transfer) in [("received", &self.received), ("sent", &self.sent)] {
            row(formatter, name, transfer.to_string())?;
        }
        if self.state_packets + self.state_unreadable > 0 {
            let Self { state_packets, state_unreadable, corrections, .. } = self;
            row(formatter, "state packets", format!("{state_packets}, unreadable {state_unreadable}"))?;
            row(formatter, "corrections", corrections.to_string())?;
        }
        if self.deliveries_expected > 0 {
            let text = format!("{} of {}, lost {}", self.deliveries, self.deliveries_expected, self.deliveries_lost());
            row(formatter, "deliveries", text)?;
        }
        if let Some(seconds) = self.cpu_seconds {
            row(formatter, "processor", format!("{seconds:.2} s, {:.0} % of a core", 100.0 * seconds / self.seconds))?;
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
        let each = self.bytes_per_second_per_bot / 1_000.0;
        let rate = self.messages_per_second;
        write!(formatter, "{} messages, {rate:.0} a second, {kilobytes:.1} kB/s, {each:.2} kB/s each", self.messages)
    }
}

fn row(formatter: &mut Formatter<'_>, name: &str, text: String) -> fmt::Result {
    writeln!(formatter, "{name:<16}{text}")
}

fn reasons(formatter: &mut Formatter<'_>, name: &str, reasons: &BTreeMap<String, u64>) -> fmt::Result {
    reasons.iter().try_for_each(|(reason, count)| row(formatter, name, format!("{count} × {reason}")))
}
