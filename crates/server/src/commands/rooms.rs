//! `aether rooms`: what is stored of durable rooms.

use crate::config::{Config, ConfigArguments};
use crate::data;
use aether_metrics::Registry;
use aether_services::clock::SystemClock;
use aether_services::room::{ROOMS_LISTED_MAX, Rooms};
use aether_store::{Store, StoreSettings};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// The flags of `aether rooms`.
#[derive(clap::Args, Clone, Debug)]
pub struct RoomsArguments {
    /// Show the states that are kept of this room, by its id
    pub room: Option<String>,
    /// Write a state of the room to this file
    #[arg(long, value_name = "FILE", requires = "room")]
    pub export: Option<PathBuf>,
    /// Which state; 0 is the newest
    #[arg(long, default_value_t = 0, requires = "export")]
    pub number: i64,
    /// How to configure.
    #[command(flatten)]
    pub config: ConfigArguments,
}

impl RoomsArguments {
    /// Looks, while a server may go on using the database.
    pub async fn run(&self) -> Result<String, String> {
        let config = self.config.load().map_err(|error| error.to_string())?;
        let rooms = open(&config).await?;
        match (&self.room, &self.export) {
            (None, _) => list(&rooms).await,
            (Some(room), None) => snapshots(&rooms, room).await,
            (Some(room), Some(file)) => {
                let state = rooms.snapshot(room, self.number).await.map_err(|refusal| refusal.to_string())?;
                let state = state.ok_or_else(|| format!("Of {room} there is no state with number {}.", self.number))?;
                std::fs::write(file, &state).map_err(|error| format!("{}: {error}", file.display()))?;
                Ok(format!("{} bytes are in {}.\n", state.len(), file.display()))
            }
        }
    }
}

async fn open(config: &Config) -> Result<Rooms, String> {
    let database = data::database(config).map_err(|error| error.to_string())?;
    let store = Store::open_beside(&StoreSettings::new(database), &Registry::new()).await;
    Ok(Rooms::new(store.map_err(|error| error.to_string())?, Arc::new(SystemClock)))
}

async fn list(rooms: &Rooms) -> Result<String, String> {
    let list = rooms.list(ROOMS_LISTED_MAX).await.map_err(|refusal| refusal.to_string())?;
    let mut text = String::from("id\tcode\ttype\tlabel\tplayers\tcreated_at\tupdated_at\n");
    for room in list {
        let (id, code, label) = (room.id, room.code, shown(&room.label));
        let _ = writeln!(
            text,
            "{id}\t{code}\t{}\t{label}\t{}\t{}\t{}",
            room.room_type, room.players, room.created_at, room.updated_at
        );
    }
    Ok(text)
}

async fn snapshots(rooms: &Rooms, room: &str) -> Result<String, String> {
    let snapshots = rooms.snapshots(room).await.map_err(|refusal| refusal.to_string())?;
    if snapshots.is_empty() {
        return Err(format!("Of {room} nothing is stored. `aether rooms` lists the rooms that are."));
    }
    let mut text = String::from("number\ttaken_at\tplayers\tentities\tbytes\n");
    for it in snapshots {
        let _ = writeln!(text, "{}\t{}\t{}\t{}\t{}", it.number, it.taken_at, it.players, it.entities, it.bytes);
    }
    Ok(text)
}

/// A label in one column of one line.
fn shown(label: &str) -> String {
    label.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
