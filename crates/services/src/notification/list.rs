//! Lists and deletes stored notifications.

use super::{
    CHANGED_MAX, DELETED_MAX, LISTED_DEFAULT, LISTED_MAX, Notifications, StoredNotification, check_content,
    check_subject,
};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{Answers, SqlRow, Statements, StoreError, values};
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

/// Change of a stored notification. `None` keeps a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationUpdate {
    /// Notification.
    pub id: Uuid,
    /// Subject.
    pub subject: Option<String>,
    /// Content: a JSON object.
    pub content: Option<String>,
    /// User who counts as its sender.
    pub sender: Option<Uuid>,
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

    /// Returns stored notifications by id, in the order of the ids: of one user, or of all for server code. Missing ones are
    /// omitted.
    pub async fn find(&self, user: Option<Uuid>, ids: &[Uuid]) -> Result<Vec<StoredNotification>, ServiceError> {
        check_count(ids.len())?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let select = "SELECT number, id, subject, content, code, sender_id, created_at, user_id FROM notifications
            WHERE id = ?1";
        let count = ids.len();
        let selects = Statements::all(ids.iter().map(|id| Statements::reading(select, values![*id])));
        let read = move |answers: &Answers| {
            let one = |index| answers.row(index, |row| Ok(read(row.get(7)?, row)?.1));
            (0..count).filter_map(|index| one(index).transpose()).collect::<Result<Vec<_>, StoreError>>()
        };
        let mut found = self.store.run(selects, read).await?;
        found.retain(|notification| user.is_none_or(|user| notification.user == user));
        Ok(found)
    }

    /// Deletes stored notifications of all users, for server code.
    pub async fn delete_by_id(&self, ids: &[Uuid]) -> Result<(), ServiceError> {
        check_count(ids.len())?;
        if ids.is_empty() {
            return Ok(());
        }
        let deletes = ids.iter().map(|id| Statements::writing("DELETE FROM notifications WHERE id = ?1", values![*id]));
        self.store.run(Statements::all(deletes), |_| Ok(())).await
    }

    /// Changes stored notifications, all or none, for server code. Missing ones are ignored. Users see the change when they
    /// list.
    pub async fn update(&self, updates: &[NotificationUpdate]) -> Result<(), ServiceError> {
        check_count(updates.len())?;
        for update in updates {
            update.subject.as_deref().map_or(Ok(()), check_subject)?;
            update.content.as_deref().map_or(Ok(()), check_content)?;
        }
        if updates.is_empty() {
            return Ok(());
        }
        let sql = "UPDATE notifications SET subject = coalesce(?2, subject), content = coalesce(?3, content),
            sender_id = coalesce(?4, sender_id) WHERE id = ?1";
        let statements = updates.iter().map(|update| {
            let NotificationUpdate { id, subject, content, sender } = update;
            Statements::writing(sql, values![*id, subject, content, *sender])
        });
        self.store.run(Statements::all(statements), |_| Ok(())).await
    }
}

fn check_count(count: usize) -> Result<(), ServiceError> {
    if count > CHANGED_MAX {
        return Err(ServiceError::invalid(format!("At most {CHANGED_MAX} notifications can be named at once.")));
    }
    Ok(())
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
