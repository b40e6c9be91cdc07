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

    pub(crate) fn is_full(&self) -> bool {
        self.uses.len() >= USED_TOKENS_MAX
    }

    pub(crate) fn insert(&mut self, id: TokenId, expires: u64, token_use: TokenUse) {
        self.expiries.push(Reverse((expires, id)));
        self.uses.insert(id, token_use);
    }
}
