//! Rules about one source file.

use super::Finding;
use super::hashing::default_hashers;
use super::source::{line_at, occurrences, product_code};
use crate::floors::{self, PackageLevel};

/// A file of this length is worth splitting.
const LINES_WARNED: usize = 500;

/// A file of this length has to be split.
const LINES_MAX: usize = 800;

/// Paths that read the environment or end the process.
const ENVIRONMENT: [&str; 7] =
    ["std::env", "env::var", "env::var_os", "env::vars", "env::args", "process::exit", "process::abort"];

/// Calls that read a clock.
const CLOCKS: [&str; 3] = ["Instant::now", "SystemTime", ".elapsed()"];

/// Float functions whose last bits differ between platforms. Square roots and roundings are
/// exact everywhere, so they are not here.
const INEXACT: [&str; 26] = [
    "sin", "cos", "tan", "sin_cos", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "exp", "exp2", "exp_m1", "ln", "ln_1p", "log", "log2", "log10", "powf", "powi", "hypot", "cbrt",
];

/// A file and its package.
pub struct SourceFile<'a> {
    /// Its package's name.
    pub package: &'a str,
    /// Level of the package.
    pub level: PackageLevel,
    /// Its path relative to the root.
    pub path: &'a str,
    /// Its path inside the package.
    pub inside: &'a str,
    /// Its text.
    pub content: &'a str,
}

/// Checks every rule that applies to the file.
pub fn check(file: &SourceFile<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = check_length(file).into_iter().collect();
    if !file.is_product() {
        return findings;
    }
    let code = product_code(file.content);
    let deterministic = floors::is_deterministic(file.package, file.level);
    if !floors::owns_its_process(file.package) && !file.is_program() {
        findings.extend(find_words(file, &code, "environment", &ENVIRONMENT, |word| {
            format!("`{word}` belongs in a program's main file; pass the value in")
        }));
    }
    if deterministic {
        findings.extend(find_words(file, &code, "clocks", &CLOCKS, |word| {
            format!("`{word}` reads a clock; take the tick or the time as an argument")
        }));
        findings.extend(check_hashing(file, &code));
    }
    if file.level == PackageLevel::Rules {
        findings.extend(check_floats(file, &code));
    }
    findings.sort_by_key(|finding| (finding.line, finding.rule));
    // `std::env::var` contains two of the words; one finding per line and rule is enough.
    findings.dedup_by(|next, kept| next.line == kept.line && next.rule == kept.rule);
    findings
}

impl SourceFile<'_> {
    /// Tests, benches, examples and build scripts are not part of the product.
    fn is_product(&self) -> bool {
        let parts: Vec<&str> = self.inside.split('/').collect();
        parts[0] == "src" && !parts.iter().any(|part| *part == "tests" || *part == "tests.rs")
    }

    /// The file a program starts in.
    fn is_program(&self) -> bool {
        self.inside == "src/main.rs" || self.inside.starts_with("src/bin/")
    }

    fn finding(&self, line: usize, rule: &'static str, advice: String) -> Finding {
        Finding { path: self.path.to_owned(), line, rule, advice, warning: false }
    }
}

fn check_length(file: &SourceFile<'_>) -> Option<Finding> {
    let lines = file.content.lines().count();
    if lines <= LINES_WARNED {
        return None;
    }
    let warning = lines <= LINES_MAX;
    let advice = if warning {
        format!("{lines} lines; aim at {LINES_WARNED}, one subject per file")
    } else {
        format!("{lines} lines; split the file, at most {LINES_MAX} are accepted")
    };
    Some(Finding { warning, ..file.finding(lines, "length", advice) })
}

fn find_words<'a>(
    file: &SourceFile<'_>,
    code: &'a str,
    rule: &'static str,
    words: &'a [&'a str],
    advice: impl Fn(&str) -> String,
) -> Vec<Finding> {
    let found = |word: &&'a str| {
        let word = *word;
        occurrences(code, word).map(move |position| (position, word)).collect::<Vec<_>>()
    };
    words
        .iter()
        .flat_map(found)
        .map(|(position, word)| file.finding(line_at(code, position), rule, advice(word)))
        .collect()
}

fn check_hashing(file: &SourceFile<'_>, code: &str) -> Vec<Finding> {
    let advice = "the order of this map changes from run to run; use a fixed hasher, an ordered \
                  map or an index";
    default_hashers(code)
        .into_iter()
        .map(|position| file.finding(line_at(code, position), "hashing", advice.into()))
        .collect()
}

