//! Rules about dependencies between crates, checked on cargo's metadata.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use serde_json::Value;

use super::{Finding, relative};
use crate::failure::Failure;
use crate::floors::{self, PackageLevel};

/// The async runtime that stays above the engine.
const RUNTIME: &str = "tokio";

/// A package of the workspace.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its folder relative to the root.
    pub folder: String,
    /// Cargo's package id, which includes the source.
    pub id: String,
    /// The packages it names in its manifest.
    pub dependencies: Vec<Dependency>,
    /// Its features, each with the features and dependencies that it enables.
    pub features: BTreeMap<String, Vec<String>>,
}

/// One line of a manifest's dependencies.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// The package used.
    pub name: String,
    /// True if only tests, benches and examples use it.
    pub for_tests: bool,
    /// Features it asks for; `default` unless default features are off.
    pub features: Vec<String>,
}

/// The packages of the workspace, by name.
pub fn members(metadata: &Value, root: &Path) -> Result<Vec<Member>, Failure> {
    let mut members: Vec<Member> = array(metadata, "packages")?
        .iter()
        // Packages of the workspace have no source.
        .filter(|package| package["source"].is_null())
        .map(|package| Member {
            name: text(&package["name"]),
            folder: Path::new(&text(&package["manifest_path"]))
                .parent()
                .map_or_else(String::new, |folder| relative(folder, root)),
            id: text(&package["id"]),
            dependencies: dependencies(package),
            features: features(package),
        })
        .collect();
    members.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(members)
}

fn dependencies(package: &Value) -> Vec<Dependency> {
    let listed = package["dependencies"].as_array();
    let listed = listed.map(Vec::as_slice).unwrap_or_default();
    listed
        .iter()
        .map(|dependency| {
            let mut features = texts(&dependency["features"]);
            if dependency["uses_default_features"] == true {
                features.push("default".to_owned());
            }
            Dependency { name: text(&dependency["name"]), for_tests: dependency["kind"] == "dev", features }
        })
        .collect()
}

fn features(package: &Value) -> BTreeMap<String, Vec<String>> {
    let listed = package["features"].as_object();
    listed.into_iter().flatten().map(|(name, parts)| (name.clone(), texts(parts))).collect()
}

/// Checks that the feature `rules` of the crate for game authors enables only what rules may use.
pub fn check_rules_feature(members: &[Member]) -> Vec<Finding> {
    let Some(facade) = members.iter().find(|member| floors::is_facade(&member.name)) else { return Vec::new() };
    let parts = facade.features.get(floors::RULES_FEATURE).map(Vec::as_slice).unwrap_or_default();
    let may_be_used = |package: &str| {
        let member = members.iter().find(|member| member.name == package);
        // A crate from a registry is built for the browser with the rules.
        let level = member.map(|member| floors::level_of(&member.name, &member.folder));
        level.is_none_or(|level| level.is_some_and(floors::may_rules_use))
    };
    let bad = parts.iter().filter(|part| !part.strip_prefix("dep:").is_some_and(may_be_used));
    bad.map(|part| Finding {
        path: format!("{}/Cargo.toml", facade.folder),
        line: 1,
        rule: "floors",
        advice: format!(
            "the feature `{}` must not enable `{part}`; rules use only floors 0 to 2",
            floors::RULES_FEATURE
        ),
        warning: false,
    })
    .collect()
}

/// Checks that a crate uses only crates on lower floors.
pub fn check_floors(members: &[Member], manifest: &dyn Fn(&str) -> String) -> Vec<Finding> {
    let mut findings = Vec::new();
    let levels: BTreeMap<&str, PackageLevel> = members
        .iter()
        .filter_map(|member| Some((member.name.as_str(), floors::level_of(&member.name, &member.folder)?)))
        .collect();
    let folders: BTreeMap<&str, &str> =
        members.iter().map(|member| (member.name.as_str(), member.folder.as_str())).collect();
    for member in members {
        let path = format!("{}/Cargo.toml", member.folder);
        let Some(&level) = levels.get(member.name.as_str()) else {
            findings.push(Finding {
                path,
                line: 1,
                rule: "floors",
                advice: format!("give {} a floor in xtask/src/floors.rs", member.name),
                warning: false,
            });
            continue;
        };
        for dependency in &member.dependencies {
            let Some(&used) = levels.get(dependency.name.as_str()) else {
                continue;
            };
            let folder = folders.get(dependency.name.as_str()).copied().unwrap_or_default();
            let in_tests = dependency.for_tests && floors::may_use_in_tests(&member.name, &dependency.name, folder);
            let only_rules = floors::is_facade(&dependency.name) && dependency.features == [floors::RULES_FEATURE];
            let is_allowed = (level == PackageLevel::Rules && only_rules)
                || floors::may_use((&member.name, level), (&dependency.name, used));
            if in_tests || is_allowed {
                continue;
            }
            findings.push(Finding {
                line: line_of(&manifest(&path), &dependency.name),
                path: path.clone(),
                rule: "floors",
                advice: format!(
                    "{} ({level:?}) may use only lower floors, not {} ({used:?}); move the code \
                     down or pass it in from above",
                    member.name, dependency.name
                ),
                warning: false,
            });
        }
    }
    findings
}

