//! Leaderboards and their records.

use super::table::{cursor_argument, non_empty, optional_object};
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Modules, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::leaderboard::{
    Board, Definition, Operator, RankOrder, Record, RecordList, RecordQuery, RecordWrite, Score, order_number,
};
use aether_services::{Caller, GrpcCode, ServiceError};
use tracing::warn;
use uuid::Uuid;

/// Boards of a page without a limit.
const BOARDS_DEFAULT: i64 = 10;
/// Records of a page without a limit.
const RECORDS_DEFAULT: i64 = 100;
/// Records around an owner without a limit.
const AROUND_DEFAULT: i64 = 10;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type Leaderboard = {
    id: string,
    authoritative: boolean,
    sort_order: string,
    operator: string,
    metadata: {[string]: any},
    create_time: number,
    next_reset: number?,
    prev_reset: number?,
}
type LeaderboardRecord = {
    leaderboard_id: string,
    owner_id: string,
    username: string?,
    score: number,
    subscore: number,
    num_score: number,
    max_num_score: number,
    metadata: {[string]: any},
    create_time: number,
    update_time: number,
    expiry_time: number?,
    rank: number,
}
";

const ID: Parameter = required("id", "string", "Id of the leaderboard.");
const BOARD: Parameter = required("board", "string", "Id of the leaderboard.");
const OWNER: Parameter = required("ownerID", "string", "Owner of the record.");
const CURSOR: Parameter = optional("cursor", "string", "Cursor of the page.");
const EXPIRY: Parameter =
    optional("expiryOverride", "number", "End of an earlier period, in seconds since 1970; 0 for the current one.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("leaderboard_create", |used, args| Box::pin(create(used, args)))
        .about("Creates a leaderboard. One that exists already keeps its settings.")
        .parameters(&[
            required("leaderboardID", "string", "Id of the leaderboard."),
            optional("authoritative", "boolean", "True if only the server writes scores; false by default."),
            optional("sortOrder", "string", "`desc`, the default, or `asc`."),
            optional("operator", "string", "`best`, the default, `set`, `incr` or `decr`."),
            optional("resetSchedule", "string", "Times of resets as a CRON expression; none by default."),
            optional("metadata", "{[string]: any}", "Metadata."),
            optional("enableRanks", "boolean", "False to show no ranks; ranks are shown by default."),
        ]),
    Function::service("leaderboard_delete", |used, args| Box::pin(delete(used, args)))
        .about("Deletes a leaderboard with all its records.")
        .parameters(&[ID]),
    Function::service("leaderboard_list", |used, args| Box::pin(list(used, args)))
        .about("Lists leaderboards. Returns them with the cursor of the next page.")
        .parameters(&[optional("limit", "number", "Leaderboards per page, up to 100; 10 by default."), CURSOR])
        .returns("({Leaderboard}, string?)"),
    Function::service("leaderboard_ranks_disable", |used, args| Box::pin(disable_ranks(used, args)))
        .about("Shows no ranks in records of a leaderboard from now on.")
        .parameters(&[ID]),
    Function::service("leaderboard_records_list", |used, args| Box::pin(records(used, args)))
        .about("Lists records by rank. Returns them, the records of the owners, and the cursors of the next and the previous page.")
        .parameters(&[
            ID,
            optional("ownerIDs", "{string}", "Owners whose records are listed as well; without a limit, they alone."),
            optional("limit", "number", "Records per page, up to 1000; 100 by default."),
            CURSOR,
            EXPIRY,
        ])
        .returns("({LeaderboardRecord}, {LeaderboardRecord}, string?, string?)"),
    Function::service("leaderboard_records_list_cursor_from_rank", |used, args| Box::pin(cursor_from_rank(used, args)))
        .about("Returns the cursor of the page that begins with the record of a rank.")
        .parameters(&[
            required("leaderboardID", "string", "Id of the leaderboard."),
            required("rank", "number", "Rank, from 1."),
            EXPIRY,
        ])
        .returns("string"),
    Function::service("leaderboard_record_write", |used, args| Box::pin(write(used, args)))
        .about("Writes a score. Returns the resulting record.")
        .parameters(WRITE)
        .returns("LeaderboardRecord"),
    Function::service("leaderboard_records_haystack", |used, args| Box::pin(haystack(used, args)))
        .about("Lists the records around that of an owner. Returns them with the cursors of the next and the previous page.")
        .parameters(HAYSTACK)
        .returns("({LeaderboardRecord}, string?, string?)"),
    Function::service("leaderboard_record_delete", |used, args| Box::pin(delete_record(used, args)))
        .about("Deletes the record of an owner in the current period, if there is one.")
        .parameters(&[ID, OWNER]),
    Function::service("leaderboards_get_id", |used, args| Box::pin(get(used, args)))
        .about("Returns leaderboards by id. Those that do not exist are left out.")
        .parameters(&[required("IDs", "{string}", "Ids.")])
        .returns("{Leaderboard}"),
    Function::service("leaderboard_submit", |used, args| Box::pin(submit(used, args)))
        .about("Writes a score. Returns the resulting record.")
        .parameters(&[
            BOARD,
            required("user", "string", "Owner of the record."),
            required("name", "string?", "Name that is shown with the record; nil keeps the former one."),
            required("score", "number", "Score."),
            optional("metadata", "{[string]: any}", "Metadata; nil keeps the former."),
        ])
        .returns("LeaderboardRecord")
        .only_in(Modules::Aether),
    Function::service("leaderboard_get_top", |used, args| Box::pin(top(used, args)))
        .about("Returns the best records.")
        .parameters(&[BOARD, required("n", "number", "Maximum number of records, up to 1000.")])
        .returns("{LeaderboardRecord}")
        .only_in(Modules::Aether),
    Function::service("leaderboard_get_around", |used, args| Box::pin(around(used, args)))
        .about("Returns the records around that of a user; none if the user has none.")
        .parameters(&[
            BOARD,
            required("user", "string", "User."),
            required("n", "number", "Maximum number of records, up to 100."),
        ])
        .returns("{LeaderboardRecord}")
        .only_in(Modules::Aether),
    Function::service("leaderboard_get_record", |used, args| Box::pin(record_of(used, args)))
        .about("Returns the record of a user, or nil.")
        .parameters(&[BOARD, required("user", "string", "User.")])
        .returns("LeaderboardRecord?")
        .only_in(Modules::Aether),
];

