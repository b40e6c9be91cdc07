//! Arguments of the program.

use aether::prelude::*;
use aether_asteroids_rules::NAME_BYTES_MAX;
use clap::Parser;

/// Asteroids in the terminal.
///
/// Keys: W or Up thrusts, A or Left and D or Right turn, Space fires, Q quits.
#[derive(Clone, Debug, Parser)]
#[command(name = "aether-asteroids", version)]
pub struct Arguments {
    /// Name of the player. On each server it belongs to the device that used it first.
    #[arg(value_parser = name)]
    pub name: String,
    /// Address of the server.
    #[arg(long, default_value = "http://127.0.0.1:7350", value_parser = server, value_name = "URL")]
    pub server: String,
    /// Code of the room. Default: any room that is not full.
    #[arg(long, value_name = "CODE")]
    pub room: Option<String>,
    /// Transport: best, websocket, webtransport or udp, if the server offers it.
    #[arg(long, default_value = "best", value_parser = transport, value_name = "NAME")]
    pub transport: TransportPreference,
    /// Setting `api.server_key` of the server.
    #[arg(long, default_value = "defaultkey", value_name = "KEY")]
    pub server_key: String,
    /// Plays by itself.
    #[arg(long)]
    pub bot: bool,
    /// Draws nothing, and prints a line with the result. Needs --bot.
    #[arg(long, requires = "bot")]
    pub headless: bool,
    /// Ends after this many seconds.
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
}

fn name(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.len() {
        0 => Err("the name is empty".to_owned()),
        len if len > NAME_BYTES_MAX => Err(format!("the name is longer than {NAME_BYTES_MAX} bytes")),
        _ => Ok(text.to_owned()),
    }
}

fn transport(text: &str) -> Result<TransportPreference, String> {
    if text == "best" {
        return Ok(TransportPreference::Best);
    }
    let unknown = || format!("the transport `{text}` is unknown; use `best` or `websocket`");
    TransportKind::from_name(text).map(TransportPreference::Only).ok_or_else(unknown)
}

fn server(text: &str) -> Result<String, String> {
    text.parse::<ServerAddress>().map(|_| text.trim_end_matches('/').to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from([&["aether-asteroids"], arguments].concat())
    }

    #[test]
    fn a_name_is_enough() {
        let arguments = parse(&["Ann"]).expect("it is valid");
        assert_eq!((arguments.name.as_str(), arguments.server.as_str()), ("Ann", "http://127.0.0.1:7350"));
        assert_eq!(arguments.transport, TransportPreference::Best);
    }

    #[test]
    fn names_transports_and_combinations_are_checked() {
        for wrong in [
            &[][..],
            &[""],
            &["a name that is too long"],
            &["Ann", "--transport", "pigeon"],
            &["Ann", "--headless"],
            &["Ann", "--server", "nonsense"],
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
        let only = parse(&["Ann", "--transport", "websocket"]).expect("it is valid").transport;
        assert_eq!(only, TransportPreference::Only(TransportKind::WebSocket));
    }
}
