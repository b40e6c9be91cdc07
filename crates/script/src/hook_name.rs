//! Names of hooks and of the operations that they belong to.

use crate::registrations::{RegistrationKind, SINGLE};
use aether_services::calls::operation_names;
use aether_services::operation::{self, Operation as _};
use aether_services::socket;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Names of hooks of `aether.register_hook` that are no operations.
const EVENTS: [(&str, RegistrationKind); 8] = [
    ("matchmaker_matched", RegistrationKind::MatchmakerMatched),
    ("leaderboard_reset", RegistrationKind::LeaderboardReset),
    ("tournament_end", RegistrationKind::TournamentEnd),
    ("tournament_reset", RegistrationKind::TournamentReset),
    ("session_start", RegistrationKind::SessionStart),
    ("session_end", RegistrationKind::SessionEnd),
    ("event", RegistrationKind::Event),
    ("shutdown", RegistrationKind::Shutdown),
];

/// Name of a hook of `aether.register_hook`.
pub(crate) struct HookName;

impl HookName {
    /// Returns kind and name of the function of a hook: `before:<operation>`, `after:<operation>`, or an event.
    pub fn parse(text: &str) -> Result<(RegistrationKind, String), String> {
        if let Some((_, kind)) = EVENTS.iter().find(|(name, _)| *name == text) {
            return Ok((*kind, SINGLE.to_owned()));
        }
        let (kind, name) = match text.split_once(':') {
            Some(("before", name)) => (RegistrationKind::Before, name),
            Some(("after", name)) => (RegistrationKind::After, name),
            _ => {
                let events = EVENTS.map(|(name, _)| name).join(", ");
                return Err(format!(
                    "hook `{text:.64}` does not exist; use before:<operation>, after:<operation>, or one of {events}"
                ));
            }
        };
        Ok((kind, any_operation(name)?.to_owned()))
    }
}

/// Returns the operation of a request over HTTP, by its name in any case.
pub(crate) fn request_operation(name: &str) -> Result<&'static str, String> {
    let operation = any_operation(name)?;
    // `rpc` has no hooks in modules of other servers, and a check of the health runs none.
    let is_request = ![operation::RpcFunc::NAME, operation::Healthcheck::NAME].contains(&operation);
    if is_request && !socket::NAMES.contains(&operation) { Ok(operation) } else { Err(unknown(name)) }
}

/// Returns the operation of a message of the socket, by its name in any case.
pub(crate) fn socket_operation(name: &str) -> Result<&'static str, String> {
    let operation = any_operation(name)?;
    if socket::NAMES.contains(&operation) { Ok(operation) } else { Err(unknown(name)) }
}

/// Returns the field of an envelope that holds a message: `ChannelJoin` is `channel_join`.
pub(crate) fn envelope_field(operation: &str) -> String {
    let mut field = String::with_capacity(operation.len() + 4);
    for (index, letter) in operation.char_indices() {
        if letter.is_ascii_uppercase() && index > 0 {
            field.push('_');
        }
        field.push(letter.to_ascii_lowercase());
    }
    field
}

fn any_operation(name: &str) -> Result<&'static str, String> {
    static BY_LOWER_CASE: OnceLock<HashMap<String, &'static str>> = OnceLock::new();
    let names = BY_LOWER_CASE.get_or_init(|| operation_names().map(|name| (name.to_ascii_lowercase(), name)).collect());
    names.get(&name.to_ascii_lowercase()).copied().ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> String {
    format!("operation `{name:.64}` does not exist; see the list of operations in the compatibility reference")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_in_their_list() {
        assert_eq!(request_operation("writestorageobjects"), Ok("WriteStorageObjects"));
        assert_eq!(socket_operation("ChannelJoin"), Ok("ChannelJoin"));
        assert!(request_operation("ChannelJoin").is_err());
        assert!(socket_operation("GetAccount").is_err());
        assert!(request_operation("RpcFunc").is_err());
        assert_eq!(HookName::parse("before:rpcfunc"), Ok((RegistrationKind::Before, "RpcFunc".to_owned())));
        assert_eq!(HookName::parse("session_end"), Ok((RegistrationKind::SessionEnd, String::new())));
        for wrong in ["before:Nothing", "GetAccount", "during:GetAccount", ""] {
            assert!(HookName::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_message_of_the_socket_has_its_field() {
        assert_eq!(envelope_field("ChannelMessageSend"), "channel_message_send");
        assert_eq!(envelope_field("Ping"), "ping");
        assert_eq!(envelope_field("PartyJoinRequestList"), "party_join_request_list");
    }
}
