//! Chat channels and their messages.

use super::table::{cursor_argument, non_empty, object, optional_object};
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::{Key, Map, Value};
use aether_services::chat::{Channel, ChatMessage, HistoryQuery, NewMessage, code};
use aether_services::{GrpcCode, ServiceError};
use uuid::Uuid;

/// Messages of a page without a limit.
const LISTED_DEFAULT: i64 = 100;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type ChannelMessageAck = {
    channel_id: string,
    message_id: string,
    code: number,
    username: string,
    create_time: number,
    update_time: number,
    persistent: boolean,
    sequence: number,
    channelId: string,
    messageId: string,
    createTime: number,
    updateTime: number,
}
type ChannelMessage = ChannelMessageAck & {
    sender_id: string,
    content: string,
    room_name: string,
    group_id: string,
    user_id_one: string,
    user_id_two: string,
    senderId: string,
    roomName: string,
    groupId: string,
    userIdOne: string,
    userIdTwo: string,
}
";

const CHANNEL: Parameter = required("channelID", "string", "Id of the channel.");
const MESSAGE: Parameter = required("messageID", "string", "Id of the message.");
const SENDER: Parameter = optional("senderID", "string", "User who counts as the sender; nil for the server.");
const USERNAME: Parameter = optional("senderUsername", "string", "Username that is shown; empty by default.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("channel_message_send", |used, args| Box::pin(send(used, args)))
        .about("Sends a message to the members of a channel.")
        .parameters(&[
            CHANNEL,
            optional("content", "{[string]: any}", "Content; an empty table by default."),
            SENDER,
            USERNAME,
            optional("persist", "boolean", "True, the default, to store it in the history."),
        ])
        .returns("ChannelMessageAck"),
    Function::service("channel_message_update", |used, args| Box::pin(update(used, args)))
        .about("Changes the content of a message.")
        .parameters(&[
            CHANNEL,
            MESSAGE,
            required("content", "{[string]: any}", "New content."),
            optional("senderID", "string", "Sender, who must be that of the message; nil to change any message."),
            USERNAME,
            optional("persist", "boolean", "True, the default, to change the history; false to tell the members only."),
        ])
        .returns("ChannelMessageAck"),
    Function::service("channel_message_remove", |used, args| Box::pin(remove(used, args)))
        .about("Removes a message.")
        .parameters(&[
            CHANNEL,
            MESSAGE,
            optional(
                "senderID",
                "string",
                "Sender of the message, or an admin of its group; nil to remove any message.",
            ),
            USERNAME,
            optional("persist", "boolean", "True, the default, to change the history; false to tell the members only."),
        ])
        .returns("ChannelMessageAck"),
    Function::service("channel_messages_list", |used, args| Box::pin(list(used, args)))
        .about("Lists stored messages of a channel. Returns them with the cursors of the next and the previous page.")
        .parameters(&[
            CHANNEL,
            optional("limit", "number", "Messages per page, up to 100, which is the default."),
            optional("forward", "boolean", "True, the default, for the oldest first."),
            optional("cursor", "string", "Cursor of the page."),
        ])
        .returns("({ChannelMessage}, string?, string?)"),
    Function::service("channel_id_build", |used, args| Box::pin(build_id(used, args)))
        .about("Returns the id of a channel.")
        .parameters(&[
            optional("senderID", "string", "User; needed for a chat of two."),
            required("target", "string", "Name of a room, id or username of the other user, or id of a group."),
            required("chanType", "number", "1 for a room, 2 for a chat of two, 3 for a group."),
        ])
        .returns("string"),
];

async fn send(used: ScriptServices, args: Arguments) -> Outcome {
    let content = optional_object(&args, 1)?.unwrap_or_else(|| "{}".to_owned());
    let new = new_message(&args, code::CHAT, content, 2)?;
    let message = used.services.chat.send_new(new, args.boolean_or(4, true)?).await?;
    Ok(vec![ack(&message)])
}

async fn update(used: ScriptServices, args: Arguments) -> Outcome {
    let new = new_message(&args, code::UPDATE, object(&args, 2)?, 3)?;
    let (id, chat) = (args.id(1)?, &used.services.chat);
    let NewMessage { channel, content, .. } = new.clone();
    let message = match (args.boolean_or(5, true)?, new.sender) {
        (false, _) => chat.send_change(&new, id)?,
        (true, None) => chat.update_stored(&channel, id, content).await?,
        (true, Some(sender)) => chat.update_as(sender, &channel, id, content).await?,
    };
    Ok(vec![ack(&message)])
}

