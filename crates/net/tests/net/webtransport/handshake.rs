//! Handshakes that succeed and that fail.

use super::support::{
    CertificateFiles, SETTLE_TIME, STEP_TIMEOUT, TestServer, connect, framed, open, receive, reliable,
};
use aether_net::webtransport::WebTransportSettings;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use wtransport::error::ConnectingError;
use wtransport::quinn;

#[tokio::test]
async fn other_paths_and_encodings_are_not_found() {
    let server = TestServer::start(WebTransportSettings::default());
    for path in ["/", "/rt/more", "/rt?encoding=xml", "/api/rooms/12345678901234567/rt"] {
        let refused = server.connect(path).await;
        assert!(matches!(refused, Err(ConnectingError::SessionRejected)), "{path}");
    }
    // The last rejection is counted when its answer is acknowledged, after the client has read it.
    tokio::time::sleep(SETTLE_TIME).await;
    assert!(server.has_metric(r#"aether_webtransport_handshakes_total{result="bad_path"} 4"#));
}

/// Opens a QUIC connection that never requests a session.
async fn mute_client(server: &TestServer, files: &CertificateFiles) -> (quinn::Endpoint, quinn::Connection) {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(files.certificate.der().clone()).unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let config = quinn::ClientConfig::new(Arc::new(crypto));
    let connection = endpoint.connect_with(config, server.address, "localhost").unwrap().await.unwrap();
    (endpoint, connection)
}

#[tokio::test]
async fn a_slow_handshake_ends_at_its_deadline_and_does_not_delay_others() {
    let files = CertificateFiles::new("slow");
    let settings = WebTransportSettings { handshake: Duration::from_secs(2), ..WebTransportSettings::default() };
    let mut server = TestServer::start_with(files.load(), settings);
    let mut slow = Vec::new();
    for _ in 0..20 {
        slow.push(mute_client(&server, &files).await);
    }
    let client = connect(server.address, files.hash(), "/rt").await.unwrap();
    server.accept().await;
    assert!(slow.iter().all(|(_, connection)| connection.close_reason().is_none()), "slow handshakes are still open");
    for (_, connection) in &slow {
        timeout(STEP_TIMEOUT, connection.closed()).await.expect("slow handshakes are closed");
    }
    tokio::time::sleep(SETTLE_TIME).await;
    assert!(server.has_metric(r#"aether_webtransport_handshakes_total{result="too_slow"} 20"#));
    drop(client);
}

#[tokio::test]
async fn invalid_http3_ends_the_connection() {
    let files = CertificateFiles::new("garbage");
    let server = TestServer::start_with(files.load(), WebTransportSettings::default());
    // A HEADERS frame with an endless integer, one that is too long, and a frame of the wrong type.
    let mut endless = vec![0x01, 0x20, 0x00, 0x00, 0xff];
    endless.extend([0x80; 29]);
    for bytes in [endless, vec![0x01, 0x80, 0x01, 0x00, 0x00], vec![0x00, 0x00]] {
        let (_endpoint, connection) = mute_client(&server, &files).await;
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        send.write_all(&bytes).await.unwrap();
        let error = timeout(STEP_TIMEOUT, connection.closed()).await.expect("the connection ends");
        assert!(matches!(error, quinn::ConnectionError::ApplicationClosed(_)), "{error:?}");
    }
    assert!(server.has_metric(r#"aether_webtransport_handshakes_total{result="bad_protocol"} 3"#));
}

#[tokio::test]
async fn beyond_the_limits_clients_validate_their_address_or_are_rejected() {
    let must_validate = WebTransportSettings { handshakes_unverified_max: 0, ..WebTransportSettings::default() };
    let mut server = TestServer::start(must_validate);
    let (_session, _client) = server.pair("/rt").await;
    assert!(server.has_metric(r#"aether_webtransport_handshakes_total{result="retried"} 1"#));
    assert!(server.has_metric(r#"aether_webtransport_handshakes_total{result="done"} 1"#));

    for settings in [
        WebTransportSettings { handshakes_max: 0, ..WebTransportSettings::default() },
        WebTransportSettings { handshakes_per_address_max: 0, ..WebTransportSettings::default() },
    ] {
        let server = TestServer::start(settings);
        let error = format!("{:?}", server.connect("/rt").await.expect_err("the client is rejected"));
        assert!(error.to_lowercase().contains("refused"), "{error}");
    }
}

#[tokio::test]
async fn a_stopped_server_accepts_no_sessions_and_open_ones_continue() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    server.server.stop();
    assert!(server.server.accept().await.is_none());
    let hash = server.certificates.hash().unwrap();
    assert!(timeout(SETTLE_TIME, connect(server.address, hash, "/rt")).await.is_err(), "the server does not answer");

    let (mut send, _receiver) = open(&client).await;
    send.write_all(&framed(b"still here")).await.unwrap();
    assert_eq!(receive(&mut session.transport).await, Ok(vec![reliable(b"still here")]));
    let (_, closed) = tokio::join!(server.server.close(), timeout(STEP_TIMEOUT, client.closed()));
    closed.expect("the client is notified");
}
