//! A server that sends every message back, and a client of it.
//!
//! `cargo run -p aether-udp --example echo`

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aether_rudp::{Channel, ConnectToken, TokenKey};
use aether_udp::{UdpClient, UdpServer, UdpServerSettings};

const TICK: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    // A key per start: tokens of an earlier start are worthless.
    let key = Arc::new(TokenKey::random()?);
    let mut server = UdpServer::bind((Ipv4Addr::LOCALHOST, 0).into(), key, UdpServerSettings::default())?;
    let address = server.local_addr()?;
    // A real server hands tokens out after a login, over HTTPS.
    let token = server.issue_token("ada", Duration::from_secs(30))?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let serving = threads.spawn(|| serve(&mut server, &is_over));
        let outcome = talk(address, &token);
        is_over.store(true, Ordering::Relaxed);
        serving.join().map_err(|_| "the server failed")??;
        outcome
    })
}

fn serve(server: &mut UdpServer, is_over: &AtomicBool) -> std::io::Result<()> {
    let mut message = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        server.poll(TICK)?;
        while let Some((client, account)) = server.accept() {
            println!("server: {account} connected as {client:?}");
        }
        while let Some((client, channel)) = server.receive(&mut message) {
            if let Err(error) = server.send(client, channel, &message) {
                println!("server: {client:?} gets no answer: {error}");
            }
        }
        while let Some((client, cause)) = server.closed() {
            println!("server: {client:?} left: {cause:?}");
        }
        server.flush()?;
    }
    Ok(())
}

fn talk(server: SocketAddr, token: &ConnectToken) -> Result<(), Box<dyn Error>> {
    let mut client = UdpClient::connect(server, token)?;
    client.send(Channel::ReliableOrdered, b"hello")?;
    client.send(Channel::Unreliable, b"position 1 2 3")?;
    let mut message = Vec::new();
    for _ in 0..2 {
        let channel = client.receive(Duration::from_secs(5), &mut message)?.ok_or("no answer")?;
        println!("client: {} on {channel:?}", String::from_utf8_lossy(&message));
    }
    client.close(0, Duration::from_secs(5))?;
    Ok(())
}
