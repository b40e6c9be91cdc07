//! Pages in a folder, read on each request.

use crate::page::{PageFile, etag};
use axum::body::Bytes;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;

/// Upper bound of a file, in bytes. A file is in memory as a whole while it is sent; a game's WASM module has a few
/// MiB.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// Number of concurrent reads. Each takes a thread and memory; further requests wait.
const READS_MAX: usize = 4;

/// A folder with pages.
#[derive(Debug)]
pub(crate) struct PageFolder {
    path: PathBuf,
    reads: Arc<Semaphore>,
    /// Contents that are still being sent, by file path: concurrent answers with the same file share its memory.
    shared: Mutex<HashMap<PathBuf, Weak<[u8]>>>,
}

impl PageFolder {
    pub(crate) fn new(path: PathBuf) -> PageFolder {
        PageFolder { path, reads: Arc::new(Semaphore::new(READS_MAX)), shared: Mutex::default() }
    }

    /// Returns the file at a URL path, if it exists.
    pub(crate) async fn find(self: &Arc<PageFolder>, path: &str) -> io::Result<Option<PageFile>> {
        if !is_plain(path) {
            return Ok(None);
        }
        let permit = Arc::clone(&self.reads).acquire_owned().await.map_err(io::Error::other)?;
        let (folder, path) = (Arc::clone(self), path.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            // The read outlives a cancelled request, so it owns the permit.
            let _permit = permit;
            folder.read(path)
        });
        match read.await.map_err(io::Error::other)? {
            Ok(file) => Ok(Some(file)),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a file; blocks.
    fn read(&self, mut url_path: String) -> io::Result<PageFile> {
        let root = fs::canonicalize(&self.path)?;
        let mut path = fs::canonicalize(root.join(url_path.trim_matches('/')))?;
        if url_path.ends_with('/') || path.is_dir() {
            path = fs::canonicalize(path.join("index.html"))?;
            url_path = format!("{}/index.html", url_path.trim_end_matches('/'));
        }
        // Both paths are canonical, so links are resolved.
        if !is_inside(&root, &path) || !path.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let contents = read_file(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("{} cannot be read: {error}", path.display())))?;
        let etag = etag(&contents);
        let bytes = Bytes::from_owner(self.share(path, contents));
        Ok(PageFile { path: url_path.into(), bytes, etag: etag.into() })
    }

    /// Returns the contents, in the memory of an earlier answer that is still being sent if there is one.
    fn share(&self, path: PathBuf, contents: Vec<u8>) -> Arc<[u8]> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shared.get(&path).and_then(Weak::upgrade).filter(|known| **known == *contents) {
            return known;
        }
        shared.retain(|_, contents| contents.strong_count() > 0);
        let contents = Arc::from(contents);
        shared.insert(path, Arc::downgrade(&contents));
        contents
    }
}

/// Reads a file, unless it is too large.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut contents)?;
    if contents.len() as u64 > FILE_BYTES_MAX {
        let sentence = format!("the file has more than {FILE_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, sentence));
    }
    Ok(contents)
}

/// Returns true if all names of a URL path may be served; a trailing slash is allowed. Percent-encoding is not decoded.
/// Names with a percent sign, a backslash, or a colon (drives and streams on Windows) are rejected.
fn is_plain(path: &str) -> bool {
    let may_be_served = |name: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~+@".contains(&byte);
        !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_allowed)
    };
    let Some(names) = path.strip_prefix('/') else { return false };
    names.is_empty() || names.strip_suffix('/').unwrap_or(names).split('/').all(may_be_served)
}

/// Returns true if a canonical path is below a canonical root and no name below the root has a leading dot.
fn is_inside(root: &Path, path: &Path) -> bool {
    let is_visible =
        |part: Component<'_>| matches!(part, Component::Normal(name) if !name.as_encoded_bytes().starts_with(b"."));
    path.strip_prefix(root).is_ok_and(|below| below.components().all(is_visible))
}