/// Parameters of writes, which tournaments share.
pub(super) const WRITE: &[Parameter] = &[
    required("id", "string", "Id of the leaderboard or tournament."),
    OWNER,
    optional("username", "string", "Name that is shown with the record; nil keeps the former one."),
    optional("score", "number", "Score; 0 by default."),
    optional("subscore", "number", "Decides between equal scores; 0 by default."),
    optional("metadata", "{[string]: any}", "Metadata; nil keeps the former."),
    optional("overrideOperatorString", "string", "Operator for this write: `best`, `set`, `incr` or `decr`."),
];

/// Parameters of lists around an owner, which tournaments share.
pub(super) const HAYSTACK: &[Parameter] = &[
    required("id", "string", "Id of the leaderboard or tournament."),
    OWNER,
    optional("limit", "number", "Records, up to 100; 10 by default."),
    CURSOR,
    optional("expiry", "number", "End of an earlier period, in seconds since 1970; 0 for the current one."),
];

async fn create(used: ScriptServices, args: Arguments) -> Outcome {
    let definition = Definition {
        id: args.text(0)?.to_owned(),
        authoritative: args.boolean_or(1, false)?,
        order: order(&args, 2)?,
        operator: operator(&args, 3)?.unwrap_or(Operator::Best),
        reset_schedule: args.optional_text(4)?.unwrap_or_default().to_owned(),
        metadata: optional_object(&args, 5)?.unwrap_or_else(|| "{}".to_owned()),
        tournament: None,
    };
    let (id, has_ranks) = (definition.id.clone(), args.boolean_or(6, true)?);
    keep_existing(&id, used.services.leaderboards.create(definition).await.map(|_| ()))?;
    if !has_ranks {
        used.services.leaderboards.disable_ranks(&id).await?;
    }
    Ok(Vec::new())
}

async fn delete(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.leaderboards.delete(args.text(0)?).await?;
    Ok(Vec::new())
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = args.optional_integer(0)?.unwrap_or(BOARDS_DEFAULT);
    let limit = usize::try_from(limit).map_err(|_| args.expected(0, "a limit from 1"))?;
    let list = used.services.leaderboards.boards(limit, &cursor_argument(&args, 1)?)?;
    let now = now(&used);
    Ok(vec![Value::list(list.boards.iter().map(|it| board(it, now))), non_empty(list.cursor)])
}

async fn disable_ranks(used: ScriptServices, args: Arguments) -> Outcome {
    let id = args.text(0)?;
    match used.services.leaderboards.disable_ranks(id).await? {
        true => Ok(Vec::new()),
        false => Err(not_found("leaderboard", id)),
    }
}

