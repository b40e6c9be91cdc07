//! Handshake, with good and bad input.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aether_rudp::{
    Acceptor, Client, CloseCause, ConnectToken, ConnectionState, DATAGRAM_BYTES_MAX, DropReason, Handshake,
    REQUEST_BYTES, Settings, TokenGrant, TokenKey,
};

use crate::support::pair::{CLIENT, SERVER, UNIX, grant, token_key};
use crate::support::{Pair, Random};

const NOW: Duration = Duration::from_secs(100);

/// A server that accepts, and a token for it.
struct Setup {
    key: Arc<TokenKey>,
    acceptor: Acceptor,
    token: ConnectToken,
    answer: Vec<u8>,
}

impl Setup {
    fn new() -> Setup {
        let key = token_key();
        let acceptor = Acceptor::new(key.clone(), Settings::default());
        let token = key.issue(&grant()).expect("randomness");
        Setup { key, acceptor, token, answer: Vec::new() }
    }

    fn client(&self) -> Client {
        Client::new(NOW, SERVER, &self.token, Settings::default()).expect("randomness")
    }

    fn handle(&mut self, from: SocketAddr, datagram: &[u8]) -> Handshake {
        self.handle_at(NOW, UNIX, from, datagram)
    }

    fn handle_at(&mut self, now: Duration, unix_seconds: u64, from: SocketAddr, datagram: &[u8]) -> Handshake {
        let outcome = self.acceptor.handle(now, unix_seconds, from, 3, datagram, &mut self.answer);
        assert_eq!(self.answer.is_empty(), matches!(outcome, Handshake::Dropped(_)));
        assert!(self.answer.len() < datagram.len().max(1), "the answer amplifies");
        outcome
    }

    /// Lets a client request and answer the challenge, and returns its response.
    fn response(&mut self, client: &mut Client, from: SocketAddr) -> Vec<u8> {
        let request = datagram(client, NOW);
        assert!(matches!(self.handle(from, &request), Handshake::Answered));
        let mut challenge = self.answer.clone();
        client.handle(NOW, SERVER, &mut challenge, &mut |_, _| {}).expect("a challenge");
        datagram(client, NOW)
    }
}

fn datagram(client: &mut Client, now: Duration) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(client.poll_transmit(now, &mut out), Some(SERVER));
    out
}

fn reason(outcome: Handshake) -> Option<DropReason> {
    match outcome {
        Handshake::Dropped(reason) => Some(reason),
        Handshake::Answered | Handshake::Accepted(_) => None,
    }
}

fn other_address() -> SocketAddr {
    SocketAddr::new(CLIENT.ip(), CLIENT.port() + 1)
}

#[test]
fn a_client_with_a_token_connects() {
    let mut pair = Pair::new();
    pair.run(Duration::from_millis(50));
    assert_eq!(pair.client.state(), ConnectionState::Open);
    assert_eq!(pair.client.connection().unwrap().id(), pair.server.id());
}

#[test]
fn the_connection_names_its_socket_and_its_account() {
    let mut setup = Setup::new();
    let mut client = setup.client();
    let response = setup.response(&mut client, CLIENT);
    let Handshake::Accepted(accepted) = setup.handle(CLIENT, &response) else { panic!("not accepted") };
    assert_eq!(accepted.account, "ada");
    assert_eq!(accepted.connection.id().socket(), 3);
    assert_eq!(accepted.connection.peer(), CLIENT);
}

#[test]
fn short_and_random_datagrams_are_dropped() {
    let mut setup = Setup::new();
    assert_eq!(reason(setup.handle(CLIENT, &[])), Some(DropReason::TooShort));
    let mut random = Random::new(1);
    for first in 0..=255 {
        assert!(reason(setup.handle(CLIENT, &[first])).is_some(), "{first}");
    }
    for _ in 0..20_000 {
        let length = random.below(DATAGRAM_BYTES_MAX as u64 + 1) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        assert!(reason(setup.handle(CLIENT, &bytes)).is_some());
    }
    assert_eq!(reason(setup.handle(CLIENT, &[0x90; 1_201])), Some(DropReason::TooLong));
}

