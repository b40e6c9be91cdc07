//! Sessions of users.

use crate::api::Api;
use serde_json::json;
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_is_disconnected_and_its_session_stays_valid() {
    let mut api = Api::start().await;
    let mut ann = api.scripts.user().await;
    let (mut socket, session) = api.socket(&ann).await;
    api.run("nk.session_disconnect", json!([session, 4])).await;
    let (_, reason, _) = socket.closed().await;
    assert!(reason.contains("disconnected by the server"), "{reason}");
    assert_eq!(ann.get("/v2/account").await.expect("the server answers").status, 200);
    let error = api.fail("nk.session_disconnect", json!([Uuid::new_v4().to_string()])).await;
    assert!(error.contains("not connected"), "{error}");
    api.refuse("nk.session_disconnect", json!(["x"]), "sessionID").await;
    api.refuse("nk.session_disconnect", json!([session, 5]), "reason").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_ends_the_sessions_of_tokens_or_of_a_user() {
    let mut api = Api::start().await;
    let [mut ann, mut bob] = [api.scripts.user().await, api.scripts.user().await];
    api.run("nk.session_logout", json!([ann.user, ann.token, ann.refresh_token])).await;
    assert_eq!(ann.get("/v2/account").await.expect("the server answers").status, 401);
    assert_eq!(bob.get("/v2/account").await.expect("the server answers").status, 200);
    api.run("nk.session_logout", json!([bob.user])).await;
    assert_eq!(bob.get("/v2/account").await.expect("the server answers").status, 401);
    api.refuse("nk.session_logout", json!(["bob"]), "userID").await;
    api.fail("nk.session_logout", json!([bob.user, "no token"])).await;
    api.stop().await;
}
