//! Streams: groups of sessions that receive the same messages.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::realtime::envelope::Message;
use aether_services::realtime::{Envelope, StreamData};
use aether_services::router::{Presence, PresenceMeta, Shown, StreamId};
use aether_services::{GrpcCode, ServiceError};
use uuid::Uuid;

/// Most presences that one call names.
const PRESENCES_MAX: usize = 1_000;

const NO_SESSION: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "The session is not connected, or it is one of another user.");
const NOT_IN_STREAM: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "The session is not in the stream. Let it join first.");
const MANAGED: ServiceError = ServiceError::new(
    GrpcCode::PermissionDenied,
    "Only the server changes who is in the streams of notifications, matches and parties. Use a mode from 64.",
);

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type Stream = { mode: number, subject: string?, subcontext: string?, label: string? }
type StreamPresence = {
    user_id: string,
    session_id: string,
    username: string,
    node: string,
    hidden: boolean,
    persistence: boolean,
    status: string,
}
type StreamPresenceId = { user_id: string?, session_id: string, node: string? }
";

const STREAM: Parameter =
    required("streamTable", "Stream", "Stream: its mode, and perhaps subject, subcontext and label.");
const USER: Parameter = required("userID", "string", "User of the session.");
const SESSION: Parameter = required("sessionID", "string", "Id of the socket session.");
const HIDDEN: Parameter = optional("hidden", "boolean", "True if others do not see the presence; false by default.");
const PERSISTENCE: Parameter =
    optional("persistence", "boolean", "True, the default, if messages are stored, where the stream stores any.");
const STATUS: Parameter = optional("status", "string", "Text of the presence; empty by default.");
const PRESENCES: Parameter = optional("presences", "{StreamPresenceId}", "Receivers in the stream; all by default.");
const RELIABLE: Parameter = optional("reliable", "boolean", "True by default. Sockets deliver all messages reliably.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("stream_user_list", |used, args| Box::pin(list(used, args)))
        .about("Returns the presences of a stream.")
        .parameters(&[
            STREAM,
            optional("includeHidden", "boolean", "True, the default, for hidden presences too."),
            optional("includeNotHidden", "boolean", "True, the default, for visible presences too."),
        ])
        .returns("{StreamPresence}"),
    Function::service("stream_user_get", |used, args| Box::pin(get(used, args)))
        .about("Returns the presence of a session in a stream, or nil.")
        .parameters(&[USER, SESSION, STREAM])
        .returns("StreamPresence?"),
    Function::service("stream_user_join", |used, args| Box::pin(join(used, args)))
        .about("Adds a session to a stream. Returns true if it was not in it.")
        .parameters(&[USER, SESSION, STREAM, HIDDEN, PERSISTENCE, STATUS])
        .returns("boolean"),
    Function::service("stream_user_update", |used, args| Box::pin(update(used, args)))
        .about("Changes the presence of a session in a stream.")
        .parameters(&[USER, SESSION, STREAM, HIDDEN, PERSISTENCE, STATUS]),
    Function::service("stream_user_leave", |used, args| Box::pin(leave(used, args)))
        .about("Removes a session from a stream.")
        .parameters(&[USER, SESSION, STREAM]),
    Function::service("stream_user_kick", |used, args| Box::pin(kick(used, args)))
        .about("Removes presences from a stream.")
        .parameters(&[
            required("presences", "StreamPresenceId | {StreamPresenceId}", "One presence, or a list."),
            STREAM,
        ]),
    Function::service("stream_count", |used, args| Box::pin(count(used, args)))
        .about("Returns the number of presences in a stream, with hidden ones.")
        .parameters(&[STREAM])
        .returns("number"),
    Function::service("stream_close", |used, args| Box::pin(close(used, args)))
        .about("Removes all presences from a stream.")
        .parameters(&[STREAM]),
    Function::service("stream_send", |used, args| Box::pin(send(used, args)))
        .about("Sends data to the sessions in a stream.")
        .parameters(&[STREAM, required("data", "string", "Data, as text."), PRESENCES, RELIABLE]),
    Function::service("stream_send_raw", |used, args| Box::pin(send_raw(used, args)))
        .about("Sends a message of the socket protocol to the sessions in a stream.")
        .parameters(&[
            STREAM,
            required("envelope", "{[string]: any}", "Message in its JSON form, such as `{ stream_data = ... }`."),
            PRESENCES,
            RELIABLE,
        ]),
];

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let (hidden, visible) = (args.boolean_or(1, true)?, args.boolean_or(2, true)?);
    let presences = used.services.router.list(&stream(&args, 0)?, Shown::All);
    let shown = presences.iter().filter(|it| if it.meta.hidden { hidden } else { visible });
    Ok(vec![Value::list(shown.map(presence))])
}

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    let (user, stream) = (args.id(0)?, stream(&args, 2)?);
    let found = used.services.router.find(args.id(1)?, &stream).filter(|found| found.socket.user == user);
    Ok(vec![found.as_ref().map_or(Value::Nil, presence)])
}

async fn join(used: ScriptServices, args: Arguments) -> Outcome {
    let (session, stream) = own_session(&used, &args)?;
    let is_new = used.services.router.find(session, &stream).is_none();
    if is_new {
        used.services.router.track(session, &stream, meta(&args)?)?;
    }
    Ok(vec![Value::from(is_new)])
}

async fn update(used: ScriptServices, args: Arguments) -> Outcome {
    let (session, stream) = own_session(&used, &args)?;
    used.services.router.find(session, &stream).ok_or(NOT_IN_STREAM)?;
    used.services.router.track(session, &stream, meta(&args)?)?;
    Ok(Vec::new())
}