fn check_floats(file: &SourceFile<'_>, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for function in INEXACT {
        for position in occurrences(code, function) {
            let before = &code[..position];
            let after = &code[position + function.len()..];
            let is_method = before.ends_with('.') && after.starts_with('(');
            let is_path = before.ends_with("f32::") || before.ends_with("f64::");
            if is_method || is_path {
                let advice = format!("`{function}` of std differs between native and WASM; use libm's function");
                findings.push(file.finding(line_at(code, position), "floats", advice));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_in(package: &str, level: PackageLevel, inside: &str, content: &str) -> Vec<&'static str> {
        let file = SourceFile { package, level, path: inside, inside, content };
        check(&file).iter().map(|finding| finding.rule).collect()
    }

    fn check_world(content: &str) -> Vec<&'static str> {
        check_in("aether-world", PackageLevel::Floor(2), "src/lib.rs", content)
    }

    fn check_rules(content: &str) -> Vec<&'static str> {
        check_in("aether-sandbox-rules", PackageLevel::Rules, "src/lib.rs", content)
    }

    #[test]
    fn the_environment_is_for_programs() {
        let reads = "fn f() { let x = std::env::var(\"X\"); }";
        assert_eq!(check_world(reads), ["environment"]);
        assert_eq!(check_world("use std::{env, fs};\nfn f() { env::args(); }"), ["environment"]);
        assert_eq!(check_world("fn f() { std::process::exit(1) }"), ["environment"]);
        assert_eq!(check_in("aether-services", PackageLevel::Floor(5), "src/a.rs", reads), ["environment"]);
        assert!(check_in("aether-server", PackageLevel::Floor(7), "src/config.rs", reads).is_empty());
        assert!(check_in("aether-testkit", PackageLevel::Roof, "src/bin/sim.rs", reads).is_empty());
        assert!(check_in("aether-world", PackageLevel::Floor(2), "benches/a.rs", reads).is_empty());
        assert!(check_world("const VERSION: &str = env!(\"CARGO_PKG_VERSION\");").is_empty());
    }

    #[test]
    fn clocks_are_passed_in_up_to_floor_4() {
        let reads = "fn f() { let now = Instant::now(); }";
        assert_eq!(check_world(reads), ["clocks"]);
        assert_eq!(check_world("fn f(t: Instant) { t.elapsed(); }"), ["clocks"]);
        assert_eq!(check_rules("use std::time::SystemTime;"), ["clocks"]);
        assert!(check_world("fn f(now: Instant) {} // not Instant::now()").is_empty());
        assert!(check_in("aether-net", PackageLevel::Floor(5), "src/lib.rs", reads).is_empty());
        assert!(check_in("aether-world", PackageLevel::Floor(2), "tests/a.rs", reads).is_empty());
        assert!(check_world(&format!("#[cfg(test)]\nmod tests {{ {reads} }}")).is_empty());
    }

    #[test]
    fn hashed_maps_name_their_hasher_up_to_floor_4() {
        let random = "struct A { b: HashMap<u8, u8> }";
        assert_eq!(check_world(random), ["hashing"]);
        assert_eq!(check_rules(random), ["hashing"]);
        assert!(check_world("struct A { b: HashMap<u8, u8, Fixed> }").is_empty());
        assert!(check_in("aether-services", PackageLevel::Floor(5), "src/lib.rs", random).is_empty());
    }

    #[test]
    fn rules_take_inexact_float_functions_from_libm() {
        assert_eq!(check_rules("fn f(x: f32) -> f32 { x.sin() }"), ["floats"]);
        assert_eq!(check_rules("fn f(x: f32) -> f32 { f32::powf(x, 2.0) }"), ["floats"]);
        assert_eq!(check_rules("fn f(x: f64) -> f64 {\n    x\n        .ln_1p()\n}"), ["floats"]);
        assert!(check_rules("fn f(x: f32) -> f32 { libm::sinf(x).sqrt().abs() }").is_empty());
        assert!(check_rules("fn f(x: Turn) -> f32 { x.cos }").is_empty());
        assert!(check_world("fn f(x: f32) -> f32 { x.sin() }").is_empty());
    }

    #[test]
    fn long_files_warn_and_very_long_ones_fail() {
        let judge = |lines: usize| {
            let content = "\n".repeat(lines);
            let file = SourceFile {
                package: "aether-world",
                level: PackageLevel::Floor(2),
                path: "tests/a.rs",
                inside: "tests/a.rs",
                content: &content,
            };
            check(&file).first().map(|finding| finding.warning)
        };
        assert_eq!(judge(500), None);
        assert_eq!(judge(501), Some(true));
        assert_eq!(judge(800), Some(true));
        assert_eq!(judge(801), Some(false));
    }
}
