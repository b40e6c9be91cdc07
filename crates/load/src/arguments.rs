//! Arguments of `aether load`.

use std::time::Duration;

use aether_client::{Bandwidth, Conditions};
use aether_client_native::{ServerAddress, TransportKind};
use clap::{Args, ValueEnum};

/// Largest number of bots: fewer than the usual limit of open sockets of a process.
const BOTS_MAX: i64 = 20_000;
/// Largest number of bots per room: more than any room accepts.
const PER_ROOM_MAX: i64 = 10_000;
/// Largest number of inputs or messages per second: four times the rate of the fastest displays.
const RATE_HZ_MAX: i64 = 1_000;
/// Longest run: a week.
const SECONDS_MAX: i64 = 604_800;
/// Largest number of connections per second.
const RAMP_MAX: i64 = 10_000;
/// Largest simulated latency: a minute.
const LATENCY_MS_MAX: i64 = 60_000;
/// Largest simulated bandwidth and queue: more than any network has.
const BANDWIDTH_MAX: u64 = 1 << 40;
/// Smallest message: it contains the sender and the time.
const MESSAGE_BYTES_MIN: i64 = 16;
/// Largest message: its frame must fit the default limit of a server.
const MESSAGE_BYTES_MAX: i64 = 480;

/// Lets bots play on a server and prints a report.
#[derive(Args, Clone, Debug)]
pub struct LoadArguments {
    /// Address of the server.
    #[arg(long, default_value = "http://127.0.0.1:7350")]
    pub address: ServerAddress,

    /// Number of bots.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=BOTS_MAX))]
    pub bots: u32,

    /// Number of bots per room. Bots of one room join by the same label: `load-0`, `load-1` and so on.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=PER_ROOM_MAX))]
    pub per_room: u32,

    /// Room type. Default: the first one of this program.
    #[arg(long)]
    pub room_type: Option<String>,

    /// Activity of the bots. Default: messages in relay rooms of this program and in rooms of type `relay`, inputs in
    /// others.
    #[arg(long, value_enum)]
    pub play: Option<BotBehavior>,

    /// Transport of the bots.
    #[arg(long, value_enum, default_value_t = TransportChoice::Websocket)]
    pub transport: TransportChoice,

    /// Inputs or messages per second and bot.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=RATE_HZ_MAX))]
    pub rate: u32,

    /// Duration of the measurement in seconds, after all bots have joined.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=SECONDS_MAX as u64))]
    pub seconds: u64,

    /// New connections per second while bots join.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=RAMP_MAX))]
    pub ramp: u32,

    /// Size of a message in bytes, if bots send messages.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX))]
    pub message_bytes: u32,

    /// Reads only the header of state packets, so that thousands of bots need little CPU time.
    #[arg(long)]
    pub light: bool,

    /// Mean time in seconds after which a bot drops its connection and resumes.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=SECONDS_MAX as u64))]
    pub churn_seconds: Option<u64>,

    /// Access token for all bots. Default: each bot requests a guest token.
    #[arg(long, env = "LOAD_TOKEN", hide_env_values = true, conflicts_with = "token_key")]
    pub token: Option<String>,

    /// Key that signs a token for each bot, as `ID:SECRET`: the name of a key file of the server, and its secret.
    #[arg(long, env = "LOAD_TOKEN_KEY", hide_env_values = true)]
    pub token_key: Option<String>,

    /// Simulated latency in each direction, in milliseconds.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=LATENCY_MS_MAX as u64))]
    pub latency_ms: u64,

    /// Largest random delay in addition to the latency, in milliseconds.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=LATENCY_MS_MAX as u64))]
    pub jitter_ms: u64,

    /// Simulated packet loss in percent. On a stream a lost packet is delayed instead.
    #[arg(long, default_value_t = 0.0, value_name = "PERCENT", value_parser = percent)]
    pub loss: f32,

    /// Share of datagrams that arrive twice, in percent. WebTransport and UDP have datagrams.
    #[arg(long, default_value_t = 0.0, value_name = "PERCENT", value_parser = percent)]
    pub duplication: f32,

    /// Share of datagrams that later ones overtake, in percent. WebTransport and UDP have datagrams.
    #[arg(long, default_value_t = 0.0, value_name = "PERCENT", value_parser = percent)]
    pub reordering: f32,

    /// Simulated bandwidth of each bot in each direction and path, in bytes per second. Default: no limit.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=BANDWIDTH_MAX))]
    pub bandwidth: Option<u64>,

    /// Bytes that wait for bandwidth at most. Datagrams beyond it are lost, reliable messages wait.
    #[arg(long, default_value_t = 24_000, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=BANDWIDTH_MAX))]
    pub queue_bytes: u64,

    /// Prints the report as JSON.
    #[arg(long)]
    pub json: bool,

    /// Hides the progress.
    #[arg(long)]
    pub quiet: bool,

    /// Allows a server on another machine. Load only servers that are yours.
    #[arg(long)]
    pub allow_remote: bool,

    /// Seed of the bots' random choices.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Activity of bots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BotBehavior {
    /// Sends random inputs and applies the state of the world.
    Inputs,
    /// Sends messages to the other bots of the room and measures their latency.
    Messages,
    /// Joins and sends nothing.
    Nothing,
}

/// Transport of bots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransportChoice {
    /// WebSocket.
    Websocket,
    /// WebTransport.
    Webtransport,
    /// Reliable UDP.
    Udp,
    /// Alternates between WebSocket and WebTransport.
    Both,
    /// Alternates between all three.
    All,
}