async fn remove(used: ScriptServices, args: Arguments) -> Outcome {
    let new = new_message(&args, code::REMOVE, "{}".to_owned(), 2)?;
    let (id, chat) = (args.id(1)?, &used.services.chat);
    let message = match (args.boolean_or(4, true)?, new.sender) {
        (false, _) => chat.send_change(&new, id)?,
        (true, None) => chat.remove_stored(&new.channel, id).await?,
        (true, Some(sender)) => chat.remove_as(sender, &new.channel, id).await?,
    };
    Ok(vec![ack(&message)])
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let query = HistoryQuery {
        limit: Some(args.optional_integer(1)?.unwrap_or(LISTED_DEFAULT)),
        forward: Some(args.boolean_or(2, true)?),
        cursor: cursor_argument(&args, 3)?,
    };
    let page = used.services.chat.history(None, &Channel::parse(args.text(0)?)?, &query).await?;
    let messages = Value::list(page.messages.iter().map(message));
    Ok(vec![messages, non_empty(page.next_cursor), non_empty(page.prev_cursor)])
}

async fn build_id(used: ScriptServices, args: Arguments) -> Outcome {
    let target = args.text(1)?;
    let channel = match args.integer(2)? {
        1 => Channel::room(target)?,
        2 => {
            let sender = args.optional_id(0)?.ok_or_else(|| args.expected(0, "the id of a user"))?;
            Channel::direct(sender, find_user(&used, target).await?)?
        }
        3 => {
            let group = args.id(1)?;
            let found = used.services.groups.by_ids(vec![group]).await?;
            if found.is_empty() {
                return Err(not_found("group", target));
            }
            Channel::group(group)
        }
        _ => return Err(args.expected(2, "1, 2 or 3")),
    };
    Ok(vec![Value::from(channel.id())])
}

/// Finds a user by id or username.
async fn find_user(used: &ScriptServices, named: &str) -> Result<Uuid, ScriptError> {
    let (ids, names) = match Uuid::try_parse(named) {
        Ok(id) => (vec![id], Vec::new()),
        Err(_) => (Vec::new(), vec![named.to_owned()]),
    };
    let users = used.services.accounts.users(ids, names, Vec::new()).await?;
    users.first().map(|user| user.id).ok_or_else(|| not_found("user", named))
}

fn not_found(what: &str, named: &str) -> ScriptError {
    let message = format!("The {what} `{named:.64}` was not found; it may have been deleted.");
    ServiceError::with(GrpcCode::NotFound, message).into()
}

/// Reads a message. The sender and the username are at `first` and after it.
fn new_message(args: &Arguments, code: i32, content: String, first: usize) -> Result<NewMessage, ScriptError> {
    Ok(NewMessage {
        channel: Channel::parse(args.text(0)?)?,
        code,
        sender: args.optional_id(first)?.filter(|sender| !sender.is_nil()),
        username: args.optional_text(first + 1)?.unwrap_or_default().to_owned(),
        content,
    })
}

fn ack(message: &ChatMessage) -> Value {
    Value::Map(common(message))
}

fn message(message: &ChatMessage) -> Value {
    let wire = message.to_message();
    let mut table = common(message);
    table.insert(Key::from("content"), Value::from(wire.content));
    named(&mut table, "sender_id", "senderId", Value::from(wire.sender_id));
    named(&mut table, "room_name", "roomName", Value::from(wire.room_name));
    named(&mut table, "group_id", "groupId", Value::from(wire.group_id));
    named(&mut table, "user_id_one", "userIdOne", Value::from(wire.user_id_one));
    named(&mut table, "user_id_two", "userIdTwo", Value::from(wire.user_id_two));
    Value::Map(table)
}

/// Returns the fields that an acknowledgement and a message share.
fn common(message: &ChatMessage) -> Map {
    let mut table = Map::from([
        (Key::from("code"), Value::from(i64::from(message.code))),
        (Key::from("username"), Value::from(message.username.as_str())),
        (Key::from("persistent"), Value::from(message.sequence > 0)),
        (Key::from("sequence"), Value::from(message.sequence)),
    ]);
    named(&mut table, "channel_id", "channelId", Value::from(message.channel.id()));
    named(&mut table, "message_id", "messageId", Value::from(message.id.to_string()));
    named(&mut table, "create_time", "createTime", Value::seconds(message.created_at));
    named(&mut table, "update_time", "updateTime", Value::seconds(message.updated_at));
    table
}

/// Adds a field under its name, and under the one that Nakama modules use for chat alone.
fn named(table: &mut Map, name: &str, other: &str, value: Value) {
    table.insert(Key::from(other), value.clone());
    table.insert(Key::from(name), value);
}
