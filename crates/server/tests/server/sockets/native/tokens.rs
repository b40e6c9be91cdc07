//! Where a hello gets its token.

use super::support::Seat;
use aether_client_native::{ConnectionError, NativeClientSettings, TokenSource, TransportPreference, TrustStore};
use aether_server::tokens::Role;
use aether_testkit_server::{TRANSPORTS, TestServer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[tokio::test(flavor = "multi_thread")]
async fn guests_come_in_without_an_account() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let settings = NativeClientSettings {
            transport: TransportPreference::Only(transport),
            tokens: TokenSource::guest(),
            ..NativeClientSettings::default()
        };
        let mut seat = Seat::new(&format!("http://{}", server.http), None, settings, TrustStore::system());
        let before = seat.until_joined().await;
        seat.shell.reconnect();
        seat.until("the guest to be back", |seat| seat.joins().len() == 2).await;
        assert_eq!(seat.until_joined().await.player, before.player);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_is_asked_before_each_connection_until_it_has_a_token() {
    let server = TestServer::start(|_| {}).await;
    let token = server.token(Role::Player);
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let tokens = TokenSource::from_fn(move || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let token = token.clone();
        async move { if number == 0 { Err("nobody is signed in".to_owned()) } else { Ok(token) } }
    });
    let settings = NativeClientSettings { tokens, ..NativeClientSettings::default() };
    let mut seat = Seat::new(&format!("http://{}", server.http), None, settings, TrustStore::system());
    seat.until("a failure", |seat| seat.shell.last_error().is_some()).await;
    let Some(ConnectionError::NoToken(why)) = seat.shell.last_error() else { panic!("{:?}", seat.shell.last_error()) };
    assert_eq!(why, "nobody is signed in");
    seat.until_joined().await;
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    server.stop().await;
}
