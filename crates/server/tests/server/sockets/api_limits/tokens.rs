//! Invalid tokens.

use aether_testkit_server::{ApiClient, Forger, TestServer};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn all_invalid_tokens_are_rejected_with_the_same_message() {
    let server = TestServer::start(|_| {}).await;
    let mut client = ApiClient::new_user(server.http).await;
    let mut bad = Forger::of(&server).bad_tokens();
    bad.retain(|(_, token)| !token.is_empty());
    bad.push(("refresh token", client.refresh_token.clone()));
    bad.push(("too long", "a".repeat(4_000)));
    for (reason, token) in bad {
        client.authorize(format!("Bearer {token}"));
        for (method, path) in [("GET", "/v2/account"), ("PUT", "/v2/storage"), ("POST", "/v2/leaderboard/board")] {
            let answer = client.send(method, path, "{}").await.expect("the server answers");
            assert_eq!(answer.status, 401, "{reason}: {}", answer.body);
            assert_eq!(answer.json(), json!({ "code": 16, "message": "Auth token invalid" }), "{reason}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claimed_role_grants_nothing() {
    let server = TestServer::start(|_| {}).await;
    let mut client = ApiClient::new_user(server.http).await;
    let token = server.sign(|claims| claims.role = Some(aether_server::tokens::Role::Admin));
    client.authorize(format!("Bearer {}", token.reveal()));
    assert_eq!(client.get("/v2/account").await.expect("the server answers").status, 401, "the key of developers");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_reuse_of_a_refresh_token_ends_the_session() {
    let server = TestServer::start(|config| config.tokens.refresh_again_seconds = 0).await;
    let mut client = ApiClient::new_user(server.http).await;
    let stolen = json!({ "token": client.refresh_token });
    let mut stranger = ApiClient::new(server.http);
    let refreshed = stranger.post("/v2/account/session/refresh", &stolen).await.expect("the server answers");
    assert_eq!(refreshed.status, 200, "{}", refreshed.body);
    client.adopt(&refreshed.json());
    assert_eq!(client.get("/v2/account").await.expect("the server answers").status, 200);
    let again = stranger.post("/v2/account/session/refresh", &stolen).await.expect("the server answers");
    assert_eq!(again.status, 401, "{}", again.body);
    assert_eq!(client.get("/v2/account").await.expect("the server answers").status, 401, "all of the family is over");
    server.stop().await;
}
