//! Pages of a server: files embedded in the program, or files in a folder.

use crate::folder::PageFolder;
use axum::body::Bytes;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Path of the root page.
pub(crate) const ROOT: &str = "/index.html";

/// Notice of a server without pages.
const NO_PAGES: &str = "This server has no pages of its own. Serve a folder with .pages(\"web\") in the program, or \
                        with the setting http.pages.";

/// Notice of a server whose page folder has no root page.
const NO_ROOT: &str = "The folder with the pages of this server has no index.html.";

/// A page file embedded in the program.
#[derive(Debug)]
pub struct PageAsset {
    /// URL path, with a leading slash.
    pub path: &'static str,
    /// Contents of the file.
    pub bytes: &'static [u8],
    /// Quoted hash of the contents, for the `ETag` header.
    pub etag: &'static str,
}

/// Pages that a server serves beside its interfaces.
///
/// A page has the path of its folder: `/docs` and `/docs/` serve `docs/index.html`, and `/` serves `index.html`.
/// Without `index.html` the root is a start page, which shows the program and its room types. `/404.html`, if it exists,
/// is shown at unknown addresses.
#[derive(Clone, Debug)]
pub struct Pages {
    source: Source,
    /// Sentence of the start page, which is shown if the source has no root page.
    notice: Cow<'static, str>,
}

#[derive(Clone, Debug)]
enum Source {
    Embedded(&'static [PageAsset]),
    Folder(Arc<PageFolder>),
}

impl Pages {
    /// Creates an empty set of pages: the root is a start page.
    #[must_use]
    pub fn none() -> Pages {
        Pages::embedded(&[])
    }

    /// Creates pages from files embedded in the program.
    #[must_use]
    pub fn embedded(assets: &'static [PageAsset]) -> Pages {
        Pages { source: Source::Embedded(assets), notice: NO_PAGES.into() }
    }

    /// Creates pages from a folder. A file is read on each request, so changes need no restart. The folder need not
    /// exist yet.
    ///
    /// Names of files and folders consist of ASCII letters, digits and `-`, `_`, `.`, `~`, `+`, `@`, without a leading
    /// dot; other names are not found. A symbolic link may point to another file of the folder, but not out of it. A
    /// file has at most 32 MiB.
    #[must_use]
    pub fn folder(path: PathBuf) -> Pages {
        Pages { source: Source::Folder(Arc::new(PageFolder::new(path))), notice: NO_ROOT.into() }
    }

    /// Replaces the notice on the start page.
    #[must_use]
    pub fn with_notice(self, notice: impl Into<Cow<'static, str>>) -> Pages {
        Pages { notice: notice.into(), ..self }
    }

    pub(crate) fn notice(&self) -> &str {
        &self.notice
    }

    /// Returns the file at a URL path, if it exists. Fails if the file cannot be read or is too large.
    pub async fn find(&self, path: &str) -> io::Result<Option<PageFile>> {
        match &self.source {
            Source::Embedded(assets) => Ok(find_embedded(assets, path)),
            Source::Folder(folder) => folder.find(path).await,
        }
    }
}

/// Pages of the folder at this path.
impl From<&str> for Pages {
    fn from(folder: &str) -> Pages {
        Pages::folder(folder.into())
    }
}

/// Pages of the folder at this path.
impl From<PathBuf> for Pages {
    fn from(folder: PathBuf) -> Pages {
        Pages::folder(folder)
    }
}

impl Default for Pages {
    fn default() -> Pages {
        Pages::none()
    }
}

/// A page file, ready to be sent.
#[derive(Clone, Debug)]
pub struct PageFile {
    /// URL path, with a leading slash; that of a page ends with `/index.html`.
    pub path: Cow<'static, str>,
    /// Contents of the file.
    pub bytes: Bytes,
    /// Quoted hash of the contents, for the `ETag` header.
    pub etag: Cow<'static, str>,
}

impl PageFile {
    /// Returns the value of the `Content-Type` header.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map(|(_, extension)| extension) {
            Some("html") => "text/html; charset=utf-8",
            Some("js" | "mjs") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("json") => "application/json",
            Some("txt") => "text/plain; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            Some("jpg" | "jpeg") => "image/jpeg",
            Some("gif") => "image/gif",
            Some("webp") => "image/webp",
            Some("ico") => "image/x-icon",
            // Browsers compile WASM while it arrives only if it has this type.
            Some("wasm") => "application/wasm",
            _ => "application/octet-stream",
        }
    }

    /// Returns the value of the `Cache-Control` header. Names below `assets` contain a hash of their content, so these
    /// files never change. Other files are revalidated by their etag on each use.
    #[must_use]
    pub fn cache_control(&self) -> &'static str {
        if self.path.starts_with("/assets/") { "public, max-age=31536000, immutable" } else { "no-cache" }
    }
}

fn find_embedded(assets: &'static [PageAsset], path: &str) -> Option<PageFile> {
    let folder = path.starts_with('/').then(|| path.strip_suffix('/').unwrap_or(path));
    let matches =
        |asset: &&PageAsset| asset.path == path || folder.is_some() && asset.path.strip_suffix("/index.html") == folder;
    let PageAsset { path, bytes, etag } = assets.iter().find(matches)?;
    Some(PageFile { path: (*path).into(), bytes: Bytes::from_static(bytes), etag: (*etag).into() })
}

