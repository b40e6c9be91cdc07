//! Notices to players whom a decision is about.

use super::{Decision, Mute};
use crate::notification::{self, NewNotification};
use crate::rfc3339;
use crate::services::Services;
use serde_json::json;
use tracing::warn;
use uuid::Uuid;

/// Tells a player about a mute. The mute stands even if that fails.
pub async fn tell_muted(services: &Services, mute: &Mute) {
    let end = mute.expires_at.map_or_else(String::new, rfc3339);
    let subject = if end.is_empty() { "You are muted".to_owned() } else { format!("You are muted until {end}") };
    let content = json!({ "reason": mute.reason, "end_time": end });
    send(services, mute.user, subject, content.to_string(), notification::code::MUTED).await;
}

/// Tells a player about a warning. The decision stands even if that fails.
pub(crate) async fn tell_warned(services: &Services, user: Uuid, reason: &str) {
    let content = json!({ "reason": reason, "decision": Decision::Warned.name() });
    send(services, user, "You are warned".to_owned(), content.to_string(), notification::code::WARNED).await;
}

async fn send(services: &Services, user: Uuid, subject: String, content: String, code: i32) {
    let notice = NewNotification { user, subject, content, code, sender: None, persistent: true };
    if let Err(error) = services.notifications.send(vec![notice]).await {
        warn!(%error, "player was not told about a decision");
    }
}
