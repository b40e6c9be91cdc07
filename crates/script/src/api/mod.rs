//! Functions of the modules `aether` and `nk`: one file per noun.

mod account;
mod authenticate;
mod bracket;
mod chat;
mod configuration;
mod crypto;
mod encoding;
mod event;
mod friend;
mod group;
mod http;
mod leaderboard;
mod link;
mod logger;
mod matches;
mod matchmaker;
mod metrics;
mod moderation;
mod notification;
mod party;
mod purchase;
mod register;
mod remote_value;
mod session;
mod sql;
mod status;
mod storage;
mod stream;
mod table;
mod tournament;
mod user;
mod utility;
mod wallet;
mod world;

use crate::function::{Function, Modules};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Functions of one noun, with the Luau types that they use.
pub(crate) struct Noun {
    /// Name, which is that of its file.
    pub name: &'static str,
    /// Type declarations in Luau.
    pub types: &'static str,
    /// Functions.
    pub functions: &'static [Function],
}

/// All nouns.
pub(crate) const NOUNS: &[Noun] = &[
    Noun { name: "account", types: account::TYPES, functions: account::FUNCTIONS },
    Noun { name: "authenticate", types: authenticate::TYPES, functions: authenticate::FUNCTIONS },
    Noun { name: "bracket", types: bracket::TYPES, functions: bracket::FUNCTIONS },
    Noun { name: "chat", types: chat::TYPES, functions: chat::FUNCTIONS },
    Noun { name: "configuration", types: configuration::TYPES, functions: configuration::FUNCTIONS },
    Noun { name: "crypto", types: crypto::TYPES, functions: crypto::FUNCTIONS },
    Noun { name: "encoding", types: encoding::TYPES, functions: encoding::FUNCTIONS },
    Noun { name: "event", types: event::TYPES, functions: event::FUNCTIONS },
    Noun { name: "friend", types: friend::TYPES, functions: friend::FUNCTIONS },
    Noun { name: "group", types: group::TYPES, functions: group::FUNCTIONS },
    Noun { name: "http", types: http::TYPES, functions: http::FUNCTIONS },
    Noun { name: "leaderboard", types: leaderboard::TYPES, functions: leaderboard::FUNCTIONS },
    Noun { name: "link", types: link::TYPES, functions: link::FUNCTIONS },
    Noun { name: "logger", types: logger::TYPES, functions: logger::FUNCTIONS },
    Noun { name: "matches", types: matches::TYPES, functions: matches::FUNCTIONS },
    Noun { name: "matchmaker", types: matchmaker::TYPES, functions: matchmaker::FUNCTIONS },
    Noun { name: "metrics", types: metrics::TYPES, functions: metrics::FUNCTIONS },
    Noun { name: "moderation", types: moderation::TYPES, functions: moderation::FUNCTIONS },
    Noun { name: "notification", types: notification::TYPES, functions: notification::FUNCTIONS },
    Noun { name: "party", types: party::TYPES, functions: party::FUNCTIONS },
    Noun { name: "purchase", types: purchase::TYPES, functions: purchase::FUNCTIONS },
    Noun { name: "register", types: register::TYPES, functions: register::FUNCTIONS },
    Noun { name: "remote_value", types: remote_value::TYPES, functions: remote_value::FUNCTIONS },
    Noun { name: "session", types: session::TYPES, functions: session::FUNCTIONS },
    Noun { name: "sql", types: sql::TYPES, functions: sql::FUNCTIONS },
    Noun { name: "status", types: status::TYPES, functions: status::FUNCTIONS },
    Noun { name: "storage", types: storage::TYPES, functions: storage::FUNCTIONS },
    Noun { name: "stream", types: stream::TYPES, functions: stream::FUNCTIONS },
    Noun { name: "tournament", types: tournament::TYPES, functions: tournament::FUNCTIONS },
    Noun { name: "user", types: user::TYPES, functions: user::FUNCTIONS },
    Noun { name: "utility", types: utility::TYPES, functions: utility::FUNCTIONS },
    Noun { name: "wallet", types: wallet::TYPES, functions: wallet::FUNCTIONS },
    Noun { name: "world", types: world::TYPES, functions: world::FUNCTIONS },
];

/// Functions with their index, which identifies a function in requests of a running VM.
struct Table {
    functions: Vec<&'static Function>,
    aether: HashMap<&'static str, usize>,
    nk: HashMap<&'static str, usize>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let functions: Vec<&'static Function> = NOUNS.iter().flat_map(|noun| noun.functions).collect();
        let names = |without: Modules| {
            let has = move |function: &&&Function| function.modules != without;
            let indexed = functions.iter().enumerate();
            indexed.filter(move |(_, function)| has(function)).map(|(index, function)| (function.name, index)).collect()
        };
        Table { aether: names(Modules::Nk), nk: names(Modules::Aether), functions }
    })
}

/// Finds a function of a module, with its index.
pub(crate) fn find(name: &str, is_nk: bool) -> Option<(usize, &'static Function)> {
    let table = table();
    let names = if is_nk { &table.nk } else { &table.aether };
    let index = *names.get(name)?;
    Some((index, table.functions[index]))
}

/// Returns the names of the functions of a module.
pub(crate) fn names(is_nk: bool) -> impl Iterator<Item = &'static str> {
    let names = if is_nk { &table().nk } else { &table().aether };
    names.keys().copied()
}

/// Returns the function with an index.
pub(crate) fn function_at(index: usize) -> Option<&'static Function> {
    table().functions.get(index).copied()
}
