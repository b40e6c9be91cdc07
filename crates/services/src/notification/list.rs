//! Lists and deletes stored notifications.

use super::{DELETED_MAX, LISTED_DEFAULT, LISTED_MAX, Notifications, StoredNotification};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{SqlRow, Statements, StoreError, values};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Page of notifications, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationPage {
    /// Notifications.
    pub notifications: Vec<StoredNotification>,
    /// Cursor after the last one. It is never empty, so that a client can keep it and continue later.
    pub cacheable_cursor: String,
}

/// Position in the notifications of a user.
#[derive(Serialize, Deserialize)]
struct Position {
    /// Number of the last notification that was read; 0 for the beginning.
    number: i64,
}

const LIST: &str = "SELECT number, id, subject, content, code, sender_id, created_at FROM notifications
    WHERE user_id = ?1 AND number > ?2 ORDER BY number LIMIT ?3";

impl Notifications {
    /// Returns stored notifications of a user after a cursor, oldest first. Without a limit, it is one.
    pub async fn list(&self, user: Uuid, limit: Option<i32>, cursor: &str) -> Result<NotificationPage, ServiceError> {
        let limit = limit.unwrap_or(LISTED_DEFAULT);
        if !(1..=LISTED_MAX).contains(&limit) {
            return Err(ServiceError::invalid(format!("Invalid limit - limit must be between 1 and {LISTED_MAX}.")));
        }
        let after = cursor::decode::<Position>(cursor)?.map_or(0, |position| position.number);
        let list = Statements::reading(LIST, values![user, after, limit]);
        let found = self.store.run(list, move |answers| answers.rows(0, |row| read(user, row))).await?;
        let last = found.last().map_or(after, |(number, _)| *number);
        Ok(NotificationPage {
            notifications: found.into_iter().map(|(_, notification)| notification).collect(),
            cacheable_cursor: cursor::encode(&Position { number: last }),
        })
    }

    /// Deletes stored notifications of a user. Ids that are not the user's are ignored.
    pub async fn delete(&self, user: Uuid, ids: Vec<Uuid>) -> Result<(), ServiceError> {
        if ids.len() > DELETED_MAX {
            return Err(ServiceError::invalid(format!("At most {DELETED_MAX} notifications can be deleted at once.")));
        }
        if ids.is_empty() {
            return Ok(());
        }
        let delete = "DELETE FROM notifications WHERE id = ?1 AND user_id = ?2";
        let deletes = ids.iter().map(|id| Statements::writing(delete, values![id, user]));
        self.store.run(Statements::all(deletes), |_| Ok(())).await
    }
}

fn read(user: Uuid, row: &SqlRow<'_>) -> Result<(i64, StoredNotification), StoreError> {
    let notification = StoredNotification {
        id: row.get(1)?,
        user,
        subject: row.get(2)?,
        content: row.get(3)?,
        code: i32::try_from(row.get::<i64>(4)?).unwrap_or(0),
        sender: row.get(5)?,
        created_at_ms: row.get(6)?,
        persistent: true,
    };
    Ok((row.get(0)?, notification))
}
