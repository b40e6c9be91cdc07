//! Rules of the project, checked on cargo's metadata and the sources.

mod comments;
mod graph;
mod hashing;
mod locks;
mod names;
mod source;
mod text;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};
use crate::floors::{self, PackageLevel};
use crate::project::Project;
use crate::report;

pub use graph::{Member, members};

/// Lock files of the workspaces that share crates and a build folder with the main one.
const LOCKS: &[&str] = &["examples/Cargo.lock", "fuzz/Cargo.lock", "xtask/bindgen/Cargo.lock"];

/// A violation of a rule, with advice.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, relative to the root.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The rule's name.
    pub rule: &'static str,
    /// Instruction for the author.
    pub advice: String,
    /// True if it only warns.
    pub warning: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.warning { "warning, " } else { "" };
        write!(formatter, "{}:{}: {kind}{}: {}", self.path, self.line, self.rule, self.advice)
    }
}

/// Checks every rule and prints the findings. Fails if one of them is not a warning.
pub fn check(project: &Project) -> Outcome {
    let metadata = project.metadata()?;
    let members = members(&metadata, &project.root)?;
    let manifest = |path: &str| std::fs::read_to_string(project.root.join(path)).unwrap_or_default();
    let mut findings = graph::check_floors(&members, &manifest);
    findings.extend(graph::check_rules_feature(&members));
    findings.extend(graph::check_runtime(&members, &graph::Resolved::read(&metadata)?));
    for path in LOCKS {
        findings.extend(locks::check(path, &manifest(path), &manifest("Cargo.lock")));
    }
    findings.extend(names::check(&roots(project, &members)));
    let mut files = 0;
    for member in &members {
        let level = floors::level_of(&member.name, &member.folder);
        files += check_sources(project, &member.name, &member.folder, level, &mut findings)?;
    }
    for manifest in project.excluded_manifests() {
        let folder = manifest.parent().unwrap_or(&project.root);
        let folder = relative(folder, &project.root);
        files += check_sources(project, &folder, &folder, Some(PackageLevel::Roof), &mut findings)?;
    }
    for finding in &findings {
        report::print(&finding.to_string());
    }
    let errors = findings.iter().filter(|finding| !finding.warning).count();
    report::print(&format!("tidy: {} packages, {files} files, {errors} errors", members.len()));
    if errors == 0 {
        Ok(())
    } else {
        Err(Failure::new(format!("tidy found {errors} violations; each line says what to do")))
    }
}

fn check_sources(
    project: &Project,
    package: &str,
    folder: &str,
    level: Option<PackageLevel>,
    findings: &mut Vec<Finding>,
) -> Result<usize, Failure> {
    let mut files = Vec::new();
    rust_files(&project.root.join(folder), &mut files)?;
    for file in &files {
        let content =
            std::fs::read_to_string(file).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
        let path = relative(file, &project.root);
        let inside = path.strip_prefix(folder).unwrap_or(&path).trim_start_matches('/').to_owned();
        findings.extend(comments::check(&path, &content));
        findings.extend(text::check(&text::SourceFile {
            package,
            level: level.unwrap_or(PackageLevel::Roof),
            path: &path,
            inside: &inside,
            content: &content,
        }));
    }
    Ok(files.len())
}

/// Returns the root files of all libraries.
fn roots(project: &Project, members: &[Member]) -> Vec<names::Root> {
    let paths = members.iter().map(|member| format!("{}/src/lib.rs", member.folder));
    // A package without this file is a program.
    paths
        .filter_map(|path| Some(names::Root { content: std::fs::read_to_string(project.root.join(&path)).ok()?, path }))
        .collect()
}

/// Collects the Rust files below a folder, in order of their names, leaving out build output.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> Outcome {
    let unread = |error| Failure::new(format!("{}: {error}", folder.display()));
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        entries.push(entry.map_err(unread)?.path());
    }
    entries.sort();
    for entry in entries {
        let is_output = entry.ends_with("target") || entry.ends_with("node_modules");
        if entry.is_dir() && !is_output {
            rust_files(&entry, files)?;
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
    Ok(())
}

/// A path below the root, with forward slashes.
fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_path_line_rule_and_remedy() {
        let finding = Finding {
            path: "crates/world/src/lib.rs".into(),
            line: 7,
            rule: "clocks",
            advice: "pass the time in".into(),
            warning: false,
        };
        assert_eq!(finding.to_string(), "crates/world/src/lib.rs:7: clocks: pass the time in");
    }
}
