//! Keys that sign tokens, in `<data_dir>/keys`.
//!
//! Each file holds one key. `<id>.key` are the server's own keys: the newest signs, all verify, and removing a file
//! invalidates every token it signed. `development.key` signs tokens for development, which may claim a role.
//!
//! ```text
//! aether key 1
//! created 1893456000
//! secret 64 hexadecimal digits
//! ```

use aether_store::private_file;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Id of the development key.
pub const DEVELOPMENT_KEY_ID: &str = "development";

/// Length of the HS256 hash. A longer key adds nothing.
const SECRET_BYTES: usize = 32;

/// Enough to make collisions impossible in practice.
const ID_BYTES: usize = 8;

/// Maximum bytes of a key file. Real ones have about 100.
const FILE_BYTES_MAX: u64 = 1_024;

const FOLDER: &str = "keys";
const EXTENSION: &str = "key";
const FIRST_LINE: &str = "aether key 1";

/// Key that signs and verifies tokens.
#[derive(Clone)]
pub struct Key {
    id: String,
    created_at: u64,
    secret: [u8; SECRET_BYTES],
}

/// All keys of a server. Secrets are used only to sign and verify.
#[derive(Clone, Debug)]
pub struct KeyRing {
    folder: PathBuf,
    /// Sorted by age, oldest first. Never empty.
    own: Vec<Key>,
    development: Key,
}

/// Reason why keys cannot be used. The message names the file and the remedy.
#[derive(Debug)]
pub enum KeyError {
    /// An I/O operation failed.
    System {
        /// File or folder.
        path: PathBuf,
        /// Attempted operation, to complete the sentence "cannot be …".
        attempt: &'static str,
        /// Error of the operating system.
        error: io::Error,
    },
    /// Users other than the owner have access.
    Exposed {
        /// File or folder.
        path: PathBuf,
        /// Required permissions.
        mode: u32,
    },
    /// The file is not a valid key.
    Bad {
        /// File.
        path: PathBuf,
        /// Reason.
        reason: &'static str,
    },
}

impl Key {
    /// Returns the id that tokens carry. It is not secret.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the creation time, in seconds since 1970.
    #[must_use]
    pub fn created_at(&self) -> u64 {
        self.created_at
    }

    /// Returns true for the development key, whose tokens may claim a role.
    #[must_use]
    pub fn is_development(&self) -> bool {
        self.id == DEVELOPMENT_KEY_ID
    }

    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }
}

impl KeyRing {
    /// Loads the keys from the data folder. Creates the folder and the first keys if they are missing. `now` is in
    /// seconds since 1970.
    pub fn open(data_dir: &Path, now: u64) -> Result<Self, KeyError> {
        let folder = data_dir.join(FOLDER);
        create_folder(&folder)?;
        check_permissions(&folder, 0o700)?;
        let mut keys = load(&folder)?;
        if !keys.iter().any(|key| key.id == DEVELOPMENT_KEY_ID) {
            keys.push(create_key(&folder, DEVELOPMENT_KEY_ID.to_owned(), now)?);
        }
        if !keys.iter().any(|key| key.id != DEVELOPMENT_KEY_ID) {
            keys.push(create_key(&folder, random_id(&folder)?, now)?);
        }
        keys.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        let (mut development, own): (Vec<Key>, Vec<Key>) = keys.into_iter().partition(Key::is_development);
        let development = development.pop().expect("a missing development key was created above");
        Ok(Self { folder, own, development })
    }

    /// Adds a key that signs from now on. Tokens of older keys stay valid until they expire.
    pub fn rotate(&mut self, now: u64) -> Result<&Key, KeyError> {
        // The newest key signs even if the clock was set back.
        let created_at = now.max(self.signing().created_at + 1);
        self.own.push(create_key(&self.folder, random_id(&self.folder)?, created_at)?);
        Ok(self.signing())
    }

    /// Returns the signing key: the newest.
    #[must_use]
    pub fn signing(&self) -> &Key {
        self.own.last().expect("a key ring is never empty")
    }

    /// Returns the development key.
    #[must_use]
    pub fn development(&self) -> &Key {
        &self.development
    }

