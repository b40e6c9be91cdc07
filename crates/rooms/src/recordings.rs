//! Recordings of rooms: files that grow while their rooms run.
//!
//! Each recording has a thread that writes the chunks of the room as they come. A slow disk delays this thread and no
//! room: if too many chunks wait, the recording ends.

use aether_engine::recording::{RecordingChannel, RecordingEnd};
use aether_metrics::{Counter, Gauge, Registry};
use aether_services::private_file;
use aether_wire::RoomId;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tracing::{error, info};

/// Pause before a writer looks for new chunks.
const WRITE_INTERVAL: Duration = Duration::from_millis(50);
/// Ended recordings of this run of the server that are listed with their end.
const ENDED_MAX: usize = 100;
/// Maximum number of recordings in one list.
pub(crate) const RECORDINGS_LISTED_MAX: usize = 200;
/// Most names that are tried for a file.
const ATTEMPTS_MAX: u32 = 100;
/// Ending of the names of the files.
const EXTENSION: &str = "aether";

/// Settings of recordings.
#[derive(Clone, Debug)]
pub struct RecordingSettings {
    /// Folder of the files.
    pub folder: PathBuf,
    /// True to record every room from its first tick.
    pub records_all: bool,
    /// Most recordings at once that operators may start.
    pub running_max: usize,
    /// Most bytes of a recording.
    pub bytes_max: u64,
}

/// Recordings of a node.
pub(crate) struct Recordings {
    pub settings: RecordingSettings,
    known: Mutex<VecDeque<Arc<RoomRecording>>>,
    running: Gauge,
    bytes: Counter,
    ended: Registry,
}

/// A recording of this run of the server.
pub(crate) struct RoomRecording {
    pub name: String,
    pub room: RoomId,
    pub channel: Arc<RecordingChannel>,
    error: Mutex<Option<String>>,
    /// Set when the file is complete.
    is_written: AtomicBool,
    /// Set if the file is not wanted.
    is_discarded: AtomicBool,
}

impl Recordings {
    pub fn new(settings: RecordingSettings, registry: &Registry) -> Recordings {
        Recordings {
            settings,
            known: Mutex::default(),
            running: registry.gauge("aether_recordings", "Recordings of rooms that are being written.", &[]),
            bytes: registry.counter("aether_recording_bytes_total", "Bytes written to recordings.", &[]),
            ended: registry.clone(),
        }
    }

    /// Returns true if one more recording may begin.
    pub fn has_capacity(&self) -> bool {
        self.known().iter().filter(|recording| recording.is_running()).count() < self.settings.running_max
    }

    /// Returns the running recording of a room.
    pub fn of_room(&self, room: &RoomId) -> Option<Arc<RoomRecording>> {
        self.known().iter().find(|recording| recording.room == *room && recording.is_running()).cloned()
    }

    /// Returns the recordings of this run, the newest first.
    pub fn all(&self) -> Vec<Arc<RoomRecording>> {
        self.known().iter().rev().cloned().collect()
    }

    /// Opens the file of a recording, and starts the thread that writes it. `tick` is the last one before it.
    pub fn begin(self: &Arc<Self>, room_type: &str, room: &RoomId, tick: u32) -> io::Result<Arc<RoomRecording>> {
        private_file::create_folder(&self.settings.folder)?;
        let (name, path, file) = self.create_file(room_type, room, tick)?;
        let recording = Arc::new(RoomRecording {
            name,
            room: room.clone(),
            channel: RecordingChannel::new(self.settings.bytes_max),
            error: Mutex::default(),
            is_written: AtomicBool::new(false),
            is_discarded: AtomicBool::new(false),
        });
        let (recordings, writing) = (Arc::clone(self), Arc::clone(&recording));
        let write = move || recordings.write(&writing, file, &path);
        std::thread::Builder::new().name("recording".into()).spawn(write)?;
        let mut known = self.known();
        known.push_back(Arc::clone(&recording));
        while known.len() > ENDED_MAX
            && let Some(at) = known.iter().position(|recording| !recording.is_running())
        {
            known.remove(at);
        }
        Ok(recording)
    }

