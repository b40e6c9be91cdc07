//! Embeds the built pages in a release build: writes a table of their files that `src/pages.rs` includes. In other builds
//! the program reads the pages from their folder, so changed pages need no build.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    // Also `release` for profiles that inherit from it.
    let is_release = env::var_os("PROFILE").is_some_and(|profile| profile == "release");
    let source = if is_release { table(&built_files()?)? } else { "None\n".to_owned() };
    fs::write(folder("OUT_DIR").join("files.rs"), source)
}

/// Returns a folder from an environment variable of cargo.
fn folder(variable: &str) -> PathBuf {
    PathBuf::from(env::var_os(variable).unwrap_or_default())
}

/// Returns the files of the pages with their paths; empty if the pages were not built.
fn built_files() -> io::Result<Vec<(String, PathBuf)>> {
    let web = folder("CARGO_MANIFEST_DIR").join("../../web");
    let dist = web.join("dist");
    let mut files = Vec::new();
    if dist.join("index.html").is_file() {
        println!("cargo::rerun-if-changed={}", dist.display());
        collect(&dist, "", &mut files)?;
        files.sort();
    } else if web.is_dir() {
        // A missing path would rerun this with every build, so its parent is watched.
        println!("cargo::rerun-if-changed={}", web.display());
    }
    Ok(files)
}

/// Collects the files below a folder with their paths. Names with a leading dot belong to the build.
fn collect(folder: &Path, address: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let address = format!("{address}/{name}");
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            collect(&path, &address, files)?;
        } else {
            files.push((address, fs::canonicalize(&path)?));
        }
    }
    Ok(())
}

/// Returns the table as Rust source.
fn table(files: &[(String, PathBuf)]) -> io::Result<String> {
    let mut source = String::from("Some(&[\n");
    for (address, path) in files {
        let mut hasher = DefaultHasher::new();
        fs::read(path)?.hash(&mut hasher);
        let (etag, path) = (format!("\"{:016x}\"", hasher.finish()), path.to_string_lossy());
        let entry = format!("PageAsset {{ path: {address:?}, bytes: include_bytes!({path:?}), etag: {etag:?} }},");
        writeln!(source, "    {entry}").map_err(io::Error::other)?;
    }
    source += "])\n";
    Ok(source)
}
