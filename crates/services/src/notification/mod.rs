//! Notifications: messages of the server or of another user to a user, delivered live and stored.
//!
//! ```text
//!   send ─→ store (transaction) ─→ commit ─→ deliver ─→ Router ─→ sockets of the user
//!              ├─ notifications: persistent ones, until they are deleted
//!              └─ outbox: webhook message for an absent user
//! ```
//!
//! Each stored notification has a number, counted per user in the transaction that stores it. A cursor is a number, so
//! it stays valid when the notification it came from is deleted, and a list that continues at a cursor misses nothing.

pub mod code;
mod limits;
mod list;
pub(crate) mod serve;
mod to_all;

pub use limits::{
    CHANGED_MAX, CONTENT_BYTES_MAX, DELETED_MAX, LISTED_DEFAULT, LISTED_MAX, PER_MESSAGE_MAX, SENT_MAX, STORED_MAX,
    SUBJECT_BYTES_MAX, USERS_PER_PAGE, WAITING_PER_USER_MAX,
};
pub use list::{NotificationPage, NotificationUpdate};
pub use to_all::NotificationToAll;

use crate::clock::{WallClock, new_id};
use crate::error::ServiceError;
use crate::router::{Router, StreamId};
use crate::storage::json::check_object;
use aether_messages::realtime::envelope::Message;
use aether_messages::{api, realtime, timestamp};
use aether_store::{Statements, Store, StoreError, Transaction, outbox, values};
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;
use uuid::Uuid;

/// Topic of webhook messages about notifications to absent users.
pub const TOPIC: &str = "notification.sent";

/// Notification to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNotification {
    /// Receiver.
    pub user: Uuid,
    /// Subject.
    pub subject: String,
    /// Content: a JSON object.
    pub content: String,
    /// Code: see [`code`].
    pub code: i32,
    /// User who caused it. `None` for the server.
    pub sender: Option<Uuid>,
    /// True to store it until it is deleted.
    pub persistent: bool,
}

/// Notification with its id and time. It is stored if it is persistent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredNotification {
    /// Id.
    pub id: Uuid,
    /// Receiver.
    pub user: Uuid,
    /// Subject.
    pub subject: String,
    /// Content: a JSON object.
    pub content: String,
    /// Code: see [`code`].
    pub code: i32,
    /// User who caused it. `None` for the server.
    pub sender: Option<Uuid>,
    /// Creation time, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// True if it is stored.
    pub persistent: bool,
}

/// Notifications of all users.
pub struct Notifications {
    store: Store,
    clock: Arc<dyn WallClock>,
    router: Arc<Router>,
    /// True if a webhook is configured.
    announce: bool,
}

impl Notifications {
    /// Creates the service. `announce` sends notifications of absent users to the webhook.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>, router: Arc<Router>, announce: bool) -> Notifications {
        Notifications { store, clock, router, announce }
    }

    /// Sends notifications, all or none: stores persistent ones, and delivers all of them to connected users.
    /// Notifications to users that do not exist are ignored.
    pub async fn send(self: &Arc<Self>, mut notifications: Vec<NewNotification>) -> Result<(), ServiceError> {
        if notifications.len() > SENT_MAX {
            return Err(ServiceError::invalid(format!("At most {SENT_MAX} notifications can be sent at once.")));
        }
        notifications.iter().try_for_each(NewNotification::check)?;
        // In the order of users, so that concurrent calls cannot deadlock.
        notifications.sort_by_key(|notification| notification.user);
        let now_ms = self.clock.now_ms();
        if !self.announce && notifications.iter().all(|notification| !notification.persistent) {
            self.deliver(notifications.iter().map(|new| new.at(now_ms)).collect());
            return Ok(());
        }
        let this = Arc::clone(self);
        let store = move |transaction: &mut Transaction<'_>| {
            notifications.iter().map(|new| this.store(transaction, new, now_ms)).collect::<Result<Vec<_>, StoreError>>()
        };
        self.deliver(self.store.write(store).await?);
        Ok(())
    }

    /// Delivers a notification to the connected sockets of its user alone. It is neither stored nor sent to the webhook.
    pub fn send_live(&self, new: NewNotification) {
        let new = NewNotification { persistent: false, ..new };
        self.deliver(vec![new.at(self.clock.now_ms())]);
    }

    /// Stores a notification in the caller's transaction, if it is persistent, and adds a webhook message if its user is
    /// absent. [`Notifications::deliver`] delivers it after the commit. A caller with several users stores in the order of
    /// their ids, because each stays locked until the commit.
    ///
    /// The notification is not checked: text that comes from a user goes through [`NewNotification::check`] first.
    pub fn store(
        &self,
        transaction: &mut Transaction<'_>,
        new: &NewNotification,
        now_ms: i64,
    ) -> Result<StoredNotification, StoreError> {
        let notification = new.at(now_ms);
        let is_known = !new.persistent || insert(transaction, &notification)?;
        if is_known && self.announce && self.is_absent(new.user) {
            push(transaction, &notification)?;
        }
        Ok(notification)
    }

    /// Delivers notifications to the sockets of their users, after the transaction that stored them.
    pub fn deliver(&self, notifications: Vec<StoredNotification>) {
        for same_user in notifications.chunk_by(|one, next| one.user == next.user) {
            for some in same_user.chunks(PER_MESSAGE_MAX) {
                self.router.send_to_user(some[0].user, message_of(some));
            }
        }
    }

    /// Returns true if no socket of the user is connected.
    fn is_absent(&self, user: Uuid) -> bool {
        self.router.count(&StreamId::notifications(user)) == 0
    }
}