async fn records(used: ScriptServices, args: Arguments) -> Outcome {
    let (id, owners, query) = read_list(&args)?;
    let list = used.services.leaderboards.records(&id, &owners, &query).await?;
    Ok(record_list(&id, &list))
}

async fn cursor_from_rank(used: ScriptServices, args: Arguments) -> Outcome {
    let rank = u64::try_from(args.integer(1)?).map_err(|_| args.expected(1, "a rank from 1"))?;
    let expiry = args.optional_integer(2)?.unwrap_or(0);
    let cursor = used.services.leaderboards.cursor_from_rank(args.text(0)?, rank, expiry).await?;
    Ok(vec![Value::from(cursor)])
}

async fn write(used: ScriptServices, args: Arguments) -> Outcome {
    let (id, write) = read_write(&args)?;
    let written = used.services.leaderboards.write(&Caller::Server, &id, write).await?;
    Ok(vec![record(&id, &written)])
}

async fn haystack(used: ScriptServices, args: Arguments) -> Outcome {
    let (id, owner, query) = read_haystack(&args)?;
    let list = used.services.leaderboards.records_around(&id, owner, &query).await?;
    Ok(haystack_list(&id, list))
}

async fn delete_record(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.leaderboards.delete_record(&Caller::Server, args.text(0)?, args.id(1)?).await?;
    Ok(Vec::new())
}

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    let now = now(&used);
    let ids = args.texts(0)?;
    let boards = ids.iter().filter_map(|id| used.services.leaderboards.board(id).ok());
    Ok(vec![Value::list(boards.map(|it| board(&it, now)))])
}

async fn submit(used: ScriptServices, args: Arguments) -> Outcome {
    let write = RecordWrite {
        owner: args.id(1)?,
        username: args.optional_text(2)?.unwrap_or_default().to_owned(),
        score: Score { score: args.integer(3)?, subscore: 0 },
        operator: None,
        metadata: optional_object(&args, 4)?,
    };
    let id = args.text(0)?;
    let written = used.services.leaderboards.write(&Caller::Server, id, write).await?;
    Ok(vec![record(id, &written)])
}

async fn top(used: ScriptServices, args: Arguments) -> Outcome {
    let (id, query) = (args.text(0)?, RecordQuery { limit: Some(args.integer(1)?), ..RecordQuery::default() });
    let list = used.services.leaderboards.records(id, &[], &query).await?;
    Ok(vec![Value::list(list.records.iter().map(|it| record(id, it)))])
}

async fn around(used: ScriptServices, args: Arguments) -> Outcome {
    let (id, query) = (args.text(0)?, RecordQuery { limit: Some(args.integer(2)?), ..RecordQuery::default() });
    let list = used.services.leaderboards.records_around(id, args.id(1)?, &query).await?;
    Ok(vec![Value::list(list.records.iter().map(|it| record(id, it)))])
}

async fn record_of(used: ScriptServices, args: Arguments) -> Outcome {
    let (id, owner) = (args.text(0)?, args.id(1)?);
    let list = used.services.leaderboards.records(id, &[owner], &RecordQuery::default()).await?;
    Ok(vec![list.owner_records.first().map_or(Value::Nil, |it| record(id, it))])
}

/// Accepts that a board exists with other settings, as modules create their boards at every start.
pub(super) fn keep_existing(id: &str, created: Result<(), ServiceError>) -> Result<(), ScriptError> {
    match created {
        Err(error) if error.code == GrpcCode::AlreadyExists => {
            warn!(target: "lua", id, %error, "leaderboard keeps its settings");
            Ok(())
        }
        created => Ok(created?),
    }
}

pub(super) fn not_found(what: &str, id: &str) -> ScriptError {
    let message = format!("The {what} `{id:.64}` was not found; create it first.");
    ServiceError::with(GrpcCode::NotFound, message).into()
}

pub(super) fn order(args: &Arguments, index: usize) -> Result<RankOrder, ScriptError> {
    match args.optional_text(index)? {
        None | Some("desc" | "descending") => Ok(RankOrder::Descending),
        Some("asc" | "ascending") => Ok(RankOrder::Ascending),
        Some(_) => Err(args.expected(index, "`asc` or `desc`")),
    }
}

/// Returns an operator; none if it is nil.
pub(super) fn operator(args: &Arguments, index: usize) -> Result<Option<Operator>, ScriptError> {
    Ok(match args.optional_text(index)?.map(str::to_ascii_lowercase).as_deref() {
        None | Some("no_override") => None,
        Some("best") => Some(Operator::Best),
        Some("set") => Some(Operator::Set),
        Some("incr" | "increment") => Some(Operator::Increment),
        Some("decr" | "decrement") => Some(Operator::Decrement),
        Some(_) => return Err(args.expected(index, "`best`, `set`, `incr` or `decr`")),
    })
}

