//! Registration of functions that the server calls. They take effect while modules load.

use crate::function::{Function, Modules, Parameter, optional, required};
use crate::hook_name::{HookName, request_operation, socket_operation};
use crate::registrations::{RegistrationKind, SINGLE};
use crate::vm::VmState;
use aether_services::calls::check_route;
use aether_services::storage::IndexDefinition;
use mlua::MultiValue;
use std::sync::Arc;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type Context = {
    env: {[string]: string},
    execution_mode: string,
    node: string,
    version: string,
    headers: {[string]: {string}},
    query_params: {[string]: {string}},
    user_id: string?,
    username: string?,
    vars: {[string]: string},
    user_session_exp: number?,
    session_id: string?,
    lang: string?,
    client_ip: string?,
    client_port: string?,
    trace_id: string?,
}
type HookMessage = {[string]: any}
type HookBefore = (context: Context, request: HookMessage) -> HookMessage?
type HookAfter = (context: Context, answer: HookMessage, request: HookMessage) -> ()
type MatchedUser = {
    presence: { user_id: string, session_id: string, username: string, node: string },
    properties: {[string]: any},
    party_id: string?,
}
type HttpRequest = {
    method: string,
    path: string,
    headers: {[string]: {string}},
    query: {[string]: {string}},
    body: string,
}
type HttpAnswer = { status: number?, headers: {[string]: string}?, body: string? }
type PeriodLeaderboard = {[string]: any}
";

