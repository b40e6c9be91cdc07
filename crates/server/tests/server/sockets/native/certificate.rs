//! Servers behind TLS: who is believed, and who is not.

use super::support::Seat;
use aether_client::ClientPhase;
use aether_client_native::{ConnectionError, NativeClientSettings, TokenSource, TransportPreference, TrustStore};
use aether_testkit_server::{TRANSPORTS, TestServer, TransportKind};
use std::path::PathBuf;

/// A certificate that vouches for itself, in a folder that goes with the test.
struct Certificate {
    folder: PathBuf,
    pem: String,
}

impl Certificate {
    fn new(names: &[&str]) -> Certificate {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate can be made");
        let folder = std::env::temp_dir().join(format!("aether-tls-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir_all(&folder).expect("folders can be made");
        std::fs::write(folder.join("chain.pem"), made.cert.pem()).expect("files can be written");
        std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).expect("files can be written");
        Certificate { folder, pem: made.cert.pem() }
    }

    async fn serve(&self) -> TestServer {
        TestServer::start(|config| {
            config.http.tls_certificate = Some(self.folder.join("chain.pem"));
            config.http.tls_key = Some(self.folder.join("key.pem"));
        })
        .await
    }

    fn trust(&self) -> TrustStore {
        TrustStore::system().with_root(self.pem.as_bytes()).expect("it is a certificate")
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A guest, whose token comes over TLS too.
fn guest(address: &str, transport: TransportKind, trust: TrustStore) -> Seat {
    let settings = NativeClientSettings {
        transport: TransportPreference::Only(transport),
        tokens: TokenSource::guest(),
        ..NativeClientSettings::default()
    };
    Seat::new(address, None, settings, trust)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_certificate_is_trusted_is_joined_over_every_transport() {
    let certificate = Certificate::new(&["localhost", "127.0.0.1"]);
    let server = certificate.serve().await;
    for address in [format!("https://{}", server.http), format!("https://localhost:{}", server.http.port())] {
        for transport in TRANSPORTS {
            let mut seat = guest(&address, transport, certificate.trust());
            seat.until_joined().await;
            assert_eq!(seat.shell.transport(), Some(transport), "{address}");
            let before = seat.shell.client().stats().inputs;
            seat.walk([1.0, 0.0]);
            seat.until("some play", |seat| seat.shell.client().stats().inputs > before + 30).await;
            assert!(seat.shell.leave());
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_nobody_vouches_for_is_refused() {
    let certificate = Certificate::new(&["localhost", "127.0.0.1"]);
    let server = certificate.serve().await;
    let another = Certificate::new(&["localhost", "127.0.0.1"]);
    for trust in [TrustStore::system(), another.trust()] {
        for transport in TRANSPORTS {
            let mut seat = guest(&format!("https://{}", server.http), transport, trust.clone());
            seat.until("attempts", |seat| seat.shell.client().attempts() >= 2).await;
            assert!(matches!(seat.shell.last_error(), Some(ConnectionError::Untrusted(_))), "{:?}", seat.shell.last_error());
            assert_eq!(*seat.shell.client().phase(), ClientPhase::Connecting);
        }
    }
    assert_eq!(server.connections(), 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_server_is_refused_though_it_is_trusted() {
    let certificate = Certificate::new(&["elsewhere.example"]);
    let server = certificate.serve().await;
    for transport in TRANSPORTS {
        let mut seat = guest(&format!("https://{}", server.http), transport, certificate.trust());
        seat.until("attempts", |seat| seat.shell.client().attempts() >= 2).await;
        assert!(matches!(seat.shell.last_error(), Some(ConnectionError::Untrusted(_))), "{:?}", seat.shell.last_error());
    }
    assert_eq!(server.connections(), 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quic_checks_the_certificate_by_itself() {
    // The HTTP part is trusted, and only WebTransport shows a certificate that is not.
    let (known, unknown) = (Certificate::new(&["127.0.0.1"]), Certificate::new(&["127.0.0.1"]));
    let server = TestServer::start(|config| {
        config.http.tls_certificate = Some(known.folder.join("chain.pem"));
        config.http.tls_key = Some(known.folder.join("key.pem"));
        config.webtransport.certificate = Some(unknown.folder.join("chain.pem"));
        config.webtransport.key = Some(unknown.folder.join("key.pem"));
    })
    .await;
    let address = format!("https://{}", server.http);
    let mut seat = guest(&address, TransportKind::WebTransport, known.trust());
    seat.until("attempts", |seat| seat.shell.client().attempts() >= 2).await;
    assert!(matches!(seat.shell.last_error(), Some(ConnectionError::WebTransport(_))), "{:?}", seat.shell.last_error());
    assert_eq!(server.connections(), 0);
    server.stop().await;
}
