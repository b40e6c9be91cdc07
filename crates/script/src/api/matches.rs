//! Matches: create, find, list and signal; and what a running match does with its players.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Modules, Outcome, Parameter, optional, required};
use crate::matches::{DEFERRED_MAX, RoomCall, TASKS_MAX, read_broadcast, read_label, read_players};
use crate::scripts::ScriptServices;
use crate::value::Value;
use crate::vm::VmState;
use aether_services::matches::{MatchFilter, MatchInfo, NewMatch, parse_query};
use mlua::{Lua, MultiValue};
use std::sync::Arc;

/// Matches of a list if the script does not say how many.
const LISTED_DEFAULT: i64 = 1;
/// Most matches of a list.
const LISTED_MAX: i64 = 100;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type Presence = { user_id: string, session_id: string, username: string, node: string, player: number? }
type MatchMessage = {
    sender: Presence,
    op_code: number,
    data: string,
    reliable: boolean,
    receive_time_ms: number,
}
type Match = {
    match_id: string,
    authoritative: boolean,
    label: string,
    size: number,
    tick_rate: number,
    handler_name: string,
}
type MatchContext = {
    env: {[string]: string},
    execution_mode: string,
    node: string,
    version: string,
    match_id: string,
    match_node: string,
    match_label: string,
    match_tick_rate: number,
    user_id: string?,
    username: string?,
    session_id: string?,
}
type Dispatcher = {
    broadcast_message: (opCode: number, data: (string | {[any]: any})?, presences: {Presence}?, sender: Presence?, reliable: boolean?) -> (),
    broadcast_message_deferred: (opCode: number, data: (string | {[any]: any})?, presences: {Presence}?, sender: Presence?, reliable: boolean?) -> (),
    match_kick: (presences: {Presence}) -> (),
    match_label_update: (label: string | {[any]: any}) -> (),
}
type MatchStart = { state: any, tick_rate: number?, label: (string | {[any]: any})? }
type Broadcast = { op_code: number, data: (string | {[any]: any})?, presences: {Presence}?, sender: Presence? }
type MatchHandler = {
    match_init: ((context: MatchContext, params: {[string]: any}) -> MatchStart)?,
    match_join_attempt: ((context: MatchContext, state: any, presences: {Presence}) -> ...any)?,
    match_join: ((context: MatchContext, state: any, presences: {Presence}) -> any)?,
    match_leave: ((context: MatchContext, state: any, presences: {Presence}) -> any)?,
    match_loop: ((context: MatchContext, state: any, tick: number, messages: {MatchMessage}) -> (any, {Broadcast}?))?,
    match_signal: ((context: MatchContext, state: any, data: string) -> (any, string?))?,
    match_terminate: ((context: MatchContext, state: any) -> any)?,
    match_reload: ((context: MatchContext, state: any) -> any)?,
    match_input: ((context: MatchContext, state: any, player: WorldPlayer, input: WorldFields) -> ())?,
    match_event: ((context: MatchContext, state: any, player: WorldPlayer, event: string, fields: WorldFields) -> (boolean?, string?))?,
    schema: WorldSchema?,
    interest: (number | boolean)?,
    bounds: {number}?,
    entities_max: number?,
    snapshot_hz: number?,
    inputs_per_tick: number?,
    players_max: number?,
    durable: boolean?,
    private: boolean?,
    resume_seconds: number?,
}
";

