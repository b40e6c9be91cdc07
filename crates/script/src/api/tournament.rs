//! Tournaments and their records.

use super::leaderboard::{
    HAYSTACK, WRITE, haystack_list, keep_existing, non_zero, not_found, operator, operator_name, order, read_haystack,
    read_list, read_write, record, record_list,
};
use super::table::{cursor_argument, non_empty, optional_number, optional_object};
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::Caller;
use aether_services::leaderboard::{Definition, Operator, order_number};
use aether_services::tournament::{Terms, Tournament, TournamentQuery};

/// Tournaments of a page without a limit.
const LISTED_DEFAULT: i64 = 10;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type Tournament = {
    id: string,
    title: string,
    description: string,
    category: number,
    sort_order: string,
    operator: string,
    authoritative: boolean,
    join_required: boolean,
    size: number,
    max_size: number,
    max_num_score: number,
    duration: number,
    start_active: number,
    end_active: number,
    can_enter: boolean,
    next_reset: number?,
    prev_reset: number?,
    metadata: {[string]: any},
    create_time: number,
    start_time: number,
    end_time: number?,
}
";

const ID: Parameter = required("id", "string", "Id of the tournament.");
const OWNER: Parameter = required("ownerID", "string", "Owner of the record.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("tournament_create", |used, args| Box::pin(create(used, args)))
        .about(
            "Creates a tournament. One that exists already keeps its settings. The duration may also be the fifth \
             argument, before the reset schedule.",
        )
        .parameters(&[
            ID,
            optional("authoritative", "boolean", "True, the default, if only the server writes scores."),
            optional("sortOrder", "string", "`desc`, the default, or `asc`."),
            optional("operator", "string", "`best`, the default, `set`, `incr` or `decr`."),
            optional("resetSchedule", "any", "Times of resets as a CRON expression; none by default."),
            optional("metadata", "any", "Metadata."),
            optional("title", "any", "Title."),
            optional("description", "string", "Description."),
            optional("category", "any", "Category, from 0 to 127; 0 by default."),
            optional("startTime", "number", "Start, in seconds since 1970; now by default."),
            optional("endTime", "number", "End, in seconds since 1970; never by default."),
            required("duration", "number", "Seconds for which it is active after the start and after each reset."),
            optional("maxSize", "number", "Maximum number of entrants; no limit by default."),
            optional("maxNumScore", "number", "Attempts of an entrant; no limit by default."),
            optional("joinRequired", "boolean", "True if users join before they submit scores; false by default."),
            optional("enableRanks", "boolean", "False to show no ranks; ranks are shown by default."),
        ]),
    Function::service("tournament_delete", |used, args| Box::pin(delete(used, args)))
        .about("Deletes a tournament with all its records.")
        .parameters(&[ID]),
    Function::service("tournament_add_attempt", |used, args| Box::pin(add_attempt(used, args)))
        .about("Adds attempts to an entrant of a tournament.")
        .parameters(&[ID, OWNER, required("count", "number", "Number of attempts; negative to remove some.")]),
    Function::service("tournament_join", |used, args| Box::pin(join(used, args)))
        .about("Lets a user join the current period of a tournament.")
        .parameters(&[
            ID,
            required("userID", "string", "User."),
            optional("username", "string", "Username of the user; not needed."),
        ]),
    Function::service("tournaments_get_id", |used, args| Box::pin(get(used, args)))
        .about("Returns tournaments by id. Those that do not exist are left out.")
        .parameters(&[required("tournamentIDs", "{string}", "Ids, at most 100.")])
        .returns("{Tournament}"),
    Function::service("tournament_records_list", |used, args| Box::pin(records(used, args)))
        .about("Lists records by rank. Returns them, the records of the owners, and the cursors of the next and the previous page.")
        .parameters(&[
            required("tournamentID", "string", "Id of the tournament."),
            optional("ownerIDs", "{string}", "Owners whose records are listed as well; without a limit, they alone."),
            optional("limitNumber", "number", "Records per page, up to 100, which is the default."),
            optional("cursor", "string", "Cursor of the page."),
            optional("expiryOverride", "number", "End of an earlier period, in seconds since 1970; 0 for the current one."),
        ])
        .returns("({LeaderboardRecord}, {LeaderboardRecord}, string?, string?)"),
    Function::service("tournament_list", |used, args| Box::pin(list(used, args)))
        .about("Lists tournaments by category. Returns them with the cursor of the next page.")
        .parameters(&[
            optional("categoryStart", "number", "Lowest category; 0 by default."),
            optional("categoryEnd", "number", "Highest category; 127 by default."),
            optional("startTime", "number", "Earliest start, in seconds since 1970."),
            optional("endTime", "number", "Latest end, in seconds since 1970; 0 for those that never end."),
            optional("limit", "number", "Tournaments per page, up to 100; 10 by default."),
            optional("cursor", "string", "Cursor of the page."),
        ])
        .returns("({Tournament}, string?)"),
    Function::service("tournament_ranks_disable", |used, args| Box::pin(disable_ranks(used, args)))
        .about("Shows no ranks in records of a tournament from now on.")
        .parameters(&[ID]),
    Function::service("tournament_record_write", |used, args| Box::pin(write(used, args)))
        .about("Writes a score, which is an attempt. Returns the resulting record.")
        .parameters(WRITE)
        .returns("LeaderboardRecord"),
    Function::service("tournament_record_delete", |used, args| Box::pin(delete_record(used, args)))
        .about("Deletes the record of an owner in the current period, if there is one.")
        .parameters(&[ID, OWNER]),
    Function::service("tournament_records_haystack", |used, args| Box::pin(haystack(used, args)))
        .about("Lists the records around that of an owner. Returns them with the cursors of the next and the previous page.")
        .parameters(HAYSTACK)
        .returns("({LeaderboardRecord}, string?, string?)"),
];

