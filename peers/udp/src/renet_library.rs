//! renet with its netcode transport, secure connections, default channels.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use renet::{ConnectionConfig, DefaultChannel, RenetClient, RenetServer};
use renet_netcode::{
    ClientAuthentication, ConnectToken, NETCODE_KEY_BYTES, NetcodeClientTransport, NetcodeServerTransport,
    ServerAuthentication, ServerConfig,
};

use crate::bind_server;
use crate::forwarder::Traffic;
use crate::process::ServerProcess;
use crate::workload::{Clients, Library, Outcome};

/// First argument of the server process.
pub const SERVE: &str = "serve-renet";

const KEY: [u8; NETCODE_KEY_BYTES] = [3; NETCODE_KEY_BYTES];
const PROTOCOL: u64 = 1;

/// renet runs in ticks on both sides. This is the tick of its README. A shorter one costs more: every tick of a
/// connection that has ever received something sends acknowledgements.
const TICK: Duration = Duration::from_millis(16);

/// Longest sleep in one turn of the load.
const TURN: Duration = Duration::from_millis(1);

/// renet on one channel.
pub struct Renet {
    pub server_core: usize,
    pub is_reliable: bool,
    pub clients_max: usize,
}

impl Library for Renet {
    fn name(&self) -> String {
        format!("renet {}", if self.is_reliable { "reliable" } else { "unreliable" })
    }

    fn start(&self) -> Outcome<ServerProcess> {
        ServerProcess::start(self.server_core, &[SERVE.to_owned(), self.clients_max.to_string()])
    }

    fn connect(&self, server: SocketAddr, via: SocketAddr, count: usize) -> Outcome<Box<dyn Clients>> {
        let mut clients = Vec::new();
        for number in 0..count as u64 {
            // The server looks for its own address in the token; the client takes the first.
            let addresses = if via == server { vec![server] } else { vec![via, server] };
            let token = ConnectToken::generate(unix_time()?, PROTOCOL, 300, number, 15, addresses, None, &KEY)?;
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            let authentication = ClientAuthentication::Secure { connect_token: token };
            let transport = NetcodeClientTransport::new(unix_time()?, authentication, socket)?;
            clients.push((RenetClient::new(ConnectionConfig::default()), transport));
        }
        let channel = channel(self.is_reliable);
        Ok(Box::new(RenetClients { clients, channel, updated: Instant::now() }))
    }

    fn is_reliable(&self) -> bool {
        self.is_reliable
    }
}

struct RenetClients {
    clients: Vec<(RenetClient, NetcodeClientTransport)>,
    channel: u8,
    updated: Instant,
}

impl Clients for RenetClients {
    fn send(&mut self, client: usize, message: &[u8]) -> Outcome<bool> {
        let client = &mut self.clients[client].0;
        let can_send = client.can_send_message(self.channel, message.len());
        if can_send {
            client.send_message(self.channel, message.to_vec());
        }
        Ok(can_send)
    }

    fn turn(&mut self, take: &mut dyn FnMut(usize, &[u8])) -> Outcome {
        let elapsed = self.updated.elapsed();
        if elapsed < TICK {
            std::thread::sleep((TICK - elapsed).min(TURN));
            return Ok(());
        }
        self.updated = Instant::now();
        for (number, (client, transport)) in self.clients.iter_mut().enumerate() {
            client.update(elapsed);
            transport.update(elapsed, client)?;
            while let Some(message) = client.receive_message(self.channel) {
                take(number, &message);
            }
            if client.is_connected() {
                transport.send_packets(client)?;
            }
        }
        Ok(())
    }

    fn are_connected(&mut self) -> bool {
        self.clients.iter().all(|(client, _)| client.is_connected())
    }

    fn packets(&self) -> Option<Traffic> {
        None
    }
}

/// Sends every message back on its channel.
pub fn serve(clients_max: usize) -> Outcome {
    let socket = bind_server()?;
    let address = socket.local_addr()?;
    let mut server = RenetServer::new(ConnectionConfig::default());
    let config = ServerConfig {
        current_time: unix_time()?,
        max_clients: clients_max,
        protocol_id: PROTOCOL,
        public_addresses: vec![address],
        authentication: ServerAuthentication::Secure { private_key: KEY },
    };
    let mut transport = NetcodeServerTransport::new(config, socket)?;
    println!("{address}");
    let mut updated = Instant::now();
    loop {
        let elapsed = updated.elapsed();
        updated = Instant::now();
        server.update(elapsed);
        transport.update(elapsed, &mut server)?;
        while server.get_event().is_some() {}
        for client in server.clients_id() {
            for channel in [channel(true), channel(false)] {
                while let Some(message) = server.receive_message(client, channel) {
                    server.send_message(client, channel, message);
                }
            }
        }
        transport.send_packets(&mut server);
        std::thread::sleep(TICK.saturating_sub(updated.elapsed()));
    }
}

fn channel(is_reliable: bool) -> u8 {
    if is_reliable { DefaultChannel::ReliableOrdered.into() } else { DefaultChannel::Unreliable.into() }
}

fn unix_time() -> Outcome<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}