    /// Creates a file under a new name: a room may be recorded twice from the same tick.
    fn create_file(&self, room_type: &str, room: &RoomId, tick: u32) -> io::Result<(String, PathBuf, File)> {
        let mut attempt = 1;
        loop {
            let name = file_name(room_type, room, tick, attempt);
            let path = self.settings.folder.join(&name);
            match private_file::options().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((name, path, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS_MAX => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes a recording that did not begin.
    pub fn discard(&self, recording: &RoomRecording) {
        recording.is_discarded.store(true, Ordering::Relaxed);
        self.known().retain(|known| known.name != recording.name);
    }

    /// Returns names and sizes of the files, the newest first by name.
    pub fn files(&self) -> Vec<(String, u64)> {
        let Ok(folder) = std::fs::read_dir(&self.settings.folder) else { return Vec::new() };
        let mut files: Vec<(String, u64)> = folder
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name().into_string().ok()?;
                let is_recording = Path::new(&name).extension().is_some_and(|extension| extension == EXTENSION);
                let bytes = entry.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
                is_recording.then_some((name, bytes))
            })
            .collect();
        files.sort_unstable_by(|a, b| b.cmp(a));
        files.truncate(RECORDINGS_LISTED_MAX);
        files
    }

    /// Writes chunks until the recording ends.
    fn write(&self, recording: &RoomRecording, mut file: File, path: &Path) {
        self.running.inc();
        let outcome = self.write_chunks(recording, &mut file);
        self.running.add(-1.0);
        if recording.is_discarded.load(Ordering::Relaxed) {
            let _ = std::fs::remove_file(path);
            return;
        }
        if let Err(error) = &outcome {
            error!(path = %path.display(), %error, "recording could not be written");
            recording.channel.fail();
            *recording.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        }
        let end = recording.end().unwrap_or(RecordingEnd::Failed);
        let (name, help) = ("aether_recordings_ended_total", "Recordings of rooms that have ended, by the reason.");
        self.ended.counter(name, help, &[("end", end.name())]).inc();
        let (first, last) = recording.channel.ticks();
        info!(path = %path.display(), end = end.name(), first = first.0, last = last.0, "recording written");
        recording.is_written.store(true, Ordering::Release);
    }

    fn write_chunks(&self, recording: &RoomRecording, file: &mut File) -> io::Result<()> {
        loop {
            // Read first: chunks before the end are taken in this turn.
            let last = recording.channel.last_bytes();
            while let Some(chunk) = recording.channel.next_chunk() {
                file.write_all(&chunk)?;
                self.bytes.add(chunk.len() as u64);
            }
            if let Some(last) = last {
                file.write_all(&last)?;
                return file.sync_all();
            }
            if recording.is_discarded.load(Ordering::Relaxed) {
                return Ok(());
            }
            std::thread::sleep(WRITE_INTERVAL);
        }
    }

    /// Waits until all files are complete, at most for a time. The rooms have ended.
    pub fn finish(&self, time_max: Duration) {
        let end = std::time::Instant::now() + time_max;
        while self.known().iter().any(|recording| !recording.is_written.load(Ordering::Acquire))
            && std::time::Instant::now() < end
        {
            std::thread::sleep(WRITE_INTERVAL / 5);
        }
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<Arc<RoomRecording>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RoomRecording {
    /// Returns true until the room has ended the recording, or its file failed.
    pub fn is_running(&self) -> bool {
        self.end().is_none()
    }

    /// Returns true if the file is complete.
    pub fn is_written(&self) -> bool {
        self.is_written.load(Ordering::Acquire)
    }

    /// Returns the reason of the end.
    pub fn end(&self) -> Option<RecordingEnd> {
        if self.write_error().is_some() { Some(RecordingEnd::Failed) } else { self.channel.end() }
    }

    fn write_error(&self) -> Option<String> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the reason of an early end, for people.
    pub fn error(&self) -> String {
        match (self.write_error(), self.end()) {
            (Some(error), _) => format!("The file could not be written: {error}."),
            (None, Some(RecordingEnd::TooSlow)) => "The disk did not keep up with the room.".to_owned(),
            (None, Some(RecordingEnd::Full)) => {
                "The recording reached its limit of bytes (rooms.recording_mib_max).".to_owned()
            }
            _ => String::new(),
        }
    }
}

/// Returns the name of a file: only characters that are safe in one.
fn file_name(room_type: &str, room: &RoomId, tick: u32, attempt: u32) -> String {
    let safe = |text: &str| -> String {
        let is_safe = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
        text.chars().map(|character| if is_safe(character) { character } else { '_' }).take(64).collect()
    };
    let id = room.0.split('.').next().unwrap_or_default();
    let tick = if tick == 0 { String::new() } else { format!("-{tick}") };
    let attempt = if attempt == 1 { String::new() } else { format!("_{attempt}") };
    format!("{}-{}{tick}{attempt}.{EXTENSION}", safe(room_type), safe(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_derived_from_ids_and_leave_no_folder() {
        let name = |id: &str, tick| file_name("out/post", &RoomId(id.to_owned()), tick, 1);
        assert_eq!(name("0192-ab.north", 0), "out_post-0192-ab.aether");
        assert_eq!(name("../../etc/passwd", 7), "out_post--7.aether");
        assert_eq!(name("a/b\\c\0d", 7), "out_post-a_b_c_d-7.aether");
    }
}
