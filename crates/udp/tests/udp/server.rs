//! A server and its clients over loopback.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aether_rudp::{
    Channel, CloseCause, ConnectToken, ConnectionState, MESSAGE_BYTES_MAX, SendError, Settings, TokenKey,
    UNRELIABLE_BYTES_MAX,
};
use aether_udp::{UdpClient, UdpClientId, UdpConnectError, UdpServer, UdpServerSettings};

/// End of every wait, reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(60);

const VALID: Duration = Duration::from_secs(300);

const CHANNELS: [Channel; 4] =
    [Channel::ReliableOrdered, Channel::ReliableUnordered, Channel::Sequenced, Channel::Unreliable];

/// Long enough that a busy machine times nobody out.
fn patient() -> Settings {
    Settings { idle: PATIENCE, connect: PATIENCE, ..Settings::default() }
}

fn server_with(settings: UdpServerSettings) -> UdpServer {
    let key = Arc::new(TokenKey::random().unwrap());
    UdpServer::bind("127.0.0.1:0".parse().unwrap(), key, settings).unwrap()
}

fn server() -> UdpServer {
    server_with(UdpServerSettings { connection: patient(), ..UdpServerSettings::default() })
}

fn begin(server: &UdpServer, account: &str) -> UdpClient {
    let token = server.issue_token(account, VALID).unwrap();
    UdpClient::begin(server.local_addr().unwrap(), &token, patient()).unwrap()
}

/// Runs the server, and `step` after each turn, until `step` returns something.
fn run<T>(server: &mut UdpServer, mut step: impl FnMut(&mut UdpServer) -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        server.poll(Duration::from_millis(1)).unwrap();
        if let Some(outcome) = step(server) {
            return outcome;
        }
        assert!(began.elapsed() < PATIENCE, "nothing happened");
    }
}

/// Connects a client while the server runs on this thread.
fn connect(server: &mut UdpServer, account: &str) -> (UdpClient, UdpClientId) {
    let mut client = begin(server, account);
    let mut accepted = None;
    let mut nothing = Vec::new();
    let id = run(server, |server| {
        assert_eq!(client.receive(Duration::ZERO, &mut nothing).unwrap(), None);
        accepted = accepted.take().or_else(|| server.accept());
        let is_open = client.state() == ConnectionState::Open;
        accepted.clone().filter(|_| is_open).map(|(id, name)| {
            assert_eq!(name, account);
            id
        })
    });
    (client, id)
}

#[test]
fn messages_come_back_on_all_channels() {
    let mut server = server();
    let (mut client, id) = connect(&mut server, "ada");
    assert_eq!(server.account(id), Some("ada"));
    assert_eq!(server.peer(id).unwrap().port(), client.local_addr().unwrap().port());
    for channel in CHANNELS {
        for bytes in [0, 1, 256, UNRELIABLE_BYTES_MAX, MESSAGE_BYTES_MAX] {
            let is_long = bytes > UNRELIABLE_BYTES_MAX;
            let message = vec![bytes as u8; bytes];
            if is_long && matches!(channel, Channel::Sequenced | Channel::Unreliable) {
                assert_eq!(client.send(channel, &message), Err(SendError::TooLong));
                continue;
            }
            client.send(channel, &message).unwrap();
            let mut received = Vec::new();
            let from = run(&mut server, |server| {
                client.flush().unwrap();
                client.receive(Duration::ZERO, &mut Vec::new()).unwrap();
                server.receive(&mut received)
            });
            assert_eq!((from, received.len(), &received), ((id, channel), bytes, &message));
            server.send(id, channel, &received).unwrap();
            let came = run(&mut server, |_| client.receive(Duration::ZERO, &mut received).unwrap());
            assert_eq!((came, &received), (channel, &message));
        }
    }
    let stats = client.stats().unwrap();
    assert!(stats.packets_in > 0 && stats.packets_out > 0 && stats.round_trip > Duration::ZERO);
    assert_eq!(server.stats().clients, 1);
}

