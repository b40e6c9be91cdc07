//! Calls of `aether` and `nk` in the tokens of a module.

use super::tokens::{Kind, Token};
use super::{ends_expression, suggestion};
use crate::api;
use crate::definitions::{VARIADIC, parameters};
use crate::function::{Function, Parameter};
use std::collections::BTreeMap;

/// Scan of a module.
pub(super) struct Scan<'a> {
    tokens: &'a [Token<'a>],
    /// Names that stand for `nk` (true) or `aether` (false).
    names: BTreeMap<&'a str, bool>,
}

/// Arguments of a call: the tokens of each.
type Arguments<'a> = Vec<&'a [Token<'a>]>;

impl<'a> Scan<'a> {
    pub fn new(tokens: &'a [Token<'a>]) -> Scan<'a> {
        let mut names = BTreeMap::from([("aether", false), ("nk", true)]);
        for (index, window) in tokens.windows(4).enumerate() {
            let [name, equals, require, next] = window else { continue };
            let is_binding = name.kind == Kind::Name && equals.is("=") && require.is("require");
            let module = if next.is("(") { tokens.get(index + 4) } else { Some(next) };
            match module.and_then(Token::string).as_deref() {
                Some("nakama") if is_binding => drop(names.insert(name.text, true)),
                Some("aether") if is_binding => drop(names.insert(name.text, false)),
                // Another module of this name.
                _ if is_binding => drop(names.remove(name.text)),
                _ => {}
            }
        }
        Scan { tokens, names }
    }

    /// Returns the problems with their lines.
    pub fn problems(&self) -> Vec<(u32, String)> {
        let mut problems = Vec::new();
        for index in 0..self.tokens.len() {
            let Some((is_nk, name, after)) = self.access(index) else { continue };
            let line = self.tokens[index].line;
            let label = format!("{}.{name}", if is_nk { "nk" } else { "aether" });
            let Some((_, function)) = api::find(&name, is_nk) else {
                let hint = suggestion(&name, api::names(is_nk));
                problems.push((line, format!("{label} does not exist{hint}")));
                continue;
            };
            if let Some(arguments) = arguments(&self.tokens[after..]) {
                let found = check_arguments(&label, function, &arguments);
                problems.extend(found.into_iter().map(|problem| (line, problem)));
            }
        }
        problems
    }

    /// Returns the module and the name of a function that the token at an index begins to access, and the index after it.
    fn access(&self, index: usize) -> Option<(bool, String, usize)> {
        let token = |offset: usize| self.tokens.get(index + offset);
        // `list.nk` and the key of a table are other names.
        if index > 0 && self.tokens[index - 1].is_any(&[".", ":"]) {
            return None;
        }
        let is_nk = *self.names.get(token(0)?.text).filter(|_| self.tokens[index].kind == Kind::Name)?;
        if token(1)?.is(".") {
            return Some((is_nk, token(2)?.text.to_owned(), index + 3));
        }
        let name = token(2)?.string().filter(|_| self.tokens[index + 1].is("["))?;
        token(3)?.is("]").then_some((is_nk, name, index + 4))
    }
}

