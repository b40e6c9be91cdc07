//! Chat: rooms, chats of groups and chats of two users.
//!
//! A session joins a channel and is then present in its stream, so the router sends presence events and messages. Stored
//! messages of a channel are numbered from 1 without gaps: a client that misses a number reads the history.
//!
//! ```text
//!   ChannelMessageSend ──→ hooks ──→ Chat::send ──┬─→ Writer: many messages in one commit ──┬─→ router ──→ members
//!                                                 └─→ not stored ───────────────────────────┘
//! ```

mod access;
mod channel;
mod history;
pub mod limits;
mod log;
mod message;
mod reported;
pub(crate) mod serve;
mod writer;

pub use channel::Channel;
pub use history::{HistoryPage, HistoryQuery};
pub(crate) use log::delete_oldest;
pub use log::{delete_channel, store_group_message};
pub use message::{ChatMessage, NewMessage, code};
pub(crate) use reported::find_reported;

use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use crate::friend::Friends;
use crate::moderation::Moderation;
use crate::notification::{self, NewNotification, Notifications};
use crate::router::{Presence, PresenceMeta, Router, Shown};
use aether_messages::realtime::envelope::Message;
use aether_store::{Store, Transaction};
use limits::CONTENT_BYTES_MAX;
use log::Change;
use message::UnstoredIds;
use std::sync::Arc;
use uuid::Uuid;
use writer::Writer;

const NOT_JOINED: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "Must join channel before sending messages.");
const NOT_AN_OBJECT: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "Message content must be a valid JSON object.");
const MESSAGE_NOT_FOUND: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "Could not find the message in the history of the channel, or it is of another user.",
);

/// Chat of a server.
pub struct Chat {
    store: Store,
    clock: Arc<dyn WallClock>,
    router: Arc<Router>,
    notifications: Arc<Notifications>,
    friends: Arc<Friends>,
    moderation: Arc<Moderation>,
    writer: Writer,
    unstored_ids: UnstoredIds,
}

/// Dependencies of chat.
pub(crate) struct ChatParts {
    pub store: Store,
    pub clock: Arc<dyn WallClock>,
    pub router: Arc<Router>,
    pub notifications: Arc<Notifications>,
    pub friends: Arc<Friends>,
    pub moderation: Arc<Moderation>,
}

/// A joined channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedChannel {
    /// Presence of the session that joined.
    pub own: Presence,
    /// Visible presences: without the session's own, unless it was in the channel before.
    pub presences: Vec<Presence>,
    /// True if the session was not in the channel before.
    pub is_new: bool,
}

/// Author of a change of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Author {
    /// Server code, which may change all messages.
    Server,
    /// A user.
    User(Uuid),
}

impl Chat {
    /// Starts the service, with the task that stores messages. It ends when the service is dropped.
    pub(crate) fn start(parts: ChatParts) -> Arc<Chat> {
        let (router, friends) = (Arc::clone(&parts.router), Arc::clone(&parts.friends));
        let deliver = move |message: &ChatMessage| deliver_unblocked(&router, &friends, message);
        let writer = Writer::start(parts.store.clone(), Arc::clone(&parts.clock), deliver);
        let ChatParts { store, clock, router, notifications, friends, moderation } = parts;
        let unstored_ids = UnstoredIds::default();
        Arc::new(Chat { store, clock, router, notifications, friends, moderation, writer, unstored_ids })
    }

    /// Adds a session to a channel that its user may join.
    pub async fn join(
        &self,
        session: Uuid,
        user: Uuid,
        channel: &Channel,
        meta: PresenceMeta,
    ) -> Result<JoinedChannel, ServiceError> {
        access::check(&self.store, channel, user).await?;
        self.friends.load_blocks(user).await?;
        let was_in = self.router.find(session, channel.stream()).is_some();
        self.router.track(session, channel.stream(), meta)?;
        // Access may have ended before the session was in the stream, from which it would have been removed.
        if let Err(error) = access::check(&self.store, channel, user).await {
            self.router.untrack(session, channel.stream());
            return Err(error);
        }
        let own = self.router.find(session, channel.stream()).ok_or(NOT_JOINED)?;
        let mut presences = self.router.list(channel.stream(), Shown::Visible);
        presences.retain(|presence| was_in || presence.socket.session != session);
        if !was_in {
            self.invite(channel, &own).await?;
        }
        Ok(JoinedChannel { own, presences, is_new: !was_in })
    }

