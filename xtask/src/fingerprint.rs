//! Hashes of source files, to find out-of-date build results.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// Hashes the names and contents of files; a folder counts with all its files.
pub fn fingerprint(folder: &Path, sources: &[&str]) -> Result<String, Failure> {
    let mut files = Vec::new();
    for source in sources {
        collect(&folder.join(source), &mut files)?;
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        let unread = |error| Failure::new(format!("{}: {error}", file.display()));
        file.strip_prefix(folder).unwrap_or(&file).hash(&mut hasher);
        std::fs::read(&file).map_err(unread)?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Outcome {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let unread = |error| Failure::new(format!("{}: {error}", path.display()));
    for entry in std::fs::read_dir(path).map_err(unread)? {
        collect(&entry.map_err(unread)?.path(), files)?;
    }
    Ok(())
}

/// Returns true if a file contains this fingerprint.
pub fn is_stamped(path: &Path, fingerprint: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|stamped| stamped == fingerprint)
}

/// Writes a fingerprint to a file.
pub fn stamp(path: &Path, fingerprint: &str) -> Outcome {
    std::fs::write(path, fingerprint).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary folder that is removed at the end of the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("aether-{name}-{}", std::process::id()));
            std::fs::create_dir_all(path.join("src")).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_changed_or_renamed_source_makes_the_pages_out_of_date() {
        let folder = Folder::new("fingerprint");
        let file = folder.0.join("src/main.ts");
        std::fs::write(&file, "one").unwrap();
        let before = fingerprint(&folder.0, &["src"]).unwrap();
        assert_eq!(fingerprint(&folder.0, &["src"]).unwrap(), before);
        std::fs::rename(&file, folder.0.join("src/other.ts")).unwrap();
        assert_ne!(fingerprint(&folder.0, &["src"]).unwrap(), before);
        std::fs::remove_file(folder.0.join("src/other.ts")).unwrap();
        std::fs::write(&file, "two").unwrap();
        assert_ne!(fingerprint(&folder.0, &["src"]).unwrap(), before);
    }

    #[test]
    fn only_the_same_fingerprint_counts_as_done() {
        let folder = Folder::new("stamp");
        let path = folder.0.join("stamp");
        assert!(!is_stamped(&path, "a"));
        stamp(&path, "a").unwrap();
        assert!(is_stamped(&path, "a") && !is_stamped(&path, "b"));
    }
}
