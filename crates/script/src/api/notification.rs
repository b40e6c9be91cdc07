//! Notifications of users.

use super::table::{cursor_argument, non_empty, object, optional_number};
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::notification::{NewNotification, NotificationToAll, NotificationUpdate, StoredNotification};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Notifications of a page without a limit.
const LISTED_DEFAULT: i32 = 100;
const CODE: &str = "a code from 1; others are those of the server";

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type Notification = {
    id: string,
    user_id: string,
    subject: string,
    content: {[string]: any},
    code: number,
    sender_id: string,
    persistent: boolean,
    create_time: number,
}
type NotificationNew = {
    user_id: string,
    subject: string,
    content: {[string]: any},
    code: number,
    sender_id: string?,
    persistent: boolean?,
}
type NotificationId = { user_id: string, notification_id: string }
type NotificationChange = { id: string, subject: string?, content: {[string]: any}?, sender_id: string? }
";

const SUBJECT: Parameter = required("subject", "string", "Subject.");
const PERSISTENT: Parameter =
    optional("persistent", "boolean", "True to store it until it is deleted; false by default.");
const CODE_PARAMETER: Parameter = required("code", "number", "Code, from 1.");
const IDS: Parameter = required("notificationIDs", "{string}", "Ids, at most 100.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("notification_send", |used, args| Box::pin(send(used, args)))
        .about("Sends a notification to a user.")
        .parameters(&[
            required("userID", "string", "Receiver."),
            SUBJECT,
            required("contentMap", "{[string]: any}", "Content; may be an empty table."),
            CODE_PARAMETER,
            optional("sender", "string", "User who counts as the sender; nil for the server."),
            PERSISTENT,
        ]),
    Function::service("notifications_send", |used, args| Box::pin(send_many(used, args)))
        .about("Sends notifications, all or none.")
        .parameters(&[required("notifications", "{NotificationNew}", "Notifications, at most 1000.")]),
    Function::service("notification_send_all", |used, args| Box::pin(send_all(used, args)))
        .about("Sends a notification to all users: to those who are connected, or to all accounts if it is persistent.")
        .parameters(&[
            SUBJECT,
            required("content", "{[string]: any}", "Content; may be an empty table."),
            CODE_PARAMETER,
            PERSISTENT,
        ]),
    Function::service("notifications_list", |used, args| Box::pin(list(used, args)))
        .about("Lists stored notifications of a user, the oldest first. Returns them with a cursor to continue after them.")
        .parameters(&[
            required("userID", "string", "User."),
            optional("limit", "number", "Notifications per page, up to 100, which is the default."),
            optional("cursor", "string", "Cursor of the page."),
        ])
        .returns("({Notification}, string?)"),
    Function::service("notifications_delete", |used, args| Box::pin(delete(used, args)))
        .about("Deletes stored notifications of users.")
        .parameters(&[required("notifications", "{NotificationId}", "Users and ids, at most 100 of a user.")]),
    Function::service("notifications_update", |used, args| Box::pin(update(used, args)))
        .about("Changes stored notifications, all or none. What is nil stays.")
        .parameters(&[required("updates", "{NotificationChange}", "Changes, at most 100.")]),
    Function::service("notifications_get_id", |used, args| Box::pin(get(used, args)))
        .about("Returns stored notifications by id. Those that do not exist are left out.")
        .parameters(&[IDS, optional("userID", "string", "User whose notifications are returned; nil for all users.")])
        .returns("{Notification}"),
    Function::service("notifications_delete_id", |used, args| Box::pin(delete_by_id(used, args)))
        .about("Deletes stored notifications by id.")
        .parameters(&[IDS, optional("userID", "string", "User whose notifications are deleted; nil for all users.")]),
];

async fn send(used: ScriptServices, args: Arguments) -> Outcome {
    let new = NewNotification {
        user: args.id(0)?,
        subject: args.text(1)?.to_owned(),
        content: object(&args, 2)?,
        code: code(&args, 3)?,
        sender: args.optional_id(4)?.filter(|sender| !sender.is_nil()),
        persistent: args.boolean_or(5, false)?,
    };
    used.services.notifications.send(vec![new]).await?;
    Ok(Vec::new())
}

async fn send_many(used: ScriptServices, args: Arguments) -> Outcome {
    let new = args.list(0)?.iter().map(|value| new_notification(&args, value)).collect::<Result<_, _>>()?;
    used.services.notifications.send(new).await?;
    Ok(Vec::new())
}

