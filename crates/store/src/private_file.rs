//! Files and folders that only the user of the server can read: databases, keys, backups, exports, recordings.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// A file that gets its name when it is complete. Until then its content is in a temporary file in the same folder, which
/// is removed if the value is dropped. Other users of the machine cannot read either, whatever the umask.
///
/// A target that exists and is not a regular file, such as `/dev/stdout`, is written in place.
pub struct PrivateFile {
    path: PathBuf,
    /// Temporary file. `None` if the target is written in place, or if it has its name.
    unfinished: Option<PathBuf>,
    file: File,
}

impl PrivateFile {
    /// Creates the temporary file.
    pub fn create(path: &Path) -> io::Result<PrivateFile> {
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(PrivateFile { path: path.to_owned(), unfinished: None, file });
        }
        let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
        // Nobody can prepare a file or a link with a name that they do not know.
        name.push(format!(".{}.unfinished", Uuid::new_v4().simple()));
        let unfinished = path.with_file_name(name);
        let file = options().write(true).create_new(true).open(&unfinished)?;
        Ok(PrivateFile { path: path.to_owned(), unfinished: Some(unfinished), file })
    }

    /// Writes a whole file.
    pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        let mut file = PrivateFile::create(path)?;
        file.write_all(content)?;
        file.finish()
    }

    /// Gives the file its name, and returns when content and name are durable. An existing file is replaced.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(unfinished) = &self.unfinished else { return self.file.flush() };
        self.file.sync_all()?;
        std::fs::rename(unfinished, &self.path)?;
        self.unfinished = None;
        sync_folder(&self.path)
    }
}

impl Write for PrivateFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        if let Some(unfinished) = &self.unfinished {
            let _ = std::fs::remove_file(unfinished);
        }
    }
}

/// Returns options for opening a file. If the file is created, only the user of the server can read it.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder and its parents, if they are missing. Only the user of the server can enter what is created. The
/// permissions of existing folders do not change.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes the names in the folder of a file durable. Other systems than Unix cannot open a folder.
fn sync_folder(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_name_only_when_it_is_complete() {
        let folder = std::env::temp_dir().join(format!("aether-private-{}", Uuid::new_v4().simple()));
        create_folder(&folder).unwrap();
        let path = folder.join("a.backup");
        let names = || std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        let mut file = PrivateFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        assert_eq!(names().len(), 1);
        drop(file);
        assert_eq!(names(), [""; 0], "an unfinished file is removed");
        std::fs::write(&path, "older").unwrap();
        PrivateFile::write(&path, b"newer").unwrap();
        assert_eq!(names(), ["a.backup"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"newer");
        #[cfg(unix)]
        for (path, mode) in [(&folder, 0o700), (&path, 0o600)] {
            let permissions = std::fs::metadata(path).unwrap().permissions();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&permissions) & 0o777, mode, "{}", path.display());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_in_place() {
        PrivateFile::write(Path::new("/dev/null"), b"nothing").unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}
