//! The reference page.

use super::Config;
use super::declare::Key;
use super::load::environment_name;
use std::fmt::Write;

const INTRODUCTION: &str = "# Configuration

Every setting of the server. `aether check --reference` writes this page from the program itself.

Values come from four layers, of which the later ones win: the defaults below, the TOML file (`--config`, else the file \
that `AETHER_CONFIG` names, else `aether.toml` if it is there), environment variables, and flags (`--set \
http.address=127.0.0.1:7350`, and `--data-dir`, `--address`, `--admin-address`, `--log` for the common ones).

A secret may also stand in a file that a variable with `_FILE` at its end names: `AETHER_HTTP_ADMIN_KEY_FILE` keeps the \
key itself out of the environment. In variables and flags, a list is separated by commas, and an empty value unsets what can \
be unset.

What is unknown or wrong is refused when the server starts, with its file and line, variable or flag. `aether check` \
tells the same without starting.
";

/// The reference of all settings, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (section, purpose, keys) in Config::sections() {
        if section.is_empty() {
            add(&mut page, "\n## Outside any section\n");
        } else {
            add(&mut page, &format!("\n## `[{section}]`\n\n{purpose}\n"));
        }
        table(&mut page, &keys, |key| environment_name(section, key));
    }
    for group in Config::groups() {
        add(&mut page, &format!("\n## `{}`\n\n{}\n", group.heading(), group.purpose));
        let section = format!("{}.<{}>", group.name, group.placeholder);
        table(&mut page, &group.keys, |key| environment_name(&section, key));
    }
    page
}

fn table(page: &mut String, keys: &[Key], variable: impl Fn(&str) -> String) {
    add(page, "\n| key | environment variable | default | value | meaning |\n|---|---|---|---|---|\n");
    for key in keys {
        let default = if key.default.is_empty() { "not set".to_owned() } else { format!("`{}`", key.default) };
        let (name, variable, expected) = (key.name, variable(key.name), key.expected.replace('|', "\\|"));
        let meaning = key.meaning.replace('|', "\\|");
        add(page, &format!("| `{name}` | `{variable}` | {default} | {expected} | {meaning} |\n"));
    }
}

fn add(page: &mut String, text: &str) {
    page.write_str(text).expect("writing to a string cannot fail");
}
