//! `aether backup` and `aether restore`: the whole database in one file that fits either kind of database.

use crate::config::ConfigArguments;
use crate::data;
use aether_metrics::Registry;
use aether_store::{PrivateFile, Store, StoreError, StoreSettings, back_up, restore};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Flags of `aether backup`.
#[derive(clap::Args, Clone, Debug)]
pub struct BackupArguments {
    /// File to write; it must not exist
    pub file: PathBuf,
    /// Configuration file and flags.
    #[command(flatten)]
    pub config: ConfigArguments,
}

/// Flags of `aether restore`.
#[derive(clap::Args, Clone, Debug)]
pub struct RestoreArguments {
    /// Backup to read
    pub file: PathBuf,
    /// Replace the content of the database; without this flag the database must be empty
    #[arg(long)]
    pub replace: bool,
    /// Configuration file and flags.
    #[command(flatten)]
    pub config: ConfigArguments,
}

impl BackupArguments {
    /// Writes the backup. A server may use the database meanwhile.
    pub async fn run(&self) -> Result<String, String> {
        let config = self.config.load().map_err(|error| error.to_string())?;
        if self.file.exists() {
            return Err(format!("{} exists. Choose another file.", self.file.display()));
        }
        let database = data::database(&config).map_err(to_text)?;
        let store = Store::open_for_reading(&StoreSettings::new(database), &Registry::new()).await.map_err(to_text)?;
        // It contains password hashes. Only a complete backup gets the name.
        let file = PrivateFile::create(&self.file).map_err(|error| write_error(&self.file, &error))?;
        let bar = row_progress();
        let progress = bar.clone();
        let outcome = back_up(&store, file, move |rows| progress.set_position(rows)).await;
        bar.finish_and_clear();
        let (file, summary) = outcome.map_err(to_text)?;
        file.finish().map_err(|error| write_error(&self.file, &error))?;
        Ok(format!("{} rows written to {}.\n", summary.rows, self.file.display()))
    }
}

impl RestoreArguments {
    /// Restores the backup in one transaction.
    pub async fn run(&self) -> Result<String, String> {
        let config = self.config.load().map_err(|error| error.to_string())?;
        let file = File::open(&self.file).map_err(|error| format!("Cannot read {}: {error}", self.file.display()))?;
        let store = data::open_store(&config, &Registry::new()).await.map_err(to_text)?;
        let bar = row_progress();
        let progress = bar.clone();
        let outcome = restore(&store, file, self.replace, move |rows| progress.set_position(rows)).await;
        bar.finish_and_clear();
        let summary = outcome.map_err(to_text)?;
        let erased = match summary.erased_users {
            0 => String::new(),
            users => format!(" {users} users were erased after the backup was taken; they stay erased."),
        };
        Ok(format!("{} rows restored.{erased}\n", summary.rows))
    }
}

fn row_progress() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos} rows, {elapsed}").expect("the template is valid");
    ProgressBar::new_spinner().with_style(style)
}

fn to_text(error: StoreError) -> String {
    error.to_string()
}

fn write_error(path: &Path, error: &std::io::Error) -> String {
    format!("Cannot write {}: {error}", path.display())
}