    /// Notifies the other user of a direct chat who is not in it.
    async fn invite(&self, channel: &Channel, own: &Presence) -> Result<(), ServiceError> {
        let Some(other) = channel.users().and_then(|users| access::other_of(users, own.socket.user)) else {
            return Ok(());
        };
        let members = self.router.list(channel.stream(), Shown::All);
        if members.iter().any(|member| member.socket.user == other) {
            return Ok(());
        }
        let username = &own.socket.username;
        let invitation = NewNotification {
            user: other,
            subject: format!("{username} wants to chat"),
            content: serde_json::json!({ "username": &**username }).to_string(),
            code: notification::code::DIRECT_MESSAGE_REQUEST,
            sender: Some(own.socket.user),
            persistent: true,
        };
        self.notifications.send(vec![invitation]).await
    }

    /// Removes a session from a channel. Returns false if it was not in it.
    pub fn leave(&self, session: Uuid, channel: &Channel) -> bool {
        self.router.untrack(session, channel.stream())
    }

    /// Sends a message of a session to a channel that it has joined. If the session joined with persistence, the message
    /// is stored when this returns.
    pub async fn send(&self, session: Uuid, channel: &Channel, content: String) -> Result<ChatMessage, ServiceError> {
        check_content(&content)?;
        let presence = self.presence(session, channel)?;
        self.moderation.check_not_muted(presence.socket.user)?;
        let new = NewMessage {
            channel: channel.clone(),
            code: code::CHAT,
            sender: Some(presence.socket.user),
            username: presence.socket.username.to_string(),
            content,
        };
        self.send_new(new, presence.meta.persistence).await
    }

    /// Sends a message of server code. `persistent` says if it is stored.
    pub async fn send_new(&self, new: NewMessage, persistent: bool) -> Result<ChatMessage, ServiceError> {
        check_content(&new.content)?;
        if persistent {
            return self.writer.send(new).await;
        }
        let id = self.unstored_ids.new_id(&new.channel, new.sender.unwrap_or_default());
        let message = ChatMessage::new(&new, 0, id, self.clock.now_ms());
        self.deliver(&message);
        Ok(message)
    }

    /// Changes the content of a message that the session's user has sent.
    pub async fn update(
        &self,
        session: Uuid,
        channel: &Channel,
        id: Uuid,
        content: String,
    ) -> Result<ChatMessage, ServiceError> {
        check_content(&content)?;
        let presence = self.presence(session, channel)?;
        self.moderation.check_not_muted(presence.socket.user)?;
        match self.unstored_change(&presence, channel, id, code::UPDATE, &content) {
            Some(message) => Ok(message),
            None => self.change(Author::User(presence.socket.user), channel, id, Some(content)).await,
        }
    }

    /// Removes a message that the session's user has sent, or a message of a group whose admin the user is.
    pub async fn remove(&self, session: Uuid, channel: &Channel, id: Uuid) -> Result<ChatMessage, ServiceError> {
        let presence = self.presence(session, channel)?;
        match self.unstored_change(&presence, channel, id, code::REMOVE, "{}") {
            Some(message) => Ok(message),
            None => self.change(Author::User(presence.socket.user), channel, id, None).await,
        }
    }

    /// Changes the content of a stored message, for server code.
    pub async fn update_stored(
        &self,
        channel: &Channel,
        id: Uuid,
        content: String,
    ) -> Result<ChatMessage, ServiceError> {
        check_content(&content)?;
        self.change(Author::Server, channel, id, Some(content)).await
    }

    /// Removes a stored message, for server code.
    pub async fn remove_stored(&self, channel: &Channel, id: Uuid) -> Result<ChatMessage, ServiceError> {
        self.change(Author::Server, channel, id, None).await
    }

    /// Changes the content of a stored message, for server code that acts for its sender.
    pub async fn update_as(
        &self,
        sender: Uuid,
        channel: &Channel,
        id: Uuid,
        content: String,
    ) -> Result<ChatMessage, ServiceError> {
        check_content(&content)?;
        self.change(Author::User(sender), channel, id, Some(content)).await
    }

