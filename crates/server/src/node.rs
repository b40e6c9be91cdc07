//! The node id: identifies a server across restarts and is stored in its data folder.

use aether_store::private_file;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use uuid::Uuid;

/// File in the data folder that holds the id.
const FILE: &str = "node";
/// Upper bound of the bytes read from the file. An id is shorter.
const BYTES_MAX: u64 = 64;

/// Returns the node id of a data folder and creates it if there is none. After a crash, a server with the same id gets its
/// durable rooms back without waiting for their leases to expire.
pub(crate) fn id(data_dir: &Path) -> Result<String, String> {
    let path = data_dir.join(FILE);
    let failed = |error: &dyn std::fmt::Display| {
        format!("Cannot use {}: {error}. Set data_dir to a folder that the server can write.", path.display())
    };
    private_file::create_folder(data_dir).map_err(|error| failed(&error))?;
    match private_file::options().write(true).create_new(true).open(&path) {
        Ok(mut file) => {
            let id = Uuid::new_v4().to_string();
            file.write_all(id.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| failed(&error))?;
            Ok(id)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let mut text = String::new();
            let file = File::open(&path).map_err(|error| failed(&error))?;
            file.take(BYTES_MAX).read_to_string(&mut text).map_err(|error| failed(&error))?;
            let id =
                Uuid::try_parse(text.trim()).map_err(|_| failed(&"it contains no id; remove it to get a new one"))?;
            Ok(id.to_string())
        }
        Err(error) => Err(failed(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_stays_and_damage_is_an_error() {
        let folder = std::env::temp_dir().join(format!("aether-node-{}", Uuid::new_v4().simple()));
        let first = id(&folder).unwrap();
        assert_eq!(id(&folder), Ok(first));
        std::fs::write(folder.join(FILE), "nonsense").unwrap();
        assert!(id(&folder).unwrap_err().contains("remove it"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
