//! Tokens that were used, remembered until they expire.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddr;

use crate::handshake::AcceptBytes;
use crate::key_exchange::PublicKey;
use crate::limits::USED_TOKENS_MAX;
use crate::token::TokenId;

/// Tokens that were used. Each is forgotten once it has expired and would be refused for that.
#[derive(Default)]
pub(crate) struct UsedTokens {
    uses: BTreeMap<TokenId, TokenUse>,
    expiries: BinaryHeap<Reverse<(u64, TokenId)>>,
}

/// Use of a token.
pub(crate) struct TokenUse {
    pub from: SocketAddr,
    pub public: PublicKey,
    /// Answer, in case the first one was lost.
    pub accept: AcceptBytes,
}

impl UsedTokens {
    /// Forgets the tokens that have expired.
    pub(crate) fn expire(&mut self, unix_seconds: u64) {
        while let Some(&Reverse((expires, id))) = self.expiries.peek()
            && expires <= unix_seconds
        {
            self.expiries.pop();
            self.uses.remove(&id);
        }
    }

    pub(crate) fn get(&self, id: &TokenId) -> Option<&TokenUse> {
        self.uses.get(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.uses.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.uses.len() >= USED_TOKENS_MAX
    }

    pub(crate) fn insert(&mut self, id: TokenId, expires: u64, token_use: TokenUse) {
        self.expiries.push(Reverse((expires, id)));
        self.uses.insert(id, token_use);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_memory_stays_full_until_tokens_expire() {
        let from = SocketAddr::from(([10, 0, 0, 1], 1));
        let mut used = UsedTokens::default();
        for index in 0..USED_TOKENS_MAX as u64 {
            assert!(!used.is_full());
            let mut id = TokenId::default();
            id[..8].copy_from_slice(&index.to_be_bytes());
            used.insert(id, 100 + index % 2, TokenUse { from, public: [0; 32], accept: [0; 57] });
        }
        used.expire(99);
        assert!(used.is_full());
        used.expire(100);
        assert_eq!(used.len(), USED_TOKENS_MAX / 2);
        used.expire(101);
        assert_eq!(used.len(), 0);
        assert!(used.expiries.is_empty());
    }
}
