//! A network between client and server that can be cut, and that may let no datagrams through.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

/// Passes TCP connections on.
pub struct Proxy {
    pub address: SocketAddr,
    passing: Arc<Mutex<JoinSet<()>>>,
    server: Arc<Mutex<Option<SocketAddr>>>,
    /// Where the server seems to have WebTransport. Nobody answers there.
    _silence: Arc<UdpSocket>,
}

impl Proxy {
    /// Passes everything on, but says that WebTransport is where nobody answers.
    pub async fn start(server: Option<SocketAddr>) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let silence = Arc::new(UdpSocket::bind(("127.0.0.1", 0)).await.expect("there is a free port"));
        let silent = silence.local_addr().expect("it is bound");
        let passing = Arc::new(Mutex::new(JoinSet::new()));
        let server = Arc::new(Mutex::new(server));
        let (all, target) = (Arc::clone(&passing), Arc::clone(&server));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // While the server is away, whoever comes is turned away.
                if let Some(server) = *target.lock().expect("nobody panics") {
                    all.lock().expect("nobody panics").spawn(pass(client, server, silent));
                }
            }
        });
        Proxy { address, passing, server, _silence: silence }
    }

    /// The server is there from now on.
    pub fn lead_to(&self, server: SocketAddr) {
        *self.server.lock().expect("nobody panics") = Some(server);
    }

    /// Cuts all connections, without a word.
    pub fn cut(&self) {
        self.passing.lock().expect("nobody panics").abort_all();
    }
}

async fn pass(mut client: TcpStream, server: SocketAddr, silent: SocketAddr) {
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
        // Whoever closes with something unread cuts off what was said.
        let _ = client.read_to_end(&mut begin).await;
        return;
    }
    let Ok(mut there) = TcpStream::connect(server).await else { return };
    if there.write_all(&begin).await.is_ok() {
        let _ = copy_bidirectional(&mut client, &mut there).await;
    }
}
