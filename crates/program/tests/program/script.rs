//! `aether script`: exit codes, and what is printed.

use crate::support::program;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Folder of modules, which is removed at the end.
struct Modules(PathBuf);

impl Drop for Modules {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Modules {
    fn new(modules: &[(&str, &str)]) -> Modules {
        let folder = std::env::temp_dir().join(format!("aether-modules-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir_all(&folder).expect("the folder is created");
        for (name, text) in modules {
            std::fs::write(folder.join(name), text).expect("the module is written");
        }
        Modules(folder)
    }

    /// Runs `aether script` with arguments; `$` stands for the folder.
    fn run(&self, arguments: &[&str]) -> (bool, String, String) {
        let folder = self.0.to_str().expect("the folder is text");
        let arguments = arguments.iter().map(|argument| argument.replace('$', folder));
        let output = Command::new(program()).arg("script").args(arguments).current_dir(&self.0).output();
        let Output { status, stdout, stderr } = output.expect("the program starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace(folder, "$");
        (status.success(), text(stdout), text(stderr))
    }
}

const SHOP: &str = r#"
local nk = require("nakama")
local prices = require("prices")
local shop = {}
function shop.price(item)
    return prices[item]
end
function shop.fail()
    local nothing = nil
    return nothing.field
end
nk.register_rpc(function(context, payload)
    nk.logger_info("buying " .. payload)
    return nk.json_encode({ sold = #nk.storage_read({ { collection = "sold", key = payload } }) })
end, "buy")
return shop
"#;

#[test]
fn a_module_and_its_functions_run_with_a_database_in_memory() {
    let modules = Modules::new(&[("shop.lua", SHOP), ("prices.luau", "return { sword = 30 }")]);
    assert_eq!(modules.run(&["run", "$/prices.luau"]), (true, "{\"sword\":30}\n".to_owned(), String::new()));
    assert_eq!(modules.run(&["run", "$/shop.lua", "price", "sword"]), (true, "30\n".to_owned(), String::new()));
    let (is_success, printed, logged) = modules.run(&["run", "$/shop.lua", "buy", "shield"]);
    assert_eq!((is_success, printed.as_str()), (true, "{\"sold\":0}\n"), "{logged}");
    assert!(logged.contains("buying shield"), "{logged}");

    let (is_success, printed, error) = modules.run(&["run", "$/shop.lua", "fail"]);
    assert_eq!((is_success, printed.as_str()), (false, ""));
    assert!(error.contains("shop:10: attempt to index nil with 'field'\n  shop:10"), "{error}");
    let (is_success, _, error) = modules.run(&["run", "$/shop.lua", "buyy"]);
    assert!(!is_success && error.contains("did you mean `buy`?"), "{error}");
    let (is_success, _, error) = modules.run(&["run", "$/nothing.lua"]);
    assert!(!is_success && error.starts_with("Cannot read $/nothing.lua"), "{error}");
}

#[test]
fn problems_are_listed_with_file_and_line() {
    let modules = Modules::new(&[("shop.lua", SHOP), ("prices.luau", "return {}")]);
    let (is_success, printed, error) = modules.run(&["check", "$"]);
    assert!(is_success && printed == "2 modules are valid.\n", "{printed}{error}");

    let bad = "local nk = require('nakama')\nnk.storage_raed({})\nnk.json_decode(5)\nrequire('pricse')\n";
    let modules = Modules::new(&[("bad.lua", bad), ("half.lua", "local x =\n"), ("prices.lua", "return {}")]);
    let (is_success, _, error) = modules.run(&["check", "$"]);
    let expected = [
        "$/bad.lua:2: nk.storage_raed does not exist; did you mean `storage_read`?",
        "$/bad.lua:3: argument 1 (`jsonString`) of nk.json_decode must be a string, got a number",
        "$/bad.lua:4: module `pricse` was not found; did you mean `prices`?",
    ];
    assert!(!is_success && error.starts_with(&expected.join("\n")), "{error}");
    assert!(error.contains("\n$/half.lua:"), "{error}");

    let modules = Modules::new(&[("late.lua", "local config = nil\nreturn config.price")]);
    let (is_success, _, error) = modules.run(&["check", "$"]);
    assert!(!is_success && error.contains("late:2: attempt to index nil with 'price'"), "{error}");
}

#[test]
fn types_and_reference_are_printed() {
    let modules = Modules::new(&[]);
    let (is_success, types, _) = modules.run(&["types"]);
    assert!(is_success && types.contains("\ndeclare nk: Nakama\n") && types.contains("export type StorageObject = {"));
    let (is_success, reference, _) = modules.run(&["reference"]);
    assert!(is_success && reference.starts_with("# Functions of Lua scripts\n"));
}
