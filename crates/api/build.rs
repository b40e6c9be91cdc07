//! Takes the built pages into the program: writes a table of its files that `page.rs` includes.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What is shown where the pages were not built. Its policy allows no inline style, so it is plain.
const UNBUILT: &str = "<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"dark light\">
<title>Aether</title>
</head>
<body>
<h1>Aether</h1>
<p>The server is running. This page was not built into it.</p>
<p>Run <code>cargo xtask web</code>, then build the server again; <code>cargo xtask run</code> does both.</p>
<p><a href=\"/api/server\">What the server offers</a> · <a href=\"/api/rooms\">Running rooms</a></p>
</body>
</html>
";

fn main() -> io::Result<()> {
    let web = folder("CARGO_MANIFEST_DIR").join("../../web");
    let dist = web.join("dist");
    let out = folder("OUT_DIR");
    let mut files = Vec::new();
    if dist.join("index.html").is_file() {
        println!("cargo::rerun-if-changed={}", dist.display());
        collect(&dist, "", &mut files)?;
        files.sort();
    } else {
        // A path that does not exist would run this again with every build, so its parent is watched.
        if web.is_dir() {
            println!("cargo::rerun-if-changed={}", web.display());
        }
        println!("cargo::rerun-if-changed=build.rs");
        let unbuilt = out.join("unbuilt.html");
        fs::write(&unbuilt, UNBUILT)?;
        files.push(("/index.html".to_owned(), unbuilt));
    }
    fs::write(out.join("files.rs"), table(&files)?)
}

/// A folder that cargo names.
fn folder(variable: &str) -> PathBuf {
    PathBuf::from(env::var_os(variable).unwrap_or_default())
}

/// Finds the files below a folder, each with its address. Names with a leading dot are the build's own.
fn collect(folder: &Path, address: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let address = format!("{address}/{name}");
        if path.is_dir() {
            collect(&path, &address, files)?;
        } else if !name.starts_with('.') {
            files.push((address, fs::canonicalize(&path)?));
        }
    }
    Ok(())
}

/// The table as Rust source.
fn table(files: &[(String, PathBuf)]) -> io::Result<String> {
    let mut source = String::from("&[\n");
    for (address, path) in files {
        let mut hasher = DefaultHasher::new();
        fs::read(path)?.hash(&mut hasher);
        let (etag, path) = (format!("\"{:016x}\"", hasher.finish()), path.to_string_lossy());
        let entry = format!("Asset {{ path: {address:?}, bytes: include_bytes!({path:?}), etag: {etag:?} }},");
        writeln!(source, "    {entry}").map_err(io::Error::other)?;
    }
    source += "]\n";
    Ok(source)
}