/// Room type of the bots if the program has none.
const ROOM_TYPE_DEFAULT: &str = "sandbox";

impl LoadArguments {
    /// Room type that the bots join.
    pub fn room_type(&self) -> &str {
        self.room_type.as_deref().unwrap_or(ROOM_TYPE_DEFAULT)
    }

    /// Activity of the bots.
    pub fn play(&self) -> BotBehavior {
        let default = if self.room_type() == "relay" { BotBehavior::Messages } else { BotBehavior::Inputs };
        self.play.unwrap_or(default)
    }

    pub(crate) fn transport_of(&self, bot: u32) -> TransportKind {
        match self.transport {
            TransportChoice::Websocket => TransportKind::WebSocket,
            TransportChoice::Webtransport => TransportKind::WebTransport,
            TransportChoice::Udp => TransportKind::Udp,
            TransportChoice::Both => [TransportKind::WebSocket, TransportKind::WebTransport][bot as usize % 2],
            TransportChoice::All => {
                [TransportKind::WebSocket, TransportKind::WebTransport, TransportKind::Udp][bot as usize % 3]
            }
        }
    }

    /// Checks arguments that depend on each other.
    pub(crate) fn check(&self) -> Result<(), String> {
        let needs_datagrams = self.duplication > 0.0 || self.reordering > 0.0;
        if needs_datagrams && self.transport == TransportChoice::Websocket {
            return Err(
                "--duplication and --reordering have no effect on WebSocket, which delivers everything once and \
                        in order: add --transport webtransport or udp, or use --latency-ms, --jitter-ms, --loss and \
                        --bandwidth"
                    .into(),
            );
        }
        Ok(())
    }

    /// Simulated network. `None` if it is perfect.
    pub(crate) fn conditions(&self) -> Option<Conditions> {
        let conditions = Conditions {
            latency: Duration::from_millis(self.latency_ms),
            jitter: Duration::from_millis(self.jitter_ms),
            loss: self.loss / 100.0,
            duplication: self.duplication / 100.0,
            reordering: self.reordering / 100.0,
            bandwidth: self
                .bandwidth
                .map(|bytes_per_second| Bandwidth { bytes_per_second, queue_bytes_max: self.queue_bytes }),
        };
        (conditions != Conditions::PERFECT).then_some(conditions)
    }
}

fn percent(text: &str) -> Result<f32, String> {
    let share = text.trim_end_matches('%').parse::<f32>().map_err(|error| error.to_string())?;
    if (0.0..=100.0).contains(&share) { Ok(share) } else { Err("must be from 0 to 100 percent".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        load: LoadArguments,
    }

    fn parse(arguments: &[&str]) -> Result<LoadArguments, clap::Error> {
        Program::try_parse_from([&["load"], arguments].concat()).map(|program| program.load)
    }

    #[test]
    fn values_are_bounded() {
        for arguments in [
            ["--bots", "0"],
            ["--bots", "1000000"],
            ["--rate", "0"],
            ["--seconds", "99999999"],
            ["--message-bytes", "15"],
            ["--message-bytes", "481"],
            ["--loss", "101"],
            ["--loss", "NaN"],
            ["--duplication", "-1"],
            ["--reordering", "101"],
            ["--bandwidth", "0"],
            ["--queue-bytes", "0"],
            ["--address", "nowhere"],
        ] {
            assert!(parse(&arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn the_default_activity_follows_from_the_room_type() {
        let play = |arguments: &[&str]| parse(arguments).expect("valid arguments").play();
        assert_eq!(play(&[]), BotBehavior::Inputs);
        assert_eq!(play(&["--room-type", "relay"]), BotBehavior::Messages);
        assert_eq!(play(&["--room-type", "relay", "--play", "nothing"]), BotBehavior::Nothing);
    }

    #[test]
    fn every_condition_of_the_network_can_be_set() {
        let flags = ["--latency-ms", "50", "--jitter-ms", "20", "--loss", "2", "--duplication", "1%"];
        let more = ["--reordering", "3", "--bandwidth", "60000", "--transport", "webtransport"];
        let arguments = parse(&[&flags[..], &more].concat()).expect("valid arguments");
        assert_eq!(arguments.check(), Ok(()));
        let conditions = Conditions {
            latency: Duration::from_millis(50),
            jitter: Duration::from_millis(20),
            loss: 0.02,
            duplication: 0.01,
            reordering: 0.03,
            bandwidth: Some(Bandwidth { bytes_per_second: 60_000, queue_bytes_max: 24_000 }),
        };
        assert_eq!(arguments.conditions(), Some(conditions));
    }

    #[test]
    fn conditions_that_websocket_cannot_have_are_rejected_with_a_way_out() {
        for flag in ["--duplication", "--reordering"] {
            let problem =
                parse(&[flag, "1"]).expect("valid arguments").check().expect_err("WebSocket has no datagrams");
            assert!(problem.contains("--transport webtransport"), "{problem}");
            for transport in ["webtransport", "both"] {
                let arguments = parse(&[flag, "1", "--transport", transport]).expect("valid arguments");
                assert_eq!(arguments.check(), Ok(()));
            }
        }
    }

    #[test]
    fn bots_of_both_transports_alternate() {
        let arguments = parse(&["--transport", "both"]).expect("valid arguments");
        assert_eq!([0, 1, 2].map(|bot| arguments.transport_of(bot).name()), ["websocket", "webtransport", "websocket"]);
        assert_eq!(arguments.conditions(), None);
    }
}
