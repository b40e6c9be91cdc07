//! Brackets: eliminations, round robins and Swiss brackets.

use super::table::{cursor_argument, json_form, non_empty};
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Modules, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::GrpcCode;
use aether_services::bracket::operation::CreateBracketRequest;
use aether_services::bracket::{Bracket, BracketQuery, Phase, Verdict};
use uuid::Uuid;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type BracketDefinition = {
    id: string?,
    title: string?,
    format: string,
    seeding: string?,
    leaderboard_id: string?,
    rounds: number?,
    match_seconds: number?,
    max_size: number?,
    metadata: {[string]: any}?,
}
type Bracket = {
    id: string,
    title: string,
    format: string,
    seeding: string,
    leaderboard_id: string,
    rounds: number,
    match_seconds: number,
    max_size: number,
    size: number,
    metadata: {[string]: any},
    phase: string,
    version: number,
    create_time: string,
    start_time: string,
    end_time: string,
    winner_id: string,
}
type BracketEntrant = {
    user_id: string,
    username: string,
    seed: number,
    rank: number,
    points: number,
    buchholz: number,
    wins: number,
    losses: number,
    draws: number,
    withdrawn: boolean,
}
type BracketSide = {
    user_id: string,
    username: string,
    seed: number,
    bye: boolean,
    report: string,
    report_scores: {number},
}
type BracketMatch = {
    number: number,
    section: string,
    round: number,
    state: string,
    sides: {BracketSide},
    outcome: string,
    reason: string,
    winner_id: string,
    scores: {number},
    deadline: string,
}
type BracketDetail = { bracket: Bracket, entrants: {BracketEntrant}, matches: {BracketMatch} }
";

const ID: Parameter = required("id", "string", "Id of the bracket.");
const USER: Parameter = required("user", "string", "User.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("bracket_create", |used, args| Box::pin(create(used, args)))
        .about("Creates a bracket that users can join.")
        .parameters(&[required("definition", "BracketDefinition", "Definition; only the format is needed.")])
        .returns("Bracket")
        .only_in(Modules::Aether),
    Function::service("bracket_get", |used, args| Box::pin(get(used, args)))
        .about("Returns a bracket with its entrants, who are in the order of the standings, and its matches; or nil.")
        .parameters(&[ID])
        .returns("BracketDetail?")
        .only_in(Modules::Aether),
    Function::service("bracket_list", |used, args| Box::pin(list(used, args)))
        .about("Lists brackets, the newest first. Returns them with the cursor of the next page.")
        .parameters(&[
            optional("phase", "string", "`registration`, `running` or `finished`; nil for all."),
            optional("limit", "number", "Brackets per page, up to 100, which is the default."),
            optional("cursor", "string", "Cursor of the page."),
        ])
        .returns("({Bracket}, string?)")
        .only_in(Modules::Aether),
    Function::service("bracket_join", |used, args| Box::pin(join(used, args)))
        .about("Adds a user to a bracket that has not started.")
        .parameters(&[ID, USER, optional("rating", "number", "Rating for the seeding; 0 by default.")])
        .returns("Bracket")
        .only_in(Modules::Aether),
    Function::service("bracket_leave", |used, args| Box::pin(leave(used, args)))
        .about("Removes a user from a bracket, or withdraws the user from a running one.")
        .parameters(&[ID, USER])
        .returns("Bracket")
        .only_in(Modules::Aether),
    Function::service("bracket_start", |used, args| Box::pin(start(used, args)))
        .about("Starts a bracket: seeds the entrants, and opens the first matches.")
        .parameters(&[ID])
        .returns("BracketDetail")
        .only_in(Modules::Aether),
    Function::service("bracket_report", |used, args| Box::pin(report(used, args)))
        .about("Reports the result of a match for one of its entrants, or decides it for the server.")
        .parameters(&[
            ID,
            required("number", "number", "Number of the match, from 0."),
            required("winner", "string", "Id of the user who won, `draw` or `both_lose`."),
            optional("scores", "{number}", "Scores of the first and the second side."),
            optional("user", "string", "Entrant who reports; nil to decide the match."),
        ])
        .returns("BracketDetail")
        .only_in(Modules::Aether),
    Function::service("bracket_standings", |used, args| Box::pin(standings(used, args)))
        .about("Returns the entrants of a bracket by rank, or in the order of joining before the start.")
        .parameters(&[ID])
        .returns("{BracketEntrant}")
        .only_in(Modules::Aether),
    Function::service("bracket_delete", |used, args| Box::pin(delete(used, args)))
        .about("Deletes a bracket in any phase. Returns false if there is none.")
        .parameters(&[ID])
        .returns("boolean")
        .only_in(Modules::Aether),
];

