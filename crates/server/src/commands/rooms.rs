//! `aether rooms`: lists durable rooms and their stored states.

use crate::config::{Config, ConfigArguments};
use crate::data;
use aether_metrics::Registry;
use aether_services::clock::SystemClock;
use aether_services::room::{ROOMS_LISTED_MAX, Rooms};
use aether_store::{PrivateFile, Store, StoreSettings};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Flags of `aether rooms`.
#[derive(clap::Args, Clone, Debug)]
pub struct RoomsArguments {
    /// Id of a room; lists its stored states
    pub room: Option<String>,
    /// Write a stored state of the room to this file
    #[arg(long, value_name = "FILE", requires = "room")]
    pub export: Option<PathBuf>,
    /// Number of the state to write; 0 is the newest
    #[arg(long, default_value_t = 0, requires = "export")]
    pub number: i64,
    /// Configuration file and flags.
    #[command(flatten)]
    pub config: ConfigArguments,
}

impl RoomsArguments {
    /// Reads from the database. A server may use it meanwhile.
    pub async fn run(&self) -> Result<String, String> {
        let config = self.config.load().map_err(|error| error.to_string())?;
        let rooms = open(&config).await?;
        match (&self.room, &self.export) {
            (None, _) => list(&rooms).await,
            (Some(room), None) => snapshots(&rooms, room).await,
            (Some(room), Some(file)) => {
                let state = rooms.checkpoint(room, self.number).await.map_err(|error| error.to_string())?;
                let state = state.ok_or_else(|| {
                    format!("Room {room} has no stored state {}. `aether rooms {room}` lists them.", self.number)
                })?;
                let written = PrivateFile::write(file, &state);
                written.map_err(|error| format!("Cannot write {}: {error}", file.display()))?;
                Ok(format!("{} bytes written to {}.\n", state.len(), file.display()))
            }
        }
    }
}

async fn open(config: &Config) -> Result<Rooms, String> {
    let database = data::database(config).map_err(|error| error.to_string())?;
    let store = Store::open_for_reading(&StoreSettings::new(database), &Registry::new()).await;
    Ok(Rooms::new(store.map_err(|error| error.to_string())?, Arc::new(SystemClock)))
}

async fn list(rooms: &Rooms) -> Result<String, String> {
    let list = rooms.list(ROOMS_LISTED_MAX).await.map_err(|error| error.to_string())?;
    let mut text = String::from("id\tcode\ttype\tlabel\tplayers\tcreated_at\tupdated_at\n");
    for room in list {
        let (id, code, label) = (room.id, room.code, single_line(&room.label));
        let _ = writeln!(
            text,
            "{id}\t{code}\t{}\t{label}\t{}\t{}\t{}",
            room.room_type, room.players, room.created_at, room.updated_at
        );
    }
    Ok(text)
}

async fn snapshots(rooms: &Rooms, room: &str) -> Result<String, String> {
    let snapshots = rooms.checkpoints(room).await.map_err(|error| error.to_string())?;
    if snapshots.is_empty() {
        return Err(format!("Room {room} has no stored state. `aether rooms` lists the durable rooms."));
    }
    let mut text = String::from("number\ttaken_at\tplayers\tentities\tbytes\n");
    for snapshot in snapshots {
        let (number, taken_at, players) = (snapshot.number, snapshot.taken_at, snapshot.players);
        let _ = writeln!(text, "{number}\t{taken_at}\t{players}\t{}\t{}", snapshot.entities, snapshot.bytes);
    }
    Ok(text)
}

/// Replaces control characters, so that a label stays in one column of one line.
fn single_line(label: &str) -> String {
    label.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
