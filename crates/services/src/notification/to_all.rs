//! Notifications to all users.

use super::{NewNotification, Notifications, USERS_PER_PAGE, check_texts, insert, message_of};
use crate::error::ServiceError;
use aether_store::{StoreError, Transaction, outbox, values};
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;
use uuid::Uuid;

/// Topic of the one webhook message about a notification to all users.
pub const TOPIC_TO_ALL: &str = "notification.sent_to_all";

/// Notification to all users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationToAll {
    /// Subject.
    pub subject: String,
    /// Content: a JSON object.
    pub content: String,
    /// Code: see [`code`](super::code).
    pub code: i32,
    /// True to store it for every user until it is deleted. Otherwise connected users get it.
    pub persistent: bool,
}

impl Notifications {
    /// Sends a notification to all users. A persistent one is stored for all accounts, in pages of [`USERS_PER_PAGE`];
    /// on an error, those of earlier pages have it. The webhook gets one message, whoever is connected. Returns the number
    /// of users for whom it was stored.
    pub async fn send_to_all(self: &Arc<Self>, notification: NotificationToAll) -> Result<u64, ServiceError> {
        check_texts(&notification.subject, &notification.content)?;
        let now_ms = self.clock.now_ms();
        if self.announce {
            let payload = notification.payload(now_ms);
            let push = move |transaction: &mut Transaction<'_>| {
                outbox::push(transaction, TOPIC_TO_ALL, &payload, now_ms).map_err(ServiceError::from)
            };
            self.store.write(push).await?;
        }
        if !notification.persistent {
            self.router.send_to_all(message_of(&[notification.to(Uuid::nil()).at(now_ms)]));
            return Ok(0);
        }
        let notification = Arc::new(notification);
        let (mut after, mut count) = (Uuid::nil(), 0);
        while let Some((last, stored)) = self.send_to_page(&notification, after, now_ms).await? {
            (after, count) = (last, count + stored);
        }
        Ok(count)
    }

    /// Sends a notification to the users after one. Returns the last of them and their number, or `None` after the end.
    async fn send_to_page(
        self: &Arc<Self>,
        notification: &Arc<NotificationToAll>,
        after: Uuid,
        now_ms: i64,
    ) -> Result<Option<(Uuid, u64)>, ServiceError> {
        let notification = Arc::clone(notification);
        let store = move |transaction: &mut Transaction<'_>| {
            let page = "SELECT id FROM users WHERE id > ?1 ORDER BY id LIMIT ?2";
            let users = transaction.rows(page, values![after, USERS_PER_PAGE], |row| row.get::<Uuid>(0))?;
            let mut stored = Vec::with_capacity(users.len());
            for user in &users {
                let one = notification.to(*user).at(now_ms);
                // A user may have been erased meanwhile.
                if insert(transaction, &one)? {
                    stored.push(one);
                }
            }
            Ok::<_, StoreError>((users.last().copied(), stored))
        };
        let (last, stored) = self.store.write(store).await?;
        let count = stored.len() as u64;
        self.deliver(stored);
        Ok(last.map(|last| (last, count)))
    }
}

impl NotificationToAll {
    fn to(&self, user: Uuid) -> NewNotification {
        let NotificationToAll { subject, content, code, persistent } = self.clone();
        NewNotification { user, subject, content, code, sender: None, persistent }
    }

    fn payload(&self, now_ms: i64) -> String {
        let payload = json!({
            "subject": self.subject,
            "content": serde_json::from_str::<&RawValue>(&self.content).ok(),
            "code": self.code,
            "create_time": now_ms,
            "persistent": self.persistent,
        });
        payload.to_string()
    }
}
