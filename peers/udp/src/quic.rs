//! quinn: datagrams for unreliable messages, a stream per client for reliable ones.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, RecvStream, SendStream, ServerConfig, TokioRuntime};
use rcgen::{CertifiedKey, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::bind_server;
use crate::forwarder::Traffic;
use crate::process::ServerProcess;
use crate::workload::{Clients, Library, MESSAGE_BYTES, Outcome};

/// First arguments of the server process.
pub const SERVE_DATAGRAMS: &str = "serve-quinn-datagrams";
pub const SERVE_STREAMS: &str = "serve-quinn-streams";

const SERVER_NAME: &str = "localhost";

/// Longest wait for a message in one turn of the load.
const TURN: Duration = Duration::from_millis(1);

/// Bytes of the length before each message of a stream.
const LENGTH_BYTES: usize = 2;

/// quinn with datagrams or streams.
pub struct Quic {
    server_core: usize,
    has_streams: bool,
    /// Certificate of the server and its key.
    certified: CertifiedKey<KeyPair>,
}

impl Quic {
    pub fn new(server_core: usize, has_streams: bool) -> Outcome<Quic> {
        let certified = rcgen::generate_simple_self_signed([SERVER_NAME.to_owned()])?;
        Ok(Quic { server_core, has_streams, certified })
    }

    fn client_config(&self) -> Outcome<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certified.cert.der().clone())?;
        Ok(ClientConfig::with_root_certificates(Arc::new(roots))?)
    }
}

impl Library for Quic {
    fn name(&self) -> String {
        format!("quinn {}", if self.has_streams { "streams" } else { "datagrams" })
    }

    fn start(&self) -> Outcome<ServerProcess> {
        let argument = if self.has_streams { SERVE_STREAMS } else { SERVE_DATAGRAMS };
        let (certificate, key) = (hex(self.certified.cert.der()), hex(&self.certified.signing_key.serialize_der()));
        ServerProcess::start(self.server_core, &[argument.to_owned(), certificate, key])
    }

    fn connect(&self, _server: SocketAddr, via: SocketAddr, count: usize) -> Outcome<Box<dyn Clients>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (sender, received) = unbounded_channel();
        let (mut writers, mut endpoints) = (Vec::new(), Vec::new());
        let entered = runtime.enter();
        for number in 0..count {
            let (writer, messages) = unbounded_channel();
            let mut endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
            endpoint.set_default_client_config(self.client_config()?);
            let connecting = endpoint.connect(via, SERVER_NAME)?;
            let (sender, has_streams) = (sender.clone(), self.has_streams);
            tokio::spawn(async move {
                if let Err(error) = talk(connecting, has_streams, number, sender, messages).await {
                    eprintln!("a client of quinn ended: {error}");
                }
            });
            writers.push(writer);
            endpoints.push(endpoint);
        }
        drop(entered);
        Ok(Box::new(QuicClients { runtime, _endpoints: endpoints, writers, received, connected: 0 }))
    }

    fn is_reliable(&self) -> bool {
        self.has_streams
    }
}

/// News of a client's task: it is connected, or it received a message.
type News = (usize, Option<Bytes>);

struct QuicClients {
    runtime: Runtime,
    _endpoints: Vec<Endpoint>,
    writers: Vec<UnboundedSender<Bytes>>,
    received: UnboundedReceiver<News>,
    connected: usize,
}

impl Clients for QuicClients {
    fn send(&mut self, client: usize, message: &[u8]) -> Outcome<bool> {
        Ok(self.writers[client].send(Bytes::copy_from_slice(message)).is_ok())
    }

    fn turn(&mut self, take: &mut dyn FnMut(usize, &[u8])) -> Outcome {
        let first = self.runtime.block_on(async { tokio::time::timeout(TURN, self.received.recv()).await });
        let mut next = first.ok().flatten();
        while let Some((client, message)) = next {
            match message {
                Some(message) => take(client, &message),
                None => self.connected += 1,
            }
            next = self.received.try_recv().ok();
        }
        Ok(())
    }

    fn are_connected(&mut self) -> bool {
        self.connected == self.writers.len()
    }

    fn packets(&self) -> Option<Traffic> {
        None
    }
}

