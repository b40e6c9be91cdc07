//! Messages of presence events, by the mode of the stream.

use super::stream::{Presence, PresenceEvent, StreamId, mode};
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::{
    ChannelPresenceEvent, MatchPresenceEvent, PartyPresenceEvent, StatusPresenceEvent, StreamPresenceEvent,
    UserPresence,
};
use uuid::Uuid;

/// Returns the message of an event.
pub(super) fn message_of(event: PresenceEvent) -> Message {
    let PresenceEvent { stream, joins, leaves } = event;
    let shown = |presences: Vec<Presence>| -> Vec<UserPresence> {
        presences.iter().map(|presence| presence.to_message(stream.mode)).collect()
    };
    let (joins, leaves) = (shown(joins), shown(leaves));
    match stream.mode {
        mode::STATUS => Message::StatusPresenceEvent(StatusPresenceEvent { joins, leaves }),
        mode::CHANNEL | mode::GROUP | mode::DIRECT => Message::ChannelPresenceEvent(channel(&stream, joins, leaves)),
        mode::RELAYED_MATCH | mode::MATCH => {
            Message::MatchPresenceEvent(MatchPresenceEvent { match_id: owned_id(&stream), joins, leaves })
        }
        mode::PARTY => Message::PartyPresenceEvent(PartyPresenceEvent { party_id: owned_id(&stream), joins, leaves }),
        _ => Message::StreamPresenceEvent(StreamPresenceEvent { stream: Some(stream.to_message()), joins, leaves }),
    }
}

/// Id of a match or party: its id and its node. A relayed match has no node.
fn owned_id(stream: &StreamId) -> String {
    format!("{}.{}", stream.subject, stream.label)
}

/// Id of a channel: the mode, the subject, the subcontext and the label.
#[must_use]
pub fn channel_id(stream: &StreamId) -> String {
    let text = |id: Uuid| if id.is_nil() { String::new() } else { id.to_string() };
    format!("{}.{}.{}.{}", stream.mode, text(stream.subject), text(stream.subcontext), stream.label)
}

fn channel(stream: &StreamId, joins: Vec<UserPresence>, leaves: Vec<UserPresence>) -> ChannelPresenceEvent {
    let mut event = ChannelPresenceEvent { channel_id: channel_id(stream), joins, leaves, ..Default::default() };
    match stream.mode {
        mode::GROUP => event.group_id = stream.subject.to_string(),
        mode::DIRECT => {
            event.user_id_one = stream.subject.to_string();
            event.user_id_two = stream.subcontext.to_string();
        }
        _ => event.room_name.clone_from(&stream.label),
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_channels_and_matches_have_the_form_that_clients_know() {
        let [one, two] = [Uuid::from_u128(1), Uuid::from_u128(2)];
        let room = StreamId { mode: mode::CHANNEL, label: "lobby".to_owned(), ..StreamId::default() };
        assert_eq!(channel_id(&room), "2...lobby");
        let group = StreamId { mode: mode::GROUP, subject: one, ..StreamId::default() };
        assert_eq!(channel_id(&group), format!("3.{one}.."));
        let direct = StreamId { mode: mode::DIRECT, subject: one, subcontext: two, ..StreamId::default() };
        assert_eq!(channel_id(&direct), format!("4.{one}.{two}."));
        let relayed = StreamId { mode: mode::RELAYED_MATCH, subject: one, ..StreamId::default() };
        assert_eq!(owned_id(&relayed), format!("{one}."));
        let hosted = StreamId { mode: mode::MATCH, subject: one, label: "node-1".to_owned(), ..StreamId::default() };
        assert_eq!(owned_id(&hosted), format!("{one}.node-1"));
    }
}
