//! A type name at the root of a crate belongs to one crate.
//!
//! Two types of one name must be told apart at every use. Types in public modules are always written with their module
//! (`storage::Page`) and are not checked.

use std::collections::BTreeMap;

use super::Finding;
use super::source::{line_at, product_code};

/// Keywords that begin the definition of a type.
const KINDS: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// Libraries whose types are written with the name of the crate, like those of a module: `rudp::Connection`.
const WRITTEN_WITH_CRATE: &[&str] = &["crates/rudp/src/lib.rs"];

/// Root file of a library.
pub struct Root {
    /// Path of the file, relative to the root of the project.
    pub path: String,
    /// Text of the file.
    pub content: String,
}

impl Root {
    /// Name of the game that the library belongs to, if it is part of one.
    fn game(&self) -> Option<&str> {
        self.path.strip_prefix("games/")?.split('/').next()
    }

    /// Returns true if code may import from both libraries. No code uses two games.
    fn meets(&self, other: &Root) -> bool {
        self.game().is_none() || other.game().is_none() || self.game() == other.game()
    }
}

/// Finds types that several crates export at their root.
pub fn check(roots: &[Root]) -> Vec<Finding> {
    let mut owners: BTreeMap<String, Vec<&Root>> = BTreeMap::new();
    let mut findings = Vec::new();
    for root in roots.iter().filter(|root| !WRITTEN_WITH_CRATE.contains(&root.path.as_str())) {
        for (name, line) in exported_types(&root.content) {
            let owners = owners.entry(name.clone()).or_default();
            if let Some(owner) = owners.iter().find(|owner| owner.meets(root)) {
                findings.push(Finding {
                    path: root.path.clone(),
                    line,
                    rule: "type names",
                    advice: format!(
                        "`{name}` is also a type of {}; use that one, or give this one a name of its own",
                        owner.path
                    ),
                    warning: false,
                });
            }
            owners.push(root);
        }
    }
    findings
}

/// Names of the types that a root file exports and that belong to this crate, with their lines.
fn exported_types(content: &str) -> Vec<(String, usize)> {
    let code = product_code(content);
    let mut types = Vec::new();
    let mut position = 0;
    for line in code.split_inclusive('\n') {
        let at = line_at(&code, position);
        if let Some(item) = line.strip_prefix("pub ") {
            if let Some(name) = defined_type(item) {
                types.push((name.to_owned(), at));
            }
            if item.starts_with("use ") {
                let statement = &code[position + "pub use ".len()..];
                let statement = &statement[..statement.find(';').unwrap_or(statement.len())];
                types.extend(used_types(statement, &code).into_iter().map(|name| (name, at)));
            }
        }
        position += line.len();
    }
    types
}

/// Reads the name of a type from its definition, as in `struct Room<G> {`.
fn defined_type(item: &str) -> Option<&str> {
    let (kind, rest) = item.split_once(' ')?;
    let end = rest.find(|character: char| !is_identifier(character)).unwrap_or(rest.len());
    KINDS.contains(&kind).then_some(&rest[..end])
}

/// Reads the types from a statement such as `room::{self, Room, limits::Rate as RoomRate}`. A path that does not begin
/// with a module of this file leads to another crate, which owns the types.
fn used_types(statement: &str, code: &str) -> Vec<String> {
    let path = statement.trim_start_matches("self::").trim_start_matches("crate::");
    let module = path.split(|character| !is_identifier(character)).next().unwrap_or_default();
    if !declares_module(code, module) {
        return Vec::new();
    }
    let leaves = path.split(['{', '}', ',']).map(str::trim).filter(|leaf| !leaf.ends_with("::"));
    let names = leaves.filter_map(|leaf| leaf.split([' ', ':']).next_back());
    names.filter(|name| is_type_name(name)).map(str::to_owned).collect()
}

fn declares_module(code: &str, module: &str) -> bool {
    let declaration = format!("mod {module}");
    code.lines().any(|line| {
        let declared = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        declared.strip_prefix(&declaration).is_some_and(|rest| rest.starts_with([';', ' ', '{']))
    })
}

/// Returns true for `UpperCamelCase`; constants have no lower-case letter.
fn is_type_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.contains(|letter: char| letter.is_ascii_lowercase())
}

fn is_identifier(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(path: &str, content: &str) -> Root {
        Root { path: path.into(), content: content.into() }
    }

    fn names(content: &str) -> Vec<String> {
        exported_types(content).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn types_of_a_root_are_its_own_items_and_those_of_its_modules() {
        let content = "mod room;\npub mod rate;\n\
                       pub use room::{Room, ROOMS_MAX, build_room,\n    seat::{Seat, Place as RoomPlace}};\n\
                       pub use rate::Rate;\npub use crate::room::Door;\n\
                       pub struct Point<T>(T);\npub enum Kind { A }\npub trait Walk {}\npub type Pair = (u8, u8);\n";
        let expected = ["Room", "Seat", "RoomPlace", "Rate", "Door", "Point", "Kind", "Walk", "Pair"];
        assert_eq!(names(content), expected);
    }

    #[test]
    fn other_crates_comments_tests_and_private_items_do_not_count() {
        let content = "mod room;\npub use aether_wire::Tick;\npub use rooms::Other;\n// pub struct Old;\n\
                       use room::Room;\npub(crate) use room::Hidden;\nstruct Private;\npub fn Odd() {}\n\
                       #[cfg(test)]\nmod tests {\n    pub struct InTests;\n}\n";
        assert!(names(content).is_empty(), "{:?}", names(content));
    }

    #[test]
    fn a_type_that_two_crates_export_is_found_in_the_second() {
        let roots =
            [root("crates/a/src/lib.rs", "pub struct Path;"), root("crates/b/src/lib.rs", "\npub enum Path {}")];
        let findings = check(&roots);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!((findings[0].path.as_str(), findings[0].line), ("crates/b/src/lib.rs", 2));
        assert!(findings[0].advice.contains("`Path` is also a type of crates/a/src/lib.rs"), "{findings:?}");
    }

    #[test]
    fn two_games_may_use_the_same_name_and_a_game_may_not_use_one_of_ours() {
        let shot = |path| root(path, "pub struct Shot;");
        let (ours, one, other) = ("crates/a/src/lib.rs", "games/x/rules/src/lib.rs", "games/y/rules/src/lib.rs");
        assert!(check(&[shot(one), shot(other)]).is_empty());
        assert_eq!(check(&[shot(one), shot("games/x/web/src/lib.rs")]).len(), 1);
        assert_eq!(check(&[shot(ours), shot(other)]).len(), 1);
    }

    #[test]
    fn a_type_under_another_name_of_its_own_crate_is_no_duplicate() {
        let roots = [
            root("crates/a/src/lib.rs", "mod clock;\npub use clock::Clock as TickClock;"),
            root("crates/b/src/lib.rs", "mod clock;\npub use clock::Clock;"),
        ];
        assert!(check(&roots).is_empty());
    }
}