/// Runs one client: sends what the load queues, and reports what comes.
async fn talk(
    connecting: quinn::Connecting,
    has_streams: bool,
    number: usize,
    news: UnboundedSender<News>,
    mut messages: UnboundedReceiver<Bytes>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let connection = connecting.await?;
    if !has_streams {
        let reading = connection.clone();
        let report = news.clone();
        tokio::spawn(async move {
            while let Ok(message) = reading.read_datagram().await {
                report.send((number, Some(message))).ok();
            }
        });
        news.send((number, None)).ok();
        while let Some(message) = messages.recv().await {
            connection.send_datagram(message)?;
        }
        return Ok(());
    }
    let (mut writing, mut reading) = connection.open_bi().await?;
    let report = news.clone();
    tokio::spawn(async move {
        let mut buffer = BytesMut::new();
        while read(&mut reading, &mut buffer).await {
            while let Some(message) = next_message(&mut buffer) {
                report.send((number, Some(message))).ok();
            }
        }
    });
    news.send((number, None)).ok();
    let mut frames = Vec::new();
    while let Some(message) = messages.recv().await {
        frames.clear();
        frame(&mut frames, &message);
        while let Ok(message) = messages.try_recv() {
            frame(&mut frames, &message);
        }
        writing.write_all(&frames).await?;
    }
    Ok(())
}

/// Sends every message back.
pub fn serve(has_streams: bool, certificate: &str, key: &str) -> Outcome {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let socket = bind_server()?;
        println!("{}", socket.local_addr()?);
        let endpoint = Endpoint::new(
            EndpointConfig::default(),
            Some(server_config(certificate, key)?),
            socket,
            Arc::new(TokioRuntime),
        )?;
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(async move {
                let Ok(connection) = incoming.await else { return };
                if has_streams {
                    while let Ok((writing, reading)) = connection.accept_bi().await {
                        tokio::spawn(echo_stream(writing, reading));
                    }
                } else {
                    echo_datagrams(connection).await;
                }
            });
        }
        Ok(())
    })
}

async fn echo_datagrams(connection: Connection) {
    while let Ok(message) = connection.read_datagram().await {
        if connection.send_datagram(message).is_err() {
            return;
        }
    }
}

async fn echo_stream(mut writing: SendStream, mut reading: RecvStream) {
    let (mut buffer, mut frames) = (BytesMut::new(), Vec::new());
    while read(&mut reading, &mut buffer).await {
        frames.clear();
        while let Some(message) = next_message(&mut buffer) {
            frame(&mut frames, &message);
        }
        if writing.write_all(&frames).await.is_err() {
            return;
        }
    }
}

/// Appends what has come to the buffer. Returns false at the end of the stream.
async fn read(stream: &mut RecvStream, buffer: &mut BytesMut) -> bool {
    match stream.read_chunk(usize::MAX, true).await {
        Ok(Some(chunk)) => {
            buffer.extend_from_slice(&chunk.bytes);
            true
        }
        _ => false,
    }
}

fn next_message(buffer: &mut BytesMut) -> Option<Bytes> {
    let length = usize::from(u16::from_le_bytes(*buffer.first_chunk::<LENGTH_BYTES>()?));
    if length > MESSAGE_BYTES || buffer.len() < LENGTH_BYTES + length {
        return None;
    }
    let mut message = buffer.split_to(LENGTH_BYTES + length);
    Some(message.split_off(LENGTH_BYTES).freeze())
}

fn frame(frames: &mut Vec<u8>, message: &[u8]) {
    frames.extend_from_slice(&(message.len() as u16).to_le_bytes());
    frames.extend_from_slice(message);
}

fn server_config(certificate: &str, key: &str) -> Outcome<ServerConfig> {
    let certificate = CertificateDer::from(unhex(certificate)?);
    let key = PrivatePkcs8KeyDer::from(unhex(key)?);
    Ok(ServerConfig::with_single_cert(vec![certificate], key.into())?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Outcome<Vec<u8>> {
    let digits = (0..text.len()).step_by(2).map(|start| text.get(start..start + 2).unwrap_or_default());
    Ok(digits.map(|digits| u8::from_str_radix(digits, 16)).collect::<Result<_, _>>()?)
}
