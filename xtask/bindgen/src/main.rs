//! Makes a module that scripts can load out of a crate that was built for the browser: `xtask-bindgen INPUT.wasm FOLDER
//! NAME`. It stands apart from the menu, so that what needs no module does not compile it.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, folder, name] = arguments.as_slice() else {
        eprintln!("usage: xtask-bindgen INPUT.wasm FOLDER NAME");
        return ExitCode::from(2);
    };
    match make(input, Path::new(folder), name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{input} makes no module: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn make(input: &str, folder: &Path, name: &str) -> Result<(), Box<dyn Error>> {
    let mut bindgen = Bindgen::new();
    // What names functions and tools is only weight in a page.
    bindgen.input_path(input).out_name(name).remove_name_section(true).remove_producers_section(true);
    bindgen.web(true)?.typescript(true).generate(folder)?;
    // Whoever compiles for browsers of today has no type for this symbol, and would not compile at all.
    let types = folder.join(format!("{name}.d.ts"));
    let text = std::fs::read_to_string(&types)?;
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("[Symbol.dispose]()")).collect();
    std::fs::write(&types, kept.join("\n") + "\n")?;
    Ok(())
}
