//! Writes the Rust code of the docs into one file that the library includes.
//!
//! Every block that is marked as Rust is compiled in a function of its own, so that it may contain items and statements
//! and may end with an expression. Names that a reader knows from the text are declared by an HTML comment right before
//! the block, which the pages do not show:
//!
//! ```text
//! <!-- compile with:
//! let room: &mut Context<'_> = todo!();
//! -->
//! ```
//!
//! If the comment has a line `{snippet}`, the block is put there, for example into an `impl`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const ROOT: &str = "../..";
const CONTEXT: &str = "<!-- compile with:";
/// Line of a context at which the block is inserted.
const PLACEHOLDER: &str = "{snippet}\n";

fn main() {
    let mut pages = vec![PathBuf::from(ROOT).join("README.md")];
    collect(&Path::new(ROOT).join("docs"), &mut pages);
    pages.sort();
    let mut code = String::new();
    for page in &pages {
        println!("cargo::rerun-if-changed={}", page.display());
        let text = fs::read_to_string(page).expect("a page is text");
        for block in blocks(&text) {
            write_block(&mut code, page, &block);
        }
    }
    let file = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("snippets.rs");
    fs::write(file, code).expect("the output folder can be written");
}

/// Collects the pages below a folder.
fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).expect("the docs are a folder") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// A block of code.
struct Block {
    /// Line of its first line of code, counted from 1.
    line: usize,
    /// Code that the reader does not see.
    context: String,
    /// Code of the page.
    code: String,
}

/// Reads the blocks of a page that are marked as Rust.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut context = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if line == CONTEXT {
            context = take_until(&mut lines, "-->");
        } else if let Some(language) = line.strip_prefix("```").filter(|language| !language.is_empty()) {
            let (code, context) = (take_until(&mut lines, "```"), std::mem::take(&mut context));
            assert!(
                !language.starts_with("rust,"),
                "line {}: mark Rust code as `rust`, so that it is compiled",
                index + 1
            );
            if language == "rust" {
                blocks.push(Block { line: index + 2, context, code });
            }
        }
    }
    blocks
}

fn take_until<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>, end: &str) -> String {
    lines.map(|(_, line)| line).take_while(|line| *line != end).fold(String::new(), |text, line| text + line + "\n")
}

fn write_block(code: &mut String, page: &Path, block: &Block) {
    let page = page.strip_prefix(ROOT).expect("pages are below the root").display().to_string();
    let name: String = page.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    // Inner doc comments are allowed only at the start of a file.
    let snippet = block.code.replace("//!", "//");
    let body = match block.context.contains(PLACEHOLDER) {
        true => block.context.replace(PLACEHOLDER, &snippet),
        false => format!("{}let _ = {{\n{snippet}}};\n", block.context),
    };
    let (name, line) = (name.to_ascii_lowercase(), block.line);
    let signature = format!("async fn {name}_{line}() -> Result<(), Box<dyn std::error::Error>>");
    writeln!(code, "// {page}, line {line}\n{signature} {{\n{body}Ok(())\n}}\n")
        .expect("writing to a string cannot fail");
}