const RPC: &str = "(context: Context, payload: string) -> string?";
const PERIOD: &str = "(context: Context, board: PeriodLeaderboard, expiry: number) -> ()";
const TOURNAMENT: &str = "(context: Context, tournament: PeriodLeaderboard, end_time: number, expiry: number) -> ()";

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::native("register_rpc", |_, state, args| {
        add_named(state, args, false, |name| Ok((RegistrationKind::Rpc, name.to_ascii_lowercase())))
    })
    .about("Registers a function that clients call by name: `POST /v2/rpc/{id}`, or over the socket.")
    .parameters(&[
        required("fn", RPC, "Function that is called."),
        required("id", "string", "Name of the function for clients; upper and lower case are equal."),
    ])
    .only_in(Modules::Nk),
    Function::native("register_rpc", |_, state, args| {
        add_named(state, args, true, |name| Ok((RegistrationKind::Rpc, name.to_ascii_lowercase())))
    })
    .about("Registers a function that clients call by name: `POST /v2/rpc/{name}`, or over the socket.")
    .parameters(&[
        required("name", "string", "Name of the function for clients; upper and lower case are equal."),
        required("fn", RPC, "Function that is called."),
    ])
    .only_in(Modules::Aether),
    Function::native("register_req_before", |_, state, args| {
        add_named(state, args, false, |name| Ok((RegistrationKind::Before, request_operation(name)?.to_owned())))
    })
    .about("Registers a function that runs before an operation. It may change the request, raise an error, or return nil.")
    .parameters(OPERATION_BEFORE)
    .only_in(Modules::Nk),
    Function::native("register_req_after", |_, state, args| {
        add_named(state, args, false, |name| Ok((RegistrationKind::After, request_operation(name)?.to_owned())))
    })
    .about("Registers a function that runs after a successful operation, before its answer is sent.")
    .parameters(OPERATION_AFTER)
    .only_in(Modules::Nk),
    Function::native("register_rt_before", |_, state, args| {
        add_named(state, args, false, |name| Ok((RegistrationKind::SocketBefore, socket_operation(name)?.to_owned())))
    })
    .about("Registers a function that runs before a message of the socket is handled, with the message's envelope.")
    .parameters(OPERATION_BEFORE)
    .only_in(Modules::Nk),
    Function::native("register_rt_after", |_, state, args| {
        add_named(state, args, false, |name| Ok((RegistrationKind::SocketAfter, socket_operation(name)?.to_owned())))
    })
    .about("Registers a function that runs after a message of the socket was handled, with both envelopes.")
    .parameters(OPERATION_AFTER)
    .only_in(Modules::Nk),
    Function::native("register_hook", |_, state, args| add_named(state, args, true, HookName::parse))
        .about(
            "Registers a function for an event of the server: `before:<operation>` and `after:<operation>` with the name of \
             an operation or of a message of the socket, `matchmaker_matched`, `session_start`, `session_end`, `event`, \
             `leaderboard_reset`, `tournament_end`, `tournament_reset` or `shutdown`.",
        )
        .parameters(&[
            required("name", "string", "Event, such as `before:WriteStorageObjects` or `session_start`."),
            required("fn", "(...any) -> any", "Function that is called; its arguments depend on the event."),
        ])
        .only_in(Modules::Aether),
    single(Function::native("register_matchmaker_matched", |_, state, args| {
        add_single(state, args, RegistrationKind::MatchmakerMatched)
    }))
    .about("Registers a function that decides on matched players: it returns the id of a match, or nil for a relayed match.")
    .parameters(&[required("fn", "(context: Context, users: {MatchedUser}) -> string?", "Function that is called.")]),
    single(Function::native("register_leaderboard_reset", |_, state, args| {
        add_single(state, args, RegistrationKind::LeaderboardReset)
    }))
    .about("Registers a function that runs when a period of a leaderboard has ended.")
    .parameters(&[required("fn", PERIOD, "Function that is called.")]),
    single(Function::native("register_tournament_end", |_, state, args| add_single(state, args, RegistrationKind::TournamentEnd)))
        .about("Registers a function that runs when the active time of a tournament has ended.")
        .parameters(&[required("fn", TOURNAMENT, "Function that is called.")]),
    single(Function::native("register_tournament_reset", |_, state, args| {
        add_single(state, args, RegistrationKind::TournamentReset)
    }))
    .about("Registers a function that runs when a tournament was reset.")
    .parameters(&[required("fn", TOURNAMENT, "Function that is called.")]),
    single(Function::native("register_shutdown", |_, state, args| add_single(state, args, RegistrationKind::Shutdown)))
        .about("Registers a function that runs when the server stops, for at most a few seconds.")
        .parameters(&[required("fn", "(context: Context) -> ()", "Function that is called.")]),
    Function::native("run_once", |_, state, args| {
        let [function] = functions(args)?;
        registered(state.registrations().add_once(function))
    })
    .about("Runs a function once at the start of the server, after all modules are loaded; not in every VM, and not again at a reload.")
    .parameters(&[required("fn", "(context: Context) -> ()", "Function that is called.")]),
    Function::native("register_schedule", |_, state, args| {
        let mut args = args.into_iter();
        let (schedule, function, name) = (args.next(), args.next(), args.next());
        let (Some(mlua::Value::String(schedule)), Some(mlua::Value::Function(function)), Some(mlua::Value::String(name))) =
            (schedule, function, name)
        else {
            return Err(mlua::Error::runtime("expected a schedule, a function and its name"));
        };
        let (schedule, name) = (schedule.to_string_lossy(), name.to_string_lossy());
        registered(state.registrations().add_schedule(&name, &schedule, function))
    })
    .about("Registers a function that runs at times of a schedule (cron, UTC), once for each time over all servers of a database.")
    .parameters(&[
        required("cron", "string", "Minute, hour, day of month, month and day of week, such as `0 0 * * 1`."),
        required("fn", "(context: Context, time: number) -> ()", "Function that is called with its time in seconds since 1970."),
        required("name", "string", "Name, under which the last run is noted."),
    ])
    .only_in(Modules::Aether),
    Function::native("register_http", |_, state, args| {
        let mut args = args.into_iter();
        let (method, path, function) = (args.next(), args.next(), args.next());
        let (Some(mlua::Value::String(method)), Some(mlua::Value::String(path)), Some(mlua::Value::Function(function))) =
            (method, path, function)
        else {
            return Err(mlua::Error::runtime("expected a method, a path and a function"));
        };
        let path = path.to_string_lossy();
        let method = check_route(&method.to_string_lossy(), &path).map_err(|error| mlua::Error::runtime(error.message))?;
        registered(state.registrations().add(RegistrationKind::Route, &format!("{method} {path}"), function))
    })
    .about("Registers a function that answers HTTP requests below `/custom`, without a user.")
    .parameters(&[
        required("method", "string", "Method, such as `POST`."),
        required("path", "string", "Path below `/custom`, such as `/shop/paid`; with `/*` at the end for all paths below."),
        required("fn", "(context: Context, request: HttpRequest) -> HttpAnswer | string | nil", "Function that is called."),
    ])
    .only_in(Modules::Aether),
    Function::native("register_storage_index", |_, state, args| {
        registered(state.registrations().add_index(index_definition(args)?))
    })
    .about("Registers an index of stored objects, which `storage_index_list` searches.")
    .parameters(&[
        required("indexName", "string", "Name of the index."),
        required("collection", "string", "Collection of the objects."),
        optional("key", "string", "Key of the objects; all keys by default."),
        required("fields", "{string}", "Fields of the objects that queries can use."),
        optional("sortableFields", "{string}", "Fields that lists can be sorted by."),
        required("maxEntries", "number", "Maximum number of entries."),
        optional("indexOnly", "boolean", "True if lists are answered from memory, with the fields of the index only."),
    ]),
    Function::native("register_storage_index_filter", |_, state, args| {
        add_named(state, args, true, |name| Ok((RegistrationKind::IndexFilter, name.to_owned())))
    })
    .about("Registers a function that decides which objects are in a storage index. It cannot call services.")
    .parameters(&[
        required("indexName", "string", "Name of the index."),
        required("fn", "(context: Context, object: StorageObject) -> boolean", "Function that is called."),
    ]),
];

