//! Reasons to drop a datagram.

/// Reason to drop a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// Shorter than any packet of its kind.
    TooShort,
    /// Longer than a datagram may be.
    TooLong,
    /// Of no known kind, or of a kind that does not belong here.
    Unknown,
    /// Of another version of the protocol.
    OtherVersion,
    /// A connect request without its padding.
    NotPadded,
    /// An answer to a challenge that this server did not send to this address, or too late.
    BadCookie,
    /// A token that was altered, or issued by another server or an earlier start of this one.
    BadToken,
    /// A token past its expiry.
    ExpiredToken,
    /// A token that was used before, by another address or with another key.
    UsedToken,
    /// As many used tokens as can be remembered.
    TooManyTokens,
    /// An unusable key of a key exchange, or no randomness.
    BadKey,
    /// A packet number that was received before, or is too old to tell.
    Replayed,
    /// A packet that was altered, or sealed with another key.
    BadSeal,
    /// An authentic packet with a payload that breaks a rule. The connection closes.
    Malformed,
    /// A packet from an address other than the server's.
    OtherAddress,
    /// A packet for a connection that is closed.
    Closed,
}

impl DropReason {
    /// Every reason.
    pub const ALL: [DropReason; 16] = [
        DropReason::TooShort,
        DropReason::TooLong,
        DropReason::Unknown,
        DropReason::OtherVersion,
        DropReason::NotPadded,
        DropReason::BadCookie,
        DropReason::BadToken,
        DropReason::ExpiredToken,
        DropReason::UsedToken,
        DropReason::TooManyTokens,
        DropReason::BadKey,
        DropReason::Replayed,
        DropReason::BadSeal,
        DropReason::Malformed,
        DropReason::OtherAddress,
        DropReason::Closed,
    ];

    /// Label for metrics.
    pub fn label(self) -> &'static str {
        match self {
            DropReason::TooShort => "too_short",
            DropReason::TooLong => "too_long",
            DropReason::Unknown => "unknown",
            DropReason::OtherVersion => "other_version",
            DropReason::NotPadded => "not_padded",
            DropReason::BadCookie => "bad_cookie",
            DropReason::BadToken => "bad_token",
            DropReason::ExpiredToken => "expired_token",
            DropReason::UsedToken => "used_token",
            DropReason::TooManyTokens => "too_many_tokens",
            DropReason::BadKey => "bad_key",
            DropReason::Replayed => "replayed",
            DropReason::BadSeal => "bad_seal",
            DropReason::Malformed => "malformed",
            DropReason::OtherAddress => "other_address",
            DropReason::Closed => "closed",
        }
    }
}
