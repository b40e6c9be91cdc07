//! Settings of Lua scripts.

use super::Config;
use super::declare::section;
use std::path::PathBuf;

/// Folder of the modules in the data folder.
pub(crate) const MODULES_FOLDER: &str = "modules";

section! {
    /// Lua scripts.
    pub struct Script {
        /// Folder of the modules: all its files `*.lua` and `*.luau` are loaded at the start. Default: `modules` in the data
        /// folder, if it exists.
        folder: Option<PathBuf> = None;
        /// Loads the modules that are part of the program, such as those of the game Quilt. A file of the same name in the
        /// folder replaces a module.
        built_in: bool = true;
        /// Loads modules again when their files change. Default: true on loopback without trusted proxies, false on a
        /// public server, where `aether admin scripts reload` loads them.
        watch: Option<bool> = None;
        /// Time that one call may run: an RPC function or a hook. A script that exceeds it is stopped with an error. Time in
        /// which it waits for the database does not count.
        call_ms: u32 = 50, within 1..=10000;
        /// Share of a tick that a call of a match may take. A script that exceeds it ends its match, so that other rooms of
        /// the thread stay on schedule.
        match_share_percent: u32 = 25, within 1..=100;
        /// Memory of a VM that runs calls, in MiB.
        call_memory_mib: u32 = 64, within 1..=4096;
        /// Memory of the VM of one match, in MiB.
        match_memory_mib: u32 = 16, within 1..=4096;
        /// Calls that run at once, each in a VM of its own. Further calls wait.
        vms_max: u32 = 16, within 1..=1024;
        /// Lets scripts run SQL on the database with `sql_exec` and `sql_query`. The tables may change with any version of the
        /// server; prefer storage objects.
        sql: bool = false;
        /// Texts that scripts get as `context.env`, each as `name=value`.
        environment: Vec<String> = Vec::new();
    }
}

impl Config {
    /// Returns the folder of the scripts; none if there are no scripts.
    #[must_use]
    pub fn script_folder(&self) -> Option<PathBuf> {
        let default = self.data_dir.join(MODULES_FOLDER);
        self.script.folder.clone().or_else(|| default.is_dir().then_some(default))
    }

    /// Returns true if changed modules are loaded at once.
    #[must_use]
    pub fn watches_scripts(&self) -> bool {
        self.script.watch.unwrap_or(!self.is_public())
    }
}