/// Returns a quoted hash of contents, for the `ETag` header.
pub(crate) fn etag(contents: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    contents.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

/// Returns the `Content-Security-Policy` of the pages. It allows only what they need: their own files, WASM that these
/// compile, sockets to their own server, and WebTransport. The WebTransport URL differs because it is always `https`.
/// Its host may be another name of the server than the one in the page's URL, so any host is allowed, but only on this
/// port.
#[must_use]
pub fn content_security_policy(web_transport_port: Option<u16>) -> String {
    let web_transport = web_transport_port.map_or_else(String::new, |port| format!(" https://*:{port}"));
    format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'{web_transport}; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::TestFolder;

    const ASSETS: &[PageAsset] = &[
        PageAsset { path: "/index.html", bytes: b"<!doctype html>root", etag: "\"1\"" },
        PageAsset { path: "/docs/index.html", bytes: b"<!doctype html>docs", etag: "\"2\"" },
        PageAsset { path: "/assets/main-HASH.js", bytes: b"export {};", etag: "\"3\"" },
        PageAsset { path: "/icon.svg", bytes: b"<svg/>", etag: "\"4\"" },
    ];

    /// Writes the same files to a folder.
    fn folder() -> TestFolder {
        let folder = TestFolder::new();
        for asset in ASSETS {
            folder.write(&asset.path[1..], asset.bytes);
        }
        folder
    }

    /// Returns the same pages from both sources.
    fn sources() -> (TestFolder, [Pages; 2]) {
        let folder = folder();
        let pages = [Pages::embedded(ASSETS), Pages::folder(folder.path.clone())];
        (folder, pages)
    }

    async fn found(pages: &Pages, path: &str) -> Option<PageFile> {
        pages.find(path).await.unwrap()
    }

    #[tokio::test]
    async fn a_page_has_the_path_of_its_folder() {
        let (_folder, sources) = sources();
        let addresses = [
            ("/", "/index.html"),
            ("/index.html", "/index.html"),
            ("/docs", "/docs/index.html"),
            ("/docs/", "/docs/index.html"),
            ("/docs/index.html", "/docs/index.html"),
            ("/icon.svg", "/icon.svg"),
            ("/assets/main-HASH.js", "/assets/main-HASH.js"),
        ];
        for pages in sources {
            for (address, path) in addresses {
                let file = found(&pages, address).await.unwrap_or_else(|| panic!("{address} of {pages:?}"));
                let asset = ASSETS.iter().find(|asset| asset.path == path).unwrap();
                assert_eq!((&*file.path, &*file.bytes), (path, asset.bytes), "{address} of {pages:?}");
            }
        }
    }

    #[tokio::test]
    async fn other_paths_find_nothing() {
        let (_folder, sources) = sources();
        let paths =
            ["", "index.html", "/missing", "/assets", "/assets/", "//", "///", "//docs", "/docs//", "/icon.svg/"];
        for pages in sources {
            for path in paths.into_iter().chain(["/index.html/", "/docs/missing", "/assets//main-HASH.js"]) {
                assert!(found(&pages, path).await.is_none(), "{path} of {pages:?}");
            }
        }
    }

    #[tokio::test]
    async fn both_sources_have_the_same_content_types_and_cache_headers() {
        let (_folder, sources) = sources();
        let expected = [
            ("/", "text/html; charset=utf-8", "no-cache"),
            ("/docs", "text/html; charset=utf-8", "no-cache"),
            ("/assets/main-HASH.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
            ("/icon.svg", "image/svg+xml", "no-cache"),
        ];
        for pages in sources {
            for (path, content_type, cache_control) in expected {
                let file = found(&pages, path).await.unwrap();
                assert_eq!((file.content_type(), file.cache_control()), (content_type, cache_control), "{path}");
            }
        }
    }

    #[test]
    fn content_types_follow_from_extensions() {
        let content_type = |path: &'static str| {
            PageFile { path: path.into(), bytes: Bytes::new(), etag: "\"\"".into() }.content_type()
        };
        assert_eq!(content_type("/a.wasm"), "application/wasm");
        assert_eq!(content_type("/a.css"), "text/css; charset=utf-8");
        assert_eq!(content_type("/a.min.mjs"), "text/javascript; charset=utf-8");
        assert_eq!(content_type("/a.png"), "image/png");
        assert_eq!(content_type("/a.JS"), "application/octet-stream");
        assert_eq!(content_type("/a"), "application/octet-stream");
    }

    #[tokio::test]
    async fn etags_are_quoted_and_differ_with_the_contents() {
        let (folder, [_, pages]) = sources();
        folder.write("copy.svg", b"<svg/>");
        let mut files = Vec::new();
        for path in ["/", "/docs", "/assets/main-HASH.js", "/icon.svg", "/copy.svg"] {
            files.push(found(&pages, path).await.unwrap());
        }
        for (index, file) in files.iter().enumerate() {
            assert!(file.etag.len() > 2 && file.etag.starts_with('"') && file.etag.ends_with('"'), "{}", file.etag);
            for other in &files[index + 1..] {
                assert_eq!(file.etag == other.etag, file.bytes == other.bytes, "{} {}", file.path, other.path);
            }
        }
    }

    #[tokio::test]
    async fn a_changed_file_is_served_at_once_with_another_etag() {
        let (folder, [_, pages]) = sources();
        let before = found(&pages, "/").await.unwrap();
        folder.write("index.html", b"<!doctype html>new!");
        let after = found(&pages, "/").await.unwrap();
        assert_eq!(&*after.bytes, b"<!doctype html>new!");
        assert_ne!(before.etag, after.etag);
    }

    #[test]
    fn the_policy_allows_no_inline_script_and_web_transport_by_its_port_alone() {
        let policy = content_security_policy(Some(7350));
        assert!(!policy.contains("'unsafe-"), "{policy}");
        assert!(policy.contains("connect-src 'self' https://*:7350;"), "{policy}");
    }

    #[test]
    fn without_web_transport_no_other_address_is_allowed() {
        assert!(content_security_policy(None).contains("connect-src 'self';"));
    }
}
