//! A TCP proxy that can cut connections and passes no datagrams.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

/// Forwards TCP connections.
pub struct Proxy {
    pub address: SocketAddr,
    connections: Arc<Mutex<JoinSet<()>>>,
    server: Arc<Mutex<Option<SocketAddr>>>,
    /// Announced address of WebTransport, which never answers.
    _silent_socket: Arc<UdpSocket>,
}

impl Proxy {
    /// Starts a proxy that forwards TCP and announces a WebTransport address that never answers.
    pub async fn start(server: Option<SocketAddr>) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("the socket is bound");
        let silent_socket = Arc::new(UdpSocket::bind(("127.0.0.1", 0)).await.expect("a port is free"));
        let silent = silent_socket.local_addr().expect("the socket is bound");
        let connections = Arc::new(Mutex::new(JoinSet::new()));
        let server = Arc::new(Mutex::new(server));
        let (all, target) = (Arc::clone(&connections), Arc::clone(&server));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // Without a server, the connection is dropped.
                if let Some(server) = *target.lock().expect("no task panics") {
                    all.lock().expect("no task panics").spawn(forward(client, server, silent));
                }
            }
        });
        Proxy { address, connections, server, _silent_socket: silent_socket }
    }

    /// Sets the server.
    pub fn set_server(&self, server: SocketAddr) {
        *self.server.lock().expect("no task panics") = Some(server);
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.connections.lock().expect("no task panics").abort_all();
    }
}

async fn forward(mut client: TcpStream, server: SocketAddr, silent: SocketAddr) {
    const INFO: &[u8] = b"GET /api/server ";
    let mut begin = Vec::new();
    while begin.len() < INFO.len() {
        if !matches!(client.read_buf(&mut begin).await, Ok(1..)) {
            return;
        }
    }
    if begin.starts_with(INFO) {
        let body = format!(r#"{{"webTransport":{{"url":"https://{silent}/rt"}}}}"#);
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let _ = client.write_all(answer.as_bytes()).await;
        let _ = client.shutdown().await;
        // Closing with unread data would reset the connection before the answer arrives.
        let _ = client.read_to_end(&mut begin).await;
        return;
    }
    let Ok(mut upstream) = TcpStream::connect(server).await else { return };
    if upstream.write_all(&begin).await.is_ok() {
        let _ = copy_bidirectional(&mut client, &mut upstream).await;
    }
}