    /// Removes a stored message, for server code that acts for its sender or for an admin of its group.
    pub async fn remove_as(&self, sender: Uuid, channel: &Channel, id: Uuid) -> Result<ChatMessage, ServiceError> {
        self.change(Author::User(sender), channel, id, None).await
    }

    /// Sends the change of a message to the members without changing the history, for server code. The code of the
    /// message says which change it is.
    pub fn send_change(&self, new: &NewMessage, id: Uuid) -> Result<ChatMessage, ServiceError> {
        check_content(&new.content)?;
        let message = ChatMessage::new(new, 0, id, self.clock.now_ms());
        self.deliver(&message);
        Ok(message)
    }

    /// Returns a page of the history. A user must be allowed to join the channel; server code may read all.
    pub async fn history(
        &self,
        reader: Option<Uuid>,
        channel: &Channel,
        query: &HistoryQuery,
    ) -> Result<HistoryPage, ServiceError> {
        if let Some(user) = reader {
            access::check(&self.store, channel, user).await?;
        }
        history::list(&self.store, reader, channel, query).await
    }

    /// Sends a message to the members of its channel, except to those whom its sender blocks and who block the sender.
    fn deliver(&self, message: &ChatMessage) {
        deliver_unblocked(&self.router, &self.friends, message);
    }

    fn presence(&self, session: Uuid, channel: &Channel) -> Result<Presence, ServiceError> {
        self.router.find(session, channel.stream()).ok_or(NOT_JOINED)
    }

    /// Sends the change of a message that was not stored; `None` if the id is of another message.
    fn unstored_change(
        &self,
        presence: &Presence,
        channel: &Channel,
        id: Uuid,
        code: i32,
        content: &str,
    ) -> Option<ChatMessage> {
        let sender = presence.socket.user;
        if !self.unstored_ids.is_of(id, channel, sender) {
            return None;
        }
        let (username, content) = (presence.socket.username.to_string(), content.to_owned());
        let new = NewMessage { channel: channel.clone(), code, sender: Some(sender), username, content };
        let message = ChatMessage::new(&new, 0, id, self.clock.now_ms());
        self.deliver(&message);
        Some(message)
    }

    /// Changes a stored message, or removes it if there is no content.
    async fn change(
        &self,
        author: Author,
        channel: &Channel,
        id: Uuid,
        content: Option<String>,
    ) -> Result<ChatMessage, ServiceError> {
        let (target, now) = (channel.clone(), self.clock.now_ms());
        let operation = move |transaction: &mut Transaction<'_>| {
            let change = content.as_deref().map_or(Change::Remove, Change::Update);
            let may_change = |transaction: &mut Transaction<'_>, message: &ChatMessage| match author {
                Author::Server => Ok(true),
                Author::User(user) => access::may_change(transaction, user, message, &change),
            };
            log::change(transaction, &target, id, &change, now, may_change)
        };
        let message = self.store.write(operation).await?.ok_or(MESSAGE_NOT_FOUND)?;
        self.deliver(&message);
        Ok(message)
    }
}

/// Sends a message of the server to all members of its channel, after the commit that stored it.
pub(crate) fn deliver(router: &Router, message: &ChatMessage) {
    router.send_to_stream(message.channel.stream(), Message::ChannelMessage(message.to_message()));
}

fn deliver_unblocked(router: &Router, friends: &Friends, message: &ChatMessage) {
    match friends.blocks_of(message.sender) {
        None => deliver(router, message),
        Some(blocked) => {
            let sent = Message::ChannelMessage(message.to_message());
            router.send_to_stream_without(message.channel.stream(), &blocked, sent);
        }
    }
}

/// Rejects content that is too long or no JSON object.
fn check_content(content: &str) -> Result<(), ServiceError> {
    if content.len() > CONTENT_BYTES_MAX {
        let message = format!("Message content must have at most {CONTENT_BYTES_MAX} bytes.");
        return Err(ServiceError::invalid(message));
    }
    let is_object =
        content.trim_start().starts_with('{') && serde_json::from_str::<&serde_json::value::RawValue>(content).is_ok();
    if is_object { Ok(()) } else { Err(NOT_AN_OBJECT) }
}