async fn create(used: ScriptServices, args: Arguments) -> Outcome {
    let definition = definition(&args)?;
    let (id, has_ranks) = (definition.id.clone(), args.boolean_or(15, true)?);
    keep_existing(&id, used.services.tournaments.create(definition).await.map(|_| ()))?;
    if !has_ranks {
        used.services.tournaments.disable_ranks(&id).await?;
    }
    Ok(Vec::new())
}

/// Reads a definition. Modules of Nakama pass the duration as the fifth argument, a number, and what follows up to the end
/// time comes one place later; the reference of Nakama has it after the end time.
fn definition(args: &Arguments) -> Result<Definition, ScriptError> {
    let is_early = matches!(args.value(4), Value::Number(_));
    let (duration, first) = if is_early { (4, 5) } else { (11, 4) };
    let seconds = |index: usize| Ok::<_, ScriptError>(args.optional_integer(index)?.unwrap_or(0));
    let text = |index: usize| Ok::<_, ScriptError>(args.optional_text(index)?.unwrap_or_default().to_owned());
    let terms = Terms {
        title: text(first + 2)?,
        description: text(first + 3)?,
        category: optional_number(args, first + 4, "a category from 0 to 127")?.unwrap_or(0),
        start_time: seconds(first + 5)?,
        end_time: seconds(first + 6)?,
        duration: args.integer(duration)?,
        max_size: seconds(12)?,
        max_num_score: seconds(13)?,
        join_required: args.boolean_or(14, false)?,
    };
    Ok(Definition {
        id: args.text(0)?.to_owned(),
        authoritative: args.boolean_or(1, true)?,
        order: order(args, 2)?,
        operator: operator(args, 3)?.unwrap_or(Operator::Best),
        reset_schedule: text(first)?,
        metadata: optional_object(args, first + 1)?.unwrap_or_else(|| "{}".to_owned()),
        tournament: Some(terms),
    })
}

async fn delete(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.tournaments.delete(args.text(0)?).await?;
    Ok(Vec::new())
}

