//! `aether migrate`: applies pending migrations to the database, or lists applied and pending ones.

use crate::config::ConfigArguments;
use crate::data;
use aether_metrics::Registry;
use aether_store::{Store, StoreSettings};
use std::fmt::Write as _;

/// Flags of `aether migrate`.
#[derive(clap::Args, Clone, Debug)]
pub struct MigrateArguments {
    /// Change nothing; list applied and pending migrations
    #[arg(long)]
    pub status: bool,
    /// Configuration file and flags.
    #[command(flatten)]
    pub config: ConfigArguments,
}

impl MigrateArguments {
    /// Applies the migrations, or lists them.
    pub async fn run(&self) -> Result<String, String> {
        let config = self.config.load().map_err(|error| error.to_string())?;
        let database = data::database(&config).map_err(|error| error.to_string())?;
        let settings = StoreSettings { migrate: !self.status, ..StoreSettings::new(database) };
        if self.status {
            let status = Store::inspect(&settings, &Registry::new()).await.map_err(|error| error.to_string())?;
            let mut text = String::new();
            for version in &status.applied {
                let _ = writeln!(text, "{version:04} applied");
            }
            for step in &status.pending {
                let _ = writeln!(text, "{:04} {} pending", step.version, step.name);
            }
            return Ok(text);
        }
        let store = Store::open(&settings, &Registry::new()).await.map_err(|error| error.to_string())?;
        let status = store.migration_status().await.map_err(|error| error.to_string())?;
        Ok(format!("The database is up to date: {} migrations applied.\n", status.applied.len()))
    }
}