#[test]
fn a_request_without_its_padding_gets_no_answer() {
    let mut setup = Setup::new();
    let request = datagram(&mut setup.client(), NOW);
    assert_eq!(request.len(), REQUEST_BYTES);
    for length in 1..request.len() {
        assert_eq!(reason(setup.handle(CLIENT, &request[..length])), Some(DropReason::NotPadded), "{length}");
    }
    assert!(matches!(setup.handle(CLIENT, &request), Handshake::Answered));
}

#[test]
fn an_altered_token_is_refused() {
    let mut setup = Setup::new();
    let mut client = setup.client();
    let request = datagram(&mut client, NOW);
    for position in 0..135 {
        let mut altered = request.clone();
        altered[position] ^= 1 << (position % 8);
        assert!(reason(setup.handle(CLIENT, &altered)).is_some(), "{position}");
    }
    let mut client = setup.client();
    let response = setup.response(&mut client, CLIENT);
    for position in 0..response.len() {
        for bit in 0..8 {
            let mut altered = response.clone();
            altered[position] ^= 1 << bit;
            assert!(reason(setup.handle(CLIENT, &altered)).is_some(), "{position}, {bit}");
        }
    }
    assert!(matches!(setup.handle(CLIENT, &response), Handshake::Accepted(_)), "refused ones do not use the token");
}

#[test]
fn a_token_of_another_server_or_an_earlier_start_is_refused() {
    let mut setup = Setup::new();
    let mut other = Setup::new();
    let request = datagram(&mut other.client(), NOW);
    assert_eq!(reason(setup.handle(CLIENT, &request)), Some(DropReason::BadToken));
    let mut client = other.client();
    let response = other.response(&mut client, CLIENT);
    assert_eq!(reason(setup.handle(CLIENT, &response)), Some(DropReason::BadToken));
}

#[test]
fn an_expired_token_is_refused() {
    let mut setup = Setup::new();
    let mut client = setup.client();
    let request = datagram(&mut client, NOW);
    let expires = setup.token.expires();
    assert!(matches!(setup.handle_at(NOW, expires - 1, CLIENT, &request), Handshake::Answered));
    assert_eq!(reason(setup.handle_at(NOW, expires, CLIENT, &request)), Some(DropReason::ExpiredToken));
    let response = setup.response(&mut setup.client(), CLIENT);
    assert_eq!(reason(setup.handle_at(NOW, expires, CLIENT, &response)), Some(DropReason::ExpiredToken));
}

#[test]
fn a_response_from_another_address_or_too_late_is_refused() {
    let mut setup = Setup::new();
    let mut client = setup.client();
    let response = setup.response(&mut client, CLIENT);
    assert_eq!(reason(setup.handle(other_address(), &response)), Some(DropReason::BadCookie));
    let late = NOW + Duration::from_secs(11);
    assert_eq!(reason(setup.handle_at(late, UNIX, CLIENT, &response)), Some(DropReason::BadCookie));
    let early = NOW - Duration::from_secs(1);
    assert_eq!(reason(setup.handle_at(early, UNIX, CLIENT, &response)), Some(DropReason::BadCookie));
    assert!(matches!(setup.handle(CLIENT, &response), Handshake::Accepted(_)));
}

#[test]
fn a_repeated_response_gets_the_same_accept() {
    let mut setup = Setup::new();
    let mut client = setup.client();
    let response = setup.response(&mut client, CLIENT);
    assert!(matches!(setup.handle(CLIENT, &response), Handshake::Accepted(_)));
    let accept = setup.answer.clone();
    for _ in 0..3 {
        assert!(matches!(setup.handle(CLIENT, &response), Handshake::Answered));
        assert_eq!(setup.answer, accept);
    }
    assert_eq!(reason(setup.handle(other_address(), &response)), Some(DropReason::BadCookie));
}

#[test]
fn a_used_token_opens_no_second_connection() {
    let mut setup = Setup::new();
    let mut client = setup.client();
    let response = setup.response(&mut client, CLIENT);
    assert!(matches!(setup.handle(CLIENT, &response), Handshake::Accepted(_)));
    for from in [CLIENT, other_address()] {
        let mut second = setup.client();
        let response = setup.response(&mut second, from);
        assert_eq!(reason(setup.handle(from, &response)), Some(DropReason::UsedToken));
    }
    // Even after it is forgotten, because it has expired then.
    let mut second = setup.client();
    let response = setup.response(&mut second, CLIENT);
    let expires = setup.token.expires();
    assert_eq!(reason(setup.handle_at(NOW, expires + 1, CLIENT, &response)), Some(DropReason::ExpiredToken));
}

