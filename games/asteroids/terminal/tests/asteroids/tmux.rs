//! Terminals of tmux: keys go in, the screen comes out.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of everything that a test waits for. It is long, because a busy machine is slow.
const DEADLINE: Duration = Duration::from_secs(90);
/// Interval at which the screen is read.
const INTERVAL: Duration = Duration::from_millis(100);

/// A folder that is removed at the end of the test.
pub struct DataFolder(PathBuf);

impl DataFolder {
    pub fn new() -> DataFolder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("aether-asteroids-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder can be created");
        DataFolder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A tmux server of its own, with terminals in which a shell runs.
pub struct Tmux {
    folder: DataFolder,
}

impl Tmux {
    /// Returns `None` if tmux is not installed.
    pub fn new() -> Option<Tmux> {
        Command::new("tmux").arg("-V").output().ok()?;
        Some(Tmux { folder: DataFolder::new() })
    }

    /// Opens a terminal with a shell.
    pub fn open(&self, name: &str, columns: u16, rows: u16) -> Screen<'_> {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let folder = self.folder.path().display().to_string();
        let shell = format!("cd '{folder}' && PS1='ready> ' XDG_DATA_HOME='{folder}' exec sh");
        self.run(&["new-session", "-d", "-s", name, "-x", &columns, "-y", &rows, &shell]);
        let screen = Screen { tmux: self, name: name.to_owned() };
        screen.until("a prompt", |text| text.contains("ready>"));
        screen
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let socket = self.folder.path().join("socket");
        let mut command = Command::new("tmux");
        command.arg("-f").arg("/dev/null").arg("-S").arg(socket).args(arguments).env_remove("TMUX");
        let output = command.output().expect("tmux runs");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let socket = self.folder.path().join("socket");
        let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
    }
}

/// A terminal.
pub struct Screen<'a> {
    tmux: &'a Tmux,
    name: String,
}

impl Screen<'_> {
    /// Presses keys, by the names of tmux.
    pub fn press(&self, keys: &[&str]) {
        self.tmux.run(&[&["send-keys", "-t", &self.name], keys].concat());
    }

    /// Types a line into the shell.
    pub fn enter(&self, line: &str) {
        self.tmux.run(&["send-keys", "-t", &self.name, "-l", line]);
        self.press(&["Enter"]);
    }

    /// Text on the screen.
    pub fn text(&self) -> String {
        let output = self.tmux.run(&["capture-pane", "-p", "-t", &self.name]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until the screen fulfils a condition. Returns it.
    pub fn until(&self, what: &str, is_there: impl FnMut(&str) -> bool) -> String {
        self.until_pressing(&[], what, is_there)
    }

    /// Presses keys again and again until the screen fulfils a condition.
    pub fn until_pressing(&self, keys: &[&str], what: &str, mut is_there: impl FnMut(&str) -> bool) -> String {
        let started_at = Instant::now();
        loop {
            let text = self.text();
            if is_there(&text) {
                return text;
            }
            assert!(started_at.elapsed() < DEADLINE, "timeout while waiting for {what}; the screen is\n{text}");
            for key in keys {
                self.press(&[key]);
            }
            thread::sleep(INTERVAL);
        }
    }
}
