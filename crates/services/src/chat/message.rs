//! Messages of chat.

use super::channel::{Channel, ChannelNames};
use aether_messages::{api, realtime, timestamp};
use std::hash::{BuildHasher, RandomState};
use uuid::{Builder, Uuid};

/// Codes of messages.
pub mod code {
    /// A message of a user.
    pub const CHAT: i32 = 0;
    /// A message was changed.
    pub const UPDATE: i32 = 1;
    /// A message was removed.
    pub const REMOVE: i32 = 2;
    /// A user joined the group.
    pub const GROUP_JOIN: i32 = 3;
    /// A user was added to the group.
    pub const GROUP_ADD: i32 = 4;
    /// A user left the group.
    pub const GROUP_LEAVE: i32 = 5;
    /// A user was removed from the group.
    pub const GROUP_KICK: i32 = 6;
    /// A user was promoted in the group.
    pub const GROUP_PROMOTE: i32 = 7;
    /// A user was banned from the group.
    pub const GROUP_BAN: i32 = 8;
    /// A user was demoted in the group.
    pub const GROUP_DEMOTE: i32 = 9;
}

/// Message that is not sent yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Channel.
    pub channel: Channel,
    /// Code: see [`code`].
    pub code: i32,
    /// Sender; `None` for a message of the server.
    pub sender: Option<Uuid>,
    /// Username of the sender.
    pub username: String,
    /// Content: a JSON object.
    pub content: String,
}

/// Message of a channel. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// Channel.
    pub channel: Channel,
    /// Number in the channel, from 1 and without gaps; 0 if the message is not stored.
    pub sequence: i64,
    /// Id.
    pub id: Uuid,
    /// Code: see [`code`].
    pub code: i32,
    /// Sender; nil for a message of the server.
    pub sender: Uuid,
    /// Username of the sender at the time of sending.
    pub username: String,
    /// Content: a JSON object.
    pub content: String,
    /// Time of sending.
    pub created_at: i64,
    /// Time of the last change.
    pub updated_at: i64,
}

impl ChatMessage {
    /// Creates a message with its number; 0 if it is not stored.
    pub(super) fn new(new: &NewMessage, sequence: i64, id: Uuid, now_ms: i64) -> ChatMessage {
        ChatMessage {
            channel: new.channel.clone(),
            sequence,
            id,
            code: new.code,
            sender: new.sender.unwrap_or_default(),
            username: new.username.clone(),
            content: new.content.clone(),
            created_at: now_ms,
            updated_at: now_ms,
        }
    }

    /// Form on the wire.
    #[must_use]
    pub fn to_message(&self) -> api::ChannelMessage {
        let ChannelNames { room, group, one, two } = self.channel.names();
        api::ChannelMessage {
            channel_id: self.channel.id().to_owned(),
            message_id: self.id.to_string(),
            code: Some(self.code),
            sender_id: if self.sender.is_nil() { String::new() } else { self.sender.to_string() },
            username: self.username.clone(),
            content: self.content.clone(),
            create_time: Some(timestamp(self.created_at)),
            update_time: Some(timestamp(self.updated_at)),
            persistent: Some(self.sequence > 0),
            room_name: room,
            group_id: group,
            user_id_one: one,
            user_id_two: two,
            sequence: self.sequence,
        }
    }

    /// Form of the answer to its sender.
    #[must_use]
    pub fn to_ack(&self) -> realtime::ChannelMessageAck {
        let ChannelNames { room, group, one, two } = self.channel.names();
        realtime::ChannelMessageAck {
            channel_id: self.channel.id().to_owned(),
            message_id: self.id.to_string(),
            code: Some(self.code),
            username: self.username.clone(),
            create_time: Some(timestamp(self.created_at)),
            update_time: Some(timestamp(self.updated_at)),
            persistent: Some(self.sequence > 0),
            room_name: room,
            group_id: group,
            user_id_one: one,
            user_id_two: two,
            sequence: self.sequence,
        }
    }
}

/// Bits of the number of a message in its id. 122 bits of a UUID of version 8 are free.
const SEQUENCE_BITS: u32 = 48;
const SEQUENCE_MASK: u64 = (1 << SEQUENCE_BITS) - 1;

/// Returns a new id of a stored message. It contains the number of the message, so that it is found without an index.
pub(super) fn stored_id(sequence: i64) -> Uuid {
    let random = Uuid::new_v4().as_u64_pair();
    let low = (random.1 & !SEQUENCE_MASK) | (sequence.unsigned_abs() & SEQUENCE_MASK);
    with_version(random.0, low)
}

/// Returns the number in the id of a message. It is 0 in the id of a message that is not stored.
pub(super) fn sequence_of(id: Uuid) -> i64 {
    (id.as_u64_pair().1 & SEQUENCE_MASK) as i64
}

/// Ids of messages that are not stored. An id proves who sent the message, so that only the sender can change it.
#[derive(Debug, Default)]
pub(super) struct UnstoredIds(RandomState);

impl UnstoredIds {
    /// Returns a new id for a message of a sender in a channel.
    pub fn new_id(&self, channel: &Channel, sender: Uuid) -> Uuid {
        self.id_of(channel, sender, Uuid::new_v4().as_u64_pair().1)
    }

    /// Returns true if the id was made for a message of this sender in this channel.
    pub fn is_of(&self, id: Uuid, channel: &Channel, sender: Uuid) -> bool {
        sequence_of(id) == 0 && self.id_of(channel, sender, id.as_u64_pair().1) == id
    }

    /// The upper half is a keyed hash of the sender, the channel and the lower half. Version bits are not part of it.
    fn id_of(&self, channel: &Channel, sender: Uuid, random: u64) -> Uuid {
        let low = with_version(0, random & !SEQUENCE_MASK).as_u64_pair().1;
        with_version(self.0.hash_one((channel.id(), sender, low)), low)
    }
}

fn with_version(high: u64, low: u64) -> Uuid {
    let bytes = Uuid::from_u64_pair(high, low).into_bytes();
    Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_contains_the_number_of_its_message() {
        for sequence in [1, 2, 255, 1 << 40, (1 << SEQUENCE_BITS) - 1] {
            let [one, two] = [stored_id(sequence), stored_id(sequence)];
            assert_ne!(one, two);
            assert_eq!((sequence_of(one), sequence_of(two)), (sequence, sequence));
        }
    }

    #[test]
    fn an_id_of_a_message_that_is_not_stored_proves_its_sender() {
        let ids = UnstoredIds::default();
        let [room, other] = ["room", "other"].map(|name| Channel::room(name).unwrap());
        let [sender, another] = [Uuid::from_u128(1), Uuid::from_u128(2)];
        let id = ids.new_id(&room, sender);
        assert!(ids.is_of(id, &room, sender));
        assert!(!ids.is_of(id, &room, another));
        assert!(!ids.is_of(id, &other, sender));
        assert!(!ids.is_of(stored_id(1), &room, sender));
        assert!(!UnstoredIds::default().is_of(id, &room, sender), "the key is another after a restart");
    }
}
