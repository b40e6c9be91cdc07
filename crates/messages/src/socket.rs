//! Operations of the realtime socket: each message that a client sends, with its answer.
//!
//! An operation has the name of its message, which identifies its handler and its hooks. An answer without contents is
//! [`Empty`]: the client gets an envelope with its `cid` only. `rpc` is the operation
//! [`RpcFunc`](crate::operation::RpcFunc), as over HTTP.

use crate::realtime::{self, Envelope, envelope::Message};
use crate::{Empty, Operation};
use prost::Message as _;
use std::fmt;

/// Maximum elements of the lists and maps of a client's message, together. The longest request of the protocol, a list of
/// users to follow, has 512.
pub const FRAME_ELEMENTS_MAX: usize = 1_000;

/// Maximum bytes of a `cid`. SDKs count; the text is copied into the answer.
pub const CID_BYTES_MAX: usize = 128;

/// Format of the messages of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketFormat {
    /// JSON in text messages.
    Json,
    /// Protobuf in binary messages.
    Protobuf,
}

/// Answer of an operation of the socket.
pub trait SocketAnswer {
    /// Returns the message of the answer; none if it has no contents.
    fn into_message(self) -> Option<Message>;
}

impl SocketAnswer for Empty {
    fn into_message(self) -> Option<Message> {
        None
    }
}

macro_rules! answers {
    ($($answer:ident)*) => {$(
        impl SocketAnswer for realtime::$answer {
            fn into_message(self) -> Option<Message> {
                Some(Message::$answer(self))
            }
        }
    )*};
}

answers! { Channel ChannelMessageAck Match MatchmakerTicket Party PartyJoinRequest PartyMatchmakerTicket Pong Status }

macro_rules! operations {
    ($($name:ident => $answer:ty,)*) => {
        $(
            #[doc = concat!("[`", stringify!($name), "`](crate::realtime::", stringify!($name), ") is answered by [`",
                stringify!($answer), "`].")]
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Operation for $name {
                const NAME: &'static str = stringify!($name);
                type Request = realtime::$name;
                type Answer = $answer;
            }
        )*

        /// Names of these operations, in the order of the table.
        pub const NAMES: &[&str] = &[$($name::NAME,)*];

        /// Returns the name of the operation that a message requests; none if clients do not send the message.
        #[must_use]
        pub fn name_of(message: &Message) -> Option<&'static str> {
            match message {
                $(Message::$name(_) => Some($name::NAME),)*
                Message::Rpc(_) => Some(crate::operation::RpcFunc::NAME),
                _ => None,
            }
        }
    };
}

operations! {
    ChannelJoin => realtime::Channel,
    ChannelLeave => Empty,
    ChannelMessageSend => realtime::ChannelMessageAck,
    ChannelMessageUpdate => realtime::ChannelMessageAck,
    ChannelMessageRemove => realtime::ChannelMessageAck,

    MatchCreate => realtime::Match,
    MatchDataSend => Empty,
    MatchJoin => realtime::Match,
    MatchLeave => Empty,

    MatchmakerAdd => realtime::MatchmakerTicket,
    MatchmakerRemove => Empty,

    PartyCreate => realtime::Party,
    PartyJoin => Empty,
    PartyLeave => Empty,
    PartyPromote => Empty,
    PartyAccept => Empty,
    PartyRemove => Empty,
    PartyClose => Empty,
    PartyUpdate => Empty,
    PartyJoinRequestList => realtime::PartyJoinRequest,
    PartyMatchmakerAdd => realtime::PartyMatchmakerTicket,
    PartyMatchmakerRemove => Empty,
    PartyDataSend => Empty,

    StatusFollow => realtime::Status,
    StatusUnfollow => Empty,
    StatusUpdate => Empty,

    Ping => realtime::Pong,
}

/// Error in a frame of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The frame is not an envelope: the text says why.
    Malformed(String),
    /// The lists and maps have more than [`FRAME_ELEMENTS_MAX`] elements together.
    TooManyElements,
    /// The `cid` has more than [`CID_BYTES_MAX`] bytes.
    LongCid,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Malformed(why) => write!(f, "malformed message: {why}"),
            FrameError::TooManyElements => {
                write!(f, "malformed message: more than {FRAME_ELEMENTS_MAX} elements; send fewer")
            }
            FrameError::LongCid => write!(f, "malformed message: the cid has more than {CID_BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Decodes a binary frame of a client.
pub fn decode_protobuf(frame: &[u8]) -> Result<Envelope, FrameError> {
    let envelope = Envelope::decode(frame).map_err(|error| FrameError::Malformed(error.to_string()))?;
    check(envelope)
}

/// Decodes a text frame of a client. `parse` reads JSON: this crate has no parser.
pub fn decode_json<E: fmt::Display>(parse: impl FnOnce() -> Result<Envelope, E>) -> Result<Envelope, FrameError> {
    check(parse().map_err(|error| FrameError::Malformed(error.to_string()))?)
}

fn check(envelope: Envelope) -> Result<Envelope, FrameError> {
    if envelope.cid.len() > CID_BYTES_MAX {
        return Err(FrameError::LongCid);
    }
    match envelope.message.as_ref().map_or(0, elements) {
        ..=FRAME_ELEMENTS_MAX => Ok(envelope),
        _ => Err(FrameError::TooManyElements),
    }
}

/// Returns the number of elements of the lists and maps of a client's message.
fn elements(message: &Message) -> usize {
    match message {
        Message::MatchDataSend(data) => data.presences.len(),
        Message::MatchJoin(join) => join.metadata.len(),
        Message::MatchmakerAdd(add) => add.string_properties.len() + add.numeric_properties.len(),
        Message::PartyMatchmakerAdd(add) => add.string_properties.len() + add.numeric_properties.len(),
        Message::StatusFollow(follow) => follow.user_ids.len() + follow.usernames.len(),
        Message::StatusUnfollow(unfollow) => unfollow.user_ids.len(),
        _ => 0,
    }
}
