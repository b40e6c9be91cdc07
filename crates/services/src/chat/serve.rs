//! Handlers of the channel messages of the socket, and of the history of a channel.

use super::limits::CONTENT_BYTES_MAX;
use super::{Channel, ChatMessage, HistoryQuery, JoinedChannel};
use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve, answer_blocks};
use crate::router::PresenceMeta;
use aether_messages::api::{ChannelMessageList, ListChannelMessagesRequest};
use aether_messages::operation::ListChannelMessages;
use aether_messages::realtime::channel_join::Type;
use aether_messages::socket::{
    ChannelJoin, ChannelLeave, ChannelMessageRemove, ChannelMessageSend, ChannelMessageUpdate,
};
use aether_messages::{Empty, realtime};
use uuid::Uuid;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<ChannelJoin>()
        .with::<ChannelLeave>()
        .with::<ChannelMessageSend>()
        .with::<ChannelMessageUpdate>()
        .with::<ChannelMessageRemove>()
        .with::<ListChannelMessages>()
}

impl Serve for ChannelJoin {
    async fn serve(call: &Call<'_>, request: realtime::ChannelJoin) -> Result<realtime::Channel, ServiceError> {
        let (session, user) = (call.socket()?, call.identity()?.user);
        let channel = target(&request, user)?;
        let meta = PresenceMeta {
            hidden: request.hidden.unwrap_or(false),
            persistence: request.persistence.unwrap_or(true),
            ..PresenceMeta::default()
        };
        let joined = call.services.chat.join(session, user, &channel, meta).await?;
        Ok(channel_message(&channel, &joined))
    }
}

impl Serve for ChannelLeave {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: realtime::ChannelLeave) -> Result<Empty, ServiceError> {
        call.services.chat.leave(call.socket()?, &Channel::parse(&request.channel_id)?);
        Ok(Empty::default())
    }
}

impl Serve for ChannelMessageSend {
    const PRESET: RatePreset = RatePreset::Message;

    async fn serve(
        call: &Call<'_>,
        request: realtime::ChannelMessageSend,
    ) -> Result<realtime::ChannelMessageAck, ServiceError> {
        let channel = Channel::parse(&request.channel_id)?;
        let message = call.services.chat.send(call.socket()?, &channel, request.content).await?;
        Ok(message.to_ack())
    }
}

impl Serve for ChannelMessageUpdate {
    const PRESET: RatePreset = RatePreset::Message;

    async fn serve(
        call: &Call<'_>,
        request: realtime::ChannelMessageUpdate,
    ) -> Result<realtime::ChannelMessageAck, ServiceError> {
        let (channel, id) = (Channel::parse(&request.channel_id)?, message_id(&request.message_id)?);
        let message = call.services.chat.update(call.socket()?, &channel, id, request.content).await?;
        Ok(message.to_ack())
    }
}

impl Serve for ChannelMessageRemove {
    const PRESET: RatePreset = RatePreset::Message;

    async fn serve(
        call: &Call<'_>,
        request: realtime::ChannelMessageRemove,
    ) -> Result<realtime::ChannelMessageAck, ServiceError> {
        let (channel, id) = (Channel::parse(&request.channel_id)?, message_id(&request.message_id)?);
        let message = call.services.chat.remove(call.socket()?, &channel, id).await?;
        Ok(message.to_ack())
    }
}

impl Serve for ListChannelMessages {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListChannelMessagesRequest) -> u32 {
        answer_blocks(usize::try_from(request.limit.unwrap_or(0)).unwrap_or(0), CONTENT_BYTES_MAX)
    }

    async fn serve(call: &Call<'_>, request: ListChannelMessagesRequest) -> Result<ChannelMessageList, ServiceError> {
        let ListChannelMessagesRequest { channel_id, limit, forward, cursor } = request;
        let reader = call.caller().user().map(|identity| identity.user);
        let query = HistoryQuery { limit: limit.map(i64::from), forward, cursor };
        let page = call.services.chat.history(reader, &Channel::parse(&channel_id)?, &query).await?;
        Ok(ChannelMessageList {
            messages: page.messages.iter().map(ChatMessage::to_message).collect(),
            next_cursor: page.next_cursor,
            prev_cursor: page.prev_cursor,
            cacheable_cursor: page.cacheable_cursor,
        })
    }
}

/// Returns the channel that a user asks to join.
fn target(request: &realtime::ChannelJoin, user: Uuid) -> Result<Channel, ServiceError> {
    let id = || {
        let parsed = request.target.parse::<Uuid>();
        parsed.map_err(|_| {
            ServiceError::invalid("The target of this type of channel must be the UUID of a user or group.")
        })
    };
    match Type::try_from(request.r#type) {
        Ok(Type::Room) => Channel::room(&request.target),
        Ok(Type::DirectMessage) => Channel::direct(user, id()?),
        Ok(Type::Group) => Ok(Channel::group(id()?)),
        Ok(Type::Unspecified) | Err(_) => Err(ServiceError::invalid(
            "Unrecognized channel type. The type is 1 for a room, 2 for direct messages, or 3 for a group.",
        )),
    }
}

fn channel_message(channel: &Channel, joined: &JoinedChannel) -> realtime::Channel {
    let names = channel.names();
    let mode = channel.stream().mode;
    realtime::Channel {
        id: channel.id().to_owned(),
        presences: joined.presences.iter().map(|presence| presence.to_message(mode)).collect(),
        self_: Some(joined.own.to_message(mode)),
        room_name: names.room,
        group_id: names.group,
        user_id_one: names.one,
        user_id_two: names.two,
    }
}

fn message_id(text: &str) -> Result<Uuid, ServiceError> {
    text.parse().map_err(|_| ServiceError::invalid("Invalid message identifier. Send the message_id of a message."))
}
