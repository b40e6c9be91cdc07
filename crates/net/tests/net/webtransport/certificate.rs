//! Certificates from files and generated ones, as clients see them.

use super::support::{CertificateFiles, TestServer, connect, framed, open, receive, reliable};
use aether_net::certificate::{Certificates, GENERATED_LIFETIME};
use aether_net::webtransport::WebTransportSettings;
use std::time::{Duration, SystemTime};
use wtransport::Connection;
use wtransport::error::ConnectingError;

/// Asserts that a client rejected the certificate of the server, and that the server did not reject the client.
#[track_caller]
fn assert_certificate_rejected(connected: Result<Connection, ConnectingError>, why: &str) {
    let error = format!("{:?}", connected.expect_err(why));
    assert!(error.to_lowercase().contains("certificate"), "{why}: {error}");
}

#[tokio::test]
async fn new_connections_get_a_reloaded_certificate() {
    let mut files = CertificateFiles::new("reload");
    let mut server = TestServer::start_with(files.load(), WebTransportSettings::default());
    let old = files.hash();
    let client = connect(server.address, old, "/rt").await.unwrap();
    let mut session = server.accept().await;

    files.exchange();
    server.certificates.reload(SystemTime::now()).unwrap();
    connect(server.address, files.hash(), "/rt").await.expect("the new certificate is used");
    assert_certificate_rejected(connect(server.address, old, "/rt").await, "the old one is not used");

    let (mut send, _receiver) = open(&client).await;
    send.write_all(&framed(b"still here")).await.unwrap();
    assert_eq!(receive(&mut session.transport).await, Ok(vec![reliable(b"still here")]));
}

#[tokio::test]
async fn invalid_files_are_errors_and_the_old_certificate_stays() {
    let files = CertificateFiles::new("bad");
    let server = TestServer::start_with(files.load(), WebTransportSettings::default());
    let other = CertificateFiles::new("other");
    let chain = files.folder.join("chain.pem");
    let copy = std::fs::read(&chain).unwrap();
    let elsewhere = std::fs::read(other.folder.join("chain.pem")).unwrap();
    for (bad, says) in [
        (Some(&b"nothing of the kind"[..]), "contains no certificate"),
        (Some(&b"-----BEGIN CERTIFICATE-----\nMIIB"[..]), "cannot be read"),
        (Some(&elsewhere[..]), "cannot be used"),
        (None, "cannot be read"),
    ] {
        match bad {
            Some(bytes) => std::fs::write(&chain, bytes).unwrap(),
            None => std::fs::remove_file(&chain).unwrap(),
        }
        let error = server.certificates.reload(SystemTime::now()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        connect(server.address, files.hash(), "/rt").await.expect("the old certificate is still used");
    }
    std::fs::write(&chain, copy).unwrap();
    server.certificates.reload(SystemTime::now()).expect("valid files are loaded again");
    assert_eq!((server.certificates.hash(), server.certificates.expires_at()), (None, None));
}

#[tokio::test]
async fn a_generated_certificate_can_be_pinned_and_renewed() {
    let now = SystemTime::now();
    let mut server = TestServer::start(WebTransportSettings::default());
    let first = server.certificates.hash().unwrap();
    let lives = server.certificates.expires_at().unwrap().duration_since(now).unwrap();
    assert!(
        lives <= GENERATED_LIFETIME + Duration::from_secs(5) && GENERATED_LIFETIME < Duration::from_secs(14 * 86_400)
    );

    server.certificates.reload(now + Duration::from_secs(60)).unwrap();
    let second = server.certificates.hash().unwrap();
    assert_ne!(first, second);
    assert_certificate_rejected(connect(server.address, first, "/rt").await, "it was replaced");
    server.pair("/rt").await;
}

#[tokio::test]
async fn https_offers_both_versions_of_http() {
    let certificates = Certificates::generate(["localhost"], SystemTime::now()).unwrap();
    let config = certificates.https_config(true).unwrap();
    assert_eq!(config.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
}