    /// Returns the key with this id. The id may come from a client: it is only compared, and never used as a path.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Key> {
        self.own.iter().chain([&self.development]).find(|key| key.id == id)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Key")
            .field("id", &self.id)
            .field("created_at", &self.created_at)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { path, attempt, error } => {
                write!(formatter, "{} cannot be {attempt}: {error}.", path.display())
            }
            Self::Exposed { path, mode } => {
                let path = path.display();
                write!(formatter, "{path} is open to others than its owner: run `chmod {mode:o} {path}`.")
            }
            Self::Bad { path, reason } => {
                write!(formatter, "{} is not a valid key: {reason}. Correct or remove the file.", path.display())
            }
        }
    }
}

impl std::error::Error for KeyError {}

fn load(folder: &Path) -> Result<Vec<Key>, KeyError> {
    let failed = |error| KeyError::System { path: folder.to_owned(), attempt: "listed", error };
    let mut keys = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            keys.push(read(&path)?);
        }
    }
    Ok(keys)
}

fn read(path: &Path) -> Result<Key, KeyError> {
    let failed = |error| KeyError::System { path: path.to_owned(), attempt: "read", error };
    let bad = |reason| KeyError::Bad { path: path.to_owned(), reason };
    let id = path.file_stem().and_then(|stem| stem.to_str()).filter(|id| is_id(id));
    let id = id.ok_or_else(|| bad("its name is not 16 hexadecimal digits"))?;
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(bad("it is not a plain file"));
    }
    check_permissions(path, 0o600)?;
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(bad("it is too long"));
    }
    let (created_at, secret) = parse(&text).map_err(bad)?;
    Ok(Key { id: id.to_owned(), created_at, secret })
}

fn parse(text: &str) -> Result<(u64, [u8; SECRET_BYTES]), &'static str> {
    let lines: Vec<&str> = text.lines().collect();
    let [first, created, secret] = lines[..] else { return Err("it does not have three lines") };
    if first != FIRST_LINE {
        return Err("its first line is not `aether key 1`");
    }
    let created = created.strip_prefix("created ").and_then(|seconds| seconds.parse().ok());
    let secret = secret.strip_prefix("secret ").and_then(from_hexadecimal);
    Ok((created.ok_or("its second line is no creation time")?, secret.ok_or("its third line is no secret")?))
}

/// Creates a key and its file. The file appears whole or not at all. If another process created the same id first, its
/// key is used.
fn create_key(folder: &Path, id: String, created_at: u64) -> Result<Key, KeyError> {
    let path = folder.join(&id).with_extension(EXTENSION);
    let draft = folder.join(format!("{id}.{}.new", random_id(folder)?));
    let secret = random::<SECRET_BYTES>(folder)?;
    let text = format!("{FIRST_LINE}\ncreated {created_at}\nsecret {}\n", hexadecimal(&secret));
    let written = write(&draft, &text).and_then(|()| std::fs::hard_link(&draft, &path));
    let removed = std::fs::remove_file(&draft);
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return read(&path),
        written => written.and(removed).map_err(|error| KeyError::System { path, attempt: "written", error })?,
    }
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| KeyError::System { path: folder.to_owned(), attempt: "written", error })?;
    Ok(Key { id, created_at, secret })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = private_file::options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn create_folder(folder: &Path) -> Result<(), KeyError> {
    private_file::create_folder(folder).map_err(|error| KeyError::System {
        path: folder.to_owned(),
        attempt: "created",
        error,
    })
}

#[cfg(unix)]
fn check_permissions(path: &Path, mode: u32) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path);
    let metadata = metadata.map_err(|error| KeyError::System { path: path.to_owned(), attempt: "read", error })?;
    if metadata.permissions().mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(KeyError::Exposed { path: path.to_owned(), mode })
    }
}

#[cfg(not(unix))]
fn check_permissions(_path: &Path, _mode: u32) -> Result<(), KeyError> {
    Ok(())
}

fn is_id(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text == DEVELOPMENT_KEY_ID || (text.len() == 2 * ID_BYTES && text.bytes().all(is_digit))
}

fn random_id(folder: &Path) -> Result<String, KeyError> {
    random::<ID_BYTES>(folder).map(|bytes| hexadecimal(&bytes))
}

fn random<const BYTES: usize>(folder: &Path) -> Result<[u8; BYTES], KeyError> {
    let mut bytes = [0; BYTES];
    let filled = getrandom::fill(&mut bytes).map_err(|error| KeyError::System {
        path: folder.to_owned(),
        attempt: "given a key, because the system has no random numbers",
        error: error.into(),
    });
    filled.map(|()| bytes)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hexadecimal(text: &str) -> Option<[u8; SECRET_BYTES]> {
    if text.len() != 2 * SECRET_BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; SECRET_BYTES];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}
