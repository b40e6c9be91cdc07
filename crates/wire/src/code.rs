//! Error codes and close reasons, with stable names and numbers.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares an enum whose variants have a number for protobuf and a name for JSON, metrics and people. Both never
/// change; new variants are added at the end.
macro_rules! codes {
    ($(#[$enum_doc:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal $text:literal,)* }) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            /// A code of a newer peer that this version does not know.
            #[default]
            Unknown = 0,
            $($(#[$doc])* $variant = $number,)*
        }

        impl $name {
            /// All codes, in the order of their numbers.
            pub const ALL: &'static [$name] = &[$name::Unknown, $($name::$variant,)*];

            /// Stable name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $name::Unknown => "unknown",
                    $($name::$variant => $text,)*
                }
            }

            /// Stable number.
            #[must_use]
            pub fn number(self) -> u32 {
                self as u32
            }

            /// Returns the code with this number, or [`Self::Unknown`].
            #[must_use]
            pub fn from_number(number: u32) -> $name {
                match number {
                    $($number => $name::$variant,)*
                    _ => $name::Unknown,
                }
            }

            /// Returns the code with this name, or [`Self::Unknown`].
            #[must_use]
            pub fn from_name(name: &str) -> $name {
                match name {
                    $($text => $name::$variant,)*
                    _ => $name::Unknown,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                String::deserialize(deserializer).map(|name| $name::from_name(&name))
            }
        }
    };
}

codes! {
    /// Error code, for programs.
    ErrorCode {
        /// A message could not be decoded, or is not allowed in this state.
        BadMessage = 1 "bad_message",
        /// The client uses another version of the protocol.
        VersionMismatch = 2 "version_mismatch",
        /// The access token was rejected, or another message came before it.
        Unauthenticated = 3 "unauthenticated",
        /// The resume token was rejected: it is expired, used or unknown.
        ResumeRefused = 4 "resume_refused",
        /// The account lacks the permission.
        Forbidden = 5 "forbidden",
        /// The room does not exist.
        RoomNotFound = 6 "room_not_found",
        /// The room is full.
        RoomFull = 7 "room_full",
        /// The game rejected the join.
        JoinRefused = 8 "join_refused",
        /// The feature or action does not exist.
        UnknownCommand = 9 "unknown_command",
        /// The object does not exist, or the player has no access to it.
        NotFound = 10 "not_found",
        /// A field of a command has an invalid value.
        BadValue = 11 "bad_value",
        /// A limit of the room or the server is reached, such as the number of entities.
        LimitReached = 12 "limit_reached",
        /// The client exceeded a rate limit.
        RateLimited = 13 "rate_limited",
        /// The game rejected the command.
        Refused = 14 "refused",
        /// The server is starting, draining or overloaded.
        Unavailable = 15 "unavailable",
        /// The server failed.
        Internal = 16 "internal",
    }
}

codes! {
    /// Reason why the server closed a connection, for programs.
    CloseReason {
        /// The client left.
        Left = 1 "left",
        /// The server is shutting down.
        Shutdown = 2 "shutdown",
        /// The room moves to another node. The client may resume at once.
        Moved = 3 "moved",
        /// The room has ended.
        RoomEnded = 4 "room_ended",
        /// The room has failed.
        RoomFailed = 5 "room_failed",
        /// The session was revoked or has expired.
        SessionEnded = 6 "session_ended",
        /// The same account connected elsewhere.
        Replaced = 7 "replaced",
        /// An operator or the game removed the player.
        Kicked = 8 "kicked",
        /// The client sent nothing for too long.
        TimedOut = 9 "timed_out",
        /// The client reads reliable messages too slowly.
        TooSlow = 10 "too_slow",
        /// The client sent too much.
        Flooded = 11 "flooded",
        /// The client violated the protocol.
        ProtocolViolation = 12 "protocol_violation",
        /// The client did not authenticate in time, or had too many failed attempts.
        Unauthenticated = 13 "unauthenticated",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_survive_a_round_trip() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_number(code.number()), *code);
            assert_eq!(ErrorCode::from_name(code.name()), *code);
        }
        for reason in CloseReason::ALL {
            assert_eq!(CloseReason::from_number(reason.number()), *reason);
            assert_eq!(CloseReason::from_name(reason.name()), *reason);
        }
    }

    #[test]
    fn a_code_of_a_newer_peer_is_unknown() {
        assert_eq!(ErrorCode::from_number(9_999), ErrorCode::Unknown);
        assert_eq!(CloseReason::from_name("not yet invented"), CloseReason::Unknown);
    }
}
