//! Key of the admin API: the configured one, or one that the server creates in its data folder.

use crate::config::Config;
use aether_store::{PrivateFile, private_file};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

/// File in the data folder that holds the key.
const FILE: &str = "admin.key";
/// Random bytes of a created key.
const KEY_BYTES: usize = 32;
/// Upper bound of the bytes read from the file. A key is shorter.
const FILE_BYTES_MAX: u64 = 256;

/// Key of the admin API, for comparison only.
pub(crate) struct AdminKey([u8; 32]);

impl AdminKey {
    /// Returns the configured key, or that of the data folder. It is created if there is none, so that the admin API is
    /// never open.
    pub fn open(config: &Config) -> Result<AdminKey, String> {
        if let Some(key) = &config.http.admin_key {
            return Ok(AdminKey(digest(key.expose())));
        }
        if let Some(key) = read_file(config)? {
            return Ok(AdminKey(digest(&key)));
        }
        let failed = |error: &dyn std::fmt::Display| failed(config, error);
        private_file::create_folder(&config.data_dir).map_err(|error| failed(&error))?;
        let key = random_key().map_err(|error| failed(&error))?;
        PrivateFile::write(&path(config), format!("{key}\n").as_bytes()).map_err(|error| failed(&error))?;
        Ok(AdminKey(digest(&key)))
    }

    /// Returns true if this is the key. Comparing hashes hides the key from timing attacks.
    pub fn is(&self, shown: &str) -> bool {
        digest(shown) == self.0
    }
}

/// Returns the key for a command on the machine of the server, or for one that has it in its configuration.
pub(crate) fn find(config: &Config) -> Result<String, String> {
    if let Some(key) = &config.http.admin_key {
        return Ok(key.expose().to_owned());
    }
    read_file(config)?.ok_or_else(|| {
        format!(
            "There is no admin key: {} does not exist and http.admin_key is not set. Name the data folder of the server \
             with --data-dir, or set http.admin_key (or AETHER_HTTP_ADMIN_KEY_FILE) as on the server.",
            path(config).display()
        )
    })
}

fn read_file(config: &Config) -> Result<Option<String>, String> {
    let path = path(config);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(config, &error)),
    };
    if is_exposed(&file) {
        let path = path.display();
        return Err(format!("{path} is open to others than its owner: run `chmod 600 {path}`."));
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(|error| failed(config, &error))?;
    let key = text.trim();
    if key.len() < KEY_BYTES {
        return Err(failed(config, &"it contains no key; remove it to get a new one at the next start"));
    }
    Ok(Some(key.to_owned()))
}

/// Returns true if others than its owner may read a file.
#[cfg(unix)]
pub(crate) fn is_exposed(file: &File) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_exposed(_file: &File) -> bool {
    false
}

fn path(config: &Config) -> PathBuf {
    config.data_dir.join(FILE)
}

fn failed(config: &Config, error: &dyn std::fmt::Display) -> String {
    format!("Cannot use the admin key in {}: {error}.", path(config).display())
}

fn random_key() -> Result<String, getrandom::Error> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    #[test]
    fn the_key_is_created_once_private_and_the_configured_one_wins() {
        let data_dir = std::env::temp_dir().join(format!("aether-admin-{}", uuid::Uuid::new_v4().simple()));
        let mut config = Config { data_dir, ..Config::default() };
        assert!(find(&config).unwrap_err().contains("--data-dir"));
        let created = AdminKey::open(&config).unwrap();
        let key = find(&config).unwrap();
        assert!(created.is(&key) && AdminKey::open(&config).unwrap().is(&key));
        assert!(!created.is("") && !created.is(&key[1..]));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(path(&config)), 0o600);
            std::fs::set_permissions(path(&config), std::fs::Permissions::from_mode(0o640)).unwrap();
            assert!(AdminKey::open(&config).err().unwrap().contains("chmod 600"));
            std::fs::set_permissions(path(&config), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        std::fs::write(path(&config), "short\n").unwrap();
        assert!(AdminKey::open(&config).err().unwrap().contains("remove it"));
        config.http.admin_key = Some(Secret::new("the configured admin key"));
        assert!(AdminKey::open(&config).unwrap().is("the configured admin key"));
        std::fs::remove_dir_all(&config.data_dir).unwrap();
    }
}