const BROADCAST: &[Parameter] = &[
    required("opCode", "number", "Op code, from 0 to 65535."),
    optional("data", "string | {[any]: any}", "Bytes, or a table that is sent as JSON. Default: none."),
    optional("presences", "{Presence}", "Players who get it. Default: all players of the match."),
    optional("sender", "Presence", "Player who is shown as the sender. Default: none."),
    optional("reliable", "boolean", "Match data is always delivered reliably."),
];

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("match_create", |used, args| Box::pin(create(used, args)))
        .about("Creates a match and returns its id.")
        .parameters(&[
            required("module", "string", "Name of the match handler: a module, or a name of register_match."),
            optional("params", "{[string]: any}", "Parameters for match_init."),
        ])
        .returns("string"),
    Function::service("match_get", |used, args| Box::pin(get(used, args)))
        .about("Returns a running match, or nil.")
        .parameters(&[required("id", "string", "Id of the match.")])
        .returns("Match?"),
    Function::service("match_list", |used, args| Box::pin(list(used, args)))
        .about("Lists running matches.")
        .parameters(&[
            optional("limit", "number", "Most matches, from 1 to 100. Default: 1."),
            optional("authoritative", "boolean", "True for matches that run a game, false for relayed ones."),
            optional("label", "string", "Label, compared exactly."),
            optional("minSize", "number", "Fewest players."),
            optional("maxSize", "number", "Most players."),
            optional("query", "string", "Query on labels that are JSON objects, such as `+label.mode:duel`."),
        ])
        .returns("{Match}"),
    Function::service("match_signal", |used, args| Box::pin(signal(used, args)))
        .about("Sends data to match_signal of a match and returns its answer.")
        .parameters(&[
            required("id", "string", "Id of the match."),
            optional("data", "string", "Data for the match. Default: an empty text."),
        ])
        .returns("string"),
    Function::native("register_match", register)
        .about(
            "Registers a match handler: matches of its name run the functions of the table, which may leave some out.",
        )
        .parameters(&[
            required("name", "string", "Name of the handler, which is that of its matches."),
            required("handler", "MatchHandler", "Functions of the match."),
        ])
        .only_in(Modules::Aether),
    Function::room("broadcast", |_, call, args| broadcast(call, &args, false))
        .about("Sends match data to players of the match.")
        .parameters(BROADCAST)
        .only_in(Modules::Aether),
    Function::room("broadcast_deferred", |_, call, args| broadcast(call, &args, true))
        .about("Sends match data to players at the end of the tick, after all other data.")
        .parameters(BROADCAST)
        .only_in(Modules::Aether),
    Function::room("kick", |_, call, args| kick(call, &args))
        .about("Removes players from the match. They leave at the next tick.")
        .parameters(&[required("presences", "{Presence}", "Players to remove.")])
        .only_in(Modules::Aether),
    Function::room("set_label", |_, call, args| set_label(call, &args))
        .about("Changes the label of the match, by which it is listed.")
        .parameters(&[required(
            "label",
            "string | {[any]: any}",
            "Text, or a table that becomes JSON; up to 2048 bytes.",
        )])
        .only_in(Modules::Aether),
    Function::room("task", |_, call, args| task(call, args))
        .about("Runs a function beside the match: it may call services, and the match keeps looping meanwhile.")
        .parameters(&[
            required("fn", "(...any) -> ()", "Function to run, after the current one."),
            optional("...", "any", "Arguments of the function."),
        ])
        .only_in(Modules::Aether),
];

async fn create(used: ScriptServices, args: Arguments) -> Outcome {
    let match_type = args.text(0)?.replace('/', ".");
    let params = args.optional_object(1)?.unwrap_or_default();
    let new = NewMatch { match_type, params, ..NewMatch::default() };
    let made = used.services.matches()?.create_with(&new).await?;
    Ok(vec![Value::from(made.id)])
}

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    let found = used.services.matches()?.find(args.text(0)?).await?;
    Ok(vec![found.map_or(Value::Nil, |info| shown(&info))])
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = args.optional_integer(0)?.unwrap_or(LISTED_DEFAULT);
    if !(1..=LISTED_MAX).contains(&limit) {
        return Err(args.expected(0, "a whole number from 1 to 100"));
    }
    let size = |index: usize| -> Result<Option<u32>, ScriptError> {
        let size = args.optional_integer(index)?;
        size.map(|size| u32::try_from(size).map_err(|_| args.expected(index, "a number of players"))).transpose()
    };
    let filter = MatchFilter {
        label: args.optional_text(2)?.map(str::to_owned),
        players_min: size(3)?,
        players_max: size(4)?,
        authoritative: if args.is_nil(1) { None } else { Some(args.boolean_or(1, true)?) },
        query: parse_query(args.optional_text(5)?.unwrap_or_default())?,
        limit: usize::try_from(limit).ok(),
        ..MatchFilter::default()
    };
    let matches = used.services.matches()?.list(&filter).await?;
    Ok(vec![Value::list(matches.iter().map(shown))])
}

