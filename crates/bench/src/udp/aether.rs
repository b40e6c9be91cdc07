//! Our transport in the benchmark.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aether_rudp::{Channel, ConnectionState, Settings, TokenGrant, TokenKey};
use aether_udp::{UdpClient, UdpServer, UdpServerSettings};

use super::bare::TICK;
use super::forwarder::Traffic;
use super::process::ServerProcess;
use super::workload::{Clients, Library, Outcome};

/// Expiry of the tokens: none, for a benchmark.
const EXPIRES: u64 = u64::MAX;

/// Longest wait of the server for datagrams.
const WAIT: Duration = Duration::from_millis(50);

/// Our transport on one channel.
pub struct Aether {
    pub channel: Channel,
    pub server_core: usize,
    pub key: TokenKey,
    /// True if the server handles what came in ticks, else at once.
    pub has_ticks: bool,
}

impl Library for Aether {
    fn name(&self) -> String {
        match self.channel {
            Channel::ReliableOrdered | Channel::ReliableUnordered => "aether reliable".to_owned(),
            Channel::Sequenced | Channel::Unreliable => "aether unreliable".to_owned(),
        }
    }

    fn start(&self) -> Outcome<ServerProcess> {
        let key: String = self.key.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let ticks = self.has_ticks.then(|| "--ticks".to_owned());
        let arguments: Vec<String> =
            ["udp-server".to_owned(), format!("--key={key}")].into_iter().chain(ticks).collect();
        ServerProcess::start(self.server_core, &arguments)
    }

    fn connect(&self, _server: SocketAddr, via: SocketAddr, count: usize) -> Outcome<Box<dyn Clients>> {
        let mut clients = Vec::new();
        for number in 0..count {
            let grant = TokenGrant { account: format!("client-{number}"), expires: EXPIRES };
            clients.push(UdpClient::begin(via, &self.key.issue(&grant)?, Settings::default())?);
        }
        Ok(Box::new(AetherClients { clients, channel: self.channel, message: Vec::new() }))
    }

    fn is_reliable(&self) -> bool {
        self.channel == Channel::ReliableOrdered
    }
}

struct AetherClients {
    clients: Vec<UdpClient>,
    channel: Channel,
    message: Vec<u8>,
}

impl Clients for AetherClients {
    fn send(&mut self, client: usize, message: &[u8]) -> Outcome<bool> {
        Ok(self.clients[client].send(self.channel, message).is_ok())
    }

    fn turn(&mut self, take: &mut dyn FnMut(usize, &[u8])) -> Outcome {
        for (number, client) in self.clients.iter_mut().enumerate() {
            while client.receive(Duration::ZERO, &mut self.message)?.is_some() {
                take(number, &self.message);
            }
        }
        Ok(())
    }

    fn are_connected(&mut self) -> bool {
        self.clients.iter().all(|client| client.state() == ConnectionState::Open)
    }

    fn packets(&self) -> Option<Traffic> {
        let mut sum = Traffic::default();
        for stats in self.clients.iter().filter_map(UdpClient::stats) {
            sum.datagrams += stats.packets_in + stats.packets_out;
            sum.bytes += stats.bytes_in + stats.bytes_out;
        }
        Some(sum)
    }
}

/// Sends every message back on its channel.
pub fn serve(key: &str, has_ticks: bool) -> Outcome {
    let mut bytes = [0; TokenKey::BYTES];
    for (index, byte) in bytes.iter_mut().enumerate() {
        let digits = key.get(2 * index..2 * index + 2).ok_or("the key is too short")?;
        *byte = u8::from_str_radix(digits, 16)?;
    }
    let key = Arc::new(TokenKey::from_bytes(bytes));
    let mut server = UdpServer::bind(([127, 0, 0, 1], 0).into(), key, UdpServerSettings::default())?;
    println!("{}", server.local_addr()?);
    let mut message = Vec::new();
    loop {
        if has_ticks {
            std::thread::sleep(TICK);
        }
        server.poll(if has_ticks { Duration::ZERO } else { WAIT })?;
        while server.accept().is_some() {}
        while let Some((client, channel)) = server.receive(&mut message) {
            // A client that has left needs no echo.
            server.send(client, channel, &message).ok();
        }
        while server.closed().is_some() {}
        server.flush()?;
    }
}
