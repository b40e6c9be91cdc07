//! [`Sources`]: the modules of a folder at one moment.

use crate::error::{ErrorKind, ScriptError};
use mlua::chunk::Compiler;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// Most modules of a folder.
pub const MODULES_MAX: usize = 1_000;
/// Most bytes of one module.
pub const MODULE_BYTES_MAX: usize = 1 << 20;
/// Most bytes of all modules: they are part of a recording when a match is reloaded.
pub const SOURCES_BYTES_MAX: usize = 4 << 20;
/// Deepest folder below that of the modules.
const FOLDER_DEPTH_MAX: usize = 8;
/// Bytecode of Luau begins with its version. No text begins with such a character (tab is the first that could).
const BYTECODE_VERSION_MAX: u8 = 8;
/// First byte of the bytecode of Lua 5.1.
const BYTECODE_SIGNATURE: u8 = 0x1b;
/// Names that are modules of the server.
pub(crate) const BUILT_IN: [&str; 2] = ["aether", "nakama"];

/// Modules by name. `shop/items.lua` is the module `shop.items`.
#[derive(Default)]
pub struct Sources {
    folder: Option<PathBuf>,
    modules: BTreeMap<String, Source>,
}

struct Source {
    text: Arc<str>,
    bytecode: OnceLock<Result<Arc<[u8]>, ScriptError>>,
}

impl Sources {
    /// Reads all files `*.lua` and `*.luau` of a folder and its subfolders.
    pub fn read(folder: &Path) -> Result<Sources, ScriptError> {
        let mut sources = Sources { folder: Some(folder.to_owned()), modules: BTreeMap::new() };
        let mut files = Vec::new();
        collect(folder, 0, &mut files)?;
        files.sort();
        let mut bytes = 0;
        for file in files {
            let Some(name) = module_name(folder, &file) else { continue };
            let bytes_read = std::fs::read(&file).map_err(|error| unreadable(&file, &error))?;
            let text = text_of(&name, bytes_read)?;
            bytes += text.len();
            if text.len() > MODULE_BYTES_MAX || bytes > SOURCES_BYTES_MAX {
                let sentence = format!(
                    "module `{name}` is too large: a module may have {MODULE_BYTES_MAX} bytes, and all together \
                     {SOURCES_BYTES_MAX}"
                );
                return Err(ScriptError::invalid(sentence));
            }
            sources.add(&name, &text)?;
        }
        Ok(sources)
    }

    /// Reads a folder, which may be missing, and adds the modules of the program that the folder does not have.
    pub fn read_with(folder: &Path, built_in: &[(&str, &str)]) -> Result<Sources, ScriptError> {
        let mut sources = match built_in.is_empty() || folder.is_dir() {
            true => Sources::read(folder)?,
            false => Sources { folder: Some(folder.to_owned()), modules: BTreeMap::new() },
        };
        for (name, text) in built_in {
            if !sources.modules.contains_key(*name) {
                sources.add(name, text)?;
            }
        }
        Ok(sources)
    }

    /// Returns the sources of texts by module name, without a folder.
    pub fn of(modules: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>) -> Result<Sources, ScriptError> {
        let mut sources = Sources::default();
        for (name, text) in modules {
            sources.add(name.as_ref(), text.as_ref())?;
        }
        Ok(sources)
    }

    fn add(&mut self, name: &str, text: &str) -> Result<(), ScriptError> {
        if BUILT_IN.contains(&name) {
            let sentence = format!("the module name `{name}` belongs to the server; rename the file");
            return Err(ScriptError::invalid(sentence));
        }
        refuse_bytecode(name, text.as_bytes())?;
        if self.modules.len() >= MODULES_MAX {
            return Err(ScriptError::invalid(format!("the folder has more than {MODULES_MAX} modules")));
        }
        let source = Source { text: text.into(), bytecode: OnceLock::new() };
        if self.modules.insert(name.to_owned(), source).is_some() {
            let sentence = format!("module `{name}` exists as .lua and as .luau; remove one of the files");
            return Err(ScriptError::invalid(sentence));
        }
        Ok(())
    }

