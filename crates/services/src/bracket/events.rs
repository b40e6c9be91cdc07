//! Messages to entrants: notifications, and live updates over their sockets.

use super::definition::Bracket;
use super::game::{Game, Slot, State};
use super::machine::Change;
use crate::notification::{NewNotification, code};
use crate::router::{StreamId, mode};
use aether_messages::realtime::StreamData;
use aether_messages::realtime::envelope::Message;
use serde_json::json;
use uuid::Uuid;

/// Mode of the stream in which entrants get live updates.
pub const STREAM_MODE: u8 = mode::BRACKET;

/// Returns the stream of a bracket. Its label is the id.
#[must_use]
pub fn stream(id: &str) -> StreamId {
    StreamId { mode: STREAM_MODE, label: id.to_owned(), ..StreamId::default() }
}

/// Returns the notifications about changes, in the order of their users.
pub(super) fn notifications(bracket: &Bracket, changes: &[Change]) -> Vec<NewNotification> {
    let Some(machine) = &bracket.machine else { return Vec::new() };
    let mut notifications = Vec::new();
    for change in changes {
        match change {
            Change::Ready(number) => {
                let game = &machine.games()[*number];
                // A later change of the same call may have decided it.
                if let State::Ready { deadline_ms } = game.state {
                    notifications.extend(match_ready(bracket, *number, game, deadline_ms));
                }
            }
            Change::Finished => notifications.extend(bracket_ended(bracket)),
            Change::Decided(_) | Change::Disputed(_) => {}
        }
    }
    notifications.sort_by_key(|notification| notification.user);
    notifications
}

fn match_ready(bracket: &Bracket, number: usize, game: &Game, deadline_ms: i64) -> Vec<NewNotification> {
    let entrant = |slot: Slot| match slot {
        Slot::Seed(seed) => bracket.entrants.get(seed),
        _ => None,
    };
    let [one, other] = game.slots.map(entrant);
    let (Some(one), Some(other)) = (one, other) else { return Vec::new() };
    let notification = |user: Option<Uuid>, opponent: &super::Entrant| {
        let content = json!({
            "bracket_id": bracket.definition.id,
            "match": number,
            "opponent_id": opponent.user,
            "opponent": opponent.username,
            "deadline": if deadline_ms > 0 { crate::rfc3339(deadline_ms) } else { String::new() },
        });
        Some(NewNotification::persistent(user?, code::BRACKET_MATCH_READY, "Your match is ready", content.to_string()))
    };
    notification(one.user, other).into_iter().chain(notification(other.user, one)).collect()
}

fn bracket_ended(bracket: &Bracket) -> Vec<NewNotification> {
    let Some(machine) = &bracket.machine else { return Vec::new() };
    let winner = bracket.winner();
    let notification = |standing: super::Standing| {
        let content = json!({
            "bracket_id": bracket.definition.id,
            "rank": standing.rank,
            "winner_id": winner.and_then(|winner| winner.user),
            "winner": winner.map(|winner| winner.username.clone()),
        });
        let user = bracket.entrants.get(standing.seed)?.user?;
        Some(NewNotification::persistent(user, code::BRACKET_ENDED, "The bracket has ended", content.to_string()))
    };
    machine.standings().into_iter().filter_map(notification).collect()
}

/// Returns the live update about changes.
pub(super) fn update(bracket: &Bracket, changes: &[Change]) -> Message {
    let mut matches: Vec<usize> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Ready(number) | Change::Decided(number) | Change::Disputed(number) => Some(*number),
            Change::Finished => None,
        })
        .collect();
    matches.sort_unstable();
    matches.dedup();
    let data = json!({
        "bracket_id": bracket.definition.id,
        "version": bracket.version,
        "phase": bracket.phase.name(),
        "size": bracket.size,
        "matches": matches,
    });
    let stream = stream(&bracket.definition.id).to_message();
    Message::StreamData(StreamData { stream: Some(stream), sender: None, data: data.to_string(), reliable: true })
}
