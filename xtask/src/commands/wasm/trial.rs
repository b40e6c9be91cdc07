//! The trials of games' rules: the same hash in the browser's machine as natively.

use std::path::Path;
use std::process::Command;

use super::{MODULES, PROFILE, TARGET, Toolchain};
use crate::failure::{Failure, Outcome};
use crate::process;
use crate::project::Project;

/// Games whose rules have an example `<game>-trial` and a test with its expected hash.
const GAMES: &[&str] = &["arena", "outpost"];

/// The script that runs one in Node.
const SCRIPT: &str = "games/outpost/trial.mjs";

/// The script that compares the sandbox's golden run, tick by tick.
const TURNING_SCRIPT: &str = "games/sandbox/turning.mjs";

/// Values that the tests of the rules use as well.
const SEED: &str = "20260101";
const TICKS: &str = "10000";

/// Builds every trial and runs it.
pub fn run_all(project: &Project, toolchain: Toolchain) -> Outcome {
    let mut build = toolchain.build(project);
    build.args(["--profile", PROFILE, "--lib"]);
    // Together with the packages of the modules, because another selection has other features and another build.
    build.args(MODULES.iter().flat_map(|module| ["--package", module.package]));
    for game in GAMES {
        build.args(["--package", &format!("aether-{game}-rules"), "--example", &format!("{game}-trial")]);
    }
    build.args(["--package", "aether-sandbox-rules", "--example", "sandbox-turning"]);
    process::compile(&mut build)?;
    let examples = toolchain.folder(project).join(TARGET).join(PROFILE).join("examples");
    for game in GAMES {
        let module = built(&examples, game, "trial")?;
        let hash = pinned(&project.root, game)?;
        let mut node = Command::new("node");
        node.current_dir(&project.root).arg(SCRIPT).arg(module);
        process::run(node.args([&format!("{game}_trial"), SEED, TICKS, &hash]))?;
    }
    let module = built(&examples, "sandbox", "turning")?;
    process::run(Command::new("node").current_dir(&project.root).arg(TURNING_SCRIPT).arg(module))
}

/// Cargo writes a library of an example by either name, depending on its version.
fn built(examples: &Path, game: &str, kind: &str) -> Result<std::path::PathBuf, Failure> {
    let names = [format!("{game}_{kind}.wasm"), format!("{game}-{kind}.wasm")];
    let found = names.iter().map(|name| examples.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| Failure::new(format!("the {kind} of {game} is not in {}", examples.display())))
}

/// Returns the hash that the native test expects, as sixteen digits.
fn pinned(root: &Path, game: &str) -> Result<String, Failure> {
    let path = root.join(format!("games/{game}/rules/tests/trial.rs"));
    let source =
        std::fs::read_to_string(&path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    hash_in(&source).ok_or_else(|| Failure::new(format!("{} has no line `const HASH: u64 = 0x…;`", path.display())))
}

fn hash_in(source: &str) -> Option<String> {
    let (_, rest) = source.split_once("const HASH: u64 = 0x")?;
    let (digits, _) = rest.split_once(';')?;
    let digits = digits.replace('_', "");
    (digits.len() == 16).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pinned_hash_is_read_from_the_test() {
        let source = "/// What it is.\nconst HASH: u64 = 0x0123_4567_89ab_cdef;\n";
        assert_eq!(hash_in(source).as_deref(), Some("0123456789abcdef"));
        assert_eq!(hash_in("const HASH: u64 = 7;"), None);
    }
}
