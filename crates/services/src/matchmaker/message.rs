//! Messages of the matchmaker on the wire.

use super::candidate::{Delivery, Matched, MatchedUser};
use super::ticket::UserPresence;
use crate::router::SocketSession;
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::matchmaker_matched::MatchmakerUser;
use aether_messages::realtime::{self, MatchmakerMatched};
use uuid::Uuid;

/// Returns the message to each player of a match.
pub(super) fn matched(deliveries: &[Delivery<Matched>]) -> impl Iterator<Item = (Uuid, Message)> {
    let users: Vec<MatchmakerUser> =
        deliveries.first().into_iter().flat_map(|first| first.event.users.iter()).map(user).collect();
    deliveries.iter().flat_map(move |Delivery { to, event }| {
        let (match_id, token) = match &event.target.token {
            Some(token) => (String::new(), token.clone()),
            None => (event.target.match_id.clone(), String::new()),
        };
        let message = MatchmakerMatched {
            ticket: event.ticket.to_string(),
            match_id,
            token,
            users: users.clone(),
            self_: users.get(event.own).cloned(),
        };
        to.iter().map(move |session| (*session, Message::MatchmakerMatched(message.clone())))
    })
}

fn user(user: &MatchedUser) -> MatchmakerUser {
    MatchmakerUser {
        presence: Some(user.presence.to_message()),
        party_id: user.party_id.clone().unwrap_or_default(),
        string_properties: user.properties.strings.clone(),
        numeric_properties: user.properties.numbers.clone(),
    }
}

impl UserPresence {
    /// Presence of a connected session.
    #[must_use]
    pub fn of(socket: &SocketSession) -> UserPresence {
        UserPresence { user_id: socket.user, session_id: socket.session, username: socket.username.to_string() }
    }

    /// Form on the wire.
    #[must_use]
    pub fn to_message(&self) -> realtime::UserPresence {
        realtime::UserPresence {
            user_id: self.user_id.to_string(),
            session_id: self.session_id.to_string(),
            username: self.username.clone(),
            ..Default::default()
        }
    }
}
