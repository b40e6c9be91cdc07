//! What `aether load` can be told.

use std::time::Duration;

use aether_client_native::{ServerAddress, TransportKind};
use aether_testkit::Conditions;
use clap::{Args, ValueEnum};

/// Bots at most: about as many sockets as one process has by default, with some to spare.
const BOTS_MAX: i64 = 20_000;
/// Players of one room at most; more than any room takes.
const PER_ROOM_MAX: i64 = 10_000;
/// Inputs or messages a second at most; four times what the fastest screens show.
const RATE_HZ_MAX: i64 = 1_000;
/// A week, for the longest soak.
const SECONDS_MAX: i64 = 604_800;
/// Connections a second at most.
const RAMP_MAX: i64 = 10_000;
/// A minute of latency is no network any more.
const LATENCY_MS_MAX: i64 = 60_000;
/// A message has to carry who sent it and when.
const MESSAGE_BYTES_MIN: i64 = 16;
/// A message in its frame has to fit what a server takes from a client by default.
const MESSAGE_BYTES_MAX: i64 = 480;

/// Lets bots play on a server and tells how that went.
#[derive(Args, Clone, Debug)]
pub struct LoadArguments {
    /// The server's address.
    #[arg(long, default_value = "http://127.0.0.1:7350")]
    pub address: ServerAddress,

    /// How many bots.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=BOTS_MAX))]
    pub bots: u32,

    /// How many bots share a room. Bots of one room ask for the same label, `load-0`, `load-1` and so on.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=PER_ROOM_MAX))]
    pub per_room: u32,

    /// The type of the rooms.
    #[arg(long, default_value = "sandbox")]
    pub room_type: String,

    /// What the bots do; without it, messages in rooms of type `relay` and inputs in others.
    #[arg(long, value_enum)]
    pub play: Option<BotBehavior>,

    /// What the bots connect through.
    #[arg(long, value_enum, default_value_t = TransportChoice::Websocket)]
    pub transport: TransportChoice,

    /// Inputs or messages that each bot sends a second.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=RATE_HZ_MAX))]
    pub rate: u32,

    /// How long they play, once all are in.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=SECONDS_MAX as u64))]
    pub seconds: u64,

    /// How many bots connect a second.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=RAMP_MAX))]
    pub ramp: u32,

    /// Bytes of a message, where bots send messages.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX))]
    pub message_bytes: u32,

    /// Reads only the head of state packets, so that thousands of bots need little of this machine.
    #[arg(long)]
    pub light: bool,

    /// Each bot drops its connection about so often, in seconds, and resumes.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=SECONDS_MAX as u64))]
    pub churn_seconds: Option<u64>,

    /// An access token for all bots; without it each asks for a guest's.
    #[arg(long, env = "LOAD_TOKEN", hide_env_values = true, conflicts_with = "token_key")]
    pub token: Option<String>,

    /// A key to sign a token for each bot with, as `ID:SECRET`: the name of a key file of the server, and its secret.
    #[arg(long, env = "LOAD_TOKEN_KEY", hide_env_values = true)]
    pub token_key: Option<String>,

    /// Delay of everything sent and received, one way.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=LATENCY_MS_MAX as u64))]
    pub latency_ms: u64,

    /// Further delay at most.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=LATENCY_MS_MAX as u64))]
    pub jitter_ms: u64,

    /// Share of packets that are lost, in percent. On a stream a loss costs time instead.
    #[arg(long, default_value_t = 0.0, value_name = "PERCENT", value_parser = percent)]
    pub loss: f32,

    /// Prints the report as JSON.
    #[arg(long)]
    pub json: bool,

    /// Shows no progress.
    #[arg(long)]
    pub quiet: bool,

    /// Lets the server be on another machine. Load only what is yours.
    #[arg(long)]
    pub allow_remote: bool,

    /// What the bots' choices begin with; the same number makes the same choices.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// What bots do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BotBehavior {
    /// They send random inputs and follow the state of the world.
    Inputs,
    /// They send each other messages and measure how long these take.
    Messages,
    /// They join and stay quiet.
    Nothing,
}

/// What bots connect through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransportChoice {
    /// WebSocket.
    Websocket,
    /// WebTransport.
    Webtransport,
    /// Every other bot the one and the other.
    Both,
}

impl LoadArguments {
    /// What the bots do.
    pub fn play(&self) -> BotBehavior {
        let by_room = if self.room_type == "relay" { BotBehavior::Messages } else { BotBehavior::Inputs };
        self.play.unwrap_or(by_room)
    }

    pub(crate) fn transport_of(&self, bot: u32) -> TransportKind {
        match self.transport {
            TransportChoice::Websocket => TransportKind::WebSocket,
            TransportChoice::Webtransport => TransportKind::WebTransport,
            TransportChoice::Both if bot.is_multiple_of(2) => TransportKind::WebSocket,
            TransportChoice::Both => TransportKind::WebTransport,
        }
    }

    /// The network that bots pretend to have; none if it is perfect.
    pub(crate) fn conditions(&self) -> Option<Conditions> {
        let conditions = Conditions {
            latency: Duration::from_millis(self.latency_ms),
            jitter: Duration::from_millis(self.jitter_ms),
            loss: self.loss / 100.0,
            ..Conditions::PERFECT
        };
        (conditions != Conditions::PERFECT).then_some(conditions)
    }
}

fn percent(text: &str) -> Result<f32, String> {
    let share = text.trim_end_matches('%').parse::<f32>().map_err(|error| error.to_string())?;
    if (0.0..=100.0).contains(&share) { Ok(share) } else { Err("a share is from 0 to 100 percent".into()) }
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
    fn counts_are_bounded() {
        for arguments in [
            ["--bots", "0"],
            ["--bots", "1000000"],
            ["--rate", "0"],
            ["--seconds", "99999999"],
            ["--message-bytes", "15"],
            ["--message-bytes", "481"],
            ["--loss", "101"],
            ["--loss", "NaN"],
            ["--address", "nowhere"],
        ] {
            assert!(parse(&arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn what_bots_do_follows_from_the_room_unless_it_is_said() {
        let play = |arguments: &[&str]| parse(arguments).expect("they are well-formed").play();
        assert_eq!(play(&[]), BotBehavior::Inputs);
        assert_eq!(play(&["--room-type", "relay"]), BotBehavior::Messages);
        assert_eq!(play(&["--room-type", "relay", "--play", "nothing"]), BotBehavior::Nothing);
    }

    #[test]
    fn bots_of_both_transports_alternate() {
        let arguments = parse(&["--transport", "both"]).expect("they are well-formed");
        assert_eq!([0, 1, 2].map(|bot| arguments.transport_of(bot).name()), ["websocket", "webtransport", "websocket"]);
        assert_eq!(arguments.conditions(), None);
    }
}
