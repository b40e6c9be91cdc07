//! Who gets a session, and who does not.

use super::table::{Files, MOMENT, PATIENCE, Served, connect, framed, open, receive, reliable};
use aether_net::webtransport::WebTransportSettings;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use wtransport::error::ConnectingError;
use wtransport::quinn;

#[tokio::test]
async fn other_paths_and_encodings_are_not_found() {
    let served = Served::start(WebTransportSettings::default());
    for path in ["/", "/rt/more", "/rt?encoding=xml", "/api/rooms/12345678901234567/rt"] {
        let refused = served.connect(path).await;
        assert!(matches!(refused, Err(ConnectingError::SessionRejected)), "{path}");
    }
    // The last refusal is counted when its answer has arrived for sure, a moment after the client has read it.
    tokio::time::sleep(MOMENT).await;
    assert!(served.counted(r#"aether_webtransport_handshakes_total{result="bad_path"} 4"#));
}

/// A connection that speaks QUIC and TLS but never asks for a session.
async fn mute_client(served: &Served, files: &Files) -> (quinn::Endpoint, quinn::Connection) {
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
    let connection = endpoint.connect_with(config, served.address, "localhost").unwrap().await.unwrap();
    (endpoint, connection)
}

#[tokio::test]
async fn a_slow_handshake_ends_at_its_deadline_and_keeps_nobody_waiting() {
    let files = Files::new("slow");
    let settings = WebTransportSettings { handshake: Duration::from_secs(2), ..WebTransportSettings::default() };
    let mut served = Served::start_with(files.load(), settings);
    let mut slow = Vec::new();
    for _ in 0..20 {
        slow.push(mute_client(&served, &files).await);
    }
    let client = connect(served.address, files.hash(), "/rt").await.unwrap();
    served.accept().await;
    assert!(slow.iter().all(|(_, connection)| connection.close_reason().is_none()), "the slow ones still wait");
    for (_, connection) in &slow {
        timeout(PATIENCE, connection.closed()).await.expect("the slow ones are closed");
    }
    tokio::time::sleep(MOMENT).await;
    assert!(served.counted(r#"aether_webtransport_handshakes_total{result="too_slow"} 20"#));
    drop(client);
}

#[tokio::test]
async fn bytes_that_are_no_http3_end_the_connection() {
    let files = Files::new("garbage");
    let served = Served::start_with(files.load(), WebTransportSettings::default());
    // A frame of headers whose first integer never ends, and one that is longer than any request.
    let mut endless = vec![0x01, 0x20, 0x00, 0x00, 0xff];
    endless.extend([0x80; 29]);
    for bytes in [endless, vec![0x01, 0x80, 0x01, 0x00, 0x00], vec![0x00, 0x00]] {
        let (_endpoint, connection) = mute_client(&served, &files).await;
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        send.write_all(&bytes).await.unwrap();
        let error = timeout(PATIENCE, connection.closed()).await.expect("the connection ends");
        assert!(matches!(error, quinn::ConnectionError::ApplicationClosed(_)), "{error:?}");
    }
    assert!(served.counted(r#"aether_webtransport_handshakes_total{result="bad_protocol"} 3"#));
}

#[tokio::test]
async fn beyond_a_number_of_handshakes_newcomers_show_their_address_or_are_refused() {
    let must_show = WebTransportSettings { handshakes_unverified_max: 0, ..WebTransportSettings::default() };
    let mut served = Served::start(must_show);
    let (_session, _client) = served.pair("/rt").await;
    assert!(served.counted(r#"aether_webtransport_handshakes_total{result="retried"} 1"#));
    assert!(served.counted(r#"aether_webtransport_handshakes_total{result="done"} 1"#));

    for settings in [
        WebTransportSettings { handshakes_max: 0, ..WebTransportSettings::default() },
        WebTransportSettings { handshakes_per_address_max: 0, ..WebTransportSettings::default() },
    ] {
        let served = Served::start(settings);
        assert!(served.connect("/rt").await.is_err());
    }
}

#[tokio::test]
async fn a_stopped_server_lets_nobody_in_and_open_sessions_go_on() {
    let mut served = Served::start(WebTransportSettings::default());
    let (mut session, client) = served.pair("/rt").await;
    served.server.stop();
    assert!(served.server.accept().await.is_none());
    let hash = served.certificates.hash().unwrap();
    assert!(timeout(MOMENT, connect(served.address, hash, "/rt")).await.is_err(), "nobody answers");

    let (mut send, _listen) = open(&client).await;
    send.write_all(&framed(b"still here")).await.unwrap();
    assert_eq!(receive(&mut session.transport).await, Ok(vec![reliable(b"still here")]));
    let (_, closed) = tokio::join!(served.server.close(), timeout(PATIENCE, client.closed()));
    closed.expect("the client is told");
}
