//! Status of users.

use crate::api::Api;
use serde_json::json;
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_follows_the_status_of_users_until_it_no_longer_does() {
    let mut api = Api::start().await;
    let (ann, bob) = (api.scripts.user().await, api.scripts.user().await);
    let ((mut follower, session), (mut followed, own)) = (api.socket(&ann).await, api.socket(&bob).await);
    followed.request(json!({ "status_update": { "status": "here" } })).await;
    let presences = api.one("nk.status_follow", json!([session, [bob.user]])).await;
    assert_eq!((&presences[0]["user_id"], &presences[0]["status"]), (&json!(bob.user), &json!("here")));
    assert_eq!(presences[0]["session_id"], json!(own));
    followed.request(json!({ "status_update": { "status": "there" } })).await;
    let event = follower.next().await;
    assert_eq!(event["status_presence_event"]["joins"][0]["status"], json!("there"), "{event}");
    api.run("nk.status_unfollow", json!([session, [bob.user]])).await;
    followed.request(json!({ "status_update": { "status": "gone" } })).await;
    // Nothing comes before the answer to the next request.
    follower.send(&json!({ "cid": "last", "ping": {} })).await;
    assert_eq!(follower.next().await["cid"], json!("last"));
    for function in ["nk.status_follow", "nk.status_unfollow"] {
        let error = api.fail(function, json!([Uuid::new_v4().to_string(), [bob.user]])).await;
        assert!(error.contains("not connected"), "{error}");
        api.refuse(function, json!(["x", []]), "sessionID").await;
        api.refuse(function, json!([session, ["x"]]), "userIDs").await;
    }
    api.stop().await;
}
