//! The pages that `cargo xtask web` builds, and the program that serves them.

use aether_server::{PageFile, Pages};
use aether_testkit_server::{HttpAnswer, Process, TestServer};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Folder of the built pages.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist");

/// The built pages and the paths of their files.
struct Built {
    pages: Pages,
    addresses: BTreeSet<String>,
}

impl Built {
    fn open() -> Built {
        let folder = Path::new(FOLDER);
        assert!(folder.join("index.html").is_file(), "The pages are not built. Run `cargo xtask web` first.");
        let mut addresses = BTreeSet::new();
        collect(folder, "", &mut addresses);
        Built { pages: Pages::folder(folder.into()), addresses }
    }

    async fn find(&self, path: &str) -> Option<PageFile> {
        self.pages.find(path).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns every page with its path.
    async fn html(&self) -> Vec<(&str, String)> {
        let mut pages = Vec::new();
        for path in self.addresses.iter().filter(|path| path.ends_with(".html")) {
            let page = self.find(path).await.unwrap_or_else(|| panic!("{path} is not served"));
            pages.push((path.as_str(), String::from_utf8(page.bytes.to_vec()).expect("pages are text")));
        }
        pages
    }
}

/// Collects the paths of all files below a folder. Names with a leading dot belong to the build.
fn collect(folder: &Path, address: &str, addresses: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let entry = entry.expect("the folder can be read");
        let name = entry.file_name().into_string().expect("names are text");
        let address = format!("{address}/{name}");
        if name.starts_with('.') {
            continue;
        }
        if entry.path().is_dir() {
            collect(&entry.path(), &address, addresses);
        } else {
            addresses.insert(address);
        }
    }
}

/// Returns the values of an attribute in a page.
fn attribute<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    page.split(&format!(" {name}=\"")).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[tokio::test]
async fn every_file_is_served_with_its_type() {
    let built = Built::open();
    for path in &built.addresses {
        let file = built.find(path).await.unwrap_or_else(|| panic!("{path} is not served"));
        assert!(file.path == *path && !file.bytes.is_empty(), "{path}");
        assert_ne!(file.content_type(), "application/octet-stream", "{path}");
        assert_eq!(file.cache_control().contains("immutable"), path.starts_with("/assets/"), "{path}");
    }
    assert!(built.find("/.built").await.is_none(), "the stamp of the build is served");
}

#[tokio::test]
async fn a_page_is_served_at_the_name_of_its_folder() {
    let built = Built::open();
    for page in [
        "/index.html",
        "/arena/index.html",
        "/outpost/index.html",
        "/quilt/index.html",
        "/sandbox/index.html",
        "/lobby/index.html",
        "/docs/index.html",
    ] {
        assert!(built.addresses.contains(page), "{page} is not built");
    }
    for (path, html) in built.html().await {
        assert!(html.starts_with("<!doctype html>"), "{path}");
        let folder = path.strip_suffix("/index.html").unwrap_or_else(|| panic!("{path} is not at a folder's name"));
        for address in [format!("{folder}/"), if folder.is_empty() { "/" } else { folder }.to_owned()] {
            let page = built.find(&address).await.unwrap_or_else(|| panic!("{address} is not served"));
            assert_eq!(page.path, path);
        }
    }
}

#[tokio::test]
async fn every_file_that_a_page_references_exists() {
    let built = Built::open();
    for (page, html) in built.html().await {
        let named = attribute(&html, "src").into_iter().chain(attribute(&html, "href"));
        let paths = named.filter_map(|path| path.split(['#', '?']).next());
        for path in paths.filter(|path| path.starts_with('/') && !path.starts_with("/api/")) {
            assert!(built.find(path).await.is_some(), "{page} names {path}, which is not there");
        }
    }
}

#[tokio::test]
async fn the_pages_comply_with_their_content_security_policy() {
    for (page, html) in Built::open().html().await {
        assert!(attribute(&html, "style").is_empty() && !html.contains("<style"), "{page} has inline style");
        assert!(!html.contains("<script>") && !html.contains(" onclick="), "{page} has inline script");
    }
}

/// Data folder of a server, removed at the end of the test.
struct Data(PathBuf);

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        let _ = std::fs::remove_file(self.0.with_extension("log"));
    }
}

/// Sends a request with an unmodified path. HTTP clients would normalize it.
async fn get(server: SocketAddr, path: &str, more: &str) -> HttpAnswer {
    let mut stream = TcpStream::connect(server).await.expect("the server listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    TestServer::read_answer(stream).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_serves_the_built_pages() {
    let built = Built::open();
    let data = Data(std::env::temp_dir().join(format!("aether-pages-{}", uuid::Uuid::new_v4().simple())));
    let program = crate::support::program();
    let server = Process::serve(program, &data.0, &["database.url=memory"]).await;
    for path in ["/", "/docs", "/arena/", "/icon.svg"] {
        let answer = get(server.http, path, "").await;
        let file = built.find(path).await.expect("the page is built");
        assert_eq!((answer.status, answer.body.as_bytes()), (200, &*file.bytes), "{path}");
        assert!(answer.head.contains(&format!("content-type: {}", file.content_type())), "{}", answer.head);
        assert!(answer.head.contains("cache-control: no-cache"), "{}", answer.head);
        assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{}", answer.head);
        let etag = answer.head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("the answer has an etag");
        let again = get(server.http, path, &format!("if-none-match: {etag}\r\n")).await;
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
    }
    for path in
        ["/../package.json", "/%2e%2e/package.json", "/..%5cpackage.json", "//etc/passwd", "/.built", "/missing"]
    {
        let answer = get(server.http, path, "").await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
    }
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_folder_replaces_the_pages_of_the_program_and_must_exist() {
    let data = Data(std::env::temp_dir().join(format!("aether-pages-{}", uuid::Uuid::new_v4().simple())));
    let folder = data.0.join("web");
    let (setting, path) = (format!("http.pages={}", folder.display()), data.0.display().to_string());
    let program = crate::support::program();
    let address = "127.0.0.1:0";
    let fixed = ["serve", "--data-dir", &path, "--address", address, "--admin-address", address, "--set", &setting];
    let refused = aether_testkit_server::command(program, &fixed).output();
    let refused =
        tokio::time::timeout(aether_testkit_server::DEADLINE, refused).await.expect("it ends").expect("it runs");
    assert!(!refused.status.success(), "{refused:?}");
    let expected = format!("http.pages: {} is not a folder. Create it, or change the setting.\n", folder.display());
    assert_eq!(String::from_utf8_lossy(&refused.stderr), expected);

    std::fs::create_dir_all(&folder).expect("the folder can be created");
    std::fs::write(folder.join("index.html"), "<!doctype html>mine").expect("files can be written");
    let server = Process::serve(program, &data.0, &["database.url=memory", &setting]).await;
    assert_eq!(get(server.http, "/", "").await.body, "<!doctype html>mine");
    assert_eq!(get(server.http, "/arena", "").await.status, 404, "the pages of the program are not served");
    server.kill().await;
}