/// Every client connects and gets its own message back. In an unoptimized build a handshake takes about a millisecond.
#[test]
fn one_server_has_two_thousand_clients() {
    const CLIENTS: usize = 2_000;
    let mut server = server();
    let mut ids = BTreeMap::new();
    let mut clients: Vec<UdpClient> = Vec::new();
    let mut message = Vec::new();
    // In groups, so that their datagrams fit into the socket's buffer.
    for group in 0..CLIENTS / 100 {
        for number in group * 100..(group + 1) * 100 {
            clients.push(begin(&server, &format!("player-{number}")));
        }
        let connecting = &mut clients[group * 100..];
        run(&mut server, |server| {
            for client in connecting.iter_mut() {
                client.receive(Duration::ZERO, &mut message).unwrap();
            }
            ids.extend(server.accept_all());
            let are_open = connecting.iter().all(|client| client.state() == ConnectionState::Open);
            (are_open && ids.len() == (group + 1) * 100).then_some(())
        });
    }
    assert_eq!(server.stats().clients, CLIENTS);
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(Channel::ReliableOrdered, format!("player-{number}").as_bytes()).unwrap();
        client.flush().unwrap();
    }
    let mut echoed = 0;
    let mut has_echo = vec![false; CLIENTS];
    run(&mut server, |server| {
        while let Some((id, channel)) = server.receive(&mut message) {
            assert_eq!(message, ids[&id].as_bytes());
            server.send(id, channel, &message).unwrap();
        }
        server.flush().unwrap();
        for (number, client) in clients.iter_mut().enumerate() {
            if !has_echo[number] && client.receive(Duration::ZERO, &mut message).unwrap().is_some() {
                assert_eq!(message, format!("player-{number}").as_bytes());
                echoed += 1;
                has_echo[number] = true;
            }
        }
        (echoed == CLIENTS).then_some(())
    });
}

trait AcceptAll {
    fn accept_all(&mut self) -> Vec<(UdpClientId, String)>;
}

impl AcceptAll for UdpServer {
    fn accept_all(&mut self) -> Vec<(UdpClientId, String)> {
        std::iter::from_fn(|| self.accept()).collect()
    }
}

#[test]
fn a_client_goes_on_from_another_port() {
    let mut server = server();
    let (mut client, id) = connect(&mut server, "ada");
    let before = server.peer(id).unwrap();
    client.rebind().unwrap();
    let after = client.local_addr().unwrap().port();
    assert_ne!(before.port(), after);
    client.send(Channel::ReliableOrdered, b"from elsewhere").unwrap();
    let mut message = Vec::new();
    let mut has_come = false;
    run(&mut server, |server| {
        client.receive(Duration::ZERO, &mut message).unwrap();
        if server.receive(&mut message).is_some() {
            assert_eq!(message, b"from elsewhere");
            has_come = true;
        }
        (has_come && server.peer(id).unwrap().port() == after).then_some(())
    });
    server.send(id, Channel::ReliableOrdered, b"found you").unwrap();
    run(&mut server, |_| client.receive(Duration::ZERO, &mut message).unwrap());
    assert_eq!(message, b"found you");
    assert_eq!(server.stats().accepted, 1);
}

#[test]
fn a_close_of_either_side_reaches_the_other() {
    let mut server = server();
    let (mut client, id) = connect(&mut server, "ada");
    server.send(id, Channel::ReliableOrdered, b"last words").unwrap();
    server.disconnect(id, 17);
    assert_eq!(server.send(id, Channel::ReliableOrdered, b"too late"), Err(SendError::Closed));
    let (mut message, mut last) = (Vec::new(), Vec::new());
    run(&mut server, |server| {
        if client.receive(Duration::ZERO, &mut message).unwrap().is_some() {
            last.clone_from(&message);
        }
        server.closed().map(|closed| assert_eq!(closed, (id, CloseCause::Local)))
    });
    let began = Instant::now();
    while client.state() != ConnectionState::Closed(CloseCause::Peer(17)) {
        client.receive(Duration::from_millis(1), &mut message).unwrap();
        assert!(began.elapsed() < PATIENCE);
    }
    assert_eq!(last, b"last words");
    assert_eq!((server.account(id), server.stats().clients), (None, 0));

    let (client, id) = connect(&mut server, "bob");
    let closing = std::thread::spawn(move || client.close(5, PATIENCE).unwrap());
    let closed = run(&mut server, UdpServer::closed);
    assert_eq!(closed, (id, CloseCause::Peer(5)));
    run(&mut server, |_| closing.is_finished().then_some(()));
    closing.join().unwrap();
}

#[test]
fn a_silent_client_times_out() {
    let connection = Settings { idle: Duration::from_millis(300), ..patient() };
    let mut server = server_with(UdpServerSettings { connection, ..UdpServerSettings::default() });
    let (client, _) = connect(&mut server, "ada");
    drop(client);
    let (_, cause) = run(&mut server, UdpServer::closed);
    assert_eq!(cause, CloseCause::TimedOut);
    assert_eq!(server.stats().clients, 0);
}

#[test]
fn a_client_without_a_server_times_out() {
    let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let token = server().issue_token("ada", VALID).unwrap();
    let settings = Settings { connect: Duration::from_millis(300), ..Settings::default() };
    let error = UdpClient::connect_with(gone, &token, settings).err().unwrap();
    assert!(matches!(error, UdpConnectError::Refused(CloseCause::TimedOut)), "{error}");
}