/// Checks that the engine, the client and everything below them do not depend on the async runtime.
pub fn check_runtime(members: &[Member], resolved: &Resolved) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in members {
        let level = floors::level_of(&member.name, &member.folder);
        let Some(level) = level else { continue };
        if !floors::is_deterministic(&member.name, level) {
            continue;
        }
        if let Some(chain) = resolved.path_to(&member.id, RUNTIME) {
            findings.push(Finding {
                path: format!("{}/Cargo.toml", member.folder),
                line: 1,
                rule: "runtime",
                advice: format!(
                    "{} must do without {RUNTIME}, which comes by {}; drop that dependency or \
                     its feature",
                    member.name,
                    chain.join(" -> ")
                ),
                warning: false,
            });
        }
    }
    findings
}

/// The resolved dependency graph, without dev-dependencies.
#[derive(Default)]
pub struct Resolved {
    names: BTreeMap<String, String>,
    uses: BTreeMap<String, Vec<String>>,
}

impl Resolved {
    /// Reads the graph from cargo's metadata.
    pub fn read(metadata: &Value) -> Result<Self, Failure> {
        let mut resolved = Self::default();
        for package in array(metadata, "packages")? {
            resolved.names.insert(text(&package["id"]), text(&package["name"]));
        }
        for node in array(&metadata["resolve"], "nodes")? {
            let uses = array(node, "deps")?
                .iter()
                .filter(|used| {
                    let kinds = used["dep_kinds"].as_array();
                    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"))
                })
                .map(|used| text(&used["pkg"]))
                .collect();
            // Cargo unifies the features of the whole workspace, so the features of rules are checked by manifest.
            let uses = if floors::is_facade(resolved.names.get(&text(&node["id"])).map_or("", String::as_str)) {
                Vec::new()
            } else {
                uses
            };
            resolved.uses.insert(text(&node["id"]), uses);
        }
        Ok(resolved)
    }

    /// Returns the shortest chain of names from a package to one named `wanted`.
    fn path_to(&self, from: &str, wanted: &str) -> Option<Vec<String>> {
        let mut seen = BTreeSet::from([from]);
        let mut waiting = VecDeque::from([vec![from]]);
        while let Some(chain) = waiting.pop_front() {
            let last = chain.last()?;
            if self.names.get(*last).is_some_and(|name| name == wanted) {
                let named = |id: &&str| self.names.get(*id).cloned().unwrap_or_default();
                return Some(chain.iter().map(named).collect());
            }
            for next in self.uses.get(*last).into_iter().flatten() {
                if seen.insert(next) {
                    let mut longer = chain.clone();
                    longer.push(next);
                    waiting.push_back(longer);
                }
            }
        }
        None
    }
}

/// The line of a manifest where a dependency is named, or its first line.
fn line_of(manifest: &str, dependency: &str) -> usize {
    manifest.lines().position(|line| line.trim_start().starts_with(dependency)).map_or(1, |index| index + 1)
}