async fn leave(used: ScriptServices, args: Arguments) -> Outcome {
    let (session, stream) = own_session(&used, &args)?;
    used.services.router.untrack(session, &stream);
    Ok(Vec::new())
}

async fn kick(used: ScriptServices, args: Arguments) -> Outcome {
    let stream = changed_stream(&args, 1)?;
    let sessions = match args.value(0) {
        Value::Map(map) if !map.is_empty() => vec![session_of(&args, 0, args.value(0))?],
        _ => sessions(&args, 0)?,
    };
    for session in sessions {
        used.services.router.untrack(session, &stream);
    }
    Ok(Vec::new())
}

async fn count(used: ScriptServices, args: Arguments) -> Outcome {
    Ok(vec![Value::from(used.services.router.count(&stream(&args, 0)?) as f64)])
}

async fn close(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.router.close_stream(&changed_stream(&args, 0)?);
    Ok(Vec::new())
}

async fn send(used: ScriptServices, args: Arguments) -> Outcome {
    let (stream, data, reliable) = (stream(&args, 0)?, args.text(1)?.to_owned(), args.boolean_or(3, true)?);
    let data = StreamData { stream: Some(stream.to_message()), sender: None, data, reliable };
    deliver(&used, &args, &stream, Message::StreamData(data))
}

async fn send_raw(used: ScriptServices, args: Arguments) -> Outcome {
    let (stream, _) = (stream(&args, 0)?, args.boolean_or(3, true)?);
    let json = args.optional_object(1)?.unwrap_or_default();
    let envelope: Option<Envelope> = serde_json::from_value(json).ok();
    let message = envelope.and_then(|envelope| envelope.message);
    let message = message.ok_or_else(|| args.expected(1, "a table with one message of the socket protocol"))?;
    deliver(&used, &args, &stream, message)
}

/// Sends a message to the presences of the third argument, or to the whole stream.
fn deliver(used: &ScriptServices, args: &Arguments, stream: &StreamId, message: Message) -> Outcome {
    match sessions(args, 2)?.as_slice() {
        [] => used.services.router.send_to_stream(stream, message),
        sessions => used.services.router.send_to_members(stream, sessions, message),
    };
    Ok(Vec::new())
}

/// Returns the connected session of a user, and the stream whose presences change.
fn own_session(used: &ScriptServices, args: &Arguments) -> Result<(Uuid, StreamId), ScriptError> {
    let (user, session, stream) = (args.id(0)?, args.id(1)?, changed_stream(args, 2)?);
    let socket = used.services.router.session(session).filter(|socket| socket.user == user);
    Ok((socket.ok_or(NO_SESSION)?.session, stream))
}

/// Returns a stream whose presences scripts may change.
fn changed_stream(args: &Arguments, index: usize) -> Result<StreamId, ScriptError> {
    let stream = stream(args, index)?;
    if stream.is_managed() { Err(MANAGED.into()) } else { Ok(stream) }
}

fn stream(args: &Arguments, index: usize) -> Result<StreamId, ScriptError> {
    let table = args.value(index);
    let mode = match table.get("mode") {
        Value::Number(mode) if (0.0..=255.0).contains(mode) && mode.fract() == 0.0 => *mode as u8,
        _ => return Err(args.expected(index, "a stream: a table with a mode from 0 to 255")),
    };
    let id = |key: &str| match table.get(key) {
        Value::Nil => Ok(Uuid::nil()),
        value => match value.as_str() {
            Some("") => Ok(Uuid::nil()),
            text => text
                .and_then(|text| Uuid::try_parse(text).ok())
                .ok_or_else(|| args.expected(index, &format!("a stream whose {key} is an id (UUID)"))),
        },
    };
    let label = match table.get("label") {
        Value::Nil => String::new(),
        value => value.as_str().ok_or_else(|| args.expected(index, "a stream whose label is a string"))?.to_owned(),
    };
    Ok(StreamId { mode, subject: id("subject")?, subcontext: id("subcontext")?, label })
}

fn meta(args: &Arguments) -> Result<PresenceMeta, ScriptError> {
    Ok(PresenceMeta {
        hidden: args.boolean_or(3, false)?,
        persistence: args.boolean_or(4, true)?,
        status: args.optional_text(5)?.unwrap_or_default().to_owned(),
    })
}

/// Returns the sessions of a list of presences.
fn sessions(args: &Arguments, index: usize) -> Result<Vec<Uuid>, ScriptError> {
    let presences = args.list(index)?;
    if presences.len() > PRESENCES_MAX {
        return Err(args.expected(index, &format!("at most {PRESENCES_MAX} presences")));
    }
    presences.iter().map(|presence| session_of(args, index, presence)).collect()
}

fn session_of(args: &Arguments, index: usize, presence: &Value) -> Result<Uuid, ScriptError> {
    let session = presence.get("session_id").as_str().and_then(|text| Uuid::try_parse(text).ok());
    session.ok_or_else(|| args.expected(index, "presences: tables with a session_id"))
}

/// Returns the table of a presence.
pub(super) fn presence(presence: &Presence) -> Value {
    let Presence { socket, meta } = presence;
    Value::table([
        ("user_id", Value::from(socket.user.to_string())),
        ("session_id", Value::from(socket.session.to_string())),
        ("username", Value::from(&*socket.username)),
        ("node", Value::from(&*socket.node)),
        ("hidden", Value::from(meta.hidden)),
        ("persistence", Value::from(meta.persistence)),
        ("status", Value::from(meta.status.as_str())),
    ])
}
