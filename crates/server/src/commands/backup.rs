//! `aether backup` and `aether restore`: everything in the database, in a file that any Aether reads.

use crate::config::ConfigArguments;
use crate::data;
use aether_metrics::Registry;
use aether_store::{Store, StoreError, StoreSettings, back_up, restore};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The flags of `aether backup`.
#[derive(clap::Args, Clone, Debug)]
pub struct BackupArguments {
    /// The file to write; it must not be there yet
    pub file: PathBuf,
    /// How to configure.
    #[command(flatten)]
    pub config: ConfigArguments,
}

/// The flags of `aether restore`.
#[derive(clap::Args, Clone, Debug)]
pub struct RestoreArguments {
    /// The backup to read
    pub file: PathBuf,
    /// Replace what is in the database; without it, the database has to be empty
    #[arg(long)]
    pub replace: bool,
    /// How to configure.
    #[command(flatten)]
    pub config: ConfigArguments,
}

impl BackupArguments {
    /// Writes the backup, while a server may go on using the database.
    pub async fn run(&self) -> Result<String, String> {
        let config = self.config.load().map_err(|error| error.to_string())?;
        if self.file.exists() {
            return Err(format!("{} is there already. Choose another name.", self.file.display()));
        }
        let database = data::database(&config).map_err(shown)?;
        let store = Store::open_beside(&StoreSettings::new(database), &Registry::new()).await.map_err(shown)?;
        // Only a whole backup gets the name.
        let unfinished = self.file.with_extension("unfinished");
        let file = File::create(&unfinished).map_err(|error| unwritable(&unfinished, &error))?;
        let bar = rows();
        let told = bar.clone();
        let outcome = back_up(&store, file, move |rows| told.set_position(rows)).await;
        bar.finish_and_clear();
        let (file, summary) = outcome.map_err(|error| {
            let _ = std::fs::remove_file(&unfinished);
            shown(error)
        })?;
        file.sync_all().map_err(|error| unwritable(&unfinished, &error))?;
        std::fs::rename(&unfinished, &self.file).map_err(|error| unwritable(&self.file, &error))?;
        Ok(format!("{} rows are in {}.\n", summary.rows, self.file.display()))
    }
}

impl RestoreArguments {
    /// Reads the backup, all of it or nothing.
    pub async fn run(&self) -> Result<String, String> {
        let config = self.config.load().map_err(|error| error.to_string())?;
        let file =
            File::open(&self.file).map_err(|error| format!("{} cannot be read: {error}", self.file.display()))?;
        let store = data::open_store(&config, &Registry::new()).await.map_err(shown)?;
        let bar = rows();
        let told = bar.clone();
        let outcome = restore(&store, file, self.replace, move |rows| told.set_position(rows)).await;
        bar.finish_and_clear();
        let summary = outcome.map_err(shown)?;
        let erased = match summary.erased_users {
            0 => String::new(),
            users => format!(" {users} users were erased after the backup was taken, and stay so."),
        };
        Ok(format!("{} rows were restored.{erased}\n", summary.rows))
    }
}

fn rows() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos} rows, {elapsed}").expect("the template is right");
    ProgressBar::new_spinner().with_style(style)
}

fn shown(error: StoreError) -> String {
    error.to_string()
}

fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}