#[test]
fn bad_datagrams_are_dropped_and_counted_and_clients_do_not_notice() {
    let mut server = server();
    let (mut client, id) = connect(&mut server, "ada");
    let address = server.local_addr().unwrap();
    let attacker = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut seed = 7_u64;
    let mut message = Vec::new();
    let before = server.stats().dropped_sum();
    let (rounds, per_round) = (50, 40);
    for round in 0..rounds {
        for number in 0..per_round {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bytes = (seed >> 33) as usize % 1_400;
            let mut datagram: Vec<u8> = (0..bytes).map(|byte| (seed >> (byte % 56)) as u8).collect();
            // Every packet kind, so that each decoder sees garbage.
            if let Some(first) = datagram.first_mut() {
                *first = (round * per_round + number) as u8;
            }
            attacker.send_to(&datagram, address).unwrap();
        }
        client.send(Channel::ReliableOrdered, &[round as u8]).unwrap();
        run(&mut server, |server| {
            client.receive(Duration::ZERO, &mut message).unwrap();
            server.receive(&mut message)
        });
        assert_eq!(message, [round as u8]);
    }
    // Loopback loses nothing while the socket's buffer has room.
    run(&mut server, |server| (server.stats().dropped_sum() - before >= (rounds * per_round) as u64).then_some(()));
    assert_eq!((server.stats().clients, server.account(id)), (1, Some("ada")));
}

#[test]
fn a_restarted_server_refuses_tokens_of_its_earlier_start() {
    let old = server();
    let address = old.local_addr().unwrap();
    let token = old.issue_token("ada", VALID).unwrap();
    drop(old);
    let key = Arc::new(TokenKey::random().unwrap());
    let mut server = UdpServer::bind(address, key, UdpServerSettings::default()).unwrap();
    assert!(is_refused(&mut server, address, &token));
    assert!(server.stats().dropped["bad_token"] > 0);
}

#[test]
fn a_token_serves_once_and_not_after_its_expiry() {
    let mut server = server();
    let address = server.local_addr().unwrap();
    let expired = server.issue_token("ada", Duration::ZERO).unwrap();
    std::thread::sleep(Duration::from_millis(1_100));
    assert!(is_refused(&mut server, address, &expired));
    let token = server.issue_token("ada", VALID).unwrap();
    let mut first = UdpClient::begin(address, &token, patient()).unwrap();
    let mut message = Vec::new();
    run(&mut server, |_| {
        first.receive(Duration::ZERO, &mut message).unwrap();
        (first.state() == ConnectionState::Open).then_some(())
    });
    assert!(is_refused(&mut server, address, &token));
    assert!(server.stats().dropped.contains_key("used_token"), "{:?}", server.stats());
}

/// Returns true if the client gives up while the server runs.
fn is_refused(server: &mut UdpServer, address: SocketAddr, token: &ConnectToken) -> bool {
    let settings = Settings { connect: Duration::from_millis(700), ..Settings::default() };
    let mut client = UdpClient::begin(address, token, settings).unwrap();
    let mut message = Vec::new();
    run(server, |_| {
        client.receive(Duration::ZERO, &mut message).unwrap();
        (client.state() != ConnectionState::Connecting).then(|| client.state())
    }) == ConnectionState::Closed(CloseCause::TimedOut)
}

#[test]
fn a_full_server_closes_further_clients() {
    let mut server =
        server_with(UdpServerSettings { connection: patient(), clients_max: 1, ..UdpServerSettings::default() });
    let (_first, _) = connect(&mut server, "ada");
    let mut second = begin(&server, "bob");
    let mut message = Vec::new();
    let state = run(&mut server, |_| {
        second.receive(Duration::ZERO, &mut message).unwrap();
        matches!(second.state(), ConnectionState::Closed(_)).then(|| second.state())
    });
    assert_eq!(state, ConnectionState::Closed(CloseCause::Peer(UdpServer::FULL_CODE)));
    assert_eq!((server.stats().clients, server.stats().dropped["full"]), (1, 1));
}

#[test]
fn unread_messages_are_bounded_and_none_is_lost() {
    let settings = UdpServerSettings { connection: patient(), waiting_bytes_max: 10_000, ..Default::default() };
    let mut server = server_with(settings);
    let (mut client, _) = connect(&mut server, "ada");
    let mut nothing = Vec::new();
    for number in 0..200_u8 {
        client.send(Channel::ReliableOrdered, &[number; 1_000]).unwrap();
    }
    // The server takes nothing for a while.
    for _ in 0..100 {
        client.receive(Duration::ZERO, &mut nothing).unwrap();
        server.poll(Duration::ZERO).unwrap();
    }
    let mut next = 0;
    let mut message = Vec::new();
    run(&mut server, |server| {
        client.receive(Duration::ZERO, &mut nothing).unwrap();
        while server.receive(&mut message).is_some() {
            assert_eq!(message, [next; 1_000]);
            next += 1;
        }
        (next == 200).then_some(())
    });
}
