//! A resume token that is used twice ends its session for the API too.

use crate::support::ServerSetup;
use aether_replication::{DeliveryOrder, Mirror};
use aether_testkit_server::ApiClient;
use aether_testkit_server::seeing_player::{SeeingPlayer, hello, of_type};
use aether_testkit_store::{TestDatabase, file, postgres};
use aether_wire::{ClientMessage, ErrorCode, Hello, Ping, ServerMessage, Token};
use serde_json::json;
use std::net::SocketAddr;

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_a_reused_resume_token_revokes_the_api_tokens_of_its_session() {
    check_reuse(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_a_reused_resume_token_revokes_the_api_tokens_of_its_session() {
    if let Some(database) = postgres() {
        check_reuse(database).await;
    }
}

async fn join(http: SocketAddr, hello: &Hello) -> Result<SeeingPlayer, ErrorCode> {
    let mirror = Mirror::builder().build(DeliveryOrder::Ordered, 1.0 / 40.0);
    SeeingPlayer::join(http, hello, mirror).await.map_err(|notice| notice.code)
}

/// Returns the status of an account request, and that of a refresh. A refresh token is never accepted twice, so the
/// refresh comes from a client that has not refreshed.
async fn statuses(http: SocketAddr, client: &mut ApiClient) -> [u16; 2] {
    let account = client.get("/v2/account").await.expect("the server answers").status;
    let body = json!({ "token": client.refresh_token });
    let refresh = ApiClient::new(http).post("/v2/account/session/refresh", &body).await.expect("the server answers");
    [account, refresh.status]
}

/// The session ends at once and stays ended after the server was killed; another session of the account is unaffected.
async fn check_reuse(database: TestDatabase) {
    let setup = ServerSetup::new(&database, &[]);
    let server = setup.serve().await;
    let device = format!("device-{}", uuid::Uuid::new_v4());
    let mut stolen = ApiClient::sign_in(server.http, &device).await.expect("the server answers");
    let mut other = ApiClient::sign_in(server.http, &device).await.expect("the server answers");
    let first = join(server.http, &hello(Token::new(stolen.token.clone()), of_type("sandbox"))).await;
    let first = first.expect("the join is accepted");
    let token = first.player.resume_hello();
    drop(first);
    let mut again = join(server.http, &token).await.expect("the resume is accepted");
    // A message from the client shows that it has the next token.
    again.player.send(ClientMessage::Ping(Ping::default())).await;
    again.wait("a pong", |message| matches!(message, ServerMessage::Pong(_)).then_some(())).await;
    assert_eq!(join(server.http, &token).await.err(), Some(ErrorCode::ResumeRefused));
    assert_eq!(statuses(server.http, &mut stolen).await, [401, 401]);
    server.kill().await;

    let server = setup.serve().await;
    let mut stolen = on(server.http, &stolen);
    assert_eq!(statuses(server.http, &mut stolen).await, [401, 401], "also after a restart");
    other = on(server.http, &other);
    assert_eq!(statuses(server.http, &mut other).await, [200, 200], "the other session goes on");
    server.kill().await;
}

/// Returns a client of another address with the same tokens.
fn on(http: SocketAddr, client: &ApiClient) -> ApiClient {
    let mut moved = ApiClient::new(http);
    moved.authorize(format!("Bearer {}", client.token));
    moved.refresh_token.clone_from(&client.refresh_token);
    moved
}