async fn send_all(used: ScriptServices, args: Arguments) -> Outcome {
    let notification = NotificationToAll {
        subject: args.text(0)?.to_owned(),
        content: object(&args, 1)?,
        code: code(&args, 2)?,
        persistent: args.boolean_or(3, false)?,
    };
    used.services.notifications.send_to_all(notification).await?;
    Ok(Vec::new())
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = optional_number(&args, 1, "a limit")?.unwrap_or(LISTED_DEFAULT);
    let page = used.services.notifications.list(args.id(0)?, Some(limit), &cursor_argument(&args, 2)?).await?;
    Ok(vec![Value::list(page.notifications.iter().map(notification)), non_empty(page.cacheable_cursor)])
}

async fn delete(used: ScriptServices, args: Arguments) -> Outcome {
    let mut by_user: BTreeMap<Uuid, Vec<Uuid>> = BTreeMap::new();
    for value in args.list(0)? {
        let (user, id) = (id_of(value, "user_id"), id_of(value, "notification_id"));
        let expected = || args.expected(0, "a list of tables with user_id and notification_id");
        by_user.entry(user.ok_or_else(expected)?).or_default().push(id.ok_or_else(expected)?);
    }
    for (user, ids) in by_user {
        used.services.notifications.delete(user, ids).await?;
    }
    Ok(Vec::new())
}

async fn update(used: ScriptServices, args: Arguments) -> Outcome {
    let updates: Vec<_> = args.list(0)?.iter().map(|value| change(&args, value)).collect::<Result<_, _>>()?;
    used.services.notifications.update(&updates).await?;
    Ok(Vec::new())
}

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    let found = used.services.notifications.find(args.optional_id(1)?, &args.ids(0)?).await?;
    Ok(vec![Value::list(found.iter().map(notification))])
}

async fn delete_by_id(used: ScriptServices, args: Arguments) -> Outcome {
    let ids = args.ids(0)?;
    match args.optional_id(1)? {
        Some(user) => used.services.notifications.delete(user, ids).await?,
        None => used.services.notifications.delete_by_id(&ids).await?,
    }
    Ok(Vec::new())
}

fn code(args: &Arguments, index: usize) -> Result<i32, ScriptError> {
    let code = optional_number::<i32>(args, index, CODE)?.filter(|code| *code > 0);
    code.ok_or_else(|| args.expected(index, CODE))
}

fn new_notification(args: &Arguments, value: &Value) -> Result<NewNotification, ScriptError> {
    let new = || {
        let code = match value.get("code") {
            Value::Number(code) if *code >= 1.0 && code.fract() == 0.0 && *code <= f64::from(i32::MAX) => *code as i32,
            _ => return None,
        };
        let (sender, persistent) = (value.get("sender_id"), value.get("persistent"));
        Some(NewNotification {
            user: id_of(value, "user_id")?,
            subject: value.get("subject").as_str()?.to_owned(),
            content: object_of(value, "content")?,
            code,
            sender: if *sender == Value::Nil { None } else { Some(id_of(value, "sender_id")?) },
            persistent: match persistent {
                Value::Nil => false,
                Value::Boolean(persistent) => *persistent,
                _ => return None,
            },
        })
    };
    let expected = "a list of tables with user_id, subject, content, a code from 1, and perhaps sender_id, persistent";
    new().ok_or_else(|| args.expected(0, expected))
}

fn change(args: &Arguments, value: &Value) -> Result<NotificationUpdate, ScriptError> {
    let optional = |key: &str| Some(value.get(key)).filter(|value| **value != Value::Nil);
    let change = || {
        Some(NotificationUpdate {
            id: id_of(value, "id").or_else(|| id_of(value, "notification_id"))?,
            subject: optional("subject")
                .map(|subject| subject.as_str().map(str::to_owned).ok_or(()))
                .transpose()
                .ok()?,
            content: optional("content").map(|_| object_of(value, "content").ok_or(())).transpose().ok()?,
            sender: optional("sender_id").map(|_| id_of(value, "sender_id").ok_or(())).transpose().ok()?,
        })
    };
    let expected = "a list of tables with id, and perhaps subject, content, sender_id";
    change().ok_or_else(|| args.expected(0, expected))
}

fn id_of(value: &Value, key: &str) -> Option<Uuid> {
    value.get(key).as_str().and_then(|text| Uuid::try_parse(text).ok())
}

/// Returns the JSON text of a table.
fn object_of(value: &Value, key: &str) -> Option<String> {
    match value.get(key) {
        object @ Value::Map(_) => Some(object.to_json().to_string()),
        _ => None,
    }
}

fn notification(notification: &StoredNotification) -> Value {
    Value::table([
        ("id", Value::from(notification.id.to_string())),
        ("user_id", Value::from(notification.user.to_string())),
        ("subject", Value::from(notification.subject.as_str())),
        ("content", Value::from_json_text(&notification.content)),
        ("code", Value::from(i64::from(notification.code))),
        ("sender_id", Value::from(notification.sender.unwrap_or_default().to_string())),
        ("persistent", Value::from(notification.persistent)),
        ("create_time", Value::seconds(notification.created_at_ms)),
    ])
}
