//! Certificates from files and generated ones, as clients see them.

use super::table::{Files, Served, connect, framed, open, receive, reliable};
use aether_net::certificate::{Certificates, GENERATED_LIFETIME};
use aether_net::webtransport::WebTransportSettings;
use std::time::{Duration, SystemTime};

#[tokio::test]
async fn a_reloaded_certificate_is_shown_to_new_connections() {
    let mut files = Files::new("reload");
    let mut served = Served::start_with(files.load(), WebTransportSettings::default());
    let old = files.hash();
    let client = connect(served.address, old, "/rt").await.unwrap();
    let mut session = served.accept().await;

    files.exchange();
    served.certificates.reload(SystemTime::now()).unwrap();
    connect(served.address, files.hash(), "/rt").await.expect("the new certificate is shown");
    assert!(connect(served.address, old, "/rt").await.is_err(), "the old one is not");

    let (mut send, _listen) = open(&client).await;
    send.write_all(&framed(b"still here")).await.unwrap();
    assert_eq!(receive(&mut session.transport).await, Ok(vec![reliable(b"still here")]));
}

#[tokio::test]
async fn bad_files_leave_the_old_certificate_in_place_and_say_why() {
    let files = Files::new("bad");
    let served = Served::start_with(files.load(), WebTransportSettings::default());
    let other = Files::new("other");
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
        let error = served.certificates.reload(SystemTime::now()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        connect(served.address, files.hash(), "/rt").await.expect("the old certificate is still shown");
    }
    std::fs::write(&chain, copy).unwrap();
    served.certificates.reload(SystemTime::now()).expect("good files are taken again");
    assert_eq!((served.certificates.hash(), served.certificates.expires_at()), (None, None));
}

#[tokio::test]
async fn a_generated_certificate_can_be_pinned_and_renewed() {
    let now = SystemTime::now();
    let mut served = Served::start(WebTransportSettings::default());
    let first = served.certificates.hash().unwrap();
    let lives = served.certificates.expires_at().unwrap().duration_since(now).unwrap();
    assert!(
        lives <= GENERATED_LIFETIME + Duration::from_secs(5) && GENERATED_LIFETIME < Duration::from_secs(14 * 86_400)
    );

    served.certificates.reload(now + Duration::from_secs(60)).unwrap();
    let second = served.certificates.hash().unwrap();
    assert_ne!(first, second);
    assert!(connect(served.address, first, "/rt").await.is_err());
    served.pair("/rt").await;
}

#[tokio::test]
async fn https_offers_both_versions_of_http() {
    let certificates = Certificates::generate(["localhost"], SystemTime::now()).unwrap();
    let config = certificates.https_config().unwrap();
    assert_eq!(config.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
}