async fn create(used: ScriptServices, args: Arguments) -> Outcome {
    let json = args.optional_object(0)?.unwrap_or_default();
    let request: CreateBracketRequest = serde_json::from_value(json)
        .map_err(|error| args.expected(0, &format!("the definition of a bracket ({error})")))?;
    let definition = request.into_definition(used.now_ms())?;
    let created = used.services.brackets.create(definition).await?;
    Ok(vec![summary(&created)])
}

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    match used.services.brackets.find(args.text(0)?).await {
        Ok(found) => Ok(vec![detail(&found)]),
        Err(error) if error.code == GrpcCode::NotFound => Ok(vec![Value::Nil]),
        Err(error) => Err(error.into()),
    }
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let phase = args
        .optional_text(0)?
        .map(|name| Phase::from_name(name).ok_or_else(|| args.expected(0, "`registration`, `running` or `finished`")));
    let query = BracketQuery {
        phase: phase.transpose()?,
        limit: args.optional_integer(1)?,
        cursor: cursor_argument(&args, 2)?,
    };
    let list = used.services.brackets.list(&query).await?;
    Ok(vec![Value::list(list.brackets.iter().map(summary)), non_empty(list.cursor)])
}

async fn join(used: ScriptServices, args: Arguments) -> Outcome {
    let rating = args.optional_integer(2)?.unwrap_or(0);
    let joined = used.services.brackets.join(args.text(0)?, args.id(1)?, rating).await?;
    Ok(vec![summary(&joined)])
}

async fn leave(used: ScriptServices, args: Arguments) -> Outcome {
    let left = used.services.brackets.leave(args.text(0)?, args.id(1)?).await?;
    Ok(vec![summary(&left)])
}

async fn start(used: ScriptServices, args: Arguments) -> Outcome {
    let started = used.services.brackets.start(args.text(0)?).await?;
    Ok(vec![detail(&started)])
}

async fn report(used: ScriptServices, args: Arguments) -> Outcome {
    let number = usize::try_from(args.integer(1)?).map_err(|_| args.expected(1, "a number from 0"))?;
    let (id, verdict, scores) = (args.text(0)?, verdict(&args)?, scores(&args)?);
    let brackets = &used.services.brackets;
    let changed = match args.optional_id(4)? {
        Some(user) => brackets.report(id, user, number, verdict, scores).await?,
        None => brackets.resolve(id, number, verdict, scores).await?,
    };
    Ok(vec![detail(&changed)])
}

async fn standings(used: ScriptServices, args: Arguments) -> Outcome {
    let found = used.services.brackets.find(args.text(0)?).await?;
    Ok(vec![json_form(serde_json::to_value(found.to_detail().entrants))])
}

async fn delete(used: ScriptServices, args: Arguments) -> Outcome {
    Ok(vec![Value::from(used.services.brackets.delete(args.text(0)?).await?)])
}

fn verdict(args: &Arguments) -> Result<Verdict, ScriptError> {
    match args.text(2)? {
        "draw" => Ok(Verdict::Draw),
        "both_lose" => Ok(Verdict::BothLose),
        winner => {
            let winner = Uuid::try_parse(winner).map_err(|_| args.expected(2, "a user, `draw` or `both_lose`"))?;
            Ok(Verdict::Winner(winner))
        }
    }
}

fn scores(args: &Arguments) -> Result<[u32; 2], ScriptError> {
    let score = |value: &Value| match value {
        Value::Number(score) if (0.0..=f64::from(u32::MAX)).contains(score) && score.fract() == 0.0 => {
            Some(*score as u32)
        }
        _ => None,
    };
    let scores: Option<Vec<u32>> = args.list(3)?.iter().map(score).collect();
    match scores.as_deref() {
        Some([]) => Ok([0; 2]),
        Some([one, other]) => Ok([*one, *other]),
        _ => Err(args.expected(3, "two whole numbers")),
    }
}

fn summary(bracket: &Bracket) -> Value {
    json_form(serde_json::to_value(bracket.to_summary()))
}

fn detail(bracket: &Bracket) -> Value {
    json_form(serde_json::to_value(bracket.to_detail()))
}
