//! Ids of channels.

use super::limits::ROOM_NAME_CHARS_MAX;
use crate::error::{GrpcCode, ServiceError};
use crate::router::{StreamId, channel_id, mode};
use std::sync::Arc;
use uuid::Uuid;

const INVALID_ID: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "Invalid channel identifier. Send the id of a channel as the server gave it.",
);
const SELF: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "Cannot open direct message channel with self.");

/// Channel of chat: a room, the chat of a group, or the chat of two users.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    stream: StreamId,
    /// The id as clients know it.
    id: Arc<str>,
}

impl Channel {
    /// Returns the channel of a chat room.
    pub fn room(name: &str) -> Result<Channel, ServiceError> {
        let is_long = name.chars().nth(ROOM_NAME_CHARS_MAX).is_some();
        if name.is_empty() || is_long || name.chars().any(char::is_control) {
            return Err(ServiceError::invalid(format!(
                "The name of a chat room must have 1 to {ROOM_NAME_CHARS_MAX} characters and no control characters."
            )));
        }
        Ok(Channel::of(StreamId { mode: mode::CHANNEL, label: name.to_owned(), ..StreamId::default() }))
    }

    /// Returns the channel of a group.
    #[must_use]
    pub fn group(group: Uuid) -> Channel {
        Channel::of(StreamId { mode: mode::GROUP, subject: group, ..StreamId::default() })
    }

    /// Returns the channel of two users. They must differ.
    pub fn direct(one: Uuid, two: Uuid) -> Result<Channel, ServiceError> {
        if one == two {
            return Err(SELF);
        }
        let (subject, subcontext) = (one.min(two), one.max(two));
        Ok(Channel::of(StreamId { mode: mode::DIRECT, subject, subcontext, label: String::new() }))
    }

    /// Parses the id of a channel. Only the form that the server writes is valid, so that a channel has one id.
    pub fn parse(id: &str) -> Result<Channel, ServiceError> {
        let mut parts = id.splitn(4, '.');
        let [Some(mode), Some(subject), Some(subcontext), Some(label)] = [(); 4].map(|()| parts.next()) else {
            return Err(INVALID_ID);
        };
        let uuid = |text: &str| text.parse::<Uuid>().map_err(|_| INVALID_ID);
        let channel = match mode {
            "2" => Channel::room(label)?,
            "3" => Channel::group(uuid(subject)?),
            "4" => Channel::direct(uuid(subject)?, uuid(subcontext)?)?,
            _ => return Err(INVALID_ID),
        };
        if channel.id() == id { Ok(channel) } else { Err(INVALID_ID) }
    }

    fn of(stream: StreamId) -> Channel {
        let id = channel_id(&stream).into();
        Channel { stream, id }
    }

    /// Returns the id as clients know it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the stream that the members of the channel are present in.
    #[must_use]
    pub fn stream(&self) -> &StreamId {
        &self.stream
    }

    /// Returns the group of the channel, if it is the chat of one.
    #[must_use]
    pub fn group_of(&self) -> Option<Uuid> {
        (self.stream.mode == mode::GROUP).then_some(self.stream.subject)
    }

    /// Returns the two users of the channel, if it is a chat of two.
    #[must_use]
    pub fn users(&self) -> Option<[Uuid; 2]> {
        (self.stream.mode == mode::DIRECT).then_some([self.stream.subject, self.stream.subcontext])
    }

    /// Returns the name of the room, the group, and the users, as messages have them. What does not apply is empty.
    pub(super) fn names(&self) -> ChannelNames {
        let text = |id: Option<Uuid>| id.map(|id| id.to_string()).unwrap_or_default();
        let users = self.users();
        ChannelNames {
            room: if self.stream.mode == mode::CHANNEL { self.stream.label.clone() } else { String::new() },
            group: text(self.group_of()),
            one: text(users.map(|[one, _]| one)),
            two: text(users.map(|[_, two]| two)),
        }
    }
}

/// Names of a channel in messages.
pub(super) struct ChannelNames {
    pub room: String,
    pub group: String,
    pub one: String,
    pub two: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_parsed_into_the_channel_that_has_it() {
        let [one, two] = [Uuid::from_u128(1), Uuid::from_u128(2)];
        let channels = [Channel::room("a.b..c").unwrap(), Channel::group(one), Channel::direct(two, one).unwrap()];
        for channel in channels {
            assert_eq!(Channel::parse(channel.id()), Ok(channel.clone()));
        }
        assert_eq!(Channel::direct(one, two).unwrap(), Channel::direct(two, one).unwrap());
    }

    #[test]
    fn other_texts_are_refused() {
        let [one, two] = [Uuid::from_u128(1), Uuid::from_u128(2)];
        let long = format!("2...{}", "x".repeat(ROOM_NAME_CHARS_MAX + 1));
        let ids = [
            "".to_owned(),
            "2".to_owned(),
            "2...".to_owned(),
            "2.a..room".to_owned(),
            "2...a\nb".to_owned(),
            long,
            "3.x..".to_owned(),
            format!("3.{one}"),
            format!("3.{one}..label"),
            format!("4.{two}.{one}."),
            format!("4.{one}.{one}."),
            format!("4.{one}.."),
            format!("5.{one}.."),
            format!("3.{}..", Uuid::from_u128(0xabc << 100).to_string().to_uppercase()),
        ];
        for id in ids {
            assert!(Channel::parse(&id).is_err(), "{id:?}");
        }
        assert!(Channel::room(&"é".repeat(ROOM_NAME_CHARS_MAX)).is_ok());
    }
}
