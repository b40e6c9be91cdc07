//! Lock files have the versions of the main one, so that shared crates are compiled once.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;

/// Versions of each package in a lock file.
type Versions = BTreeMap<String, BTreeSet<String>>;

/// Checks one lock file against the main one. A version counts as another if the main file has one that is compatible
/// with it but not the same.
pub fn check(path: &str, lock: &str, main: &str) -> Vec<Finding> {
    let main = versions(main);
    let mut findings = Vec::new();
    for (name, versions) in versions(lock) {
        let Some(wanted) = main.get(&name) else { continue };
        for version in versions.difference(wanted) {
            let Some(other) = wanted.iter().find(|other| line_of(other) == line_of(version)) else { continue };
            findings.push(Finding {
                path: path.to_owned(),
                line: 1,
                rule: "locks",
                advice: format!(
                    "{name} is {version} here and {other} in Cargo.lock; copy Cargo.lock here and let cargo trim it"
                ),
                warning: false,
            });
        }
    }
    findings
}

fn versions(lock: &str) -> Versions {
    let mut found = Versions::new();
    let mut name = None;
    for line in lock.lines() {
        if let Some(value) = quoted(line, "name") {
            name = Some(value.to_owned());
        } else if let (Some(version), Some(name)) = (quoted(line, "version"), name.take()) {
            found.entry(name).or_default().insert(version.to_owned());
        }
    }
    found
}

fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')
}

/// Returns the part of a version that compatible versions share: the major number, or with 0 the minor one too.
fn line_of(version: &str) -> (&str, &str) {
    let mut numbers = version.split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    if major == "0" { (major, minor) } else { (major, "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(packages: &[(&str, &str)]) -> String {
        packages
            .iter()
            .map(|(name, version)| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n"))
            .collect()
    }

    #[test]
    fn another_compatible_version_is_named_with_the_one_to_take() {
        let findings = check("fuzz/Cargo.lock", &lock(&[("serde", "1.0.1")]), &lock(&[("serde", "1.0.2")]));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].advice.contains("serde is 1.0.1 here and 1.0.2 in Cargo.lock"), "{}", findings[0].advice);
    }

    #[test]
    fn the_same_version_an_incompatible_one_and_an_unknown_package_are_fine() {
        let main = lock(&[("serde", "1.0.2"), ("rand", "0.10.1")]);
        assert!(check("a", &lock(&[("serde", "1.0.2"), ("rand", "0.9.0"), ("gimli", "0.32.3")]), &main).is_empty());
    }
}
