//! Type definitions of `aether` and `nk` for editors, from the declarations of the functions.

use crate::api::NOUNS;
use crate::function::{Function, Modules, Parameter};

/// Returns a definition file for luau-lsp: the types of all nouns, and the modules `aether` and `nk`.
#[must_use]
pub fn type_definitions() -> String {
    let mut text = "-- Types of the modules `aether` and `nk`. Written by `aether script types`.\n".to_owned();
    for noun in NOUNS {
        for line in noun.types.trim().lines() {
            // Only exported types of a definition file are known to scripts.
            let line = if line.starts_with("type ") { format!("export {line}") } else { line.to_owned() };
            text += &format!("{line}\n");
        }
    }
    for (name, without) in [("Aether", Modules::Nk), ("Nakama", Modules::Aether)] {
        text += &format!("\nexport type {name} = {{\n");
        let functions = NOUNS.iter().flat_map(|noun| noun.functions);
        for function in functions.filter(|function| function.modules != without) {
            text += &format!("    -- {}\n", function.about);
            text += &format!("    {}: {},\n", function.name, function_type(function));
        }
        text += "}\n";
    }
    text + "\ndeclare aether: Aether\n-- The result of `require(\"nakama\")`.\ndeclare nk: Nakama\n"
}

/// Name of a parameter that stands for any number of values.
pub(crate) const VARIADIC: &str = "...";

/// Returns the Luau type of a function.
fn function_type(function: &Function) -> String {
    let returns = if function.returns.is_empty() { "()" } else { function.returns };
    format!("({}) -> {returns}", parameters(function))
}

/// Returns the parameters with their types, as in a declaration.
pub(crate) fn parameters(function: &Function) -> String {
    let parameter = |parameter: &Parameter| match parameter.name {
        VARIADIC => format!("...{}", parameter.luau),
        name => format!("{name}: {}", parameter_type(parameter)),
    };
    function.parameters.iter().map(parameter).collect::<Vec<_>>().join(", ")
}

/// Returns the type of a parameter, with `?` if it may be left out.
pub(crate) fn parameter_type(parameter: &Parameter) -> String {
    let luau = parameter.luau;
    if !parameter.is_optional || luau.ends_with('?') || luau == "any" {
        luau.to_owned()
    } else if luau.contains("->") || luau.contains('|') {
        format!("({luau})?")
    } else {
        format!("{luau}?")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlua::chunk::Compiler;
    use std::collections::{BTreeMap, BTreeSet};

    /// Names of types that Luau has.
    const OF_LUAU: [&str; 9] = ["any", "boolean", "buffer", "nil", "number", "string", "thread", "unknown", "never"];

    /// Returns the names that stand for types: identifiers that are no keys and no parameter names.
    fn used_types(luau: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut rest = luau;
        while let Some(start) = rest.find(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
            let quoted = rest[..start].matches('"').count() % 2 == 1;
            rest = &rest[start..];
            let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if quoted {
                rest = after.split_once('"').map_or("", |(_, after)| after);
                continue;
            }
            if !after.trim_start().starts_with(':') {
                names.insert(name.to_owned());
            }
            rest = after;
        }
        names
    }

    #[test]
    fn the_definitions_are_valid_luau() {
        // The compiler knows no declarations of globals, and otherwise reads all types.
        let text = type_definitions().replace("\ndeclare ", "\nlocal ");
        if let Err(error) = Compiler::new().compile(&text) {
            panic!("{error}\n{text}");
        }
    }

    #[test]
    fn every_type_is_declared_once() {
        let mut declared = BTreeMap::new();
        for noun in NOUNS {
            for line in noun.types.lines().filter_map(|line| line.strip_prefix("type ")) {
                let name = line.split([' ', '=', '<']).next().unwrap_or_default();
                let other = declared.insert(name, noun.name);
                assert_eq!(other, None, "type {name} of {}", noun.name);
            }
        }
        let is_known = |name: &String| declared.contains_key(name.as_str()) || OF_LUAU.contains(&name.as_str());
        for function in NOUNS.iter().flat_map(|noun| noun.functions) {
            let types = function.parameters.iter().map(|parameter| parameter.luau).chain([function.returns]);
            let unknown: Vec<_> = types.flat_map(used_types).filter(|name| !is_known(name)).collect();
            assert!(unknown.is_empty(), "{} uses the undeclared types {unknown:?}", function.name);
        }
    }

    #[test]
    fn every_function_is_described_and_named_once() {
        let mut names = BTreeSet::new();
        for function in NOUNS.iter().flat_map(|noun| noun.functions) {
            let modules = match function.modules {
                Modules::Both => vec!["aether", "nk"],
                Modules::Aether => vec!["aether"],
                Modules::Nk => vec!["nk"],
            };
            for module in modules {
                assert!(names.insert((module, function.name)), "{module}.{} is declared twice", function.name);
            }
            assert!(function.about.ends_with('.'), "{}: {}", function.name, function.about);
            let is_described = |parameter: &&Parameter| !parameter.about.ends_with('.');
            let missing = function.parameters.iter().find(is_described);
            assert!(missing.is_none(), "{}: {missing:?}", function.name);
        }
    }
}
