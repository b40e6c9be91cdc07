//! Sources of the token in a hello.

use super::support::NativePlayer;
use aether_client::ClientPhase;
use aether_client_native::{ConnectionError, NativeClientSettings, TokenSource, TransportPreference, TrustStore};
use aether_server::tokens::Role;
use aether_testkit_server::{NATIVE_TRANSPORTS, TestServer};
use aether_wire::Token;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

#[tokio::test(flavor = "multi_thread")]
async fn guests_join_without_an_account() {
    let server = TestServer::start(|_| {}).await;
    for transport in NATIVE_TRANSPORTS {
        let settings = NativeClientSettings {
            transport: TransportPreference::Only(transport),
            tokens: TokenSource::guest(),
            ..NativeClientSettings::default()
        };
        let mut player = NativePlayer::new(&format!("http://{}", server.http), None, settings, TrustStore::system());
        let before = player.until_joined().await;
        player.native.reconnect();
        player.until("the guest to resume", |player| player.joins().len() == 2).await;
        assert_eq!(player.until_joined().await.player, before.player);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_source_is_called_before_each_connection_until_it_succeeds() {
    let server = TestServer::start(|_| {}).await;
    let token = server.token(Role::Player);
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let tokens = TokenSource::from_fn(move || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let token = token.clone();
        async move { if number == 0 { Err("no user is signed in".to_owned()) } else { Ok(token) } }
    });
    let settings = NativeClientSettings { tokens, ..NativeClientSettings::default() };
    let mut player = NativePlayer::new(&format!("http://{}", server.http), None, settings, TrustStore::system());
    player.until("a failure", |player| player.native.last_error().is_some()).await;
    let Some(ConnectionError::NoToken(why)) = player.native.last_error() else {
        panic!("{:?}", player.native.last_error())
    };
    assert_eq!(why, "no user is signed in");
    player.until_joined().await;
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_rejected_token_the_source_is_asked_for_a_fresh_one_once() {
    let server = TestServer::start(|_| {}).await;
    for transport in NATIVE_TRANSPORTS {
        for is_renewed in [true, false] {
            let asked = Arc::new(Mutex::new(Vec::new()));
            let (log, valid) = (Arc::clone(&asked), server.token(Role::Player));
            let tokens = TokenSource::renewing(move |was_rejected| {
                log.lock().expect("no task panics").push(was_rejected);
                let token = if was_rejected && is_renewed { valid.clone() } else { Token::new("of another server") };
                async move { Ok(token) }
            });
            let transport = TransportPreference::Only(transport);
            let settings = NativeClientSettings { transport, tokens, ..NativeClientSettings::default() };
            let address = format!("http://{}", server.http);
            let mut player = NativePlayer::new(&address, None, settings, TrustStore::system());
            if is_renewed {
                player.until_joined().await;
            } else {
                player.until("an end", |player| matches!(player.native.client().phase(), ClientPhase::Closed(_))).await;
            }
            assert_eq!(*asked.lock().expect("no task panics"), [false, true]);
        }
    }
    server.stop().await;
}
