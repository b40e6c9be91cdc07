//! Finds servers and rooms on the local network: `cargo run -p aether-client-native --example find_servers [name]`.

use aether_client_native::{LanSettings, find_servers};
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    for server in find_servers(&LanSettings::default(), &name, Duration::from_secs(1)).await? {
        println!("{} {} at {}", server.name, server.version, server.address);
        for room in server.rooms {
            println!("  {} {} {}/{} {}", room.code, room.room_type, room.players, room.players_max, room.label);
        }
    }
    Ok(())
}
