//! The pages, built into the program by `build.rs` from what `cargo xtask web` made.

/// The pages' files; where the pages were not built, a plain one that says how to.
const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// One file of the pages.
#[derive(Debug)]
pub struct Asset {
    /// Its path in an address, with a leading slash.
    pub path: &'static str,
    /// What it holds.
    pub bytes: &'static [u8],
    /// A quoted hash of what it holds, for the `ETag` header.
    pub etag: &'static str,
}

impl Asset {
    /// For the `Content-Type` header.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map(|(_, extension)| extension) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            // A browser compiles WASM while it arrives only if it is called by its name.
            Some("wasm") => "application/wasm",
            _ => "application/octet-stream",
        }
    }

    /// For the `Cache-Control` header. Names below `assets` carry a hash of their content and never change; the others
    /// are asked for each time, and answered by the etag alone when they are still the same.
    #[must_use]
    pub fn cache_control(&self) -> &'static str {
        if self.path.starts_with("/assets/") { "public, max-age=31536000, immutable" } else { "no-cache" }
    }
}

/// The file at a path of an address. A page is at the name of its folder, with or without a slash at the end.
#[must_use]
pub fn find(path: &str) -> Option<&'static Asset> {
    let folder = path.starts_with('/').then(|| path.strip_suffix('/').unwrap_or(path));
    ASSETS
        .iter()
        .find(|asset| asset.path == path || folder.is_some() && asset.path.strip_suffix("/index.html") == folder)
}

/// The `Content-Security-Policy` that the pages need, and nothing beyond: their own files, WASM that one of those files
/// compiles, sockets to their own server, and WebTransport, which has an address of its own because it is always `https`.
/// A host may serve the pages under several names, and the address of WebTransport has one of them, so any host is allowed
/// there, but only this port.
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

    /// Every page with its path.
    fn pages() -> impl Iterator<Item = (&'static str, &'static str)> {
        let pages = ASSETS.iter().filter(|asset| asset.path.ends_with(".html"));
        pages.map(|page| (page.path, std::str::from_utf8(page.bytes).unwrap()))
    }

    /// The values of an attribute in a page.
    fn attribute<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
        page.split(&format!(" {name}=\"")).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn the_root_is_a_page_and_is_asked_for_each_time() {
        let page = find("/").unwrap();
        assert_eq!(page.content_type(), "text/html; charset=utf-8");
        assert_eq!(page.cache_control(), "no-cache");
        assert!(page.bytes.starts_with(b"<!doctype html>"));
    }

    #[test]
    fn a_page_is_at_the_name_of_its_folder() {
        for (path, _) in pages() {
            let folder = path.strip_suffix("/index.html").unwrap();
            for address in [path.to_owned(), format!("{folder}/")] {
                assert_eq!(find(&address).unwrap().path, path);
            }
            assert!(folder.is_empty() || find(folder).is_some_and(|page| page.path == path));
        }
    }

    #[test]
    fn every_file_that_a_page_names_is_there_with_its_type() {
        for (page, html) in pages() {
            let named = attribute(html, "src").into_iter().chain(attribute(html, "href"));
            let paths = named.filter_map(|path| path.split('#').next());
            for path in paths.filter(|path| path.starts_with('/') && !path.starts_with("/api/")) {
                let asset = find(path).unwrap_or_else(|| panic!("{page} names {path}, which is not there"));
                assert!(!asset.bytes.is_empty(), "{path}");
                assert_ne!(asset.content_type(), "application/octet-stream", "{path}");
            }
        }
    }

    #[test]
    fn names_with_a_hash_are_kept_for_ever_and_no_others() {
        for asset in ASSETS {
            let hashed = asset.path.starts_with("/assets/");
            assert_eq!(asset.cache_control().contains("immutable"), hashed, "{}", asset.path);
        }
    }

    #[test]
    fn etags_are_quoted_and_differ_where_contents_do() {
        for (index, asset) in ASSETS.iter().enumerate() {
            assert!(asset.etag.len() > 2 && asset.etag.starts_with('"') && asset.etag.ends_with('"'), "{}", asset.etag);
            for other in &ASSETS[index + 1..] {
                assert_eq!(asset.etag == other.etag, asset.bytes == other.bytes, "{} {}", asset.path, other.path);
            }
        }
    }

    #[test]
    fn other_paths_and_ways_out_of_the_folder_find_nothing() {
        for path in ["", "index.html", "/missing", "/assets", "/assets/", "/../Cargo.toml", "//", "///", "/.built"] {
            assert!(find(path).is_none(), "{path}");
        }
    }

    #[test]
    fn the_pages_do_nothing_that_their_policy_forbids() {
        let policy = content_security_policy(Some(7350));
        assert!(!policy.contains("'unsafe-"), "{policy}");
        assert!(policy.contains("connect-src 'self' https://*:7350;"), "{policy}");
        for (page, html) in pages() {
            assert!(attribute(html, "style").is_empty() && !html.contains("<style"), "{page} has inline style");
            assert!(!html.contains("<script>") && !html.contains(" onclick="), "{page} has inline script");
        }
    }

    #[test]
    fn without_web_transport_no_other_address_is_allowed() {
        assert!(content_security_policy(None).contains("connect-src 'self';"));
    }
}