#[test]
fn a_forged_accept_does_not_stop_the_handshake() {
    let mut setup = Setup::new();
    let mut client = setup.client();
    let response = setup.response(&mut client, CLIENT);
    assert!(matches!(setup.handle(CLIENT, &response), Handshake::Accepted(_)));
    let accept = setup.answer.clone();
    for position in 0..accept.len() {
        let mut forged = accept.clone();
        forged[position] ^= 0x80;
        assert!(client.handle(NOW, SERVER, &mut forged, &mut |_, _| {}).is_err(), "{position}");
        assert_eq!(client.state(), ConnectionState::Connecting);
    }
    let outcome = client.handle(NOW, other_address(), &mut accept.clone(), &mut |_, _| {});
    assert_eq!(outcome, Err(DropReason::OtherAddress));
    client.handle(NOW, SERVER, &mut accept.clone(), &mut |_, _| {}).unwrap();
    assert_eq!(client.state(), ConnectionState::Open);
}

#[test]
fn a_client_without_an_answer_gives_up() {
    let setup = Setup::new();
    let mut client = setup.client();
    let mut out = Vec::new();
    let mut requests = 0;
    while let Some(next) = client.next_timeout() {
        requests += u32::from(client.poll_transmit(next, &mut out).is_some());
    }
    assert_eq!(client.state(), ConnectionState::Closed(CloseCause::TimedOut));
    assert!((5..50).contains(&requests), "{requests}");
}

#[test]
fn spoofed_sources_leave_nothing_behind() {
    let mut setup = Setup::new();
    let request = datagram(&mut setup.client(), NOW);
    let mut random = Random::new(2);
    for _ in 0..20_000 {
        let ip = std::net::Ipv4Addr::from(random.next() as u32);
        let from = SocketAddr::new(ip.into(), random.next() as u16);
        assert!(matches!(setup.handle(from, &request), Handshake::Answered));
    }
    assert_eq!(setup.acceptor.used_tokens(), 0);
}

#[test]
fn the_memory_of_used_tokens_ends_with_their_expiry() {
    let mut setup = Setup::new();
    for index in 0..50 {
        let grant = TokenGrant { account: format!("account {index}"), expires: UNIX + 10 + index };
        setup.token = setup.key.issue(&grant).unwrap();
        let mut client = setup.client();
        let response = setup.response(&mut client, CLIENT);
        assert!(matches!(setup.handle(CLIENT, &response), Handshake::Accepted(_)));
    }
    assert_eq!(setup.acceptor.used_tokens(), 50);
    setup.token = setup.key.issue(&TokenGrant { account: String::new(), expires: UNIX + 100 }).unwrap();
    let mut client = setup.client();
    let response = setup.response(&mut client, CLIENT);
    assert!(matches!(setup.handle_at(NOW, UNIX + 34, CLIENT, &response), Handshake::Accepted(_)));
    assert_eq!(setup.acceptor.used_tokens(), 26);
}

#[test]
fn tokens_and_keys_survive_their_bytes_and_hide_in_debug_output() {
    let key = token_key();
    let copy = TokenKey::from_bytes(key.to_bytes());
    let long = TokenGrant { account: "é".repeat(60), expires: UNIX + 60 };
    let token = copy.issue(&long).unwrap();
    assert_eq!(ConnectToken::from_bytes(&token.to_bytes()), Ok(token.clone()));
    for length in 0..token.to_bytes().len() {
        assert!(ConnectToken::from_bytes(&token.to_bytes()[..length]).is_err());
    }
    assert!(!format!("{token:?} {key:?}").contains('['));
    let acceptor = Acceptor::new(key, Settings::default());
    let mut pair = Pair::connect(&acceptor, &token, Settings::default());
    pair.run(Duration::from_millis(50));
}

#[test]
fn two_connections_never_have_the_same_key() {
    let setup = Setup::new();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let token = setup.key.issue(&grant()).unwrap();
        let mut pair = Pair::connect(&setup.acceptor, &token, Settings::default());
        pair.server.send(aether_rudp::Channel::Unreliable, &[0; 64]).unwrap();
        let mut packet = Vec::new();
        pair.server.poll_transmit(pair.now, &mut packet);
        assert!(seen.insert(packet), "same number, same content, same bytes");
    }
}
