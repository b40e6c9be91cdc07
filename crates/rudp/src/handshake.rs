//! Packets of the handshake.
//!
//! ```text
//!  request:     kind 1   version 1   sealed token 133   client's public key 32   zeros to 1,200
//!  challenge:   kind 1   cookie 24
//!  response:    kind 1   version 1   sealed token 133   client's public key 32   cookie 24   MAC 16
//!  accept:      kind 1   connection id 8   server's public key 32   MAC 16
//! ```
//!
//! The MACs have the token's secret as their key: a sealed token read from the network opens nothing.

use ring::hmac;

use crate::bytes::Reader;
use crate::challenge::{COOKIE_BYTES, Cookie, MAC_BYTES, is_equal};
use crate::connection_id::ConnectionId;
use crate::drop_reason::DropReason;
use crate::key_exchange::{PUBLIC_BYTES, PublicKey};
use crate::limits::REQUEST_BYTES;
use crate::packet::{CONNECTION_ID_BYTES, Kind, VERSION};
use crate::token::{SEALED_BYTES, Secret};

pub(crate) const CHALLENGE_BYTES: usize = 1 + COOKIE_BYTES;
pub(crate) const RESPONSE_BYTES: usize = 2 + SEALED_BYTES + PUBLIC_BYTES + COOKIE_BYTES + MAC_BYTES;
pub(crate) const ACCEPT_BYTES: usize = 1 + CONNECTION_ID_BYTES + PUBLIC_BYTES + MAC_BYTES;

const _: () = assert!(CHALLENGE_BYTES < REQUEST_BYTES, "a challenge amplifies nothing");
const _: () = assert!(ACCEPT_BYTES < RESPONSE_BYTES, "an accept amplifies nothing");

/// Bytes of an accept, kept to repeat it.
pub(crate) type AcceptBytes = [u8; ACCEPT_BYTES];

/// Part that request and response share.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    pub sealed: &'a [u8; SEALED_BYTES],
    pub public: &'a PublicKey,
}

/// Response to a challenge.
pub(crate) struct Response<'a> {
    pub opening: Opening<'a>,
    pub cookie: &'a Cookie,
    signed: &'a [u8],
    mac: &'a [u8],
}

/// Acceptance of a client.
pub(crate) struct Accept {
    pub id: ConnectionId,
    pub public: PublicKey,
}

impl<'a> Opening<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Opening<'a>, DropReason> {
        if reader.u8().ok_or(DropReason::TooShort)? != VERSION {
            return Err(DropReason::OtherVersion);
        }
        let sealed = reader.take(SEALED_BYTES).and_then(|bytes| bytes.first_chunk()).ok_or(DropReason::TooShort)?;
        let public = reader.take(PUBLIC_BYTES).and_then(|bytes| bytes.first_chunk()).ok_or(DropReason::TooShort)?;
        Ok(Opening { sealed, public })
    }

    fn write(&self, out: &mut Vec<u8>, kind: Kind) {
        out.extend_from_slice(&[kind as u8, VERSION]);
        out.extend_from_slice(self.sealed);
        out.extend_from_slice(self.public);
    }

    /// Reads a request.
    pub(crate) fn read_request(datagram: &'a [u8]) -> Result<Opening<'a>, DropReason> {
        if datagram.len() < REQUEST_BYTES {
            return Err(DropReason::NotPadded);
        }
        Opening::read(&mut Reader(&datagram[1..]))
    }

    /// Writes a request to the end of `out`.
    pub(crate) fn write_request(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.write(out, Kind::Request);
        out.resize(start + REQUEST_BYTES, 0);
    }

    /// Writes a response to the end of `out`.
    pub(crate) fn write_response(&self, cookie: &Cookie, secret: &Secret, out: &mut Vec<u8>) {
        let start = out.len();
        self.write(out, Kind::Response);
        out.extend_from_slice(cookie);
        let mac = hmac::sign(&mac_key(secret), &out[start..]);
        out.extend_from_slice(&mac.as_ref()[..MAC_BYTES]);
    }
}

impl<'a> Response<'a> {
    /// Reads a response.
    pub(crate) fn read(datagram: &'a [u8]) -> Result<Response<'a>, DropReason> {
        let (signed, mac) = datagram.split_at_checked(RESPONSE_BYTES - MAC_BYTES).ok_or(DropReason::TooShort)?;
        let mut reader = Reader(&signed[1..]);
        let opening = Opening::read(&mut reader)?;
        let cookie = reader.0.first_chunk().ok_or(DropReason::TooShort)?;
        Ok(Response { opening, cookie, signed, mac })
    }

    /// Returns true if the sender knows the token's secret.
    pub(crate) fn is_signed(&self, secret: &Secret) -> bool {
        is_equal(&hmac::sign(&mac_key(secret), self.signed).as_ref()[..MAC_BYTES], self.mac)
    }
}

impl Accept {
    /// Returns the bytes of the accept for this client.
    pub(crate) fn to_bytes(&self, client: &PublicKey, secret: &Secret) -> AcceptBytes {
        let mut bytes = [0; ACCEPT_BYTES];
        bytes[0] = Kind::Accept as u8;
        bytes[1..1 + CONNECTION_ID_BYTES].copy_from_slice(&self.id.0.to_be_bytes());
        bytes[1 + CONNECTION_ID_BYTES..ACCEPT_BYTES - MAC_BYTES].copy_from_slice(&self.public);
        let mac = accept_mac(&bytes[..ACCEPT_BYTES - MAC_BYTES], client, secret);
        bytes[ACCEPT_BYTES - MAC_BYTES..].copy_from_slice(&mac.as_ref()[..MAC_BYTES]);
        bytes
    }

    /// Reads an accept for this client.
    pub(crate) fn read(datagram: &[u8], client: &PublicKey, secret: &Secret) -> Result<Accept, DropReason> {
        let (signed, mac) = datagram.split_at_checked(ACCEPT_BYTES - MAC_BYTES).ok_or(DropReason::TooShort)?;
        if !is_equal(&accept_mac(signed, client, secret).as_ref()[..MAC_BYTES], mac) {
            return Err(DropReason::BadSeal);
        }
        let mut reader = Reader(&signed[1..]);
        let id = ConnectionId(reader.u64().ok_or(DropReason::TooShort)?);
        let public = reader.array().ok_or(DropReason::TooShort)?;
        Ok(Accept { id, public })
    }
}

/// Writes a challenge to the end of `out`.
pub(crate) fn write_challenge(cookie: &Cookie, out: &mut Vec<u8>) {
    out.push(Kind::Challenge as u8);
    out.extend_from_slice(cookie);
}

/// Reads a challenge.
pub(crate) fn read_challenge(datagram: &[u8]) -> Result<Cookie, DropReason> {
    let cookie = Reader(&datagram[1..]).array().ok_or(DropReason::TooShort)?;
    if datagram.len() > CHALLENGE_BYTES { Err(DropReason::TooLong) } else { Ok(cookie) }
}

fn mac_key(secret: &Secret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret)
}

fn accept_mac(signed: &[u8], client: &PublicKey, secret: &Secret) -> hmac::Tag {
    let mut context = hmac::Context::with_key(&mac_key(secret));
    context.update(signed);
    context.update(client);
    context.sign()
}
