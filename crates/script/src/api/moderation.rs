//! Reports of players, and mutes.

use super::table::{cursor_argument, non_empty, optional_number};
use crate::arguments::Arguments;
use crate::function::{Function, Modules, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::moderation::{self, Decision, Mute, NewMute, Report, ReportFilter, Statement};
use uuid::Uuid;

/// Entries of a page without a limit.
const LISTED_DEFAULT: u32 = 100;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type ModerationMessage = { id: string, sender_id: string, text: string, create_time: number }
type ModerationStatement = {
    category: string,
    text: string,
    channel_id: string,
    match_id: string,
    messages: {ModerationMessage},
    create_time: number,
}
type ModerationReport = {
    id: string,
    reporter_id: string,
    reporter_username: string,
    target_id: string,
    target_username: string,
    open: boolean,
    statements: {ModerationStatement},
    decision: string?,
    note: string,
    create_time: number,
    update_time: number,
    resolve_time: number?,
}
type ModerationMute = {
    id: string,
    user_id: string,
    username: string,
    reason: string,
    create_time: number,
    end_time: number?,
}
";

const USER: Parameter = required("user", "string", "Player.");
const LIMIT: Parameter = optional("limit", "number", "Entries per page, up to 100, which is the default.");
const CURSOR: Parameter = optional("cursor", "string", "Cursor of the page.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("moderation_reports_list", |used, args| Box::pin(reports(used, args)))
        .about("Lists reports of players, the oldest first. Returns them with the cursor of the next page.")
        .parameters(&[
            optional("resolved", "boolean", "True for resolved reports; false, the default, for open ones."),
            optional("target", "string", "Reported player; nil for all."),
            LIMIT,
            CURSOR,
        ])
        .returns("({ModerationReport}, string?)")
        .only_in(Modules::Aether),
    Function::service("moderation_mute", |used, args| Box::pin(mute(used, args)))
        .about("Mutes a player in chat, and notifies the player. A mute that has not ended is replaced.")
        .parameters(&[
            USER,
            optional("seconds", "number", "Duration; nil for no end."),
            optional("reason", "string", "Reason, which the player sees."),
        ])
        .returns("ModerationMute")
        .only_in(Modules::Aether),
    Function::service("moderation_unmute", |used, args| Box::pin(unmute(used, args)))
        .about("Ends the mute of a player. Returns false if there is none.")
        .parameters(&[USER])
        .returns("boolean")
        .only_in(Modules::Aether),
    Function::service("moderation_mute_get", |used, args| Box::pin(find_mute(used, args)))
        .about("Returns the mute of a player that has not ended, or nil.")
        .parameters(&[USER])
        .returns("ModerationMute?")
        .only_in(Modules::Aether),
    Function::service("moderation_mutes_list", |used, args| Box::pin(mutes(used, args)))
        .about(
            "Lists mutes that have not ended, the first to end first. Returns them with the cursor of the next page.",
        )
        .parameters(&[LIMIT, CURSOR])
        .returns("({ModerationMute}, string?)")
        .only_in(Modules::Aether),
];

async fn reports(used: ScriptServices, args: Arguments) -> Outcome {
    let filter = ReportFilter {
        is_resolved: args.boolean_or(0, false)?,
        target: args.optional_id(1)?,
        limit: optional_number(&args, 2, "a limit from 1")?.unwrap_or(LISTED_DEFAULT),
        cursor: cursor_argument(&args, 3)?,
    };
    let page = used.services.moderation.list_reports(filter).await?;
    Ok(vec![Value::list(page.reports.iter().map(report)), non_empty(page.cursor)])
}

async fn mute(used: ScriptServices, args: Arguments) -> Outcome {
    let new = NewMute {
        user: args.id(0)?,
        seconds: args.optional_integer(1)?,
        reason: args.optional_text(2)?.unwrap_or_default().to_owned(),
        muted_by: Uuid::nil(),
    };
    let mute = used.services.moderation.mute(new).await?;
    moderation::tell_muted(&used.services, &mute).await;
    Ok(vec![shown_mute(&mute)])
}

async fn unmute(used: ScriptServices, args: Arguments) -> Outcome {
    Ok(vec![Value::from(used.services.moderation.unmute(args.id(0)?).await?)])
}

async fn find_mute(used: ScriptServices, args: Arguments) -> Outcome {
    let found = used.services.moderation.find_mute(args.id(0)?).await?;
    Ok(vec![found.as_ref().map_or(Value::Nil, shown_mute)])
}

async fn mutes(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = optional_number(&args, 0, "a limit from 1")?.unwrap_or(LISTED_DEFAULT);
    let page = used.services.moderation.list_mutes(limit, &cursor_argument(&args, 1)?).await?;
    Ok(vec![Value::list(page.mutes.iter().map(shown_mute)), non_empty(page.cursor)])
}

fn report(report: &Report) -> Value {
    Value::table([
        ("id", Value::from(report.id.to_string())),
        ("reporter_id", Value::from(report.reporter.to_string())),
        ("reporter_username", Value::from(report.reporter_username.as_str())),
        ("target_id", Value::from(report.target.to_string())),
        ("target_username", Value::from(report.target_username.as_str())),
        ("open", Value::from(report.is_open)),
        ("statements", Value::list(report.statements.iter().map(statement))),
        ("decision", report.decision.map(Decision::name).into()),
        ("note", Value::from(report.note.as_str())),
        ("create_time", Value::seconds(report.created_at)),
        ("update_time", Value::seconds(report.updated_at)),
        ("resolve_time", report.resolved_at.map_or(Value::Nil, Value::seconds)),
    ])
}

fn statement(statement: &Statement) -> Value {
    let messages = statement.messages.iter().map(|message| {
        Value::table([
            ("id", Value::from(message.id.as_str())),
            ("sender_id", Value::from(message.sender.to_string())),
            ("text", Value::from(message.text.as_str())),
            ("create_time", Value::seconds(message.created_at)),
        ])
    });
    Value::table([
        ("category", Value::from(statement.category.as_str())),
        ("text", Value::from(statement.text.as_str())),
        ("channel_id", Value::from(statement.channel.as_str())),
        ("match_id", Value::from(statement.match_id.as_str())),
        ("messages", Value::list(messages)),
        ("create_time", Value::seconds(statement.created_at)),
    ])
}

fn shown_mute(mute: &Mute) -> Value {
    Value::table([
        ("id", Value::from(mute.id.to_string())),
        ("user_id", Value::from(mute.user.to_string())),
        ("username", Value::from(mute.username.as_str())),
        ("reason", Value::from(mute.reason.as_str())),
        ("create_time", Value::seconds(mute.created_at)),
        ("end_time", mute.expires_at.map_or(Value::Nil, Value::seconds)),
    ])
}
