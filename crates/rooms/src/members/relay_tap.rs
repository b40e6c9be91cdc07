//! Data of a relayed match for its members over the socket: one batch for all of them.

use super::{MatchMembers, SocketMember};
use aether_net::relay::{RelayMessage, RelayTap};
use aether_services::router::MatchMessage;
use std::sync::Arc;

impl RelayTap for MatchMembers {
    fn add(&self, message: &RelayMessage<'_>) {
        let Some(sender) = self.tables().players.get(&message.sender).map(|shown| Arc::clone(&shown.sender)) else {
            return;
        };
        let added = MatchMessage {
            member: message.sender.0,
            op_code: message.code,
            data: message.payload,
            is_reliable: message.is_reliable,
        };
        let receivers = message.receivers.map(|receivers| receivers.iter().map(|player| player.0).collect());
        self.batch().add(&sender, &added, receivers);
    }

    fn flush(&self) {
        let batch = std::mem::take(&mut *self.batch());
        if batch.is_empty() {
            return;
        }
        let batch = Arc::new(batch);
        let members: Vec<Arc<SocketMember>> = self.tables().members.values().cloned().collect();
        for member in members {
            member.sender.send_batch(&batch, member.player.0);
        }
    }
}
