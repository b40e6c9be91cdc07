//! Tokens by which players come back after a lost connection: each good once, and replaced with every use.

use aether_wire::{PlayerId, RoomId, SessionId, Token};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How long a used token is remembered, so that a second use is noticed as what it is.
const USED_FOR: Duration = Duration::from_secs(3_600);
/// Tokens that are remembered at most; beyond, the used ones are forgotten early.
const TOKENS_MAX: usize = 200_000;

/// Where a token leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comeback {
    pub room: RoomId,
    pub player: PlayerId,
    pub session: SessionId,
    pub user: String,
    pub name: String,
    pub role: crate::tokens::Role,
    /// When the access token was issued by which they came, in seconds since 1970.
    pub issued_at: u64,
}

/// What a token was worth.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Presented {
    /// It leads back.
    Good(Box<Comeback>),
    /// Nobody knows it, or it came too late.
    Unknown,
    /// It was used before, by someone who was heard from since: one of the two is not the player, so the session is to end.
    Reused(Box<Comeback>),
}

/// All tokens. Only their hashes are kept.
#[derive(Default)]
pub(crate) struct Resumes {
    tokens: Mutex<HashMap<[u8; 32], State>>,
}

enum State {
    Fresh {
        comeback: Box<Comeback>,
        /// Lives as long as the connection that was given the token.
        connection: Weak<()>,
        grace: Duration,
        /// When the connection was found to be gone.
        lost_at: Option<Instant>,
    },
    Used {
        comeback: Box<Comeback>,
        /// Whether whoever used it was heard from since. Until then the welcome with the next token may have been lost.
        heard: Arc<AtomicBool>,
        at: Instant,
    },
}

impl Resumes {
    /// A fresh token for a connection; it is good until the grace period after that connection's end.
    pub fn issue(&self, comeback: Comeback, connection: &Arc<()>, grace: Duration) -> Token {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).expect("the system has random numbers");
        let text = URL_SAFE_NO_PAD.encode(secret);
        let connection = Arc::downgrade(connection);
        let state = State::Fresh { comeback: Box::new(comeback), connection, grace, lost_at: None };
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= TOKENS_MAX {
            tokens.retain(|_, state| matches!(state, State::Fresh { .. }));
        }
        tokens.insert(hash(&text), state);
        Token::new(text)
    }

    /// Takes in a token that was issued by this server before it was started again.
    pub fn learn(&self, token: &Token, comeback: Comeback, grace: Duration) {
        let state = State::Fresh {
            comeback: Box::new(comeback),
            connection: Weak::new(),
            grace,
            lost_at: Some(Instant::now()),
        };
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).entry(hash(token.reveal())).or_insert(state);
    }

    /// Where a token leads. It is not used up by that: the way back may turn out to be barred for now.
    pub fn look(&self, token: &Token) -> Presented {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        match tokens.get(&hash(token.reveal())) {
            None => Presented::Unknown,
            Some(State::Fresh { comeback, .. }) => Presented::Good(comeback.clone()),
            Some(State::Used { comeback, heard, .. }) if heard.load(Ordering::Relaxed) => {
                Presented::Reused(comeback.clone())
            }
            Some(State::Used { comeback, .. }) => Presented::Good(comeback.clone()),
        }
    }

    /// Uses a token up; `heard` tells when whoever used it is heard from.
    pub fn use_up(&self, token: &Token, heard: &Arc<AtomicBool>) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = tokens.get_mut(&hash(token.reveal())) {
            let comeback = match state {
                State::Fresh { comeback, .. } | State::Used { comeback, .. } => comeback.clone(),
            };
            *state = State::Used { comeback, heard: Arc::clone(heard), at: Instant::now() };
        }
    }

    /// Forgets what no longer matters; called once a second.
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

/// What is kept of a token.
pub(crate) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Role;

    fn comeback() -> Comeback {
        Comeback {
            room: RoomId("room".into()),
            player: PlayerId(7),
            session: SessionId(5),
            user: "ann".into(),
            name: "Ann".into(),
            role: Role::Player,
            issued_at: 1,
        }
    }

    #[test]
    fn a_token_is_good_once_and_its_second_use_is_noticed() {
        let (resumes, connection) = (Resumes::default(), Arc::new(()));
        let token = resumes.issue(comeback(), &connection, Duration::ZERO);
        let good = || Presented::Good(Box::new(comeback()));
        assert_eq!(resumes.look(&token), good());
        let heard = Arc::new(AtomicBool::new(false));
        resumes.use_up(&token, &heard);
        assert_eq!(resumes.look(&token), good(), "the welcome may have been lost");
        heard.store(true, Ordering::Relaxed);
        assert_eq!(resumes.look(&token), Presented::Reused(Box::new(comeback())));
    }

    #[test]
    fn a_token_lasts_while_its_connection_does_and_no_longer_than_the_grace_period() {
        let (resumes, connection) = (Resumes::default(), Arc::new(()));
        let token = resumes.issue(comeback(), &connection, Duration::ZERO);
        resumes.sweep();
        drop(connection);
        resumes.sweep();
        assert_eq!(resumes.look(&token), Presented::Unknown);
    }

    #[test]
    fn a_guess_is_unknown() {
        let resumes = Resumes::default();
        assert_eq!(resumes.look(&Token::new("guess")), Presented::Unknown);
        assert_eq!(resumes.look(&Token::new("")), Presented::Unknown);
    }
}
