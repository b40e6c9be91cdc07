//! Resume records: single-use tokens with which players resume after a lost connection. Each use issues a new token.

use aether_wire::{JoinMetadata, PlayerId, RoomId, SessionId, Token};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Time for which a used token is stored, so that a second use is detected.
const USED_FOR: Duration = Duration::from_secs(3_600);
/// Most stored tokens. Beyond it, used tokens are removed early.
const TOKENS_MAX: usize = 200_000;

/// Player to whom a resume token belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResumeRecord {
    pub room: RoomId,
    pub player: PlayerId,
    pub session: SessionId,
    pub user: String,
    pub name: String,
    /// Role that a development token granted. The role of the account is looked up.
    pub role: aether_services::session::tokens::Role,
    /// Time at which the access token was issued, in seconds since 1970.
    pub issued_at: u64,
    /// Metadata that the player joined with.
    pub metadata: JoinMetadata,
}

/// Result of a token lookup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResumeLookup {
    /// The token is valid.
    Valid(Box<ResumeRecord>),
    /// The token is unknown or has expired.
    Unknown,
    /// The token was used before, by a client that has sent a message since. One of the two clients is not the player,
    /// so the session must end.
    Reused(Box<ResumeRecord>),
}

/// Resume tokens that this node issued, by hash.
#[derive(Default)]
pub(crate) struct ResumeRecords {
    tokens: Mutex<HashMap<[u8; 32], State>>,
}

enum State {
    Fresh {
        record: Box<ResumeRecord>,
        /// Alive as long as the connection that got the token.
        connection: Weak<()>,
        grace: Duration,
        /// Time at which the end of the connection was noticed.
        lost_at: Option<Instant>,
    },
    Used {
        record: Box<ResumeRecord>,
        /// Set when the client that used it has sent a message. Until then the welcome with the next token may be lost.
        is_confirmed: Arc<AtomicBool>,
        at: Instant,
    },
}

impl ResumeRecords {
    /// Issues a token for a connection. It is valid until the grace period after the end of the connection.
    pub fn issue(&self, record: ResumeRecord, connection: &Arc<()>, grace: Duration) -> Token {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).expect("the system provides random numbers");
        let text = URL_SAFE_NO_PAD.encode(secret);
        let connection = Arc::downgrade(connection);
        let state = State::Fresh { record: Box::new(record), connection, grace, lost_at: None };
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= TOKENS_MAX {
            tokens.retain(|_, state| matches!(state, State::Fresh { .. }));
        }
        tokens.insert(hash(&text), state);
        Token::new(text)
    }

    /// Adds a token that was issued before a restart of this server.
    pub fn add(&self, token: &Token, record: ResumeRecord, grace: Duration) {
        let state =
            State::Fresh { record: Box::new(record), connection: Weak::new(), grace, lost_at: Some(Instant::now()) };
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).entry(hash(token.reveal())).or_insert(state);
    }

    /// Looks a token up without using it: the room may be temporarily unavailable.
    pub fn find(&self, token: &Token) -> ResumeLookup {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        match tokens.get(&hash(token.reveal())) {
            None => ResumeLookup::Unknown,
            Some(State::Fresh { record, .. }) => ResumeLookup::Valid(record.clone()),
            Some(State::Used { record, is_confirmed, .. }) if is_confirmed.load(Ordering::Relaxed) => {
                ResumeLookup::Reused(record.clone())
            }
            Some(State::Used { record, .. }) => ResumeLookup::Valid(record.clone()),
        }
    }

    /// Marks a token as used. `is_confirmed` is set when the client sends a message.
    pub fn mark_used(&self, token: &Token, is_confirmed: &Arc<AtomicBool>) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = tokens.get_mut(&hash(token.reveal())) {
            let record = match state {
                State::Fresh { record, .. } | State::Used { record, .. } => record.clone(),
            };
            *state = State::Used { record, is_confirmed: Arc::clone(is_confirmed), at: Instant::now() };
        }
    }

    /// Removes expired tokens. Call it once a second.
    pub fn sweep(&self) {
        let now = Instant::now();
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, state| match state {
            State::Used { at, .. } => now.duration_since(*at) < USED_FOR,
            State::Fresh { connection, grace, lost_at, .. } => {
                if connection.strong_count() > 0 {
                    return true;
                }
                now.duration_since(*lost_at.get_or_insert(now)) < *grace
            }
        });
    }
}

/// Returns the hash of a token. Tokens themselves are not stored.
pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_services::session::tokens::Role;

    fn record() -> ResumeRecord {
        ResumeRecord {
            room: RoomId("room".into()),
            player: PlayerId(7),
            session: SessionId(5),
            user: "ann".into(),
            name: "Ann".into(),
            role: Role::Player,
            issued_at: 1,
            metadata: JoinMetadata::default(),
        }
    }

    #[test]
    fn a_token_is_valid_once_and_its_second_use_is_detected() {
        let (resumes, connection) = (ResumeRecords::default(), Arc::new(()));
        let token = resumes.issue(record(), &connection, Duration::ZERO);
        let valid = || ResumeLookup::Valid(Box::new(record()));
        assert_eq!(resumes.find(&token), valid());
        let is_confirmed = Arc::new(AtomicBool::new(false));
        resumes.mark_used(&token, &is_confirmed);
        assert_eq!(resumes.find(&token), valid(), "the welcome may have been lost");
        is_confirmed.store(true, Ordering::Relaxed);
        assert_eq!(resumes.find(&token), ResumeLookup::Reused(Box::new(record())));
    }

    #[test]
    fn a_token_expires_with_the_grace_period_after_its_connection() {
        let (resumes, connection) = (ResumeRecords::default(), Arc::new(()));
        let token = resumes.issue(record(), &connection, Duration::ZERO);
        resumes.sweep();
        drop(connection);
        resumes.sweep();
        assert_eq!(resumes.find(&token), ResumeLookup::Unknown);
    }

    #[test]
    fn a_guessed_token_is_unknown() {
        let resumes = ResumeRecords::default();
        assert_eq!(resumes.find(&Token::new("guess")), ResumeLookup::Unknown);
        assert_eq!(resumes.find(&Token::new("")), ResumeLookup::Unknown);
    }
}