/// Returns the arguments of a call, if the tokens begin with one.
fn arguments<'a>(tokens: &'a [Token<'a>]) -> Option<Arguments<'a>> {
    let first = tokens.first()?;
    if first.kind == Kind::Text {
        return Some(vec![&tokens[..1]]);
    }
    if first.is("{") {
        return Some(vec![&tokens[..closing(tokens)?]]);
    }
    if !first.is("(") {
        return None;
    }
    let end = closing(tokens)? - 1;
    let inner = &tokens[1..end];
    let (mut arguments, mut start) = (Vec::new(), 0);
    let mut blocks = Blocks::default();
    for (index, token) in inner.iter().enumerate() {
        if blocks.depth == 0 && token.is(",") {
            arguments.push(&inner[start..index]);
            start = index + 1;
        }
        blocks.enter(index.checked_sub(1).map(|before| &inner[before]), token);
    }
    if !inner.is_empty() {
        arguments.push(&inner[start..]);
    }
    Some(arguments)
}

/// Returns the number of tokens up to the bracket that closes the first one.
fn closing(tokens: &[Token<'_>]) -> Option<usize> {
    let mut blocks = Blocks::default();
    for (index, token) in tokens.iter().enumerate() {
        blocks.enter(index.checked_sub(1).map(|before| &tokens[before]), token);
        if blocks.depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

/// Depth of brackets and blocks.
#[derive(Default)]
struct Blocks {
    depth: usize,
    /// True if the last `if` was that of an expression, which has no `end`.
    is_if_expression: bool,
}

impl Blocks {
    fn enter(&mut self, before: Option<&Token<'_>>, token: &Token<'_>) {
        if token.is_any(&["(", "{", "[", "function", "do", "repeat"]) {
            self.depth += 1;
        } else if token.is_any(&[")", "}", "]", "end", "until"]) {
            self.depth = self.depth.saturating_sub(1);
        } else if token.is("if") {
            let follows_branch = before.is_some_and(|before| before.is_any(&["then", "else"]));
            let is_statement =
                before.is_some_and(|before| ends_expression(before) || before.is_any(&["do", "repeat", ";", "end"]));
            self.is_if_expression = if follows_branch { self.is_if_expression } else { !is_statement };
            self.depth += usize::from(!self.is_if_expression);
        }
    }
}

fn check_arguments(label: &str, function: &Function, arguments: &Arguments<'_>) -> Vec<String> {
    let listed = parameters(function);
    let (count, max) = (arguments.len(), function.parameters.len());
    let is_required =
        |parameter: &Parameter| !parameter.is_optional && !is_nullable(parameter.luau) && parameter.name != VARIADIC;
    let min = function.parameters.iter().rposition(is_required).map_or(0, |last| last + 1);
    // A call or `...` at the end may stand for any number of values.
    let is_open = arguments.last().and_then(|last| last.last()).is_some_and(|last| {
        last.is_any(&[")", "..."]) || last.kind == Kind::Text && arguments.last().is_some_and(|last| last.len() > 1)
    });
    let plural = |count: usize| if count == 1 { "argument" } else { "arguments" };
    if count < min && !is_open {
        return vec![format!("{label} needs {min} {}, got {count}: ({listed})", plural(min))];
    }
    let takes_any = function.parameters.last().is_some_and(|last| last.name == VARIADIC);
    if count.saturating_sub(usize::from(is_open)) > max && !takes_any {
        return vec![format!("{label} takes at most {max} {}, got {count}: ({listed})", plural(max))];
    }
    let pairs = function.parameters.iter().zip(arguments).enumerate();
    pairs.filter_map(|(index, (parameter, argument))| mismatch(label, index, parameter, argument)).collect()
}

/// Returns the problem of a literal of another type.
fn mismatch(label: &str, index: usize, parameter: &Parameter, argument: &[Token<'_>]) -> Option<String> {
    let found = literal_type(argument)?;
    if found == "nil" && (parameter.is_optional || is_nullable(parameter.luau)) {
        return None;
    }
    let expected: Vec<&str> = parameter.luau.split('|').map(|luau| base_type(luau.trim())).collect::<Option<_>>()?;
    if expected.contains(&found) {
        return None;
    }
    let article = |name: &str| if name == "nil" { name.to_owned() } else { format!("a {name}") };
    let expected = expected.into_iter().map(article).collect::<Vec<_>>().join(" or ");
    let (number, name) = (index + 1, parameter.name);
    Some(format!("argument {number} (`{name}`) of {label} must be {expected}, got {}", article(found)))
}

/// Returns the type of a literal; none for anything that is computed.
fn literal_type(argument: &[Token<'_>]) -> Option<&'static str> {
    let (first, last) = (argument.first()?, argument.last()?);
    let is_whole = || closing(argument) == Some(argument.len());
    match argument.len() {
        1 => match first.kind {
            Kind::Text => Some("string"),
            Kind::Number => Some("number"),
            _ if first.is("nil") => Some("nil"),
            _ if first.is_any(&["true", "false"]) => Some("boolean"),
            _ => None,
        },
        2 if first.is("-") && last.kind == Kind::Number => Some("number"),
        _ if first.is("{") && is_whole() => Some("table"),
        _ if first.is("function") && last.is("end") && is_whole() => Some("function"),
        _ => None,
    }
}

fn is_nullable(luau: &str) -> bool {
    luau.ends_with('?') || luau == "any" || luau.split('|').any(|part| part.trim() == "nil")
}

/// Returns the kind of values that a Luau type has; none if any value may have it.
fn base_type(luau: &str) -> Option<&'static str> {
    let luau = luau.trim_end_matches('?');
    match luau {
        "string" => Some("string"),
        "number" => Some("number"),
        "boolean" => Some("boolean"),
        "nil" => Some("nil"),
        _ if luau.contains("->") => Some("function"),
        _ if luau.starts_with('"') => Some("string"),
        _ if luau.starts_with('{') => Some("table"),
        _ => None,
    }
}
