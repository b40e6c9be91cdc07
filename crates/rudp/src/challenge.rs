//! Stateless challenge: proof that a client receives at the address from which it sends.
//!
//! ```text
//!  cookie:   moment 8 (ms)   MAC 16 over moment, address, token id and the client's public key
//! ```

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ring::hmac;

use crate::key_exchange::{PUBLIC_BYTES, PublicKey};
use crate::limits::COOKIE_AGE_MAX;
use crate::token::TokenId;

/// Length of a cookie.
pub(crate) const COOKIE_BYTES: usize = 8 + MAC_BYTES;

/// Length of a truncated MAC.
pub(crate) const MAC_BYTES: usize = 16;

/// Cookie of a challenge, returned in the response.
pub(crate) type Cookie = [u8; COOKIE_BYTES];

/// Content of a request that the cookie is bound to.
#[derive(Clone, Copy)]
pub(crate) struct Claim<'a> {
    pub from: SocketAddr,
    pub token: &'a TokenId,
    pub public: &'a PublicKey,
}

/// Returns the cookie for a claim.
pub(crate) fn cookie(key: &hmac::Key, now: Duration, claim: Claim<'_>) -> Cookie {
    cookie_at(key, (now.as_millis() as u64).to_be_bytes(), claim)
}

/// Returns true if this key made the cookie for the claim, not long ago.
pub(crate) fn is_valid(key: &hmac::Key, now: Duration, claim: Claim<'_>, cookie: &Cookie) -> bool {
    let Some((moment, _)) = cookie.split_first_chunk::<8>() else { return false };
    let age = (now.as_millis() as u64).checked_sub(u64::from_be_bytes(*moment));
    let is_fresh = age.is_some_and(|age| age <= COOKIE_AGE_MAX.as_millis() as u64);
    is_fresh && is_equal(&cookie_at(key, *moment, claim), cookie)
}

/// Compares two MACs in constant time.
pub(crate) fn is_equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |differs, (left, right)| differs | (left ^ right)) == 0
}

fn cookie_at(key: &hmac::Key, moment: [u8; 8], claim: Claim<'_>) -> Cookie {
    let mut context = hmac::Context::with_key(key);
    context.update(&moment);
    match claim.from.ip() {
        IpAddr::V4(ip) => context.update(&ip.to_ipv6_mapped().octets()),
        IpAddr::V6(ip) => context.update(&ip.octets()),
    }
    context.update(&claim.from.port().to_be_bytes());
    context.update(claim.token);
    const { assert!(PUBLIC_BYTES == size_of::<PublicKey>()) };
    context.update(claim.public);
    let mut cookie = [0; COOKIE_BYTES];
    cookie[..8].copy_from_slice(&moment);
    cookie[8..].copy_from_slice(&context.sign().as_ref()[..MAC_BYTES]);
    cookie
}
