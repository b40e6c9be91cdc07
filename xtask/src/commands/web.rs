//! The pages: their packages, their types, their bundle.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Command, no_arguments, wasm};
use crate::failure::Outcome;
use crate::fingerprint::{fingerprint, is_stamped, stamp};
use crate::process::compile;
use crate::project::Project;
use crate::steps::{Lane, Step};
use crate::{npm, packages, report};

pub const COMMAND: Command = Command {
    name: "web",
    summary: "Builds the pages of the server.",
    help: "
Usage: cargo xtask web

Installs the packages of the pages in the versions of the lock file, checks their
types and bundles them into web/dist. A development build of the server reads
them from there; a release build embeds them. Up-to-date parts are not rebuilt.",
    run: run_command,
};

/// The pages, for the steps that need them.
pub const PAGES: Step = Step {
    name: "pages",
    what: "the pages and their WASM modules are built",
    run: build,
    lane: Lane::Compile,
    after: &["setup"],
};

/// Sources of the bundle; a folder counts with all its files.
const SOURCES: &[&str] = &[
    "src",
    "index.html",
    "arena/index.html",
    "outpost/index.html",
    "quilt/index.html",
    "sandbox/index.html",
    "lobby/index.html",
    "docs/page.html",
    "parts",
    "icon.svg",
    "build.mjs",
    "book.mjs",
    "parts.mjs",
    "tsconfig.json",
    "package.json",
    npm::LOCK,
    "../docs",
    "../ARCHITECTURE.md",
    "../WIRE_FORMAT.md",
    "../sdk/typescript/src",
    "../sdk/typescript/wasm",
    "../games/outpost/web/pkg",
];

/// File with the fingerprint of the sources of the bundle. Files with a leading dot are not served.
const BUILT: &str = "dist/.built";

fn run_command(project: &Project, arguments: Vec<OsString>) -> Outcome {
    no_arguments(arguments)?;
    build(project)
}

/// Builds the pages, unless they are up to date.
pub fn build(project: &Project) -> Outcome {
    install(project)?;
    wasm::modules(project)?;
    bundle(project)
}

/// Installs the packages that bundle the pages.
pub fn install(project: &Project) -> Outcome {
    packages::ensure(npm::PACKAGES)?;
    npm::install(&folder(project))
}

/// Checks the types of the pages and bundles them, unless they are up to date.
pub fn bundle(project: &Project) -> Outcome {
    let folder = folder(project);
    let sources = fingerprint(&folder, SOURCES)?;
    if is_stamped(&folder.join(BUILT), &sources) {
        report::print("the pages are up to date");
        return Ok(());
    }
    compile(npm::npm(&folder).args(["run", "--silent", "check"]))?;
    compile(npm::npm(&folder).args(["run", "--silent", "build"]))?;
    stamp(&folder.join(BUILT), &sources)
}

/// Folder of the pages' sources.
pub fn folder(project: &Project) -> PathBuf {
    project.root.join("web")
}