/// Returns true if an error means that the file does not exist.
fn is_not_found(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A folder that is removed after the test.
    pub(crate) struct TestFolder {
        pub(crate) path: PathBuf,
    }

    impl TestFolder {
        pub(crate) fn new() -> TestFolder {
            let path = std::env::temp_dir().join(format!("aether-pages-{}", uuid::Uuid::new_v4().simple()));
            fs::create_dir_all(&path).unwrap();
            TestFolder { path }
        }

        pub(crate) fn write(&self, name: &str, contents: &[u8]) {
            let path = self.path.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }

    /// Creates a folder `web` with pages and hidden files, beside a file outside of it.
    fn nested() -> (TestFolder, Arc<PageFolder>) {
        let around = TestFolder::new();
        around.write("secret.txt", b"secret");
        around.write("outside/index.html", b"secret");
        around.write("web/index.html", b"page");
        around.write("web/docs/index.html", b"docs");
        around.write("web/.built", b"hidden");
        around.write("web/.git/config.txt", b"hidden");
        around.write("web/a b.txt", b"space");
        let folder = Arc::new(PageFolder::new(around.path.join("web")));
        (around, folder)
    }

    #[tokio::test]
    async fn no_path_leads_out_of_the_folder() {
        let (around, folder) = nested();
        let absolute = around.path.join("secret.txt").display().to_string();
        let mut addresses = vec![absolute.clone(), format!("/{absolute}"), "/C:/secret.txt".to_owned()];
        let segments = ["..", "%2e%2e", "%2E%2E", ".%2e", "%252e%252e", "%c0%ae%c0%ae", "..;", "...", "%00", "..%00"];
        for segment in segments {
            for slash in ["/", "\\", "%2f", "%2F", "%5c", "%5C", "%252f"] {
                for start in ["/", "/docs/", "/docs/../"] {
                    addresses.push(format!("{start}{segment}{slash}secret.txt"));
                }
            }
            addresses.extend([
                format!("/{segment}"),
                format!("/{segment}/"),
                format!("/docs/{segment}"),
                format!("/{segment}/outside"),
            ]);
        }
        addresses.extend(["/./index.html", "/docs/../index.html", "/index.html\0", "/\\index.html"].map(str::to_owned));
        for address in addresses {
            assert!(folder.find(&address).await.unwrap().is_none(), "{address}");
        }
        assert_eq!(&*folder.find("/").await.unwrap().unwrap().bytes, b"page");
    }

    #[tokio::test]
    async fn hidden_files_and_names_with_other_characters_are_not_served() {
        let (_around, folder) = nested();
        for address in ["/.built", "/.git/config.txt", "/.git", "/a b.txt", "/a%20b.txt", "/ä.txt"] {
            assert!(folder.find(address).await.unwrap().is_none(), "{address}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn links_out_of_the_folder_are_not_followed() {
        use std::os::unix::fs::symlink;
        let (around, folder) = nested();
        let web = around.path.join("web");
        symlink("../secret.txt", web.join("relative.txt")).unwrap();
        symlink(around.path.join("secret.txt"), web.join("absolute.txt")).unwrap();
        symlink("../outside", web.join("outside")).unwrap();
        symlink("..", web.join("up")).unwrap();
        symlink(".built", web.join("built.txt")).unwrap();
        symlink("loop", web.join("loop")).unwrap();
        symlink("docs/index.html", web.join("good.html")).unwrap();
        fs::create_dir(web.join("linked")).unwrap();
        symlink("../../outside/index.html", web.join("linked/index.html")).unwrap();
        let outside = ["/relative.txt", "/absolute.txt", "/outside", "/outside/", "/outside/index.html", "/linked"];
        for address in outside.into_iter().chain(["/up/secret.txt", "/up", "/up/web/index.html", "/built.txt"]) {
            let found = folder.find(address).await.unwrap();
            let is_inside =
                found.as_ref().is_some_and(|file| address.starts_with("/up/web") && *file.bytes == *b"page");
            assert!(found.is_none() || is_inside, "{address}");
        }
        assert!(folder.find("/loop").await.is_err());
        assert_eq!(&*folder.find("/good.html").await.unwrap().unwrap().bytes, b"docs");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn the_folder_itself_may_be_a_link() {
        let (around, _) = nested();
        std::os::unix::fs::symlink("web", around.path.join("current")).unwrap();
        let folder = Arc::new(PageFolder::new(around.path.join("current")));
        assert_eq!(&*folder.find("/docs").await.unwrap().unwrap().bytes, b"docs");
        assert!(folder.find("/../secret.txt").await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_file_beyond_the_limit_is_refused() {
        let (around, folder) = nested();
        let file = File::create(around.path.join("web/large.bin")).unwrap();
        file.set_len(FILE_BYTES_MAX).unwrap();
        assert_eq!(folder.find("/large.bin").await.unwrap().unwrap().bytes.len() as u64, FILE_BYTES_MAX);
        file.set_len(FILE_BYTES_MAX + 1).unwrap();
        assert_eq!(folder.find("/large.bin").await.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[tokio::test]
    async fn answers_with_the_same_contents_share_memory() {
        let (around, folder) = nested();
        let first = folder.find("/").await.unwrap().unwrap();
        let second = folder.find("/index.html").await.unwrap().unwrap();
        assert_eq!(first.bytes.as_ptr(), second.bytes.as_ptr());
        around.write("web/index.html", b"new!");
        let third = folder.find("/").await.unwrap().unwrap();
        assert_eq!((&*first.bytes, &*third.bytes), (&b"page"[..], &b"new!"[..]));
        drop((first, second, third));
        folder.find("/docs").await.unwrap();
        assert_eq!(folder.shared.lock().unwrap().len(), 1, "unused contents are removed");
    }
}
