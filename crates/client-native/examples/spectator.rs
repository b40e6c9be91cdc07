//! Watches the first room of the local network that can be watched, with the values of its entities:
//! `cargo run -p aether-client-native --example spectator [name]`.

use aether_client_native::{LanSettings, Spectator, SpectatorUpdate, find_servers};
use std::error::Error;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let lan = LanSettings::default();
    let name = std::env::args().nth(1).unwrap_or_default();
    let servers = find_servers(&lan, &name, Duration::from_secs(1)).await?;
    let mut rooms = servers.iter().flat_map(|server| server.rooms.iter().map(move |room| (server, room)));
    let (server, room) = rooms.find(|(_, room)| room.can_watch).ok_or("no room to watch was found")?;
    let mut spectator = Spectator::open(&lan, server.key, &room.id).await?;
    loop {
        let update = spectator.next().await?;
        let (Some(mirror), Some(schema)) = (spectator.mirror(), spectator.schema()) else { continue };
        if let SpectatorUpdate::KeyFrame { tick, .. } = update {
            println!("tick {}", tick.0);
            for entity in mirror.entities() {
                let values = (0..schema.components.len()).filter_map(|number| mirror.value(entity, number));
                println!("  {entity:?} {:?}", values.map(|(_, value)| value).collect::<Vec<_>>());
            }
        }
    }
}
