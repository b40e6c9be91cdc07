//! Socket on which the creator of regions waits for other processes.

use crate::error::AttachError;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Access of the socket file: only its owner may connect.
const MODE: u32 = 0o600;

/// Unix socket on which processes ask for a region. The file is removed when this is dropped.
#[derive(Debug)]
pub struct RingListener {
    listener: UnixListener,
    path: PathBuf,
}

impl RingListener {
    /// Creates the socket. A socket that a killed process left is replaced.
    pub fn bind(path: &Path) -> Result<RingListener, AttachError> {
        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(|error| AttachError::System("bind", error))?;
        let listener = RingListener { listener, path: path.to_owned() };
        // A process of another user that connects before this is refused by the handshake.
        fs::set_permissions(path, fs::Permissions::from_mode(MODE))
            .map_err(|error| AttachError::System("chmod of the socket", error))?;
        Ok(listener)
    }

    /// Waits for the next process.
    pub fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().map(|(stream, _)| stream)
    }

    /// Returns the socket, for use with a runtime.
    #[must_use]
    pub fn socket(&self) -> &UnixListener {
        &self.listener
    }

    /// Path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RingListener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes a socket on which nobody listens.
fn remove_stale(path: &Path) -> Result<(), AttachError> {
    match fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(found) if !found.file_type().is_socket() => Err(AttachError::NotSocket(path.to_owned())),
        Ok(_) if UnixStream::connect(path).is_ok() => Err(AttachError::InUse(path.to_owned())),
        Ok(_) => fs::remove_file(path).map_err(|error| AttachError::System("removing the old socket", error)),
    }
}