async fn signal(used: ScriptServices, args: Arguments) -> Outcome {
    let data = if args.is_nil(1) { Vec::new() } else { args.bytes(1)?.to_vec() };
    let reply = used.services.matches()?.signal(args.text(0)?, data).await?;
    Ok(vec![Value::from(reply)])
}

fn shown(info: &MatchInfo) -> Value {
    Value::table([
        ("match_id", Value::from(info.id.as_str())),
        ("authoritative", Value::Boolean(info.tick_hz > 0)),
        ("label", Value::from(info.label.as_str())),
        ("size", Value::Number(f64::from(info.players))),
        ("tick_rate", Value::Number(f64::from(info.tick_hz))),
        ("handler_name", Value::from(info.match_type.as_str())),
    ])
}

fn register(_lua: &Lua, state: &Arc<VmState>, args: MultiValue) -> mlua::Result<MultiValue> {
    let mut args = args.into_iter();
    let (Some(mlua::Value::String(name)), Some(mlua::Value::Table(handler))) = (args.next(), args.next()) else {
        return Err(mlua::Error::runtime("register_match needs a name and a table of functions"));
    };
    state.registrations().add_match(&name.to_string_lossy(), handler);
    Ok(MultiValue::new())
}

fn argument(args: &MultiValue, index: usize) -> &mlua::Value {
    args.get(index).unwrap_or(&mlua::Value::Nil)
}

fn broadcast(call: &mut RoomCall<'_, '_>, args: &MultiValue, is_deferred: bool) -> mlua::Result<MultiValue> {
    let fields = [0, 1, 2, 3].map(|index| argument(args, index));
    let broadcast = read_broadcast(&call.parts.members, fields).map_err(mlua::Error::external)?;
    let deferred = &mut call.parts.deferred;
    match broadcast {
        Some(_) if is_deferred && deferred.len() >= DEFERRED_MAX => {
            return Err(mlua::Error::runtime(format!("at most {DEFERRED_MAX} deferred broadcasts fit into a tick")));
        }
        Some(broadcast) if is_deferred => deferred.push(broadcast),
        Some(broadcast) => broadcast.send(call.room),
        None => {}
    }
    Ok(MultiValue::new())
}

fn kick(call: &mut RoomCall<'_, '_>, args: &MultiValue) -> mlua::Result<MultiValue> {
    let mlua::Value::Table(presences) = argument(args, 0) else {
        return Err(mlua::Error::runtime("a kick needs a list of presences"));
    };
    for player in read_players(&call.parts.members, presences).map_err(mlua::Error::external)? {
        call.room.kick(player);
    }
    Ok(MultiValue::new())
}

fn set_label(call: &mut RoomCall<'_, '_>, args: &MultiValue) -> mlua::Result<MultiValue> {
    let label = read_label(argument(args, 0)).map_err(mlua::Error::external)?.unwrap_or_default();
    call.parts.context.raw_set("match_label", label.as_str())?;
    call.room.set_label(label);
    Ok(MultiValue::new())
}

fn task(call: &mut RoomCall<'_, '_>, args: MultiValue) -> mlua::Result<MultiValue> {
    let mut args = args;
    let Some(mlua::Value::Function(function)) = args.pop_front() else {
        return Err(mlua::Error::runtime("a task needs a function"));
    };
    if call.parts.tasks.len() + call.parts.tasks_waiting >= TASKS_MAX {
        return Err(mlua::Error::runtime(format!("at most {TASKS_MAX} tasks may run beside a match; wait for some")));
    }
    call.parts.tasks.push_back((function, args));
    Ok(MultiValue::new())
}
