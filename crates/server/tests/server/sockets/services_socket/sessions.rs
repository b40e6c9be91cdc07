//! Sessions that end, their history, and the stop of the server.

use crate::sockets::admin::operator;
use crate::sockets::sessions::until_state;
use aether_testkit_server::{ApiClient, TestServer, until};
use serde_json::json;
use std::time::Duration;
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_closes_its_sockets() {
    let server = TestServer::start(|config| config.tokens.single_session = true).await;
    let device = format!("device-{}", Uuid::new_v4());
    let ended = |reason: &str| reason.contains("session has ended");

    // Logged out.
    let mut user = ApiClient::sign_in(server.http, &device).await.expect("the server answers");
    let mut socket = server.socket(&user.token).await;
    let body = json!({ "token": user.token, "refresh_token": user.refresh_token });
    assert_eq!(user.post("/v2/session/logout", &body).await.expect("the server answers").status, 200);
    let (code, reason, _) = socket.closed().await;
    assert!(code == Some(1000) && ended(&reason), "{code:?} {reason}");

    // Replaced by a new session of the user.
    let user = ApiClient::sign_in(server.http, &device).await.expect("the server answers");
    let mut socket = server.socket(&user.token).await;
    let user = ApiClient::sign_in(server.http, &device).await.expect("the server answers");
    assert!(ended(&socket.closed().await.1), "a single session");

    // Banned.
    let mut socket = server.socket(&user.token).await;
    let id = Uuid::try_parse(&user.user).expect("ids are ids");
    server.services().accounts.ban(vec![id]).await.expect("it can be banned");
    assert!(ended(&socket.closed().await.1), "a ban");
    until("no connections", || server.connections() == 0).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_account_loses_its_sockets() {
    let server = TestServer::start(|_| {}).await;
    let mut user = ApiClient::new_user(server.http).await;
    let mut socket = server.socket(&user.token).await;
    assert_eq!(user.send("DELETE", "/v2/account", "").await.expect("the server answers").status, 200);
    let (code, reason, _) = socket.closed().await;
    assert!(code == Some(1000) && reason.contains("session has ended"), "{code:?} {reason}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_shows_a_session_with_a_socket_as_active() {
    let server = TestServer::start(|_| {}).await;
    let mut operator = operator(server.admin, server.data_dir());
    let mut user = ApiClient::new_user(server.http).await;
    let id = Uuid::try_parse(&user.user).expect("ids are ids");
    until_state(&mut operator, &user.user, "authenticated").await;
    assert!(!server.services().is_online(id));
    let socket = server.socket(&user.token).await;
    until_state(&mut operator, &user.user, "active").await;
    assert!(server.services().is_online(id));
    let shown = user.get(&format!("/v2/user?ids={}", user.user)).await.expect("the server answers");
    assert_eq!(shown.json()["users"][0]["online"], true);
    drop(socket);
    until_state(&mut operator, &user.user, "authenticated").await;
    assert!(!server.services().is_online(id));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_code_disconnects_a_session_and_a_stop_closes_all() {
    let mut server = TestServer::start(|_| {}).await;
    let user = ApiClient::new_user(server.http).await;
    let [mut one, mut other] = [server.socket(&user.token).await, server.socket(&user.token).await];
    one.request(json!({ "ping": {} })).await;
    other.request(json!({ "status_update": { "status": "x" } })).await;
    let router = server.services().router.clone();
    let id = Uuid::try_parse(&user.user).expect("ids are ids");
    let status = aether_server::services::router::StreamId::status(id);
    let session = router.list(&status, aether_server::services::router::Shown::All)[0].socket.session;
    assert!(router.disconnect(session, aether_wire::CloseReason::Kicked, "Please leave."));
    let (code, reason, _) = other.closed().await;
    assert_eq!((code, reason.as_str()), (Some(1000), "Please leave."));
    until("the end of the session", || router.count(&status) == 0).await;
    assert!(!router.disconnect(session, aether_wire::CloseReason::Kicked, "Please leave."));

    let ((code, reason, _), ()) = tokio::join!(one.closed(), server.stop_within(Duration::from_millis(50)));
    assert_eq!((code, reason.as_str()), (Some(1000), "The server stops."));
}