const OPERATION_BEFORE: &[Parameter] = &[
    required("fn", "HookBefore", "Function that is called."),
    required("id", "string", "Name of the operation or message, such as `WriteStorageObjects` or `ChannelJoin`."),
];
const OPERATION_AFTER: &[Parameter] = &[
    required("fn", "HookAfter", "Function that is called."),
    required("id", "string", "Name of the operation or message, such as `WriteStorageObjects` or `ChannelJoin`."),
];

/// Declares a function of `nk` for an event that has one function. `aether.register_hook` has the same by name.
const fn single(function: Function) -> Function {
    function.only_in(Modules::Nk)
}

/// Adds a function under the kind and name that `parse` returns. `is_name_first` tells the order of the arguments.
fn add_named(
    state: &Arc<VmState>,
    args: MultiValue,
    is_name_first: bool,
    parse: fn(&str) -> Result<(RegistrationKind, String), String>,
) -> mlua::Result<MultiValue> {
    let mut args = args.into_iter();
    let (first, second) = (args.next(), args.next());
    let (name, function) = if is_name_first { (first, second) } else { (second, first) };
    let (Some(mlua::Value::String(name)), Some(mlua::Value::Function(function))) = (name, function) else {
        let expected =
            if is_name_first { "expected a name and a function" } else { "expected a function and its name" };
        return Err(mlua::Error::runtime(expected));
    };
    let (kind, name) = parse(&name.to_string_lossy()).map_err(mlua::Error::runtime)?;
    registered(state.registrations().add(kind, &name, function))
}

fn add_single(state: &Arc<VmState>, args: MultiValue, kind: RegistrationKind) -> mlua::Result<MultiValue> {
    let [function] = functions(args)?;
    registered(state.registrations().add(kind, SINGLE, function))
}

fn functions(args: MultiValue) -> mlua::Result<[mlua::Function; 1]> {
    match args.into_iter().next() {
        Some(mlua::Value::Function(function)) => Ok([function]),
        _ => Err(mlua::Error::runtime("expected a function")),
    }
}

fn registered(outcome: Result<(), String>) -> mlua::Result<MultiValue> {
    outcome.map(|()| MultiValue::new()).map_err(mlua::Error::runtime)
}

fn index_definition(args: MultiValue) -> mlua::Result<IndexDefinition> {
    let expected = || {
        mlua::Error::runtime(
            "expected a name, a collection, a key or nil, fields, sortable fields, a number of entries and a boolean",
        )
    };
    let text =
        |value: Option<&mlua::Value>| value.and_then(|value| value.as_string()).map(|text| text.to_string_lossy());
    let texts = |value: Option<&mlua::Value>| match value {
        None | Some(mlua::Value::Nil) => Ok(Vec::new()),
        Some(mlua::Value::Table(table)) => table.sequence_values::<String>().collect::<mlua::Result<Vec<_>>>(),
        Some(_) => Err(expected()),
    };
    let (name, collection) = (text(args.front()).ok_or_else(expected)?, text(args.get(1)).ok_or_else(expected)?);
    let mut definition = IndexDefinition::new(name, collection, texts(args.get(3))?).sortable(texts(args.get(4))?);
    if let Some(key) = text(args.get(2)).filter(|key| !key.is_empty()) {
        definition = definition.of_key(key);
    }
    if let Some(entries) = args.get(5).and_then(mlua::Value::as_usize) {
        definition = definition.entries_max(entries);
    }
    Ok(if args.get(6).is_some_and(|value| value.as_boolean() == Some(true)) {
        definition.index_only()
    } else {
        definition
    })
}
