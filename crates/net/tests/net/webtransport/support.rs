//! Shared by the tests: a server, a client, and certificate files.

use aether_framing::stream as framing;
use aether_metrics::Registry;
use aether_net::certificate::Certificates;
use aether_net::webtransport::{WebTransport, WebTransportServer, WebTransportSession, WebTransportSettings};
use aether_net::{ReceiveOutcome, Transport, TransportEnded};
use aether_wire::DeliveryPath;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::task::Poll;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;
use wtransport::endpoint::ConnectOptions;
use wtransport::error::ConnectingError;
use wtransport::tls::Sha256Digest;
use wtransport::{ClientConfig, Connection, Endpoint, RecvStream, SendStream};

/// Timeout of each step, so that a test fails instead of hanging.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which something counts as not happening.
pub const SETTLE_TIME: Duration = Duration::from_millis(300);

/// A server, with its address and certificate.
pub struct TestServer {
    pub server: WebTransportServer,
    pub certificates: Certificates,
    pub registry: Registry,
    pub address: SocketAddr,
}

impl TestServer {
    pub fn start(settings: WebTransportSettings) -> TestServer {
        TestServer::start_with(Certificates::generate(["localhost", "127.0.0.1"], SystemTime::now()).unwrap(), settings)
    }

    pub fn start_with(certificates: Certificates, settings: WebTransportSettings) -> TestServer {
        let registry = Registry::new();
        let any_port = "127.0.0.1:0".parse().unwrap();
        let server = WebTransportServer::bind(any_port, &certificates, settings, &registry).unwrap();
        let address = server.local_address().unwrap();
        TestServer { server, certificates, registry, address }
    }

    pub async fn connect(&self, path: &str) -> Result<Connection, ConnectingError> {
        connect(self.address, self.certificates.hash().unwrap(), path).await
    }

    pub async fn accept(&mut self) -> WebTransportSession {
        timeout(STEP_TIMEOUT, self.server.accept()).await.expect("a session is accepted").expect("the server runs")
    }

    /// Connects a client. Returns its session and connection.
    pub async fn pair(&mut self, path: &str) -> (WebTransportSession, Connection) {
        let client = self.connect(path).await.unwrap();
        (self.accept().await, client)
    }

    pub fn has_metric(&self, series: &str) -> bool {
        self.registry.render().lines().any(|line| line == series)
    }
}

pub async fn connect(address: SocketAddr, hash: [u8; 32], path: &str) -> Result<Connection, ConnectingError> {
    let config =
        ClientConfig::builder().with_bind_default().with_server_certificate_hashes([Sha256Digest::new(hash)]).build();
    let options = ConnectOptions::builder(format!("https://localhost:{}{path}", address.port()))
        .add_header("origin", "https://example.org")
        .build();
    timeout(STEP_TIMEOUT, Endpoint::client(config).unwrap().connect(options)).await.expect("the server answers")
}

pub async fn open(client: &Connection) -> (SendStream, RecvStream) {
    client.open_bi().await.unwrap().await.unwrap()
}

/// Receives messages; at least one.
pub async fn receive(transport: &mut WebTransport) -> Result<Vec<(DeliveryPath, Vec<u8>)>, TransportEnded> {
    let mut messages = Vec::new();
    let receiving = poll_fn(|cx| {
        loop {
            let polled = transport.poll_receive(cx, &mut |path, received| match received {
                ReceiveOutcome::Message(message) => messages.push((path, message.to_vec())),
                ReceiveOutcome::Probe => {}
            });
            match polled {
                Poll::Ready(Ok(())) if messages.is_empty() => {}
                other => return other,
            }
        }
    });
    timeout(STEP_TIMEOUT, receiving).await.expect("a message arrives")?;
    Ok(messages)
}

pub async fn receive_all(transport: &mut WebTransport, count: usize) -> Vec<(DeliveryPath, Vec<u8>)> {
    let mut messages = Vec::new();
    while messages.len() < count {
        messages.extend(receive(transport).await.unwrap());
    }
    messages
}

pub async fn receive_end(transport: &mut WebTransport) -> TransportEnded {
    loop {
        if let Err(ended) = receive(transport).await {
            return ended;
        }
    }
}

pub async fn flush(transport: &mut WebTransport) {
    timeout(STEP_TIMEOUT, poll_fn(|cx| transport.poll_flush(cx))).await.expect("the connection accepts data").unwrap();
}

pub fn reliable(message: &[u8]) -> (DeliveryPath, Vec<u8>) {
    (DeliveryPath::Reliable, message.to_vec())
}

pub fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    framing::append(&mut bytes, message);
    bytes
}

/// A certificate and its key in files, which are removed after the test.
pub struct CertificateFiles {
    pub folder: PathBuf,
    pub certificate: rcgen::Certificate,
}

impl CertificateFiles {
    pub fn new(name: &str) -> CertificateFiles {
        let folder = std::env::temp_dir().join(format!("aether-certificate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let certificate = CertificateFiles::write(&folder);
        CertificateFiles { folder, certificate }
    }

    pub fn write(folder: &std::path::Path) -> rcgen::Certificate {
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.not_before = (SystemTime::now() - Duration::from_secs(60)).into();
        parameters.not_after = (SystemTime::now() + Duration::from_secs(86_400)).into();
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        std::fs::write(folder.join("chain.pem"), certificate.pem()).unwrap();
        std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
        certificate
    }

    pub fn exchange(&mut self) {
        self.certificate = CertificateFiles::write(&self.folder);
    }

    pub fn load(&self) -> Certificates {
        Certificates::from_files(self.folder.join("chain.pem"), self.folder.join("key.pem")).unwrap()
    }

    pub fn hash(&self) -> [u8; 32] {
        use sha2::Digest;
        sha2::Sha256::digest(self.certificate.der()).into()
    }
}

impl Drop for CertificateFiles {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
