//! `aether spectate`: watches a room on the local network.

use super::find::LanArguments;
use aether_client_native::{FoundServer, Spectator, SpectatorUpdate};
use aether_wire::lan::{LanRoom, ServerKey};
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Time of the search before watching.
const SEARCH_SECONDS: f64 = 1.0;

/// Flags of `aether spectate`.
#[derive(clap::Args, Clone, Debug)]
pub struct SpectateArguments {
    /// Text in the type, code or label of the room, or in the name of its server [default: any room]
    #[arg(default_value = "", hide_default_value = true)]
    pub name: String,
    /// Public key of the server, as `aether find` prints it [default: that of the first server that answers]
    #[arg(long, value_name = "KEY")]
    pub key: Option<ServerKey>,
    /// Time to watch [default: until the room ends]
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<u32>,
    /// Drop this share of the frames, from 0 to 1, to see the effect of a bad network
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub loss: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Group and interface.
    #[command(flatten)]
    pub lan: LanArguments,
}

impl SpectateArguments {
    /// Watches the first room that matches, and prints a line per key frame.
    pub async fn run(&self) -> Result<String, String> {
        let servers = self.lan.find(&self.name, SEARCH_SECONDS).await?;
        let (server, room) = self.choose(&servers).ok_or_else(|| {
            "No room to watch was found. `aether find` lists servers and rooms; multicast.spectate on the server names the \
             room types that can be watched."
                .to_owned()
        })?;
        let opened = Spectator::open(&self.lan.settings(), server.key, &room.id).await;
        let mut spectator = opened.map_err(|error| format!("Cannot watch room {}: {error}.", room.id))?;
        if self.loss > 0.0 {
            spectator.simulate_loss(self.loss, u64::from(std::process::id()));
        }
        let end = self.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
        loop {
            let update = match end {
                None => spectator.next().await,
                Some(end) => match timeout_at(end, spectator.next()).await {
                    Ok(update) => update,
                    Err(_) => return Ok(String::new()),
                },
            };
            let update = update.map_err(|error| format!("Room {} is no longer shown: {error}.", room.id))?;
            if let SpectatorUpdate::KeyFrame { tick, hash } = update {
                self.print(&spectator, tick.0, hash);
            }
        }
    }

    fn choose<'a>(&self, servers: &'a [FoundServer]) -> Option<(&'a FoundServer, &'a LanRoom)> {
        let servers = servers.iter().filter(|server| self.key.is_none_or(|key| key == server.key));
        let mut rooms = servers.flat_map(|server| server.rooms.iter().map(move |room| (server, room)));
        rooms.find(|(_, room)| room.can_watch)
    }

    fn print(&self, spectator: &Spectator, tick: u32, hash: u64) {
        let entities = spectator.mirror().map_or(0, |mirror| mirror.entities().count());
        let stats = spectator.stats();
        if self.json {
            let line = json!({
                "tick": tick,
                "hash": format!("{hash:016x}"),
                "entities": entities,
                "frames": stats.frames,
                "lost": stats.lost,
                "unused": stats.unused,
                "forged": stats.forged,
            });
            println!("{line}");
        } else {
            println!("tick {tick}: {entities} entities, {} frames, {} lost", stats.frames, stats.lost);
        }
    }
}
