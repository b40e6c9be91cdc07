//! Handlers of the notification operations.

use super::{CONTENT_BYTES_MAX, StoredNotification};
use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve, answer_blocks};
use aether_messages::Empty;
use aether_messages::api::{DeleteNotificationsRequest, ListNotificationsRequest, NotificationList};
use aether_messages::operation::{DeleteNotifications, ListNotifications};
use uuid::Uuid;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<ListNotifications>().with::<DeleteNotifications>()
}

impl Serve for ListNotifications {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListNotificationsRequest) -> u32 {
        answer_blocks(usize::try_from(request.limit.unwrap_or(0)).unwrap_or(0), CONTENT_BYTES_MAX)
    }

    async fn serve(call: &Call<'_>, request: ListNotificationsRequest) -> Result<NotificationList, ServiceError> {
        let page = call.services.notifications.list(call.owner()?, request.limit, &request.cacheable_cursor).await?;
        Ok(NotificationList {
            notifications: page.notifications.iter().map(StoredNotification::to_message).collect(),
            cacheable_cursor: page.cacheable_cursor,
        })
    }
}

impl Serve for DeleteNotifications {
    async fn serve(call: &Call<'_>, request: DeleteNotificationsRequest) -> Result<Empty, ServiceError> {
        let parse = |id: &String| {
            Uuid::try_parse(id).map_err(|_| ServiceError::invalid("Invalid notification identifier. Send a UUID."))
        };
        let ids = request.ids.iter().map(parse).collect::<Result<Vec<Uuid>, ServiceError>>()?;
        call.services.notifications.delete(call.owner()?, ids).await?;
        Ok(Empty::default())
    }
}