fn array<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>, Failure> {
    value[key].as_array().ok_or_else(|| Failure::new(format!("cargo's metadata lacks the list `{key}`")))
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().map(|values| values.iter().map(text).collect()).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn member(name: &str, dependencies: &[(&str, bool)]) -> Member {
        let folder = format!("crates/{}", name.trim_start_matches("aether-"));
        let dependencies = dependencies
            .iter()
            .map(|(name, for_tests)| Dependency {
                name: (*name).into(),
                for_tests: *for_tests,
                features: vec!["default".into()],
            })
            .collect();
        Member { name: name.into(), folder, id: name.into(), dependencies, features: BTreeMap::new() }
    }

    fn facade(rules: &[&str]) -> Member {
        let parts = rules.iter().map(|part| (*part).to_owned()).collect();
        Member { features: BTreeMap::from([("rules".to_owned(), parts)]), ..member("aether-game", &[]) }
    }

    #[test]
    fn rules_use_the_crate_for_game_authors_with_the_feature_rules_alone() {
        let rules_with = |features: &[&str]| {
            let features = features.iter().map(|feature| (*feature).to_owned()).collect();
            let dependency = Dependency { name: "aether-game".into(), for_tests: false, features };
            let mut rules = member("aether-x-rules", &[]);
            rules.folder = "games/x/rules".into();
            rules.dependencies = vec![dependency];
            floors(&[facade(&[]), rules]).len()
        };
        assert_eq!(rules_with(&["rules"]), 0);
        assert_eq!(rules_with(&["rules", "default"]), 1);
        assert_eq!(rules_with(&["game"]), 1);
    }

    #[test]
    fn the_feature_rules_switches_on_floors_0_to_2() {
        let members = |parts: &[&str]| [facade(parts), member("aether-world", &[]), member("aether-engine", &[])];
        assert_eq!(check_rules_feature(&members(&["dep:aether-world", "dep:libm"])), []);
        assert_eq!(check_rules_feature(&members(&["dep:aether-engine"])).len(), 1);
        assert_eq!(check_rules_feature(&members(&["game"])).len(), 1);
    }

    fn floors(members: &[Member]) -> Vec<Finding> {
        check_floors(members, &|_| "[dependencies]\naether-engine.workspace = true\n".into())
    }

    #[test]
    fn using_a_lower_floor_is_fine() {
        let members =
            [member("aether-world", &[]), member("aether-engine", &[("aether-world", false), ("serde_json", false)])];
        assert_eq!(floors(&members), []);
    }

    #[test]
    fn using_a_higher_floor_is_named_at_its_line() {
        let members = [member("aether-engine", &[]), member("aether-world", &[("aether-engine", false)])];
        let findings = floors(&members);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].path.as_str(), findings[0].line), ("crates/world/Cargo.toml", 2));
    }

    #[test]
    fn only_the_test_tools_may_be_used_from_above_and_only_by_tests() {
        let testkit = member("aether-testkit", &[]);
        let engine = member("aether-engine", &[]);
        let in_tests = member("aether-world", &[("aether-testkit", true)]);
        assert_eq!(floors(&[testkit.clone(), in_tests]), []);
        let in_code = member("aether-world", &[("aether-testkit", false)]);
        assert_eq!(floors(&[testkit, in_code]).len(), 1);
        let other_in_tests = member("aether-world", &[("aether-engine", true)]);
        assert_eq!(floors(&[engine, other_in_tests]).len(), 1);
    }

    #[test]
    fn a_crate_without_a_floor_is_sent_to_the_table() {
        let findings = floors(&[member("aether-attic", &[])]);
        assert!(findings[0].advice.contains("floors.rs"));
    }

    fn metadata(kind: Value) -> Value {
        json!({
            "packages": [
                {"id": "e", "name": "aether-engine", "source": null,
                 "manifest_path": "/p/crates/engine/Cargo.toml",
                 "dependencies": [{"name": "middle", "kind": null}]},
                {"id": "m", "name": "middle", "source": "registry"},
                {"id": "t", "name": "tokio", "source": "registry"}
            ],
            "resolve": {"nodes": [
                {"id": "e", "deps": [{"pkg": "m", "dep_kinds": [{"kind": null}]}]},
                {"id": "m", "deps": [{"pkg": "t", "dep_kinds": [{"kind": kind}]}]},
                {"id": "t", "deps": []}
            ]}
        })
    }

    fn runtime(metadata: &Value) -> Vec<Finding> {
        let members = members(metadata, Path::new("/p")).unwrap();
        check_runtime(&members, &Resolved::read(metadata).unwrap())
    }

    #[test]
    fn a_runtime_behind_another_dependency_is_found_with_its_way() {
        let findings = runtime(&metadata(Value::Null));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].advice.contains("aether-engine -> middle -> tokio"));
    }

    #[test]
    fn a_runtime_that_only_tests_use_is_fine() {
        assert_eq!(runtime(&metadata(json!("dev"))), []);
    }

    #[test]
    fn members_are_the_packages_without_a_source() {
        let members = members(&metadata(Value::Null), Path::new("/p")).unwrap();
        assert_eq!(members.len(), 1);
        assert_eq!(members[0].folder, "crates/engine");
    }
}
