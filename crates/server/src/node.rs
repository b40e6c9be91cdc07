//! Which server this is: an id that stays in its data folder.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use uuid::Uuid;

/// The file of the id in the data folder.
const FILE: &str = "node";
/// Bytes of the file that are read: an id is shorter.
const BYTES_MAX: u64 = 64;

/// The id of the server whose data folder this is, made when there is none yet. After a crash it is by this id that a
/// server has its rooms back at once.
pub(crate) fn id(data_dir: &Path) -> Result<String, String> {
    let path = data_dir.join(FILE);
    let failed = |error: &dyn std::fmt::Display| {
        format!("{} cannot be used: {error}. Set data_dir to a folder of your own.", path.display())
    };
    fs::create_dir_all(data_dir).map_err(|error| failed(&error))?;
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => {
            let id = Uuid::new_v4().to_string();
            file.write_all(id.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| failed(&error))?;
            Ok(id)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let mut text = String::new();
            let file = File::open(&path).map_err(|error| failed(&error))?;
            file.take(BYTES_MAX).read_to_string(&mut text).map_err(|error| failed(&error))?;
            let id = Uuid::try_parse(text.trim()).map_err(|_| failed(&"it holds no id; remove it for a new one"))?;
            Ok(id.to_string())
        }
        Err(error) => Err(failed(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_stays_and_damage_is_told() {
        let folder = std::env::temp_dir().join(format!("aether-node-{}", Uuid::new_v4().simple()));
        let first = id(&folder).unwrap();
        assert_eq!(id(&folder), Ok(first));
        fs::write(folder.join(FILE), "nonsense").unwrap();
        assert!(id(&folder).unwrap_err().contains("remove it"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
