//! `aether admin values`: remote values of clients.

use super::{AdminCall, AnswerForm, encoded};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Actions of `aether admin values`. A remote value is named by its key.
#[derive(clap::Subcommand, Clone, Debug)]
pub enum ValuesAction {
    /// List remote values with their rules, by key
    List {
        /// Number of values, up to 100
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// Cursor of an earlier list
        #[arg(long, default_value = "")]
        cursor: String,
    },
    /// Show a remote value with its rules
    Show {
        /// Key
        key: String,
    },
    /// Set a remote value; clients that watch the values learn of it at once
    Set {
        /// Key
        key: String,
        /// Value for players whom no rule applies to, as JSON
        value: String,
        /// File with the rules, as JSON [default: no rules]
        #[arg(long)]
        rules: Option<PathBuf>,
    },
    /// Delete a remote value
    Delete {
        /// Key
        key: String,
    },
}

impl ValuesAction {
    pub(super) fn call(&self) -> Result<AdminCall, String> {
        use AnswerForm::{Record, Table};
        let path = |key: &str| format!("/api/values/{}", encoded(key));
        Ok(match self {
            ValuesAction::List { limit, cursor } => {
                AdminCall::get(format!("/api/values?limit={limit}&cursor={}", encoded(cursor)), Table("values"))
            }
            ValuesAction::Show { key } => AdminCall::get(path(key), Record),
            ValuesAction::Set { key, value, rules } => {
                let value = parse("The value", value)?;
                let rules = rules.as_deref().map_or(Ok(json!([])), read_rules)?;
                AdminCall::post(path(key), json!({ "value": value, "rules": rules }), Record)
            }
            ValuesAction::Delete { key } => AdminCall::delete(path(key), Record),
        })
    }
}

fn read_rules(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("The rules cannot be read from {}: {error}.", path.display()))?;
    parse("The file of the rules", &text)
}

fn parse(what: &str, text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| {
        format!("{what} is not JSON: {error}. A text is written with quotation marks, such as '\"red\"'.")
    })
}