/// Returns the name of an operator.
pub(super) fn operator_name(operator: Operator) -> Value {
    Value::from(match operator {
        Operator::Best => "best",
        Operator::Set => "set",
        Operator::Increment => "increment",
        Operator::Decrement => "decrement",
    })
}

/// Reads the arguments of a list: the id, the owners and the query.
pub(super) fn read_list(args: &Arguments) -> Result<(String, Vec<Uuid>, RecordQuery), ScriptError> {
    let owners = args.ids(1)?;
    let limit = args.optional_integer(2)?.filter(|limit| *limit != 0);
    let query = RecordQuery {
        limit: if owners.is_empty() { limit.or(Some(RECORDS_DEFAULT)) } else { limit },
        cursor: cursor_argument(args, 3)?,
        expiry: args.optional_integer(4)?.unwrap_or(0),
    };
    Ok((args.text(0)?.to_owned(), owners, query))
}

/// Reads the arguments of [`WRITE`].
pub(super) fn read_write(args: &Arguments) -> Result<(String, RecordWrite), ScriptError> {
    let write = RecordWrite {
        owner: args.id(1)?,
        username: args.optional_text(2)?.unwrap_or_default().to_owned(),
        score: Score {
            score: args.optional_integer(3)?.unwrap_or(0),
            subscore: args.optional_integer(4)?.unwrap_or(0),
        },
        metadata: optional_object(args, 5)?,
        operator: operator(args, 6)?,
    };
    Ok((args.text(0)?.to_owned(), write))
}

/// Reads the arguments of [`HAYSTACK`].
pub(super) fn read_haystack(args: &Arguments) -> Result<(String, Uuid, RecordQuery), ScriptError> {
    let query = RecordQuery {
        limit: Some(args.optional_integer(2)?.unwrap_or(AROUND_DEFAULT)),
        cursor: cursor_argument(args, 3)?,
        expiry: args.optional_integer(4)?.unwrap_or(0),
    };
    Ok((args.text(0)?.to_owned(), args.id(1)?, query))
}

/// Returns records, those of the owners, and the cursors of the next and the previous page.
pub(super) fn record_list(id: &str, list: &RecordList) -> Vec<Value> {
    let table = |records: &[Record]| Value::list(records.iter().map(|it| record(id, it)));
    let (next, previous) = (list.next_cursor.clone(), list.prev_cursor.clone());
    vec![table(&list.records), table(&list.owner_records), non_empty(next), non_empty(previous)]
}

/// Returns records and the cursors of the next and the previous page.
pub(super) fn haystack_list(id: &str, list: RecordList) -> Vec<Value> {
    let records = Value::list(list.records.iter().map(|it| record(id, it)));
    vec![records, non_empty(list.next_cursor), non_empty(list.prev_cursor)]
}

pub(super) fn record(id: &str, record: &Record) -> Value {
    Value::table([
        ("leaderboard_id", Value::from(id)),
        ("owner_id", Value::from(record.owner.to_string())),
        ("username", non_empty(record.username.clone())),
        ("score", Value::from(record.score.score)),
        ("subscore", Value::from(record.score.subscore)),
        ("num_score", Value::from(record.num_score)),
        ("max_num_score", Value::from(record.max_num_score)),
        ("metadata", Value::from_json_text(&record.metadata)),
        ("create_time", Value::seconds(record.created_at_ms)),
        ("update_time", Value::seconds(record.updated_at_ms)),
        ("expiry_time", non_zero(record.expiry)),
        ("rank", Value::from(record.rank as f64)),
    ])
}

/// Returns a time, or nil if it is 0, which is never.
pub(super) fn non_zero(time: i64) -> Value {
    if time == 0 { Value::Nil } else { Value::from(time) }
}

fn board(board: &Board, now: i64) -> Value {
    let definition = &board.definition;
    Value::table([
        ("id", Value::from(definition.id.as_str())),
        ("authoritative", Value::from(definition.authoritative)),
        // Text in modules of Nakama.
        ("sort_order", Value::from(order_number(definition.order).to_string())),
        ("operator", operator_name(definition.operator)),
        ("metadata", Value::from_json_text(&definition.metadata)),
        ("create_time", Value::seconds(board.created_at_ms)),
        ("next_reset", non_zero(board.expiry(now))),
        ("prev_reset", non_zero(board.last_reset(now))),
    ])
}

fn now(used: &ScriptServices) -> i64 {
    used.now_ms().div_euclid(1_000)
}
