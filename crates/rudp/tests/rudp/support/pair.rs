//! A connected client and server without a network between them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use aether_rudp::{
    Acceptor, Channel, Client, ConnectToken, Connection, ConnectionState, Handshake, Settings, TokenGrant, TokenKey,
};

/// Address of the client.
pub const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 40_000);

/// Address of the server.
pub const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 7_352);

/// Unix time of the tests.
pub const UNIX: u64 = 1_700_000_000;

pub fn token_key() -> Arc<TokenKey> {
    Arc::new(TokenKey::random().expect("randomness"))
}

pub fn grant() -> TokenGrant {
    TokenGrant { account: "ada".to_owned(), expires: UNIX + 60 }
}

/// A client and a server that are connected. Datagrams arrive at once.
pub struct Pair {
    pub now: Duration,
    pub client: Client,
    pub server: Connection,
    pub to_client: Vec<(Channel, Vec<u8>)>,
    pub to_server: Vec<(Channel, Vec<u8>)>,
}

impl Pair {
    pub fn new() -> Pair {
        Pair::with_settings(Settings::default())
    }

    pub fn with_settings(settings: Settings) -> Pair {
        let key = token_key();
        let acceptor = Acceptor::new(key.clone(), settings);
        Pair::connect(&acceptor, &key.issue(&grant()).expect("randomness"), settings)
    }

    pub fn connect(acceptor: &Acceptor, token: &ConnectToken, settings: Settings) -> Pair {
        let now = Duration::from_secs(1);
        let mut client = Client::new(now, SERVER, token, settings).expect("randomness");
        let (mut datagram, mut answer) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            datagram.clear();
            assert_eq!(client.poll_transmit(now, &mut datagram), Some(SERVER));
            let outcome = acceptor.handle(now, UNIX, CLIENT, 0, &datagram, &mut answer);
            client.handle(now, SERVER, &mut answer, &mut |_, _| {}).expect("an answer of the server");
            if let Handshake::Accepted(accepted) = outcome {
                assert_eq!(client.state(), ConnectionState::Open);
                let server = accepted.connection;
                return Pair { now, client, server, to_client: Vec::new(), to_server: Vec::new() };
            }
        }
        panic!("the client was not accepted");
    }

    /// Passes datagrams until both have nothing to send.
    pub fn exchange(&mut self) {
        let mut datagram = Vec::new();
        loop {
            datagram.clear();
            if self.client.poll_transmit(self.now, &mut datagram).is_some() {
                let to_server = &mut self.to_server;
                let mut take = |channel, message: &[u8]| to_server.push((channel, message.to_vec()));
                let _ = self.server.handle(self.now, CLIENT, &mut datagram, &mut take);
                continue;
            }
            if self.server.poll_transmit(self.now, &mut datagram).is_some() {
                let to_client = &mut self.to_client;
                let mut take = |channel, message: &[u8]| to_client.push((channel, message.to_vec()));
                let _ = self.client.handle(self.now, SERVER, &mut datagram, &mut take);
                continue;
            }
            return;
        }
    }

    /// Passes time in steps of a millisecond.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.exchange();
            self.now += Duration::from_millis(1);
        }
        self.exchange();
    }
}
