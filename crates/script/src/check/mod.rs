//! Checks modules without running them: syntax, names of functions and modules, and arguments of calls.
//!
//! The compiler of Luau finds errors of syntax. The rest is found by a scanner of tokens: it follows which names a module
//! gives to `aether` and `nk`, and reads the arguments of calls through them. Values that are computed are not followed.

mod calls;
mod tokens;

use crate::source::{BUILT_IN, Sources};
use calls::Scan;
use tokens::{Kind, Token, tokens};

/// Problem of a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Module.
    pub module: String,
    /// Line in the module.
    pub line: u32,
    /// Sentence that says what is wrong.
    pub message: String,
}

/// Returns the problems of all modules, sorted by module and line.
#[must_use]
pub fn check(sources: &Sources) -> Vec<Finding> {
    let mut findings: Vec<Finding> = sources.names().flat_map(|module| check_module(sources, module)).collect();
    findings.sort();
    findings
}

fn check_module(sources: &Sources, module: &str) -> Vec<Finding> {
    if let Err(error) = sources.bytecode(module) {
        // The rest of a module that does not compile would mislead.
        let line = error.line.unwrap_or(1);
        let prefix = format!("{module}:{line}: ");
        let message = error.message.strip_prefix(&prefix).unwrap_or(&error.message).to_owned();
        return vec![Finding { module: module.to_owned(), line, message }];
    }
    let text = sources.text(module).map_or("", |text| &**text);
    let tokens = tokens(text);
    let mut problems = required(sources, &tokens);
    problems.extend(Scan::new(&tokens).problems());
    let finding = |(line, message)| Finding { module: module.to_owned(), line, message };
    problems.into_iter().map(finding).collect()
}

/// Returns problems of `require` with a literal name.
fn required(sources: &Sources, tokens: &[Token<'_>]) -> Vec<(u32, String)> {
    let mut problems = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if !token.is("require") || index > 0 && tokens[index - 1].is_any(&[".", ":"]) {
            continue;
        }
        let next = tokens.get(index + 1);
        let name = if next.is_some_and(|next| next.is("(")) { tokens.get(index + 2) } else { next };
        let Some(name) = name.and_then(Token::string) else { continue };
        let is_known = BUILT_IN.contains(&name.as_str()) || sources.contains(&name);
        if !is_known {
            let names = sources.names().chain(BUILT_IN);
            let hint = suggestion(&name, names);
            problems.push((token.line, format!("module `{name}` was not found{hint}")));
        }
    }
    problems
}

/// Returns ", did you mean …?" if a known name differs in a few letters.
pub(crate) fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let nearest = known.map(|other| (distance(name, other), other)).min();
    match nearest {
        Some((distance, other)) if distance <= 1 + name.len() / 5 => format!("; did you mean `{other}`?"),
        _ => String::new(),
    }
}

/// Returns the number of letters to insert, remove or replace.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for column in 0..to.len() {
            let replaced = diagonal + usize::from(to[column] != letter);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

/// Returns true if a token ends an expression, so that a statement may follow.
fn ends_expression(token: &Token<'_>) -> bool {
    matches!(token.kind, Kind::Text | Kind::Number)
        || token.kind == Kind::Name
            && !token.is_any(&["and", "or", "not", "return", "in", "=", "then", "else", "elseif"])
        || token.is_any(&[")", "]", "}", "..."])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the problems of a module as `line: message`.
    fn problems(text: &str) -> Vec<String> {
        let sources = Sources::of([("shop", text), ("lib.items", "return {}")]).expect("the sources are valid");
        check(&sources).into_iter().map(|finding| format!("{}: {}", finding.line, finding.message)).collect()
    }

    #[test]
    fn valid_modules_have_no_problems() {
        let text = r#"
            local nk = require("nakama")
            local items = require("lib.items")
            local other = require "lib/items"
            -- nk.unknown() in a comment, and "nk.unknown()" in a string
            local text = `nk.unknown() {items.count}` .. [[nk.unknown()]]
            nk.register_rpc(function(context, payload)
                local a, b = 1, if payload == "" then 2 else 3
                if a then b = if b then a else b end
                for _ = 1, 2 do repeat a += 1 until true end
                while false do return nil end
                return nk.json_encode({ a, b, nk.time() })
            end, "name")
            local encode = nk.json_encode
            local list = { nk = 1 }
            print(list.nk, nk.storage_read(table.unpack(list)), text, other, encode)
            nk.logger_info("text", { a = 1 })
            return aether.storage_get(nil, "a", "b")"#;
        assert_eq!(problems(text), Vec::<String>::new());
    }

    #[test]
    fn unknown_names_are_reported_with_a_suggestion() {
        let text = "local nk = require('nakama')\nlocal server = require('aether')\nnk.storage_raed({})\n\
                    server.nothing_like_it()\naether.jsn_encode(1)\nrequire('lib.itms')\nreturn nk['storage_raed']";
        assert_eq!(
            problems(text),
            [
                "3: nk.storage_raed does not exist; did you mean `storage_read`?",
                "4: aether.nothing_like_it does not exist",
                "5: aether.jsn_encode does not exist; did you mean `json_encode`?",
                "6: module `lib.itms` was not found; did you mean `lib.items`?",
                "7: nk.storage_raed does not exist; did you mean `storage_read`?",
            ]
        );
    }

    #[test]
    fn arguments_are_counted_and_literals_compared() {
        let text = "local nk = require('nakama')\nnk.json_decode()\nnk.json_decode('1', 2)\nnk.json_decode(5)\n\
                    nk.storage_read('text')\nnk.logger_info('a', 'b')\nnk.json_decode(nil)\nnk.json_decode(f())\n\
                    nk.json_decode'{}'\nnk.storage_read{}\nnk.register_rpc('name', function() end)\n\
                    nk.json_decode(-1)";
        assert_eq!(
            problems(text),
            [
                "2: nk.json_decode needs 1 argument, got 0: (jsonString: string)",
                "3: nk.json_decode takes at most 1 argument, got 2: (jsonString: string)",
                "4: argument 1 (`jsonString`) of nk.json_decode must be a string, got a number",
                "5: argument 1 (`keys`) of nk.storage_read must be a table, got a string",
                "6: argument 2 (`vars`) of nk.logger_info must be a table, got a string",
                "7: argument 1 (`jsonString`) of nk.json_decode must be a string, got nil",
                "11: argument 1 (`fn`) of nk.register_rpc must be a function, got a string",
                "11: argument 2 (`id`) of nk.register_rpc must be a string, got a function",
                "12: argument 1 (`jsonString`) of nk.json_decode must be a string, got a number",
            ]
        );
    }

    #[test]
    fn an_error_of_syntax_is_the_only_problem_of_its_module() {
        let found = problems("local x =\nnk.unknown(");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("2: Expected"), "{found:?}");
    }
}