    /// Returns the folder, if the sources come from one.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the names of the modules, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.modules.keys().map(String::as_str)
    }

    /// Returns true if there is a module of this name; `shop/items` also names `shop.items`.
    #[must_use]
    pub fn contains(&self, module: &str) -> bool {
        self.modules.contains_key(module) || self.modules.contains_key(&module.replace('/', "."))
    }

    /// Returns the text of a module.
    #[must_use]
    pub fn text(&self, module: &str) -> Option<&Arc<str>> {
        self.modules.get(module).map(|source| &source.text)
    }

    /// Returns the compiled module. It is compiled once.
    pub(crate) fn bytecode(&self, module: &str) -> Result<Arc<[u8]>, ScriptError> {
        // Scripts of other servers also write `require("shop/items")`.
        let name = module.replace('/', ".");
        let source = self.modules.get(module).or_else(|| self.modules.get(&name)).ok_or_else(|| {
            let sentence =
                format!("module `{module:.80}` was not found; it must be a file in the folder of the modules");
            ScriptError::new(ErrorKind::Missing, sentence)
        })?;
        source.bytecode.get_or_init(|| compile(module, &source.text)).clone()
    }
}

/// Names, sizes and times of the files of a folder: it changes when a file does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    files: Vec<(PathBuf, u64, Option<SystemTime>)>,
}

impl Fingerprint {
    /// Takes the fingerprint of a folder. What cannot be read is left out.
    pub fn of(folder: &Path) -> Fingerprint {
        let mut files = Vec::new();
        // The part that was read before an error counts.
        let _ = collect(folder, 0, &mut files);
        files.sort();
        let file = |path: PathBuf| {
            let metadata = std::fs::metadata(&path).ok()?;
            Some((path, metadata.len(), metadata.modified().ok()))
        };
        Fingerprint { files: files.into_iter().filter_map(file).collect() }
    }
}

/// Compiles a module. Line and function names stay in it for errors.
fn compile(name: &str, text: &str) -> Result<Arc<[u8]>, ScriptError> {
    let compiler = Compiler::new().set_optimization_level(1).set_debug_level(1);
    match compiler.compile(text) {
        Ok(bytecode) => Ok(bytecode.into()),
        Err(error) => {
            let text = error.to_string();
            // The compiler knows no name, and begins with the line.
            let text = text.strip_prefix("syntax error: ").unwrap_or(&text);
            let text = format!("{name}:{}", text.trim_start_matches(':'));
            Err(ScriptError::of_text(ErrorKind::Syntax, &text))
        }
    }
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), ScriptError> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        let kind = entry.file_type().map_err(|error| unreadable(folder, &error))?;
        let path = entry.path();
        if kind.is_dir() && depth < FOLDER_DEPTH_MAX {
            collect(&path, depth + 1, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|it| it == "lua" || it == "luau") {
            files.push(path);
        }
    }
    Ok(())
}

fn text_of(name: &str, bytes: Vec<u8>) -> Result<String, ScriptError> {
    refuse_bytecode(name, &bytes)?;
    String::from_utf8(bytes).map_err(|_| ScriptError::invalid(format!("module `{name}` is not text in UTF-8")))
}

fn refuse_bytecode(name: &str, bytes: &[u8]) -> Result<(), ScriptError> {
    if bytes.first().is_some_and(|first| *first <= BYTECODE_VERSION_MAX || *first == BYTECODE_SIGNATURE) {
        return Err(ScriptError::invalid(format!("module `{name}` is bytecode; only the text of a module is loaded")));
    }
    Ok(())
}

fn module_name(folder: &Path, file: &Path) -> Option<String> {
    let relative = file.strip_prefix(folder).ok()?.with_extension("");
    let parts: Option<Vec<&str>> = relative.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("."))
}

fn unreadable(path: &Path, error: &std::io::Error) -> ScriptError {
    ScriptError::invalid(format!("cannot read {}: {error}", path.display()))
}
