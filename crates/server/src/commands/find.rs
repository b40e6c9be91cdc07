//! `aether find`: finds servers and rooms on the local network.

use aether_client_native::{FoundServer, LanSettings, find_servers};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// Flags of `aether find`.
#[derive(clap::Args, Clone, Debug)]
pub struct FindArguments {
    /// Text in the name of a server, or in the type, code or label of a room [default: all servers]
    #[arg(default_value = "", hide_default_value = true)]
    pub name: String,
    /// Time to wait for answers
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS", value_parser = seconds)]
    pub seconds: f64,
    /// Group and interface.
    #[command(flatten)]
    pub lan: LanArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of the local network.
#[derive(clap::Args, Clone, Debug)]
pub struct LanArguments {
    /// Multicast group of the servers (multicast.group)
    #[arg(long, default_value_t = LanSettings::default().group, value_name = "ADDRESS", value_parser = group)]
    pub group: SocketAddrV4,
    /// Address of the network interface; 0.0.0.0 lets the system choose
    #[arg(long, default_value_t = Ipv4Addr::UNSPECIFIED, value_name = "ADDRESS")]
    pub interface: Ipv4Addr,
}

impl LanArguments {
    pub(super) fn settings(&self) -> LanSettings {
        LanSettings { group: self.group, interface: self.interface }
    }

    /// Finds servers.
    pub(super) async fn find(&self, name: &str, seconds: f64) -> Result<Vec<FoundServer>, String> {
        let found = find_servers(&self.settings(), name, Duration::from_secs_f64(seconds)).await;
        found.map_err(|error| {
            format!(
                "Cannot search on {} with the group {}: {error}. Name the address of a network interface with --interface.",
                self.interface, self.group
            )
        })
    }
}

impl FindArguments {
    /// Searches, and returns a table or JSON.
    pub async fn run(&self) -> Result<String, String> {
        let servers = self.lan.find(&self.name, self.seconds).await?;
        Ok(if self.json { format!("{:#}\n", Value::from_iter(servers.iter().map(to_json))) } else { table(&servers) })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=60.0).contains(seconds));
    seconds.ok_or_else(|| "it must be a number from 0.1 to 60".to_owned())
}

fn group(text: &str) -> Result<SocketAddrV4, String> {
    let group = text.parse().ok().filter(|group: &SocketAddrV4| group.ip().is_multicast());
    group.ok_or_else(|| "it must be an IPv4 multicast address with a port, such as 239.255.73.50:7353".to_owned())
}

fn to_json(server: &FoundServer) -> Value {
    let rooms = server.rooms.iter().map(|room| {
        json!({
            "id": room.id,
            "code": room.code,
            "type": room.room_type,
            "players": room.players,
            "playersMax": room.players_max,
            "label": room.label,
            "canWatch": room.can_watch,
        })
    });
    json!({
        "name": server.name,
        "version": server.version,
        "address": server.address.to_string(),
        "key": server.key.to_string(),
        "roomTypes": server.room_types,
        "rooms": rooms.collect::<Vec<_>>(),
    })
}

/// One line per server, and one per room below it.
fn table(servers: &[FoundServer]) -> String {
    if servers.is_empty() {
        return "No server answered. A server answers if multicast.enabled is true.\n".to_owned();
    }
    let mut text = String::new();
    for server in servers {
        let _ = writeln!(text, "{}\t{}\t{}\tkey {}", server.name, server.version, server.address, server.key);
        for room in &server.rooms {
            let watch = if room.can_watch { "\twatch" } else { "" };
            let (code, kind, label) = (&room.code, &room.room_type, &room.label);
            let _ =
                writeln!(text, "  {code}\t{kind}\t{}/{}\t{label}\t{}{watch}", room.players, room.players_max, room.id);
        }
    }
    text
}
