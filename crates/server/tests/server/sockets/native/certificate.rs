//! Servers with TLS: trusted and untrusted certificates.

use super::support::NativePlayer;
use aether_client::ClientPhase;
use aether_client_native::{ConnectionError, NativeClientSettings, TokenSource, TransportPreference, TrustStore};
use aether_testkit_server::{TRANSPORTS, TestServer, TransportKind};
use std::path::PathBuf;

/// A self-signed certificate in a temporary folder.
struct Certificate {
    folder: PathBuf,
    pem: String,
}

impl Certificate {
    fn new(names: &[&str]) -> Certificate {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).expect("the certificate can be created");
        let folder = std::env::temp_dir().join(format!("aether-tls-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir_all(&folder).expect("the folder can be created");
        std::fs::write(folder.join("chain.pem"), made.cert.pem()).expect("the file can be written");
        std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).expect("the file can be written");
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
        TrustStore::system().with_root(self.pem.as_bytes()).expect("the certificate is valid")
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns a guest, whose token is fetched over TLS too.
fn guest(address: &str, transport: TransportKind, trust: TrustStore) -> NativePlayer {
    let settings = NativeClientSettings {
        transport: TransportPreference::Only(transport),
        tokens: TokenSource::guest(),
        ..NativeClientSettings::default()
    };
    NativePlayer::new(address, None, settings, trust)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_certificate_is_trusted_is_joined_over_every_transport() {
    let certificate = Certificate::new(&["localhost", "127.0.0.1"]);
    let server = certificate.serve().await;
    for address in [format!("https://{}", server.http), format!("https://localhost:{}", server.http.port())] {
        for transport in TRANSPORTS {
            let mut player = guest(&address, transport, certificate.trust());
            player.until_joined().await;
            assert_eq!(player.native.transport(), Some(transport), "{address}");
            let before = player.native.client().stats().inputs;
            player.walk([1.0, 0.0]);
            player.until("some play", |player| player.native.client().stats().inputs > before + 30).await;
            assert!(player.native.leave());
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untrusted_certificate_is_refused() {
    let certificate = Certificate::new(&["localhost", "127.0.0.1"]);
    let server = certificate.serve().await;
    let another = Certificate::new(&["localhost", "127.0.0.1"]);
    for trust in [TrustStore::system(), another.trust()] {
        for transport in TRANSPORTS {
            let mut player = guest(&format!("https://{}", server.http), transport, trust.clone());
            player.until("attempts", |player| player.native.client().attempts() >= 2).await;
            assert!(
                matches!(player.native.last_error(), Some(ConnectionError::Untrusted(_))),
                "{:?}",
                player.native.last_error()
            );
            assert_eq!(*player.native.client().phase(), ClientPhase::Connecting);
        }
    }
    assert_eq!(server.connections(), 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_certificate_with_another_name_is_refused() {
    let certificate = Certificate::new(&["elsewhere.example"]);
    let server = certificate.serve().await;
    for transport in TRANSPORTS {
        let mut player = guest(&format!("https://{}", server.http), transport, certificate.trust());
        player.until("attempts", |player| player.native.client().attempts() >= 2).await;
        assert!(
            matches!(player.native.last_error(), Some(ConnectionError::Untrusted(_))),
            "{:?}",
            player.native.last_error()
        );
    }
    assert_eq!(server.connections(), 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webtransport_verifies_its_own_certificate() {
    // The certificate of HTTPS is trusted, that of WebTransport is not.
    let (known, unknown) = (Certificate::new(&["127.0.0.1"]), Certificate::new(&["127.0.0.1"]));
    let server = TestServer::start(|config| {
        config.http.tls_certificate = Some(known.folder.join("chain.pem"));
        config.http.tls_key = Some(known.folder.join("key.pem"));
        config.webtransport.certificate = Some(unknown.folder.join("chain.pem"));
        config.webtransport.key = Some(unknown.folder.join("key.pem"));
    })
    .await;
    let address = format!("https://{}", server.http);
    let mut player = guest(&address, TransportKind::WebTransport, known.trust());
    player.until("attempts", |player| player.native.client().attempts() >= 2).await;
    assert!(
        matches!(player.native.last_error(), Some(ConnectionError::WebTransport(_))),
        "{:?}",
        player.native.last_error()
    );
    assert_eq!(server.connections(), 0);
    server.stop().await;
}
