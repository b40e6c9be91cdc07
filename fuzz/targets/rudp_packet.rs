//! Any datagram to a server and any payload behind the seal: nothing panics, answers are shorter, a closed connection
//! stays closed.

#![no_main]

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use aether_rudp::{Acceptor, Client, Connection, ConnectionState, Handshake, Settings, TokenGrant, TokenKey};
use libfuzzer_sys::fuzz_target;

const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 2);

/// An acceptor and a request that it answers.
static HANDSHAKE: LazyLock<(Acceptor, Vec<u8>)> = LazyLock::new(|| {
    let key = Arc::new(TokenKey::from_bytes([7; TokenKey::BYTES]));
    let token = key.issue(&TokenGrant { account: "ada".to_owned(), expires: u64::MAX }).expect("randomness");
    let mut client = Client::new(Duration::ZERO, SERVER, &token, Settings::default()).expect("randomness");
    let mut request = Vec::new();
    client.poll_transmit(Duration::ZERO, &mut request);
    (Acceptor::new(key, Settings::default()), request)
});

fuzz_target!(|input: (Vec<(u16, u8)>, &[u8], Vec<(u8, u8, &[u8])>)| {
    let (changes, datagram, payloads) = input;
    let (acceptor, request) = &*HANDSHAKE;
    let mut changed = request.clone();
    for (position, value) in changes {
        let position = usize::from(position) % changed.len();
        changed[position] = value;
    }
    let mut answer = Vec::new();
    for bytes in [datagram, &changed] {
        let outcome = acceptor.handle(Duration::ZERO, 1, CLIENT, 0, bytes, &mut answer);
        assert!(answer.is_empty() || answer.len() < bytes.len());
        assert!(!matches!(outcome, Handshake::Accepted(_)), "nobody has answered a challenge");
    }

    let mut now = Duration::from_secs(1);
    let (mut client, mut server) = Connection::insecure_pair(now, CLIENT, SERVER, Settings::default());
    let mut out = Vec::new();
    for (flags, waited_ms, payload) in payloads {
        now += Duration::from_millis(waited_ms.into());
        for connection in [&mut client, &mut server] {
            let was_closed = matches!(connection.state(), ConnectionState::Closed(_));
            let outcome = connection.handle_opened(now, flags, payload, &mut |_, message| {
                assert!(!was_closed && message.len() <= aether_rudp::MESSAGE_BYTES_MAX);
            });
            assert!(!was_closed || outcome.is_err());
            while connection.poll_transmit(now, &mut out).is_some() {
                assert!(out.len() <= aether_rudp::DATAGRAM_BYTES_MAX);
                out.clear();
            }
        }
    }
});
