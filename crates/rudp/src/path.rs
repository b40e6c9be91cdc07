//! Change of the client's address, once it is proven.

use std::net::SocketAddr;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};

use crate::frame::PathNonce;
use crate::limits::{PATH_CHALLENGE_INTERVAL, PATH_CHALLENGES_MAX};

/// Address from which authentic packets come, but which is not proven yet.
pub(crate) struct PathCandidate {
    pub address: SocketAddr,
    nonce: PathNonce,
    challenges: u8,
    next_challenge: Duration,
}

impl PathCandidate {
    /// Begins to challenge an address. `None` if the system has no randomness.
    pub(crate) fn new(now: Duration, address: SocketAddr) -> Option<PathCandidate> {
        let mut nonce = PathNonce::default();
        SystemRandom::new().fill(&mut nonce).ok()?;
        Some(PathCandidate { address, nonce, challenges: 0, next_challenge: now })
    }

    /// Another packet came from the address: it is challenged for longer.
    pub(crate) fn renew(&mut self) {
        self.challenges = self.challenges.min(1);
    }

    /// Moment of the next challenge, `None` once the address is given up.
    pub(crate) fn next_challenge(&self) -> Option<Duration> {
        (self.challenges < PATH_CHALLENGES_MAX).then_some(self.next_challenge)
    }

    /// Returns the content of the challenge that is due.
    pub(crate) fn challenge(&mut self, now: Duration) -> Option<PathNonce> {
        if self.next_challenge()? > now {
            return None;
        }
        self.challenges += 1;
        self.next_challenge = now + PATH_CHALLENGE_INTERVAL;
        Some(self.nonce)
    }

    /// Returns true if this response proves the address.
    pub(crate) fn is_proven(&self, from: SocketAddr, response: &PathNonce) -> bool {
        self.address == from && self.challenges > 0 && self.nonce == *response
    }
}