impl NewNotification {
    /// Creates a persistent notification of the server code.
    #[must_use]
    pub fn persistent(
        user: Uuid,
        code: i32,
        subject: impl Into<String>,
        content: impl Into<String>,
    ) -> NewNotification {
        let (subject, content) = (subject.into(), content.into());
        NewNotification { user, subject, content, code, sender: None, persistent: true }
    }

    /// Sets the user who caused the notification.
    #[must_use]
    pub fn from_user(self, sender: Uuid) -> NewNotification {
        NewNotification { sender: Some(sender), ..self }
    }

    /// Rejects a subject or content that is missing, too long or malformed.
    pub fn check(&self) -> Result<(), ServiceError> {
        check_texts(&self.subject, &self.content)
    }

    fn at(&self, now_ms: i64) -> StoredNotification {
        StoredNotification {
            id: new_id(now_ms),
            user: self.user,
            subject: self.subject.clone(),
            content: self.content.clone(),
            code: self.code,
            sender: self.sender,
            created_at_ms: now_ms,
            persistent: self.persistent,
        }
    }
}

impl StoredNotification {
    /// Form on the wire.
    #[must_use]
    pub fn to_message(&self) -> api::Notification {
        api::Notification {
            id: self.id.to_string(),
            subject: self.subject.clone(),
            content: self.content.clone(),
            code: self.code,
            // Clients of the protocol expect an id.
            sender_id: self.sender.unwrap_or_default().to_string(),
            create_time: Some(timestamp(self.created_at_ms)),
            persistent: self.persistent,
        }
    }
}

fn check_texts(subject: &str, content: &str) -> Result<(), ServiceError> {
    check_subject(subject)?;
    check_content(content)
}

fn check_subject(subject: &str) -> Result<(), ServiceError> {
    if subject.is_empty() || subject.len() > SUBJECT_BYTES_MAX || subject.contains('\0') {
        return Err(ServiceError::invalid(format!(
            "The subject of a notification must have 1 to {SUBJECT_BYTES_MAX} bytes, without the character U+0000."
        )));
    }
    Ok(())
}

fn check_content(content: &str) -> Result<(), ServiceError> {
    check_object("The content of a notification", content, CONTENT_BYTES_MAX)
}

/// Returns the socket message of notifications.
fn message_of(notifications: &[StoredNotification]) -> Message {
    let notifications = notifications.iter().map(StoredNotification::to_message).collect();
    Message::Notifications(realtime::Notifications { notifications })
}

/// Stores a notification, and deletes the oldest of a user with too many. Returns false if the user does not exist. Locks
/// the user.
fn insert(transaction: &mut Transaction<'_>, notification: &StoredNotification) -> Result<bool, StoreError> {
    let next =
        "UPDATE users SET notification_count = notification_count + 1 WHERE id = ?1 RETURNING notification_count";
    let number = transaction.row(next, values![notification.user], |row| row.get::<i64>(0))?;
    let Some(number) = number else { return Ok(false) };
    let StoredNotification { id, user, subject, content, code, sender, created_at_ms, .. } = notification;
    let insert = "INSERT INTO notifications (user_id, number, id, subject, content, code, sender_id, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let parameters = values![user, number, id, subject, content, *code, *sender, *created_at_ms];
    let mut statements = Statements::writing(insert, parameters);
    if number > STORED_MAX {
        let oldest = "DELETE FROM notifications WHERE user_id = ?1 AND number <= ?2";
        statements = statements.and(oldest, values![user, number - STORED_MAX]);
    }
    transaction.answers(&statements)?;
    Ok(true)
}

/// Adds a webhook message, unless too many wait for the user.
fn push(transaction: &mut Transaction<'_>, notification: &StoredNotification) -> Result<(), StoreError> {
    let StoredNotification { user, created_at_ms, .. } = *notification;
    if outbox::count_of_account(transaction, user, WAITING_PER_USER_MAX)? >= WAITING_PER_USER_MAX {
        return Ok(());
    }
    let payload = json!({
        "user_id": user,
        "id": notification.id,
        "subject": notification.subject,
        "content": serde_json::from_str::<&RawValue>(&notification.content).ok(),
        "code": notification.code,
        "sender_id": notification.sender,
        "create_time": created_at_ms,
        "persistent": notification.persistent,
    });
    outbox::push_from(transaction, Some(user), TOPIC, &payload.to_string(), created_at_ms).map(|_| ())
}