async fn add_attempt(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.tournaments.add_attempt(args.text(0)?, args.id(1)?, args.integer(2)?).await?;
    Ok(Vec::new())
}

async fn join(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.tournaments.join(args.text(0)?, args.id(1)?).await?;
    Ok(Vec::new())
}

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    let found = used.services.tournaments.find(&args.texts(0)?).await?;
    Ok(vec![Value::list(found.iter().map(tournament))])
}

async fn records(used: ScriptServices, args: Arguments) -> Outcome {
    let (id, owners, query) = read_list(&args)?;
    let list = used.services.tournaments.records(&id, &owners, &query).await?;
    Ok(record_list(&id, &list))
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let category = "a category from 0 to 127";
    let query = TournamentQuery {
        category_start: optional_number(&args, 0, category)?.unwrap_or(0),
        category_end: optional_number(&args, 1, category)?,
        start_time: args.optional_integer(2)?.unwrap_or(0),
        end_time: args.optional_integer(3)?,
        limit: Some(args.optional_integer(4)?.unwrap_or(LISTED_DEFAULT)),
        cursor: cursor_argument(&args, 5)?,
    };
    let list = used.services.tournaments.list(&query).await?;
    Ok(vec![Value::list(list.tournaments.iter().map(tournament)), non_empty(list.cursor)])
}

async fn disable_ranks(used: ScriptServices, args: Arguments) -> Outcome {
    let id = args.text(0)?;
    match used.services.tournaments.disable_ranks(id).await? {
        true => Ok(Vec::new()),
        false => Err(not_found("tournament", id)),
    }
}

async fn write(used: ScriptServices, args: Arguments) -> Outcome {
    let (id, write) = read_write(&args)?;
    let written = used.services.tournaments.write(&Caller::Server, &id, write).await?;
    Ok(vec![record(&id, &written)])
}

async fn delete_record(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.tournaments.delete_record(&Caller::Server, args.text(0)?, args.id(1)?).await?;
    Ok(Vec::new())
}

async fn haystack(used: ScriptServices, args: Arguments) -> Outcome {
    let (id, owner, query) = read_haystack(&args)?;
    let list = used.services.tournaments.records_around(&id, owner, &query).await?;
    Ok(haystack_list(&id, list))
}

fn tournament(tournament: &Tournament) -> Value {
    let Tournament { board, deadlines, size, can_enter } = tournament;
    let definition = &board.definition;
    // Every tournament has terms.
    let terms = definition.tournament.clone().unwrap_or_else(|| Terms::lasting(0));
    let created_at = board.created_at_ms.div_euclid(1_000);
    Value::table([
        ("id", Value::from(definition.id.as_str())),
        ("title", Value::from(terms.title)),
        ("description", Value::from(terms.description)),
        ("category", Value::from(i64::from(terms.category))),
        // Text in modules of Nakama.
        ("sort_order", Value::from(order_number(definition.order).to_string())),
        ("operator", operator_name(definition.operator)),
        ("authoritative", Value::from(definition.authoritative)),
        ("join_required", Value::from(terms.join_required)),
        ("size", Value::from(*size)),
        ("max_size", Value::from(terms.max_size)),
        ("max_num_score", Value::from(terms.max_num_score)),
        ("duration", Value::from(terms.duration)),
        ("start_active", Value::from(deadlines.start_active)),
        ("end_active", Value::from(deadlines.end_active)),
        ("can_enter", Value::from(*can_enter)),
        ("next_reset", non_zero(deadlines.next_reset)),
        ("prev_reset", non_zero(deadlines.prev_reset)),
        ("metadata", Value::from_json_text(&definition.metadata)),
        ("create_time", Value::seconds(board.created_at_ms)),
        ("start_time", Value::from(if terms.start_time == 0 { created_at } else { terms.start_time })),
        ("end_time", non_zero(terms.end_time)),
    ])
}
