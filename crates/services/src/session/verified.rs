//! [`VerifiedTokens`]: identities of access tokens whose signature was checked a short time ago.
//!
//! A client sends the same token with every request, and checking its signature and reading its claims takes more time than
//! most operations. Only valid tokens are kept. Expiry, revocation and role are looked up at every use.

use crate::caller::UserIdentity;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// Most tokens of a generation. A token with its identity takes about 700 bytes.
const GENERATION_MAX: usize = 4_096;

/// Identities by token, in two generations: when the current one is full, the former one is dropped. A token that is used
/// moves to the current one.
#[derive(Default)]
pub(super) struct VerifiedTokens {
    generations: RwLock<Generations>,
}

#[derive(Default)]
struct Generations {
    current: HashMap<Box<str>, UserIdentity>,
    former: HashMap<Box<str>, UserIdentity>,
}

impl VerifiedTokens {
    /// Returns the identity of a token that was added and is valid at `now`, in seconds since 1970.
    pub fn find(&self, token: &str, now: u64) -> Option<UserIdentity> {
        let is_valid = |identity: &&UserIdentity| (identity.issued_at..identity.expires_at).contains(&now);
        let generations = self.generations.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(identity) = generations.current.get(token).filter(is_valid) {
            return Some(identity.clone());
        }
        let identity = generations.former.get(token).filter(is_valid)?.clone();
        drop(generations);
        self.add(token, &identity);
        Some(identity)
    }

    /// Adds a token whose signature and claims are valid.
    pub fn add(&self, token: &str, identity: &UserIdentity) {
        let mut generations = self.generations.write().unwrap_or_else(PoisonError::into_inner);
        if generations.current.len() >= GENERATION_MAX {
            generations.former = std::mem::take(&mut generations.current);
        }
        generations.current.insert(token.into(), identity.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tokens::Role;
    use std::collections::BTreeMap;
    use uuid::Uuid;

    fn identity(number: usize) -> UserIdentity {
        UserIdentity {
            user: Uuid::from_u128(number as u128),
            username: format!("user-{number}"),
            session: Uuid::nil(),
            variables: BTreeMap::new(),
            role: Role::Player,
            issued_at: 100,
            expires_at: 200,
        }
    }

    #[test]
    fn a_token_is_known_from_its_issue_to_its_expiry() {
        let verified = VerifiedTokens::default();
        verified.add("token", &identity(1));
        assert_eq!(verified.find("token", 100), Some(identity(1)));
        assert_eq!(verified.find("token", 199), Some(identity(1)));
        for now in [99, 200] {
            assert_eq!(verified.find("token", now), None, "at {now}");
        }
        assert_eq!(verified.find("toke", 150), None);
    }

    #[test]
    fn used_tokens_stay_and_unused_ones_are_dropped() {
        let verified = VerifiedTokens::default();
        for number in 0..GENERATION_MAX * 3 {
            verified.add(&format!("token-{number}"), &identity(number));
            assert!(verified.find("token-0", 150).is_some(), "after {number} tokens");
        }
        assert_eq!(verified.find("token-1", 150), None);
        let generations = verified.generations.read().expect("no test panics with the lock");
        assert!(generations.current.len() <= GENERATION_MAX && generations.former.len() <= GENERATION_MAX);
    }
}
